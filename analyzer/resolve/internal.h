/* SPDX-License-Identifier: MIT */
/* Parts of the resolver: files, descriptors, spans. Only resolve*.c use it. */
#ifndef ANALYZER_RESOLVE_INTERNAL_H
#define ANALYZER_RESOLVE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/intmap.h"
#include "lib/path.h"

#include "analyzer/resolve/resolve.h"

#define NO_NS REEL_NO_OFFSET
#define POS_UNKNOWN (-1)
#define NO_STREAM (-2) /* desc.stream_pos: no stream was seen on it */

/* --- files: resolve_file.c ------------------------------------------------ */

struct file {
	uint64_t path_at; /* in the arena */
	uint32_t path_len;
	uint32_t hash;
	uint32_t body;	  /* what has that name now, an index into sizes */
	uint32_t next;	  /* in the list that begins at files.listed */
	int64_t size_max; /* largest seen, -1: never */
	uint8_t kind;	  /* enum reel_kind */
	uint8_t class_;	  /* enum reel_class */
	bool written;
	bool saved; /* by what saves a checkpoint */
	bool live;  /* it names what was written, as far as is known */
	bool listed;
	bool opened; /* some description was made of it */
};

/* Hashes of directories. */
struct dir_set {
	struct reel_idmap hash;
	bool all; /* there was no memory for those */
};

/*
 * The last time that the kernel was asked for a position or a size. A call of
 * another thread may be under way then: the answer may hold it already, or not
 * yet, whatever the order of the records.
 */
struct answer {
	uint32_t body;	  /* of a size: whose */
	int thread;	  /* that asked */
	int64_t asked_ns; /* not later than this, if nobody was held up, */
	int64_t late_ns;  /* or than this */
	int64_t before;	  /* what was known then; -1: just what was told */
	int64_t moved_ns; /* when a read or write last moved it */
};
#define ANSWERS 64

struct files {
	struct file *file; /* [id]; [0] is not used */
	uint32_t n;	   /* ids given out: 1 .. n */
	uint32_t room;
	char *arena; /* paths, each ended by NUL */
	uint64_t arena_len, arena_room;
	uint32_t *slot; /* open addressing: ids, 0 free */
	uint32_t slots; /* a power of two */
	uint64_t seed;
	uint32_t listed; /* first of the files that are or were live, 0: none */
	struct dir_set above;  /* the directories that they are below */
	struct dir_set places; /* that somebody worked in or had open at some
				  time, or something below */
	uint64_t steps,
		steps_paid; /* in following them, and what they may be */
	int64_t *size; /* [body]: bytes now, -1: not known; [0] is not used */
	uint32_t bodies, body_room;
	struct answer answer[ANSWERS]; /* of sizes, by body */
};

/* An empty table. 0, or -1 with @err (REEL_E_MEMORY). */
int files_init(struct files *f, struct reel_error *err);
void files_fini(struct files *f);
/* The id of @path, made when new; 0: no memory, with @err. */
uint32_t files_intern(struct files *f, const char *path, size_t len,
		      struct reel_error *err);
/* The same, or 0 when nothing has named it. */
uint32_t files_find(const struct files *f, const char *path, size_t len);
static inline const char *files_path(const struct files *f, uint32_t id)
{
	return f->arena + f->file[id].path_at;
}
void files_set_kind(struct files *f, uint32_t id, enum reel_kind kind);
void files_set_written(struct files *f, uint32_t id);
void files_set_saved(struct files *f, uint32_t id);
void files_set_opened(struct files *f, uint32_t id);
/* Somebody works in the directory @path. */
void files_note_place(struct files *f, const char *path, size_t len);
/* Has somebody, at some time, worked in @id or below, or had a directory there
 * open? Of most renames nobody has. */
bool files_is_place(const struct files *f, uint32_t id);
/* When all is read: what something lies in and was only looked at (stat) is a
 * directory. */
void files_find_dirs(struct files *f);

/*
 * A name and what stands behind it are two things: a rename moves a body to
 * another name, an unlink takes the name from it, and who has it open goes on.
 */

/* The name @id was removed. */
int files_unlinked(struct files *f, uint32_t id, struct reel_error *err);
/* @to names what @from named; @exchange: and the other way round. What was
 * written below a directory goes with it. */
int files_renamed(struct files *f, uint32_t from, uint32_t to, bool exchange,
		  struct reel_error *err);

/* Body @body, named @id, is @size bytes now. */
static inline void files_set_size(struct files *f, uint32_t id, uint32_t body,
				  int64_t size)
{
	f->size[body] = size;
	if (size > f->file[id].size_max)
		f->file[id].size_max = size;
}

/* Some byte of it below @end was read (@grow false) or written. */
static inline void files_reach(struct files *f, uint32_t id, uint32_t body,
			       int64_t end, bool grow)
{
	if (grow && f->size[body] >= 0 && end > f->size[body])
		f->size[body] = end;
	if (end > f->file[id].size_max)
		f->file[id].size_max = end;
}

/* What a rename of @from to @to makes of the name @path, that of the directory or
 * of what lies below, into @out: its length, or 0 when it is another's. */
