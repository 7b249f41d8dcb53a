/* SPDX-License-Identifier: MIT */
/*
 * The state of the file system, inferred call by call: which files existed
 * before the job, how large they were, and which paths each call changed.
 */
#ifndef REPLAY_FSSTATE_FSSTATE_H
#define REPLAY_FSSTATE_FSSTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_ref;
struct inodes;
struct job;
struct listings;
struct plan_hole;
struct reel_error;
struct reel_event;

/* The effect of a call on a path. */
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
	 * A path appeared or vanished since the last call on it, by a call that
	 * is not recorded (bind(), another program) or has not ended yet.
	 */
	bool appeared, vanished;
	uint32_t changed_file; /* that path */
	bool dir;	       /* the path is a directory */
	/* A path for which calls that ended earlier saw this call's change. */
	uint32_t seen_early;
	uint32_t inode; /* of the call, or 0: inodes.h */
};

struct fsstate;

/* Borrows all for its life; updates @listings and @inodes with each event.
 * 0, or -1 with @err (REEL_E_MEMORY). */
int fsstate_new(struct fsstate **out, const struct job *job,
		struct listings *listings, struct inodes *inodes,
		struct reel_error *err);
void fsstate_free(struct fsstate *fs);

/* Apply @ev, which is @call, and fill *@out. Events come in the order of their
 * ends. 0, or -1 with @err. */
int fsstate_event(struct fsstate *fs, const struct reel_event *ev,
		  const struct call_ref *call, struct effects *out,
		  struct reel_error *err);

/* Did the job use @file other than by a probe (stat, access, unlink)? */
bool fsstate_is_used(const struct fsstate *fs, uint32_t file);

/* Did @file look like a directory and prove to be none, as a socket does? */
bool fsstate_not_dir(const struct fsstate *fs, uint32_t file);

/* The most bytes of disk that the job's writes took at one time. */
uint64_t fsstate_peak_disk_bytes(const struct fsstate *fs);

/*
 * After the last event: the offsets, sorted, of newlines that the job read in
 * the bytes that the write @ev wrote. Returns their number; *@at borrows the
 * first.
 */
size_t fsstate_written_lines(const struct fsstate *fs,
			     const struct reel_event *ev, const int64_t **at);

/* A path that exists before the replay. */
struct initial_file {
	const char *path; /* not NUL-terminated */
	size_t path_bytes;
	uint32_t file; /* its id, 0: the job's events name only entries of it */
	bool dir, link, fifo, denied, exec;
	bool dangling; /* a link to nothing, or to a file that no call used */
	bool loop;     /* a dangling link to itself */
	int64_t size_bytes;
	int64_t link_bytes;
	int64_t entries;     /* of a listed directory, -1: any number */
	const int64_t *line; /* offsets of newlines */
	uint32_t lines;
	uint32_t holes;
	const struct plan_hole *hole; /* parts that the job did not use */
};

/* Call @each for every initial file; a directory may come more than once.
 * 0, or -1 with @err, or -1 when @each returned that. */
int fsstate_initial_files(struct fsstate *fs,
			  int (*each)(void *arg, const struct initial_file *f,
				      struct reel_error *err),
			  void *arg, struct reel_error *err);

#endif
