/* SPDX-License-Identifier: MIT */
/*
 * schemas/calls.def, as the reading side sees it.
 *
 * A number used twice is a warning of the compiler here: the second
 * initializer of an element would override the first.
 */
#include "lib/calls.h"

#include <stddef.h>
#include <string.h>

#include "schemas/trace_format.h"

/* The names of traits in calls.def. */
enum {
	CREATES = REEL_TRAIT_CREATES,
	RENAMES = REEL_TRAIT_RENAMES,
	LINKS = REEL_TRAIT_LINKS,
	REMOVES = REEL_TRAIT_REMOVES,
	RESIZES = REEL_TRAIT_RESIZES,
	FLUSHES = REEL_TRAIT_FLUSHES,
	NOFOLLOW = REEL_TRAIT_NOFOLLOW,
	PROBES = REEL_TRAIT_PROBES,
	AT_OFFSET = REEL_TRAIT_AT_OFFSET,
	READS_LINE = REEL_TRAIT_READS_LINE,
	COPIES = REEL_TRAIT_COPIES,
	BY_ADDRESS = REEL_TRAIT_BY_ADDRESS,
	ARRIVES = REEL_TRAIT_ARRIVES,
	LEAVES = REEL_TRAIT_LEAVES,
	FROM_ROOT = REEL_TRAIT_FROM_ROOT,
	TO_ROOT = REEL_TRAIT_TO_ROOT,
};

const struct reel_call_info reel_calls[REEL_CALL_MAX] = {
#define ROW(id, symbol, l, g, t)                                               \
	[id] = {symbol, REEL_LAYER_##l, REEL_GROUP_##g, t},
#define CALL(id, NAME, l, g, t, ret, fails, fn, ...) ROW(id, #fn, l, g, t)
#define BY_HAND(id, NAME, l, g, t, ret, fn, ...) ROW(id, #fn, l, g, t)
#define PART(id, NAME, l, g, t, name) ROW(id, name, l, g, t)
#define MARK(id, NAME, name) ROW(id, name, NONE, MARK, 0)
#include "schemas/calls.def"
};

unsigned int reel_call_traits(unsigned int id)
{
	return id < REEL_CALL_MAX ? reel_calls[id].traits : 0;
}

bool reel_call_takes_fd(unsigned int id)
{
	enum { fd = true, NOFD = false }; /* the column of calls.def */
	static const bool takes[REEL_CALL_MAX] = {
#define CALL(id, NAME, l, g, t, ret, fails, fn, params, args, fd, ...)         \
	[id] = fd,
#include "schemas/calls.def"
	};

	return id < REEL_CALL_MAX && takes[id];
}

const char *reel_layer_name(enum reel_layer layer)
{
	static const char *const name[REEL_LAYERS] = {
		[REEL_LAYER_NONE] = "none",   [REEL_LAYER_POSIX] = "POSIX",
		[REEL_LAYER_STDIO] = "STDIO", [REEL_LAYER_MMAP] = "MMAP",
		[REEL_LAYER_ASYNC] = "ASYNC", [REEL_LAYER_MPIIO] = "MPIIO",
		[REEL_LAYER_HDF5] = "HDF5",   [REEL_LAYER_NETCDF] = "NETCDF",
		[REEL_LAYER_OTHER] = "other",
	};

	return (unsigned int)layer < REEL_LAYERS ? name[layer] : "none";
}

const char *reel_group_name(enum reel_group group)
{
	static const char *const name[REEL_GROUPS] = {
		[REEL_GROUP_NONE] = "none",	  [REEL_GROUP_OPEN] = "open",
		[REEL_GROUP_CLOSE] = "close",	  [REEL_GROUP_DUP] = "dup",
		[REEL_GROUP_READ] = "read",	  [REEL_GROUP_WRITE] = "write",
		[REEL_GROUP_SEEK] = "seek",	  [REEL_GROUP_STAT] = "stat",
		[REEL_GROUP_META] = "meta",	  [REEL_GROUP_DIR] = "dir",
		[REEL_GROUP_SYNC] = "sync",	  [REEL_GROUP_MAP] = "map",
		[REEL_GROUP_MARK] = "mark",	  [REEL_GROUP_QUEUE] = "queue",
		[REEL_GROUP_PROCESS] = "process", [REEL_GROUP_OTHER] = "other",
	};

	return (unsigned int)group < REEL_GROUPS ? name[group] : "none";
}

enum reel_layer reel_layer_of_name(const char *name)
{
	for (int i = 0; i < REEL_LAYERS; i++)
		if (!strcmp(reel_layer_name((enum reel_layer)i), name))
			return (enum reel_layer)i;
	return REEL_LAYER_NONE;
}

enum reel_group reel_group_of_name(const char *name)
{
	for (int i = 0; i < REEL_GROUPS; i++)
		if (!strcmp(reel_group_name((enum reel_group)i), name))
			return (enum reel_group)i;
	return REEL_GROUP_NONE;
}

const char *reel_span_name(unsigned int span)
{
	static const char *const name[REEL_SPANS] = {[REEL_SPAN_USER] = "user",
#define NAME(SPAN, text) [REEL_SPAN_##SPAN] = text,
						     REEL_SPAN_NAMES(NAME)
#undef NAME
	};

	return span < REEL_SPANS ? name[span] : "user";
}

const char *reel_counter_name(unsigned int counter)
{
	static const char *const name[REEL_COUNTERS] = {
		[REEL_LOST_DISK] = "disk",
		[REEL_LOST_SIGNAL] = "signal",
		[REEL_LOST_WINDOW] = "window",
		[REEL_LOST_START] = "start",
		[REEL_LOST_LIMIT] = "limit",
		[REEL_CODE_OPENS] = "code_opens",
		[REEL_CODE_CALLS] = "code_calls",
		[REEL_CODE_READ_BYTES] = "code_read_bytes",
		[REEL_CODE_WRITE_BYTES] = "code_write_bytes",
		[REEL_FLUSHES] = "flushes",
		[REEL_UNTRACED_STATIC] = "untraced_static",
		[REEL_UNTRACED_SETUID] = "untraced_setuid",
		[REEL_UNTRACED_ENV] = "untraced_env",
		[REEL_UNTRACED_LIBC] = "untraced_libc",
		[REEL_UNTRACED_ABI] = "untraced_abi",
		[REEL_UNTRACED_RAW] = "untraced_raw",
		[REEL_UNTRACED_SECCOMP] = "untraced_seccomp",
		[REEL_UNTRACED_NAMESPACE] = "untraced_namespace",
		[REEL_UNTRACED_RECORDING] = "untraced_recording",
	};

	return counter < REEL_COUNTERS ? name[counter] : NULL;
}

const char *reel_counter_untraced(unsigned int counter)
{
	static const char *const words[REEL_COUNTERS] = {
		[REEL_LOST_START] = "that could not begin to record, or whose "
				    "logs are gone",
		[REEL_UNTRACED_STATIC] = "statically linked",
		[REEL_UNTRACED_SETUID] = "with other rights",
		[REEL_UNTRACED_ENV] = "started without LD_PRELOAD",
		[REEL_UNTRACED_LIBC] = "of another C library",
		[REEL_UNTRACED_ABI] = "for another machine",
		[REEL_UNTRACED_RAW] = "written in Go",
		[REEL_UNTRACED_SECCOMP] = "confined by seccomp, from there on",
		[REEL_UNTRACED_NAMESPACE] = "of libraries that dlmopen loaded",
		[REEL_UNTRACED_RECORDING] = "in a recording of their own",
	};

	return counter < REEL_COUNTERS ? words[counter] : NULL;
}