size_t files_moved(const struct files *f, uint32_t from, uint32_t to,
		   const char *path, size_t len, char out[static PATH_ROOM]);

/* --- descriptors: resolve_desc.c ------------------------------------------ */

/* An open file description: what dup and fork share. */
struct opened {
	struct reel_open_row row;
	int32_t refs;	      /* descriptors that name it, closed ones too */
	int32_t live;	      /* those not closed */
	int64_t pos;	      /* of the next read or write, POS_UNKNOWN */
	struct answer answer; /* to who asked for it */
	uint32_t moves;	      /* of the position, but for those by streams */
	int64_t reach;	      /* where the farthest that is known of ended */
	uint32_t body;	      /* what was opened, whatever its name is now */
	uint32_t dir; /* file of that name: what is relative to it is below */
	bool append;
	bool shared; /* by two descriptors, at some time */
};

/* One life of a descriptor in one process. */
struct desc {
	uint32_t id; /* 0: free slot */
	int32_t fd;
	uint32_t open; /* index into opens */
	uint32_t maps; /* mappings made through it that are still there */
	bool closed;
	int64_t stream_pos; /* of the STDIO stream on it */
	uint32_t others;    /* its description's moves at that time */
};

#define RECENT 512 /* closed descriptors that late records may still name */

struct recent {
	uint32_t id;
	uint32_t open; /* as it was when that was closed: to fetch it early */
};

/* A process's descriptors: open addressing by id, and the way back by fd. */
struct descs {
	struct desc *slot;
	uint32_t slots, n;
	uint32_t *by_fd; /* desc id, 0: none */
	uint32_t fds;
	struct recent *recent; /* ring of closed ones */
	uint32_t recents;
};

/* All open file descriptions; [0] is not used. */
struct opens {
	struct opened *open;
	uint32_t n, room, free; /* free: list through row.file_id */
	uint32_t last_id;
};

struct process;

/* Descriptor @id, borrowed until the next is given; NULL: there is none. */
struct desc *descs_find(const struct descs *d, uint32_t id);
/* The one that was closed as number @k (of d->recents), if it is still there. */
const struct desc *descs_find_recent(const struct descs *d, uint32_t k);
/* Give descriptor @id, number @fd, the description @open. Borrowed result;
 * NULL with @err. What was open on @fd is closed. */
struct desc *descs_add(struct reel_resolver *r, struct descs *d, uint32_t id,
		       int32_t fd, uint32_t open, int64_t now_ns,
		       struct reel_error *err);
int descs_close(struct reel_resolver *r, struct descs *d, uint32_t id,
		int64_t now_ns, struct reel_error *err);
/* A mapping of @id came (@by 1) or went (-1): it must be findable till then. */
int descs_map(struct reel_resolver *r, struct descs *d, uint32_t id, int by,
	      struct reel_error *err);
/* Close the numbers @first to @last that are open. */
int descs_close_range(struct reel_resolver *r, struct descs *d, int64_t first,
		      int64_t last, int64_t now_ns, struct reel_error *err);
/* What a fork gives the child: the open ones below @first_desc. */
int descs_inherit(struct reel_resolver *r, struct descs *to,
		  const struct descs *from, uint32_t first_desc,
		  struct reel_error *err);
int descs_fini(struct reel_resolver *r, struct descs *d,
	       struct reel_error *err);

/* A new description; its index, 0 with @err. */
uint32_t opens_new(struct opens *o, const struct reel_open_row *row,
		   struct reel_error *err);
/* Keep description @i until opens_release(), though no descriptor names it. */
void opens_hold(struct opens *o, uint32_t i);
int opens_release(struct reel_resolver *r, uint32_t i, struct reel_error *err);

/* --- descriptors from before: resolve_handed.c ---------------------------- */

/*
 * A descriptor that an image was born with is told by a mark, at its first use,
 * by number and path: its id means nothing across exec. What such a mark
 * means is looked for among what the image was handed.
 */
struct handed {
	int32_t fd;
	uint32_t open; /* held */
};

#define HANDED_MAX 256 /* more are not followed */

struct handed_list {
	struct handed *item;
	uint32_t n;
};

/* @from goes on as @to, by exec or spawn, or forked it: copy what it has open
 * (@with_open) and what it was handed itself. */
int handed_take(struct reel_resolver *r, struct process *to,
		const struct process *from, bool with_open,
		struct reel_error *err);
int handed_add(struct reel_resolver *r, struct handed_list *h, int32_t fd,
	       uint32_t open, struct reel_error *err);
int handed_fini(struct reel_resolver *r, struct handed_list *h,
		struct reel_error *err);

/* A mark, as far as it tells which description it means. */
struct handed_mark {
	int32_t fd;
	uint32_t file;
	int64_t flags; /* -1: not known */
	int64_t pos;   /* POS_UNKNOWN */
};
/* The description that @m of process @p means, or 0. */
uint32_t handed_find(const struct reel_resolver *r, const struct process *p,
		     const struct handed_mark *m);

