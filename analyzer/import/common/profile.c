/* SPDX-License-Identifier: MIT */
/* Conventions that the importers of profiles share. */
#include "analyzer/import/common/profile.h"

#include <stdio.h>
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

void profile_run_name(const char *path, const char *suffix, const char *none,
		      char out[static 256])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	const char *end = strstr(base, suffix);

	snprintf(out, 256, "%.*s", (int)(end ? end - base : 255), base);
	if (!*out)
		snprintf(out, 256, "%s", none);
}
