/* SPDX-License-Identifier: MIT */
/* Parts of the resolver: files, descriptors, spans. Only this room includes
 * it. */
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
#define NO_STREAM (-2) /* desc.stream_pos: it has no known stream */

/* --- files: names.c ------------------------------------------------ */

struct file {
	uint64_t path_at; /* in the arena */
	uint32_t path_len;
	uint32_t hash;
	uint32_t inode;	  /* that has this name now; an index into size[] */
	uint32_t next;	  /* in the list files.listed */
	int64_t size_max; /* largest seen, -1: never */
	uint8_t kind;	  /* enum reel_kind */
	uint8_t class_;	  /* enum reel_class */
	bool written;
	bool saved;   /* written while a checkpoint was saved */
	bool errors;  /* the standard error that the job began with */
	bool removed; /* its name was, at some time */
	bool live;    /* the name of an inode that the job wrote */
	bool listed;
	bool opened; /* the job opened it */
};

/* A set of directories, by the hashes of their paths. */
struct dir_set {
	struct reel_intmap hash;
	bool all; /* every directory: there was no memory for the hashes */
};

/*
 * The last position or size that the kernel reported. A call of another thread
 * may overlap the query: the value may include that call or not, whatever the
 * order of the records.
 */
struct answer {
	uint32_t inode;	  /* whose size it is; unused for a position */
	int thread;	  /* that asked */
	int64_t asked_ns; /* the latest time of the query, usually, */
	int64_t late_ns;  /* or if the thread lost the processor */
	int64_t before;	  /* the value known before; -1: the same */
	int64_t moved_ns; /* when a read or write last changed it */
};
#define ANSWERS 64

struct files {
	struct file *file; /* [id]; [0] is not used */
	uint32_t n;	   /* ids given out: 1 .. n */
	uint32_t room;
	char *arena; /* paths, each ended by NUL */
	uint64_t arena_len, arena_room;
	uint32_t *slot; /* hash table of ids, open addressing; 0: free */
	uint32_t slots; /* a power of two */
	uint64_t seed;
	uint32_t listed; /* first file of the list of live files; 0: none */
	struct dir_set
		above; /* directories that hold a live file, at any depth */
	struct dir_set used_dirs; /* with a process's working directory or an
				    open directory at or below them, once */
	uint64_t steps,
		steps_paid; /* work of following renames, and its budget */
	int64_t *size; /* [inode]: bytes now, -1: not known; [0] is not used */
	uint32_t inodes, inode_room;
	struct answer answer[ANSWERS]; /* of sizes, by inode */
};

/* An empty table. 0, or -1 with @err (REEL_E_MEMORY). */
int files_init(struct files *f, struct reel_error *err);
void files_fini(struct files *f);
/* The id of @path, made when new; 0: no memory, with @err. */
uint32_t files_intern(struct files *f, const char *path, size_t len,
		      struct reel_error *err);
/* The same, or 0 for a path that was never interned. */
uint32_t files_find(const struct files *f, const char *path, size_t len);
/* Prefetch what files_intern() of @path reads where the path is known. */
void files_soon(const struct files *f, const char *path, size_t len);
static inline const char *files_path(const struct files *f, uint32_t id)
{
	return f->arena + f->file[id].path_at;
}
void files_set_kind(struct files *f, uint32_t id, enum reel_kind kind);
void files_set_written(struct files *f, uint32_t id);
void files_set_saved(struct files *f, uint32_t id);
void files_set_errors(struct files *f, uint32_t id);
void files_set_was_opened(struct files *f, uint32_t id);
/* @path is the working directory of a process. */
void files_note_used_dir(struct files *f, const char *path, size_t len);
/* Was @id, or a directory below it, ever a working directory or open? Most
 * renames concern no such directory. */
bool files_is_used_dir(const struct files *f, uint32_t id);
/* After the last record: a path that holds another path is a directory, even if
 * the job only called stat() on it. */
void files_find_dirs(struct files *f);

/*
 * A name and its inode are two things: a rename moves the inode to another
 * name, an unlink removes the name, and open descriptions keep the inode.
 */

