/* SPDX-License-Identifier: MIT */
/*
 * The resolver without a trace: records made by hand, one after the other, 10
 * ns each; ev is the event of the last one. A test creates r itself.
 */
#ifndef TESTS_UNIT_TEST_RESOLVE_H
#define TESTS_UNIT_TEST_RESOLVE_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/resolve/resolve.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "tests/lib/tap.h"

static struct reel_error err;
static struct reel_resolver *r;
static struct reel_event ev;
static int64_t now = 1000;

/* A record that began at @start. */
static int give_from(int64_t start, int thread, struct reel_record *rec)
{
	if (!rec->count)
		rec->count = 1;
	if (rec->path)
		rec->path_len = (uint32_t)strlen(rec->path);
	if (rec->path2)
		rec->path2_len = (uint32_t)strlen(rec->path2);
	now += 10;
	return reel_resolve(r, thread, rec, start, now, &ev, &err);
}

static int give(int thread, struct reel_record *rec)
{
	return give_from(now, thread, rec);
}

#define RECORD(thread, call_, ...)                                             \
	give(thread,                                                           \
	     &(struct reel_record){.call = REEL_CALL_##call_, __VA_ARGS__})
#define OPEN_(thread, name, id, fd_, flags)                                    \
	RECORD(thread, OPEN, .path = name, .newdesc = id, .newfd = fd_,        \
	       .result = fd_, .has_arg = true, .arg = flags)
#define WRITE_(thread, id, n)                                                  \
	RECORD(thread, WRITE, .desc = id, .has_size = true, .size = n,         \
	       .result = n)

#endif
