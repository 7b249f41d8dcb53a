/* SPDX-License-Identifier: MIT */
/*
 * A job of some files and open file descriptions, and what is inferred of the file
 * system before it: a file too few and the replay fails, a file too many and a call
 * succeeds that failed in the job.
 */
#ifndef TESTS_UNIT_TEST_FSSTATE_H
#define TESTS_UNIT_TEST_FSSTATE_H

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "replay/fsstate/dir_listings.h"
#include "replay/fsstate/fsstate.h"
#include "replay/fsstate/inodes.h"
#include "replay/model/plan.h"
#include "tests/lib/replay_job.h"
#include "tests/lib/tap.h"

#define MIB (1 << 20)

static struct listings *listings;
static struct inodes inodes;
static struct fsstate *fsstate;
static struct effects effects; /* of the last event */

static uint32_t top, dir, sub, sub2, below, file, file2, ofd, ofd2, ofd_dir,
	ofd_again;

static inline void begin(void)
{
	job_begin();
	job_add_process(2, JOB_NONE, 0);
	top = job_add_file("/d");
	dir = job_add_file("/d/dir");
	sub = job_add_file("/d/dir/sub");
	below = job_add_file("/d/dir/sub/below");
	sub2 = job_add_file("/d/dir/sub2");
	file = job_add_file("/d/file");
	file2 = job_add_file("/d/file2");
	ofd = job_add_open(file, O_RDWR);
	ofd2 = job_add_open(file2, O_RDWR);
	ofd_dir = job_add_open(dir, O_RDONLY);
	ofd_again = job_add_open(file, O_RDWR);
	job_ready();
	if (listings_new(&listings, &job, &annotations, &err) ||
	    inodes_init(&inodes, &job, &err) ||
	    fsstate_new(&fsstate, &job, listings, &inodes, &err))
		abort();
}

static inline void end(void)
{
	fsstate_free(fsstate);
	inodes_fini(&inodes);
	listings_free(listings);
	job_end();
}

static inline void play(struct reel_event ev)
{
	struct call_ref call = next_call(0, &ev);

	if (fsstate_event(fsstate, &ev, &call, &effects, &err))
		abort();
}

/* The initial state of a path, as text: "-", or kind, size and the rest. */
struct wanted {
	const char *path;
	char got[128];
};

static inline int note_initial(void *arg, const struct initial_file *f,
			       struct reel_error *e)
{
	struct wanted *w = arg;
	size_t n = strlen(w->path);

	(void)e;
	if (f->path_bytes != n || memcmp(f->path, w->path, n))
		return 0;
	n = 0;
	if (f->link)
		n += (size_t)snprintf(w->got, sizeof(w->got),
				      "link of %lld to ",
				      (long long)f->link_bytes);
	n += (size_t)snprintf(w->got + n, sizeof(w->got) - n, "%s %lld%s%s",
			      f->loop	    ? "itself"
			      : f->dangling ? "nothing"
			      : f->dir	    ? "dir"
			      : f->fifo	    ? "fifo"
					    : "file",
			      (long long)f->size_bytes,
			      f->denied ? " denied" : "",
			      f->exec ? " exec" : "");
	if (f->entries >= 0)
		n += (size_t)snprintf(w->got + n, sizeof(w->got) - n, " of %d",
				      (int)f->entries);
	for (uint32_t i = 0; i < f->lines; i++)
		n += (size_t)snprintf(w->got + n, sizeof(w->got) - n,
				      " line %d", (int)f->line[i]);
	for (uint32_t i = 0; i < f->holes; i++)
		n += (size_t)snprintf(
			w->got + n, sizeof(w->got) - n, " hole %lld+%lld",
			(long long)f->hole[i].at, (long long)f->hole[i].bytes);
	return 0;
}

static inline void initial(const char *path, const char *want,
			   const char *title)
{
	struct wanted w = {.path = path, .got = "-"};

	if (fsstate_initial_files(fsstate, note_initial, &w, &err))
		abort();
	if (!ok(!strcmp(w.got, want), "%s", title))
		printf("# got '%s', want '%s'\n", w.got, want);
}

#define READ(open, fd, offset, asked, result)                                  \
	io_event(REEL_CALL_READ, open, fd, offset, asked, result)
#define WRITE(open, fd, offset, bytes)                                         \
	io_event(REEL_CALL_WRITE, open, fd, offset, bytes, bytes)

#endif