/* --- spans: resolve_span.c ------------------------------------------------ */

struct span {
	uint32_t id, parent;
	uint32_t kind;
	int64_t detail, start_ns;
	char *name; /* a user's, or NULL */
};

struct spans {
	struct span *span; /* innermost last */
	uint32_t n, room;
};

/* One with a size is told as a whole when it ends; it lies in no other. */
int spans_begin(struct reel_resolver *r, struct spans *s,
		const struct reel_record *rec, int64_t start_ns,
		struct reel_error *err);
/* End, or take back (@cancel), the innermost one that the mark names. */
int spans_end(struct reel_resolver *r, struct spans *s, int thread,
	      const struct reel_record *rec, int64_t now_ns, bool cancel,
	      struct reel_error *err);
/* End all that are open, as not closed. */
int spans_abandon(struct reel_resolver *r, struct spans *s, int thread,
		  int64_t now_ns, struct reel_error *err);
void spans_fini(struct spans *s);

/* --- call sites: resolve_site.c ------------------------------------------- */

struct sites {
	struct reel_idmap by_number; /* process and its number, to id[] */
	struct reel_idmap by_text;   /* hash of the frames, to id - 1 */
	uint32_t *id;
	uint32_t room;
};

/* The job's id of the site that mark @rec of @process names, into @site; a new
 * one goes to the sink. 0 or -1. */
int sites_mark(struct reel_resolver *r, uint32_t process,
	       const struct reel_record *rec, uint32_t *site,
	       struct reel_error *err);
void sites_fini(struct sites *s);

/* --- the resolver: resolve.c ---------------------------------------------- */

struct process {
	struct reel_resolve_process is;
	struct descs descs;
	struct handed_list handed;
	char *cwd; /* NULL: not known */
	size_t cwd_len;
	int at_work;  /* where it stands in the list, if its cwd is known */
	int children; /* that have not started */
	bool started, ended;
};

/* The interval whose counters a thread's records are: resolve_counted.c */
struct interval {
	int64_t begin_ns, end_ns;
	int64_t waits_ns; /* end of its fetches and declared computation */
	int64_t at_ns[REEL_SPANS]; /* of each phase; -1: nothing is there yet */
	bool wrapped; /* calls of no phase have gone on from the beginning */
};

struct thread {
	struct reel_resolve_thread is;
	struct spans spans;
	struct interval interval;
	uint32_t site; /* of its next event */
};

struct reel_resolver {
	struct process *process;
	int processes;
	int *at_work; /* processes whose cwd is known */
	int n_at_work;
	struct thread *thread;
	int threads;
	struct files files;
	struct opens opens;
	struct sites sites;
	struct handed_list outside; /* that the job was born with */
	int running;		    /* processes that have not ended */
	struct reel_resolve_sink sink;
	char *root;
	size_t root_len;
	uint32_t last_span;
};

/* One record on its way through. */
struct step {
	struct reel_resolver *r;
	struct process *p;
	const struct reel_record *rec;
	struct reel_event *ev;
	int64_t end_ns;
	int process; /* index */
	int thread;  /* index */
	struct reel_error *err;
};

static inline struct opened *open_of(const struct step *s, const struct desc *d)
{
	return &s->r->opens.open[d->open];
}

static inline struct file *file_of(const struct step *s, uint32_t id)
{
	return &s->r->files.file[id];
}

/* @p works in @path from now on; a relative or empty one: where is not known. */
int resolve_set_cwd(struct reel_resolver *r, struct process *p,
		    const char *path, size_t len, struct reel_error *err);

/* --- descriptors that calls make: resolve_open.c -------------------------- */

/* A file that never had a name, in @dir or (NULL) nowhere: one for each open. */
int resolve_temporary(struct step *s, const char *dir);
/* The step's new descriptor: a copy of @from, or what the call opened. */
int resolve_opened(struct step *s, struct desc *from);
/* The size that an open tells or makes. */
void resolve_opened_size(struct step *s);

/* --- marks: resolve_mark.c ------------------------------------------------ */

/* The record is a mark: follow it. 0, or -1 with the step's err. */
int resolve_mark(struct step *s);

/* --- intervals of counters: resolve_counted.c ----------------------------- */

/* The mark of an interval, or of the spans of a kind in it. */
int resolve_interval(struct step *s);
/* The time of a record's calls: as the interval has room for them. */
void resolve_counted_time(struct step *s);

/* --- positions: resolve_position.c ---------------------------------------- */

/* The step's call was told position @pos of @o, or size @size of @body. */
void resolve_told_pos(struct step *s, struct opened *o, int64_t pos);
void resolve_told_size(struct step *s, uint32_t file, uint32_t body,
		       int64_t size);

/* Where the read or write of @d (or NULL) happened. False: it tells nothing. */
bool resolve_transfer(struct step *s, struct desc *d);
/* A record of calls that were only counted: no offsets are known. */
void resolve_counted(struct step *s, struct desc *d);
/* offset becomes the position after; arg2 keeps what the program asked. */
void resolve_seek(struct step *s, struct desc *d);

#endif