/* The name @id was removed. */
int files_unlinked(struct files *f, uint32_t id, struct reel_error *err);
/* @to gets the inode of @from; @exchange: and @from that of @to. Written files
 * below a renamed directory move with it. */
int files_renamed(struct files *f, uint32_t from, uint32_t to, bool exchange,
		  struct reel_error *err);

/* Inode @inode, named @id, is @size bytes long now. */
static inline void files_set_size(struct files *f, uint32_t id, uint32_t inode,
				  int64_t size)
{
	f->size[inode] = size;
	if (size > f->file[id].size_max)
		f->file[id].size_max = size;
}

/* Bytes up to @end were read (@grow false) or written. */
static inline void files_reach(struct files *f, uint32_t id, uint32_t inode,
			       int64_t end, bool grow)
{
	if (end > f->size[inode] && grow && f->size[inode] >= 0)
		f->size[inode] = end;
	if (end > f->file[id].size_max)
		f->file[id].size_max = end;
}

/* The name that @path has after the directory @from is renamed to @to, into
 * @out: its length, or 0 when @path is neither @from nor below it. */
size_t files_moved(const struct files *f, uint32_t from, uint32_t to,
		   const char *path, size_t len,
		   char out[static REEL_PATH_ROOM]);

/* --- descriptors: fdtable.c ------------------------------------------ */

/* An open file description (OFD): dup and fork share it. */
struct ofd {
	struct reel_open_row row;
	int32_t refs; /* descriptors that refer to it, closed ones too */
	int32_t live; /* those that are open */
	int64_t pos;  /* of the next read or write, POS_UNKNOWN */
	struct answer answer; /* the last reported position */
	uint32_t moves;	      /* changes of pos, without those by streams */
	int64_t reach;	      /* the highest known position */
	uint32_t inode;	      /* that was opened, whatever its name is now */
	uint32_t dir; /* file_id of its current name, for relative paths */
	bool append;
	bool shared; /* two descriptors were open on it at some time */
};

/* One life of a descriptor in one process. */
struct desc {
	uint32_t id; /* 0: free slot */
	int32_t fd;
	uint32_t open;	    /* index into ofds */
	uint32_t maps;	    /* mappings of it that still exist */
	int64_t stream_pos; /* of the STDIO stream on it */
	uint32_t others;    /* the OFD's moves at that time */
	bool closed;
};

/* Closed descriptors that late records may refer to: of a process, and of all
 * that run, 250 bytes each. */
#define RECENT_MOST 512u
#define RECENT_LEAST 16u
#define RECENT_TOGETHER (1u << 17)

struct recent {
	uint32_t id;
	uint32_t open; /* its OFD, for a prefetch */
};

/* A process's descriptors: a hash table by id, and an index by fd. */
struct descs {
	struct desc *slot;
	uint32_t slots, n;
	uint32_t *by_fd; /* desc id, 0: none */
	uint32_t fds;
	struct recent *recent; /* ring of closed ones */
	uint32_t recents, recent_room;
	uint32_t recent_most; /* length of the ring; 0: none closed yet */
	uint32_t recent_at;   /* place of the next one in it */
};

/* All open file descriptions; [0] is not used. */
struct ofds {
	struct ofd *ofd;
	uint32_t n, room, free; /* free: list through row.file_id */
	uint32_t last_id;
};

struct process;

/* The slot of @id, or the first one that is tried for it. */
static inline uint32_t descs_home(const struct descs *d, uint32_t id)
{
	return id * 2654435769u & (d->slots - 1);
}

/* Descriptor @id, borrowed until the next descs_add(); NULL: unknown. */
static inline struct desc *descs_find(const struct descs *d, uint32_t id)
{
	if (!d->slots || !id) /* 0 marks a free slot */
		return NULL;
	for (uint32_t i = descs_home(d, id);; i = (i + 1) & (d->slots - 1)) {
		if (d->slot[i].id == id)
			return &d->slot[i];
		if (!d->slot[i].id)
			return NULL;
	}
}

