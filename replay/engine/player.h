/* SPDX-License-Identifier: MIT */
/*
 * One replayed process and its threads, as the engines see them.
 *
 * A slot is a number that a descriptor had in the job. The replay has the same
 * number behind it wherever it can: numbers that the job had in use for what
 * was not recorded are "parked" on /dev/null before an open, so that the open
 * gets the number it got. When it cannot, slot.fd is another number, and
 * everything works but the numbers in the trace.
 */
#ifndef REPLAY_ENGINE_PLAYER_H
#define REPLAY_ENGINE_PLAYER_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "replay/engine/confine.h"
#include "replay/engine/pacing.h"
#include "replay/engine/sandbox.h"
#include "replay/engine/shared_state.h"
#include "replay/model/plan.h"

enum replay_mode { REPLAY_THINK, REPLAY_TIMED, REPLAY_AFAP };

/* A call that starts this long after its time is late. */
#define REPLAY_LATE_NS 1000000

struct engine {
	const struct plan *plan;
	struct result result;
	struct sandbox sandbox;
	struct wait_clock clock;
	enum replay_mode mode;
	bool warm; /* nothing leaves the page cache: PLAN_F_FETCH */
	enum confinement confine; /* the one that has to be, or any */
	/* Descriptors of the engine, above all of the job. */
	int base;   /* the first; pipe i is at pipes + 2 i (read), + 1 */
	int null;   /* /dev/null */
	int empty;  /* the end of an empty pipe, nonblocking */
	int broken; /* the writing end of a pipe that nobody reads */
	int pipes;
	int spare; /* from here on: what outside.c keeps open */
};

struct slot {
	int fd;		 /* -1: closed, or never opened */
	uint32_t object; /* that was put behind it, PLAN_NONE: by a call */
	FILE *file;
	DIR *dir;
	uint32_t writer; /* 1 + the process whose bytes file may still hold */
};

/* What the numbers of a process are used for. */
enum number { NUMBER_FREE, NUMBER_PARKED, NUMBER_INHERITED, NUMBER_USED };

struct mapping {
	void *at;
	size_t len;
	int64_t offset;
	int fd; /* the slot it was made of */
	uint32_t open;
	int64_t touched; /* bytes from its start */
	int64_t ahead;	 /* of them: changed before it was told */
	struct mapping *next;
};

struct player_process {
	const struct engine *engine;
	uint32_t index;
	int64_t base_ns;   /* CLOCK_MONOTONIC of its start, as planned */
	struct slot *slot; /* plan.head.fds of them */
	uint8_t *number;   /* enum number, likewise */
	uint32_t floor;	   /* no number below is free */
	uint32_t lock;	   /* of number, slot, mapping */
	bool many_makers;  /* more than one thread makes descriptors */
	bool any_number;   /* numbers have been given up */
	uint32_t turns_lost;
	bool elsewhere; /* the working directory need not be the sandbox */
	int root_fd;	/* the sandbox, of beneath.h; -1: not needed */
	struct mapping *mapping;
};

/* How much of a read's memory is fresh: memory.c. */
struct share {
	int16_t now, step, seen;
	int64_t want_ns; /* the median of the job's, so far */
};

/* One thread. */
struct player {
	struct player_process *process;
	const struct engine *engine;
	const struct plan_stream *stream;
	struct result_stream *result;
	uint32_t index;	   /* of the stream */
	uint8_t *in, *out; /* where the next call reads to, writes from */
	uint8_t *in_pages, *in_map; /* memory.c */
	uint64_t in_map_bytes;
	uint8_t *out_pages; /* a buffer, REEL_PLACE_BYTES longer */
	size_t out_bytes;
	int64_t at_ns; /* where the plan's time stands */
	bool held;     /* the lock of the process, while it makes one */
	int spawned;   /* opened for a child of posix_spawn, or -1 */
	struct share fresh[64]; /* by power of two of the size */
	char path[PATH_MAX], path2[PATH_MAX];
};

/* A call, decoded. */
struct step {
	const struct plan_record *r;
	const struct plan_more *m; /* never NULL */
	int fd;			   /* the real one behind r->fd, or -1 */
	int to;			   /* of a copy: the one behind m->fd2 */
	struct slot *slot;	   /* of r->fd, NULL: none */
	const char *path;	   /* in the sandbox */
	const char *path2;	   /* NULL: none */
	const char *target;	   /* path2 as a symbolic link has to name it */
	int64_t size, offset;
	int64_t want;  /* the recorded result */
	int64_t moved; /* by earlier calls of the record */
	int flags;     /* more.arg, 0: none */
};

/* An argument that was not recorded is 0. */
static inline int64_t step_arg2(const struct step *s)
{
	return s->m->arg2 == PLAN_NO_OFFSET ? 0 : s->m->arg2;
}

static inline int64_t step_length(const struct step *s)
{
	return s->offset == PLAN_NO_OFFSET ? 0 : s->offset;
}

/* What a path starts from: it is relative where the job's led to nothing. */
static inline int step_dir(const struct step *s)
{
	return s->m->err == EBADF ? -1 : AT_FDCWD;
}

/* How a result is compared with the recorded one. */
enum verdict { VERDICT_EXACT, VERDICT_SUCCESS };

