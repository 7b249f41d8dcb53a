/* SPDX-License-Identifier: MIT */
/*
 * State of fsstate.c and the files beside it: paths.c knows which paths exist,
 * data.c the sizes and bytes of files, renames.c renames and links,
 * initial_files.c the result.
 */
#ifndef REPLAY_FSSTATE_INTERNAL_H
#define REPLAY_FSSTATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/fsstate/fsstate.h"
#include "replay/model/plan.h"

struct inodes;
struct job;
struct extents; /* the used parts of one file; NULL: none */
struct lines;
struct reel_error;
struct reel_event;

/* Whether a path exists. */
enum presence { UNKNOWN = 0, ABSENT, PRESENT };

struct path_state {
	uint8_t before, now; /* enum presence: before the job, and now */
	bool changed;	 /* by the job: its size no longer tells the initial */
	bool created;	 /* by the job, at some time */
	bool appeared;	 /* by no recorded call, at some time of the job */
	bool o_creat;	 /* created by an O_CREAT that may have found it */
	bool dir;	 /* it is a directory */
	bool was_dir;	 /* the same before the job changed it */
	bool is_dir;	 /* it is one at last, says the store */
	bool link, fifo; /* before the job */
	bool denied;	 /* a call got EACCES or EPERM */
	bool exec;	 /* access() found it executable */
	bool exact;	 /* size is exact, not a lower bound */
	bool used;	 /* by a call that fails on a socket: not a probe */
	bool fresh;	 /* no initial byte of this path is left in it */
	bool intact;	 /* it holds the bytes of its origin, unchanged */
	bool not_dir;	 /* taken for a directory, then unlinked as a file */
	bool found;	 /* by a call, as anything */
	bool missed;	 /* the first call, which follows links, got ENOENT */
	bool followed;	 /* found by a call that follows links */
	bool dangling;	 /* a link to nothing */
	bool loop;	 /* a link to itself */
	bool traversed;	 /* longer paths led through it */
	uint32_t target; /* of a link that the job made, or 0 */
	uint32_t origin; /* the initial path of the bytes in it, or 0 */
	struct extents *extents; /* parts of the initial bytes that were used */
	int64_t size;		 /* before the job */
	int64_t written;    /* end of the highest byte that the job wrote */
	int64_t disk_bytes; /* that the job's writes added */
	int64_t map_end;    /* of the furthest mapping */
	int64_t link_bytes;
	int64_t line_end; /* of the last line known */
	int64_t *line;	  /* offsets of newlines in the initial bytes */
	uint32_t lines, line_room;
};

struct fsstate {
	const struct job *job;
	struct listings *listings;
	struct inodes *inodes;
	struct lines *lines;	 /* that the job wrote */
	struct path_state *path; /* by file id */
	int64_t *position;	 /* by open id: 1 + the position, 0: unknown */
	int64_t disk_bytes, peak_disk_bytes; /* of all paths */
	/* The current event: */
	struct effects *effects;
	const struct call_ref *call;
	bool nofollow; /* it is about a link itself */
};

/* Is the path below a directory that did not exist before the job? */
bool fsstate_below_new(struct fsstate *fs, const char *path, size_t n);

struct path_state *fsstate_path(struct fsstate *fs, uint32_t file);

/* The path is a directory, or not; it was before the job too, unless the job
 * changed it. */
void fsstate_set_dir(struct path_state *p, bool dir);
/* It is no directory. If longer paths led through it, it was a link. */
void fsstate_set_not_dir(struct path_state *p);

/* The call found the path, created it, or removed it. */
enum effect fsstate_found(struct fsstate *fs, uint32_t file);
enum effect fsstate_created(struct fsstate *fs, uint32_t file);
enum effect fsstate_removed(struct fsstate *fs, uint32_t file);
/* The call failed with @error, which may prove that the path exists or not.
 * @creating: ENOENT is not about the path itself. */
enum effect fsstate_failed(struct fsstate *fs, uint32_t file, int error,
			   bool creating);

/* The call shows that @file appeared or vanished by no recorded call. */
static inline void fsstate_external_change(struct fsstate *fs, uint32_t file,
					   bool appeared, bool vanished)
{
	fs->effects->appeared |= appeared;
	fs->effects->vanished |= vanished;
	if (appeared || vanished)
		fs->effects->changed_file = file;
}

/* The directory of @file has @n entries more. */
void fsstate_count_entry(struct fsstate *fs, uint32_t file, int n);
/* The job's writes take @bytes more of the disk. */
void fsstate_add_disk_bytes(struct fsstate *fs, struct path_state *p,
			    int64_t bytes);
/* Bytes behind all that the job wrote prove that its O_CREAT found the file:
 * LMDB and others open existing files that way. */
void fsstate_check_o_creat(struct fsstate *fs, const struct reel_event *ev);

/* A call found this size: the initial one, as long as the job has not changed
 * the file. @exact: else a lower bound. */
void fsstate_found_size(struct fsstate *fs, struct path_state *p, int64_t size,
			bool exact);
/*
 * The offset of a read or write. Where the store does not know it, because two
 * threads moved the position, it follows from the sum of the bytes moved.
 */
int64_t fsstate_offset(struct fsstate *fs, const struct reel_event *ev);
/* A call on an open file description. */
void fsstate_fd_call(struct fsstate *fs, const struct reel_event *ev,
		     struct reel_error *err);

/* A rename or a link: fills both effects of @out. */
void fsstate_rename(struct fsstate *fs, const struct reel_event *ev,
		    struct effects *out);

/*
 * Line ends that the job read with fgets() or getline() in bytes that it had
 * written itself: the writes of the replay must put newlines there.
 *
 * A file has a new generation of bytes when it is created or truncated, and a
 * rename moves the generation with the file. A status file that is rewritten
 * again and again has other lines each time.
 */

/* Borrows @job for its life. Gives *@out for lines_free(). 0, or -1. */
int lines_new(struct lines **out, const struct job *job,
	      struct reel_error *err);
void lines_free(struct lines *l);

/* The bytes of @file are a new generation. */
void lines_new_generation(struct lines *l, uint32_t file);

/* @to gets the generation of @file, and @file a new one unless it is a @link.
 */
void lines_rename(struct lines *l, uint32_t file, uint32_t to, bool link);

/* Is @ev on the generation that the file had before the job? */
bool lines_is_initial(const struct lines *l, const struct reel_event *ev);

/*
 * Note the lines that @ev read, if the job @changed the file. Events come in
 * the order of their ends, after lines_new_generation() and lines_rename() for
 * them. 0, or -1 with @err.
 */
int lines_event(struct lines *l, const struct reel_event *ev, bool changed,
		struct reel_error *err);

/*
 * After the last event: the newlines, sorted, in [@from, @to) of the generation
 * that @open wrote to. Returns their number; *@at borrows the first.
 */
size_t lines_in_range(struct lines *l, uint32_t open, int64_t from, int64_t to,
		      const int64_t **at);

/*
 * The parts of a file that a job used: the rest of a large file is a hole in
 * the replay.
 */

/* Note the parts that @ev, a call on a descriptor of the file, uses. 0, or -1
 * with @err. */
int extents_event(struct extents **e, const struct reel_event *ev,
		  struct reel_error *err);

/*
 * The holes of a file of @size_bytes, sorted and disjoint. Gives *@out for
 * free(); their number in *@n. 0, or -1 with @err.
 */
int extents_holes(const struct extents *e, int64_t size_bytes,
		  struct plan_hole **out, uint32_t *n, struct reel_error *err);

void extents_free(struct extents *e);

#endif
