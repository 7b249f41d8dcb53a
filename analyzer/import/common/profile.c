/* SPDX-License-Identifier: MIT */
/* Conventions that the importers of profiles share. */
#include "analyzer/import/common/profile.h"

#include <string.h>

#define DEVICES_MOST 99999
#define STREAMS_MOST 10000000000

int64_t profile_stream_tid(int64_t device, int64_t stream)
{
	if (device < 0 || device > DEVICES_MOST)
		device = DEVICES_MOST;
	if (stream < 0 || stream >= STREAMS_MOST)
		stream = STREAMS_MOST - 1;
	return -((device + 1) * STREAMS_MOST + stream);
}

const char *profile_device_span(const char *name)
{
	return strcasestr(name, "memcpy") || strcasestr(name, "memset")
		       ? "memcpy"
		       : "kernel";
}

bool profile_has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}
