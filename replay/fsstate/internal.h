/* SPDX-License-Identifier: MIT */
/* Of history*.c, and nobody else's business. */
#ifndef REPLAY_FSSTATE_INTERNAL_H
#define REPLAY_FSSTATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/fsstate/fsstate.h"

struct inodes;
struct extents;
struct lines;
struct reel_error;
struct reel_event;

enum { UNKNOWN = 0, NO = 1, YES = 2 };

struct path {
	uint8_t before, now;
	bool changed; /* by the job: its size says nothing any more */
	bool made;    /* by the job, at some time */
	bool came;    /* by others, at some time of the job */
	bool guessed; /* made by an "open or create" that may have found it */
	bool dir, link, denied, exec, exact;
	bool was_dir; /* dir, as it was before the job changed it */
	bool is_dir;  /* it is one at last, says the store */
	bool handled; /* by a call that a socket would have refused, or so */
	bool fresh;   /* nothing that was there before is in it */
	bool intact;  /* it holds what its origin held, and nothing else */
	bool fifo;
	bool other;	 /* it was guessed to be a directory, and unlinked */
	bool looked;	 /* it was found, whatever it is */
	bool missed;	 /* at first nothing was found, nor behind a link */
	bool followed;	 /* and something behind it, if it is a link */
	bool dangling;	 /* a link, and there was nothing */
	bool loop;	 /* nothing but the link itself, and so on */
	bool holds;	 /* paths led through it */
	uint32_t target; /* where a link leads that the job made, or 0 */
	uint32_t origin; /* the name that its bytes had before, or 0 */
	struct extents *used; /* of what was there before */
	int64_t size;	      /* before; at least, or exactly */
	int64_t written;      /* highest byte that the job wrote */
	int64_t room;	      /* bytes of it that are on the disk for that */
	int64_t map_end;
	int64_t link_bytes;
	int64_t line_end;
	int64_t *line;
	uint32_t lines, line_room;
};

struct fsstate {
	const struct job *job;
	struct listings *listings;
	struct inodes *inodes;
	struct lines *lines; /* of what the job wrote */
	struct path *path;   /* by file id */
	int64_t *reached;    /* by open id: 1 + the position, 0: not known */
	struct effects *now; /* of the event at hand */
	bool nofollow;	     /* it is about a link itself */
	const struct call_ref *me;
	int64_t room, most_room; /* of all paths: now, and at most */
};

/* Below a directory that the job made itself, nothing was there before. */
bool fsstate_below_new(struct fsstate *h, const char *path, size_t n);

struct path *fsstate_path(struct fsstate *h, uint32_t file);

/* It is a directory, or is none, and was so unless the job changed that. */
void fsstate_dir(struct path *p, bool dir);
/* What can be written is none. Where paths led through it, it was a link. */
void fsstate_no_dir(struct path *p);

/* The call found it there, made it, or removed it. */
enum effect fsstate_exists(struct fsstate *h, uint32_t file);
enum effect fsstate_created(struct fsstate *h, uint32_t file);
enum effect fsstate_removed(struct fsstate *h, uint32_t file);
/* The call failed with @err, which may tell whether it was there. */
enum effect fsstate_failed(struct fsstate *h, uint32_t file, int err,
			   bool creating);

/* The call met @file, of which it was not known, or no more. */
static inline void fsstate_met(struct fsstate *h, uint32_t file, bool appeared,
			       bool vanished)
{
	h->now->appeared |= appeared;
	h->now->vanished |= vanished;
	if (appeared || vanished)
		h->now->met = file;
}

/* @n entries more, or fewer, in the directory of @file. */
void fsstate_count_entry(struct fsstate *h, uint32_t file, int n);
/* What the job's writes take on the disk, beyond what was there. */
void fsstate_take_room(struct fsstate *h, struct path *p, int64_t bytes);
/* What nobody has written was there: LMDB and the like open with O_CREAT. */
void fsstate_check_guess(struct fsstate *h, const struct reel_event *ev);

/* While the job has not touched it, what it reads was there. */
void fsstate_saw_size(struct fsstate *h, struct path *p, int64_t size,
		      bool exact);
/*
 * Where the call read or wrote. What the store does not know, because two
 * threads moved the position, is still the sum of what was moved.
 */
int64_t fsstate_offset(struct fsstate *h, const struct reel_event *ev);
/* What a call on an open file tells of it. */
void fsstate_on_descriptor(struct fsstate *h, const struct reel_event *ev,
			   struct reel_error *err);

/* A rename or a link, of which @out tells both effects. */
void fsstate_renamed(struct fsstate *h, const struct reel_event *ev,
		     struct effects *out);

#endif
