/* SPDX-License-Identifier: MIT */
/* Conventions that the importers of profiles share. */
#ifndef ANALYZER_IMPORT_PROFILE_H
#define ANALYZER_IMPORT_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* Times in ns from here on are CLOCK_REALTIME, earlier ones are relative. */
#define PROFILE_EPOCH_NS 1000000000000000000

/*
 * The tid of a device's stream. No thread of the host has such a number: stream
 * 7 of device 0 is -10000000007, of device 1 -20000000007.
 */
int64_t profile_stream_tid(int64_t device, int64_t stream);

/* The name of a span on a stream: "memcpy" for copies and fills, else
 * "kernel". */
const char *profile_device_span(const char *name);

/* Does @text begin with @prefix? */
bool profile_has_prefix(const char *text, const char *prefix);

#endif