/* Issue a call: its result as recorded ones are, -1 with errno on failure. */
typedef int64_t player_call(struct player *p, const struct step *s);

/* An engine's one for a call, in its table as do_NAME. */
#define CALL_OF(name)                                                          \
	static int64_t do_##name(struct player *p, const struct step *s)

/* Of the call @op, or NULL: no engine can. */
player_call *engine_posix(uint16_t op);
player_call *engine_names(uint16_t op);
player_call *engine_stdio(uint16_t op);
player_call *engine_map(uint16_t op);
player_call *engine_copy(uint16_t op);

/* fcntl(), flock() and lockf() that lock: engine_lock.c. */
int64_t engine_lock(struct player *p, const struct step *s);

/*
 * Of a stream into a pipe or socket: may the call write what the buffer holds?
 * And is what it writes sure to stay in the buffer?
 */
bool engine_stdio_sends(const struct player *p, const struct step *s);
bool engine_stdio_keeps(const struct step *s);

/* What exit() does to the streams that the process wrote to, unrecorded. */
void engine_stdio_exit(struct player_process *q);

/* --- descriptors.c ------------------------------------------------------- */

/* The first process's: what the launcher left open counts as parked. */
int descriptors_init(struct player_process *p, struct reel_error *err);

/* The slot of the job's number @fd, NULL when it is none. */
struct slot *descriptors_slot(struct player_process *p, int32_t fd);

/* The number @fd is open for nothing of the job's: is it closed now? */
bool descriptors_absent(struct player_process *p, int32_t fd);

/*
 * Around a call that makes the descriptor @s->m->fd2: makes the next number be
 * that one, and notes what it became (@got; -1: the call failed). Where two
 * threads make descriptors they take turns; but an open that takes long does
 * not keep the others, who then may get other numbers.
 */
void descriptors_before(struct player *p, const struct step *s);
int64_t descriptors_after(struct player *p, const struct step *s, int got);

/*
 * Around a call that closes the job's @fd: no other thread may count on the
 * number between the call and our knowing of it. All leave errno alone.
 */
void descriptors_take_turn(struct player *p);
void descriptors_end_turn(struct player *p);
void descriptors_closed(struct player *p, int32_t fd);
/* The same for numbers of ours, [@first, @last]; keeps the turn. */
void descriptors_range_closed(struct player *p, uint32_t first, uint32_t last);

/*
 * In a child just forked: what it has of its parent gives way when the job had
 * another use for the number, as a thread of the parent may have come too soon.
 */
void descriptors_inherited(struct player_process *p);

/*
 * Put @object behind the job's @fd, a descriptor of @s. Into a stand-in that is
 * read once (PLAN_OBJECT_EOF) what @s reads is put.
 */
void descriptors_provide(struct player *p, const struct step *s, int32_t fd,
			 uint32_t object);

/* The engine's own descriptors; -1 with @err. */
int descriptors_open(struct engine *e, struct reel_error *err);

/* --- memory.c ------------------------------------------------------------ */

/* Memory to read into: @p->in, NULL when there is none. */
void memory_new(struct player *p);
/* Make the memory of a call be like the job's. */
void memory_before(struct player *p, const struct step *s, bool fills);
/* It was a read, which took @want_ns in the job. */
void memory_after_read(struct player *p, const struct step *s, int64_t start_ns,
		       int64_t end_ns, int64_t want_ns);

/* --- newlines.c ---------------------------------------------------------- */

/* Around a write of PLAN_F_LINES: its newlines come and go. */
void newlines_put(struct player *p, const struct step *s);
void newlines_take(struct player *p, const struct step *s);

/* The byte at @at of what the record writes. */
uint8_t newlines_byte(const struct player *p, const struct step *s, int64_t at);

/* --- outside.c ----------------------------------------------------------- */

/* Names of entries that stand for what no recorded call has touched. */
#define STAND_IN ".stand-in."

/* Do what PLAN_F_EXTERNAL says, before the call. */
void outside_before(struct player *p, const struct step *s);

/* PLAN_F_NAMED: @fd, which is open in the directory p->path, gets its name. */
void outside_name(struct player *p, const struct step *s, int fd);

/* --- messages between processes: engine_message.c ------------------------ */

/* Issue @call, a read or write of a pipe or socket, so that it cannot block. */
int64_t message_call(struct player *p, const struct step *s, player_call *call);

/*
 * The same for a write, or a copy, into @fd, with @object behind it; a copy may
 * be reading from another pipe meanwhile.
 */
int64_t message_write(struct player *p, const struct step *s, uint32_t object,
		      int fd, player_call *call);

/* Put the bytes that @s is to read into the pipe or socket @fd. */
void message_feed(struct player *p, const struct step *s, int fd);

/* --- engine.c, player.c -------------------------------------------------- */

/* In the thread that is to play it: before anything of the job happens. */
void player_begin(struct player *p);

/* Play the stream to its end. */
void player_run(struct player *p);

/* Fork the process @child of the plan, started at @at_ns by its plan. */
void engine_fork(struct player *p, uint32_t child, int64_t at_ns);

/* Wait for all other threads of the process: its main thread has ended. */
void engine_join(struct player *p);

#endif