/* The @k-th closed descriptor (of d->recents), or NULL: forgotten. */
const struct desc *descs_find_recent(const struct descs *d, uint32_t k);
/* Descriptor @id, number @fd, refers to the OFD @open. A descriptor that is
 * still open on @fd is closed. Borrowed result; NULL with @err. */
struct desc *descs_add(struct reel_resolver *r, struct descs *d, uint32_t id,
		       int32_t fd, uint32_t open, int64_t now_ns,
		       struct reel_error *err);
int descs_close(struct reel_resolver *r, struct descs *d, uint32_t id,
		int64_t now_ns, struct reel_error *err);
/* A mapping of @id was made (@by 1) or removed (-1): it keeps @id findable. */
int descs_map(struct reel_resolver *r, struct descs *d, uint32_t id, int by,
	      struct reel_error *err);
/* Close the open descriptors @first to @last. */
int descs_close_range(struct reel_resolver *r, struct descs *d, int64_t first,
		      int64_t last, int64_t now_ns, struct reel_error *err);
/* A fork: copy the open descriptors with ids below @first_desc. */
int descs_inherit(struct reel_resolver *r, struct descs *to,
		  const struct descs *from, uint32_t first_desc,
		  struct reel_error *err);
int descs_fini(struct reel_resolver *r, struct descs *d,
	       struct reel_error *err);

/* A new OFD; its index, or 0 with @err. */
uint32_t ofds_new(struct ofds *o, const struct reel_open_row *row,
		  struct reel_error *err);
/* Keep OFD @i until ofds_release(), even without a descriptor. */
void ofds_hold(struct ofds *o, uint32_t i);
int ofds_release(struct reel_resolver *r, uint32_t i, struct reel_error *err);

/* --- descriptors across exec: inherited_fds.c ----------------------------- */

/*
 * A descriptor inherited across exec is announced by a DESC mark at its first
 * use, with number and path: ids do not survive an exec. The OFD of the mark is
 * searched among those that the image inherited.
 */
struct inherited_fd {
	int32_t fd;
	uint32_t open; /* held */
};

#define INHERITED_MAX 256 /* further ones are not tracked */

struct inherited_fds {
	struct inherited_fd *item;
	uint32_t n;
};

/* @to inherits from @from by exec, spawn or fork: copy the descriptors that
 * @from inherited itself and, @with_open, those that it has open. */
int inherited_take(struct reel_resolver *r, struct process *to,
		   const struct process *from, bool with_open,
		   struct reel_error *err);
int inherited_add(struct reel_resolver *r, struct inherited_fds *h, int32_t fd,
		  uint32_t open, struct reel_error *err);
int inherited_fini(struct reel_resolver *r, struct inherited_fds *h,
		   struct reel_error *err);

/* The fields of a DESC mark that identify an OFD. */
struct fd_mark {
	int32_t fd;
	uint32_t file;
	int64_t flags; /* -1: not known */
	int64_t pos;   /* POS_UNKNOWN */
};
/* The OFD that mark @m of process @p refers to, or 0. */
uint32_t inherited_find(const struct reel_resolver *r, const struct process *p,
			const struct fd_mark *m);

/* --- spans: spans.c ------------------------------------------------ */

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

/* A mark with a size describes a whole span at its end, without a parent. */
int spans_begin(struct reel_resolver *r, struct spans *s,
		const struct reel_record *rec, int64_t start_ns,
		struct reel_error *err);
/* End, or drop (@cancel), the innermost span that the mark names. */
int spans_end(struct reel_resolver *r, struct spans *s, int thread,
	      const struct reel_record *rec, int64_t now_ns, bool cancel,
	      struct reel_error *err);
/* The thread ended: end its open spans, as not closed. */
int spans_end_all(struct reel_resolver *r, struct spans *s, int thread,
		  int64_t now_ns, struct reel_error *err);
void spans_fini(struct spans *s);

/* --- call sites: callsites.c ------------------------------------------- */

struct sites {
	struct reel_intmap by_number; /* process and its number, to id[] */
	struct reel_intmap by_text;   /* hash of the frames, to id - 1 */
	uint32_t *id;
	uint32_t room;
};

/* The job's id of the call site of mark @rec of @process, into @site; a new
 * site goes to the sink. 0 or -1. */
