/* SPDX-License-Identifier: MIT */
/*
 * What became of every path of the job, call by call: which files were there
 * before it, how large, and what each call did to the name space.
 */
#ifndef REPLAY_FSSTATE_FSSTATE_H
#define REPLAY_FSSTATE_FSSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inodes;
struct job;
struct listings;
struct plan_hole;
struct reel_error;
struct reel_event;
struct call_ref;

/* What a call did to a path. */
enum effect {
	EFFECT_NONE = 0, /* no path, or a descriptor only */
	EFFECT_USE,
	EFFECT_CREATE,
	EFFECT_REMOVE,
	EFFECT_TRUNCATE,
};

struct effects {
	enum effect file, file2;
	/*
	 * Somebody whose calls are not recorded (bind(), another program) has
	 * made or removed the file since the job last saw it.
	 */
	bool appeared, vanished;
	uint32_t met;	  /* which file */
	uint32_t late;	  /* a file that others had met as this call left it */
	bool dir;	  /* what appeared is a directory */
	uint32_t content; /* that the call is on, or 0: contents.h */
};

struct fsstate;

/* Borrows all for its life, and tells the others what comes and goes. */
int fsstate_new(struct fsstate **out, const struct job *job,
		struct listings *listings, struct inodes *inodes,
		struct reel_error *err);
void fsstate_free(struct fsstate *h);

/* Events, @me is its call, come in the order of their end. 0, or -1. */
int fsstate_event(struct fsstate *h, const struct reel_event *ev,
		  const struct call_ref *me, struct effects *out,
		  struct reel_error *err);

/* Whether the job did more to @file than look at it and remove it. */
bool fsstate_used(const struct fsstate *h, uint32_t file);

/* Whether @file looked like a directory and was none: a socket, or so. */
bool fsstate_not_dir(const struct fsstate *h, uint32_t file);

/* Bytes that the job's writes took on the disk, at most at one time. */
uint64_t fsstate_room(const struct fsstate *h);

/*
 * After the last event: where the job's lines end, sorted, in what the write
 * @ev wrote. Their number, and *@at borrows the first.
 */
size_t fsstate_lines(const struct fsstate *h, const struct reel_event *ev,
		     const int64_t **at);

/* A path that has to be made before the replay. */
struct initial_file {
	const char *path; /* not ended by NUL */
	size_t path_bytes;
	uint32_t file; /* its id, 0: the job's events name only what is in it */
	bool dir, link, fifo, denied, exec;
	bool dangling; /* a link to nothing, or nobody looked behind it */
	bool loop;     /* a link that leads back to itself: dangling */
	int64_t size_bytes;
	int64_t link_bytes;
	int64_t entries;     /* of a listed directory, -1: any number */
	const int64_t *line; /* offsets of newlines */
	uint32_t lines;
	uint32_t holes;
	const struct plan_hole *hole; /* the job used nothing there */
};

/* Call @each for every one of them; a directory may come more than once. */
int fsstate_initial_files(struct fsstate *h,
			  int (*each)(void *arg, const struct initial_file *b,
				      struct reel_error *err),
			  void *arg, struct reel_error *err);

#endif
