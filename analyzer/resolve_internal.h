/* SPDX-License-Identifier: MIT */
/* Parts of the resolver: files, descriptors, spans. Only resolve*.c use it. */
#ifndef ANALYZER_RESOLVE_INTERNAL_H
#define ANALYZER_RESOLVE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/resolve.h"

#define NO_NS REEL_NO_OFFSET
#define POS_UNKNOWN (-1)
#define NO_STREAM (-2) /* desc.stream_pos: no stream was seen on it */

/* --- files: resolve_file.c ------------------------------------------------ */

struct file {
	uint64_t path_at; /* in the arena */
	uint32_t path_len;
	uint32_t hash;
	int64_t size;     /* now, -1: not known */
	int64_t size_max; /* largest seen, -1: never */
	uint8_t kind;     /* enum reel_kind */
	uint8_t class_;   /* enum reel_class */
	bool written;
};

struct files {
	struct file *file; /* [id]; [0] is not used */
	uint32_t n;        /* ids given out: 1 .. n */
	uint32_t room;
	char *arena;       /* paths, each ended by NUL */
	uint64_t arena_len, arena_room;
	uint32_t *slot;    /* open addressing: ids, 0 free */
	uint32_t slots;    /* a power of two */
	uint64_t seed;
};

int files_init(struct files *f, struct reel_error *err);
void files_fini(struct files *f);
/* The id of @path, made when new; 0: no memory, with @err. */
uint32_t files_intern(struct files *f, const char *path, size_t len,
		      struct reel_error *err);
static inline const char *files_path(const struct files *f, uint32_t id)
{
	return f->arena + f->file[id].path_at;
}
void files_set_kind(struct files *f, uint32_t id, enum reel_kind kind);
void files_set_written(struct files *f, uint32_t id);

/* The file is @size bytes now. */
static inline void files_set_size(struct file *f, int64_t size)
{
	f->size = size;
	if (size > f->size_max)
		f->size_max = size;
}

/* Some byte below @end was read (@grow false) or written. */
static inline void files_reach(struct file *f, int64_t end, bool grow)
{
	if (grow && f->size >= 0 && end > f->size)
		f->size = end;
	if (end > f->size_max)
		f->size_max = end;
}

/*
 * @path, relative to @base unless absolute, without ".", "..", "//" and
 * without @root in front, into @out. @base NULL: not known, @path stays
 * relative. Returns its length; 0 when it is empty or does not fit.
 */
#define PATH_ROOM (2 * REEL_PATH_BYTES + 2)
size_t path_resolve(char out[static PATH_ROOM], const char *base,
		    size_t base_len, const char *path, size_t len,
		    const char *root, size_t root_len);

/* --- descriptors: resolve_desc.c ------------------------------------------ */

/* An open file description: what dup and fork share. */
struct opened {
	struct reel_open_row row;
	int32_t refs; /* descriptors that name it, closed ones too */
	int32_t live; /* those not closed */
	int64_t pos;  /* of the next read or write, POS_UNKNOWN */
	bool append;
};

/* One life of a descriptor in one process. */
struct desc {
	uint32_t id;   /* 0: free slot */
	int32_t fd;
	uint32_t open; /* index into opens */
	uint32_t maps; /* mappings made through it that are still there */
	bool closed;
	int64_t stream_pos; /* of the STDIO stream on it */
};

#define RECENT 512 /* closed descriptors that late records may still name */

/* A process's descriptors: open addressing by id, and the way back by fd. */
struct descs {
	struct desc *slot;
	uint32_t slots, n;
	uint32_t *by_fd; /* desc id, 0: none */
	uint32_t fds;
	uint32_t *recent; /* ring of closed ids */
	uint32_t recents;
};

/* All open file descriptions; [0] is not used. */
struct opens {
	struct opened *open;
	uint32_t n, room, free; /* free: list through row.file_id */
	uint32_t last_id;
};

struct desc *descs_find(const struct descs *d, uint32_t id);
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

/* --- spans: resolve_span.c ------------------------------------------------ */

struct span {
	uint32_t id, parent;
	uint32_t kind;
	bool is_parent;
	int64_t detail, start_ns;
	char *name; /* a user's, or NULL */
};

struct spans {
	struct span *span; /* innermost last */
	uint32_t n, room;
};

int spans_begin(struct reel_resolver *r, struct spans *s,
		const struct reel_record *rec, int64_t now_ns,
		struct reel_error *err);
/* End, or take back (@cancel), the innermost one that the mark names. */
int spans_end(struct reel_resolver *r, struct spans *s, int thread,
	      const struct reel_record *rec, int64_t now_ns, bool cancel,
	      struct reel_error *err);
/* End all that are open, as not closed. */
int spans_abandon(struct reel_resolver *r, struct spans *s, int thread,
		  int64_t now_ns, struct reel_error *err);
void spans_fini(struct spans *s);

/* --- the resolver: resolve.c ---------------------------------------------- */

struct process {
	struct reel_resolve_process is;
	struct descs descs;
	char *cwd; /* NULL: not known */
	size_t cwd_len;
	int children; /* that have not started */
	bool started, ended;
};

struct thread {
	struct reel_resolve_thread is;
	struct spans spans;
};

struct reel_resolver {
	struct process *process;
	int processes;
	struct thread *thread;
	int threads;
	struct files files;
	struct opens opens;
	struct reel_resolve_sink sink;
	char *root;
	size_t root_len;
	uint32_t last_span;
	bool dangling;
};

#endif