int sites_mark(struct reel_resolver *r, uint32_t process,
	       const struct reel_record *rec, uint32_t *site,
	       struct reel_error *err);
void sites_fini(struct sites *s);

/* --- the resolver: resolve.c ---------------------------------------------- */

struct process {
	struct reel_resolve_process is;
	struct descs descs;
	struct inherited_fds inherited;
	char *cwd; /* NULL: not known */
	size_t cwd_len;
	int with_cwd; /* its position in the list, if its cwd is known */
	int children; /* that will inherit and have not started */
	bool started, ended;
};

/* The interval that a thread's counters are sums over: counted.c */
struct interval {
	int64_t begin_ns, end_ns;
	int64_t waits_ns; /* end of the fetches and computation placed so far */
	int64_t at_ns
		[REEL_SPANS]; /* end of the calls placed in each phase; -1 */
	bool wrapped; /* calls of no phase continue at the interval's start */
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
	int *with_cwd; /* processes whose cwd is known */
	int with_cwds;
	struct thread *thread;
	int threads;
	uint32_t process_room, with_cwd_room, thread_room;
	struct files files;
	struct ofds ofds;
	struct sites sites;
	struct inherited_fds initial_fds; /* of the job's first process */
	int running;			  /* processes that have not ended */
	struct reel_resolve_sink sink;
	char *root;
	size_t root_len;
	uint32_t last_span;
};

/* One record while it is resolved. */
struct resolve_step {
	struct reel_resolver *r;
	struct process *p;
	const struct reel_record *rec;
	struct reel_event *ev;
	int64_t end_ns;
	int process; /* index */
	int thread;  /* index */
	struct reel_error *err;
};

static inline struct ofd *ofd_of(const struct resolve_step *s,
				 const struct desc *d)
{
	return &s->r->ofds.ofd[d->open];
}

static inline struct file *file_of(const struct resolve_step *s, uint32_t id)
{
	return &s->r->files.file[id];
}

/* The working directory of @p is @path now; relative or empty: unknown. */
int resolve_set_cwd(struct reel_resolver *r, struct process *p,
		    const char *path, size_t len, struct reel_error *err);

/* --- new descriptors: open.c ---------------------------------------------- */

/* An unnamed file in @dir (NULL: not known where): a new one for each open. */
int resolve_temporary(struct resolve_step *s, const char *dir);
/* The step's new descriptor: a duplicate of @from, or a new OFD. */
int resolve_new_desc(struct resolve_step *s, struct desc *from);
/* The file size that an open reports or sets. */
void resolve_open_size(struct resolve_step *s);

/* --- marks: marks.c ------------------------------------------------ */

/* Apply the record, which is a mark. 0, or -1 with the step's err. */
int resolve_mark(struct resolve_step *s);

/* --- intervals of counters: counted.c ------------------------------------- */

/* The mark that begins an interval, or the spans of one kind in it. */
int resolve_interval(struct resolve_step *s);
/* Place the calls of a counted record in the interval. */
void resolve_counted_time(struct resolve_step *s);

/* --- events: event.c ------------------------------------------------------ */

/* The rest of resolve_find_desc(): a descriptor that the parent made late. */
struct desc *resolve_late_desc(struct resolve_step *s, uint32_t id);

/* Descriptor @id of the process, or NULL (with s->err: no memory). */
static inline struct desc *resolve_find_desc(struct resolve_step *s,
					     uint32_t id)
{
	struct desc *d = descs_find(&s->p->descs, id);

	return d ? d : resolve_late_desc(s, id);
}
/* The kernel reported position @pos of @o, or size @size of @inode. */
void resolve_observed_pos(struct resolve_step *s, struct ofd *o, int64_t pos);
void resolve_observed_size(struct resolve_step *s, uint32_t file,
			   uint32_t inode, int64_t size);

/* --- names and effects: effects.c ----------------------------------------- */

/* The files of the paths of the record. 0 or -1. */
int resolve_names(struct resolve_step *s);
/* Calls that report or change a property of their file, or of @d (NULL: none). */
int resolve_side_effects(struct resolve_step *s, struct desc *d);

#endif
