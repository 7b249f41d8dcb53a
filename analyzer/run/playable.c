/* SPDX-License-Identifier: MIT */
/*
 * Descriptors for the events of an import, in two passes.
 *
 * The first follows opens and closes by the numbers of the format, or by files where
 * it has no numbers, and makes a descriptor for each file of a process that is used
 * without one; the second copies the store with them. A descriptor of that kind is
 * opened at its first use and closed after its last; as nothing is known of its
 * position, its reads and writes become pread and pwrite. Where the format lacks
 * offsets, they continue one after the other, from 0 again at the end of a file that
 * the job wrote.
 */
#include "analyzer/run/playable.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/num.h"
#include "lib/store/event_op.h"
#include "lib/store/store.h"

#include "analyzer/join/join.h"

#define FDS_MOST 100000

struct desc {
	uint32_t process, file, thread; /* thread: of the first use */
	int32_t fd;			/* -1: to be chosen */
	int64_t first_ns, last_ns;
	bool made; /* no open of the format gave it */
	bool reads, writes;
	/* In the second pass. */
	int64_t at; /* the next offset, where the format has none */
	bool again; /* it began at 0 again */
};

struct table {
	struct reel_intmap index;
	uint32_t *desc; /* index + 1; 0: closed */
	uint32_t room;
};

struct playable {
	struct desc *desc;
	uint32_t descs, room, used; /* used: in this pass */
	bool second;
	struct table by_fd, by_file;
	int64_t *written; /* by file: the end of its writes */
	uint32_t files;
	int32_t *most_fd; /* by process */
	uint32_t processes;
	struct run_playable *counts;
	struct reel_error *err;
	bool failed;
};

static uint32_t *slot_of(struct playable *p, struct table *t, uint32_t process,
			 uint32_t number)
{
	uint32_t i = reel_intmap_get(&t->index,
				     (uint64_t)process << 32 | number, p->err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&t->desc, &t->room, i, sizeof(*t->desc), p->err)) {
		p->failed = true;
		return NULL;
	}
	return &t->desc[i];
}

/* The descriptor of @ev, by its number or else by its file; NULL: none. */
static uint32_t *slot_for(struct playable *p, const struct reel_event *ev)
{
	if (ev->fd >= 0)
		return slot_of(p, &p->by_fd, ev->process, (uint32_t)ev->fd);
	return ev->file ? slot_of(p, &p->by_file, ev->process, ev->file) : NULL;
}

/* Both passes make the same descriptors in the same order. */
static struct desc *new_desc(struct playable *p, const struct reel_event *ev,
			     bool made)
{
	if (p->second)
		return &p->desc[p->used++];
	if (reel_array_reach(&p->desc, &p->room, p->descs, sizeof(*p->desc),
			     p->err)) {
		p->failed = true;
		return NULL;
	}
	p->used++;
	p->desc[p->descs] = (struct desc){.process = ev->process,
					  .file = ev->file,
					  .thread = ev->thread,
					  .fd = ev->fd,
					  .first_ns = ev->start_ns,
					  .made = made};
	return &p->desc[p->descs++];
}

static void note_use(struct playable *p, struct desc *d,
		     const struct reel_event *ev)
{
	int64_t end_ns = ev->start_ns + ev->dur_ns;

	if (ev->start_ns < d->first_ns) {
		d->first_ns = ev->start_ns;
		d->thread = ev->thread;
	}
	if (end_ns > d->last_ns)
		d->last_ns = end_ns;
	d->reads |= ev->group == REEL_GROUP_READ;
	d->writes |= ev->group == REEL_GROUP_WRITE ||
		     reel_call_traits(ev->call) & REEL_TRAIT_RESIZES;
	if (ev->fd > p->most_fd[ev->process])
		p->most_fd[ev->process] = ev->fd;
}

static bool moves_data(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE;
}

/* The offset of @ev: its own, or the next one. */
static void set_offset(struct playable *p, struct desc *d,
		       struct reel_event *ev)
{
	int64_t bytes = reel_event_bytes(ev), end = p->written[ev->file];

	if (ev->offset == REEL_NO_OFFSET) {
		if (ev->group == REEL_GROUP_READ && end >= bytes &&
		    d->at > end - bytes && end > 0) {
			d->at = 0;
			d->again = true;
		}
		ev->offset = d->at;
		p->counts->assumed += p->second;
	} else if (d->made) {
		d->again = true;
	}
	d->at = ev->offset > INT64_MAX / 2 ? 0 : ev->offset + bytes;
	if (!p->second && ev->group == REEL_GROUP_WRITE && d->at > end)
		p->written[ev->file] = d->at;
	if ((d->made || d->again) && ev->layer == REEL_LAYER_POSIX)
		ev->call = ev->group == REEL_GROUP_READ ? REEL_CALL_PREAD
							: REEL_CALL_PWRITE;
}

static bool leave_out(struct playable *p, enum run_left_out reason)
{
	p->counts->left_out[reason] += p->second;
	return false;
}

/* An open that succeeded gives a descriptor; its access is that of its uses. */
static bool see_open(struct playable *p, struct reel_event *ev)
{
	uint32_t *slot = slot_for(p, ev);
	struct desc *d = slot ? new_desc(p, ev, false) : NULL;

	if (!d)
		return leave_out(p, RUN_NO_FILE);
	*slot = p->used;
	note_use(p, d, ev);
	d->at = 0;
	if (d->writes && (ev->arg & O_ACCMODE) == O_RDONLY) {
		ev->arg |= O_CREAT | (d->reads ? O_RDWR : O_WRONLY);
		ev->arg2 = ev->arg2 ? ev->arg2 : 0644;
	}
	if (ev->fd < 0)
		ev->result = d->fd;
	ev->fd = d->fd;
	ev->open = p->used;
	return true;
}

/* A call on a descriptor, which may have to be made. */
static bool see_use(struct playable *p, struct reel_event *ev)
{
	uint32_t *slot = slot_for(p, ev);
	struct desc *d;

	if (!slot || (!*slot && !ev->file))
		return leave_out(p, RUN_NO_FILE);
	if (!*slot && ev->layer == REEL_LAYER_STDIO)
		return leave_out(p, RUN_NO_STREAM);
	if (!*slot && ev->group == REEL_GROUP_CLOSE)
		return leave_out(p, RUN_NO_FILE);
	if (!*slot) {
		if (!new_desc(p, ev, true))
			return false;
		*slot = p->used;
	}
	d = &p->desc[*slot - 1];
	if (!ev->file)
		ev->file = d->file;
	ev->open = *slot;
	note_use(p, d, ev);
	if (moves_data(ev) && ev->file < p->files)
		set_offset(p, d, ev);
	else if (ev->group == REEL_GROUP_SEEK && ev->offset >= 0)
		d->at = ev->offset;
	if (ev->group == REEL_GROUP_CLOSE)
		*slot = 0;
	ev->fd = d->fd;
	return true;
}

static bool is_open(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_OPEN && !ev->err && ev->result >= 0 &&
	       ev->call != REEL_CALL_OPENDIR && ev->kind != REEL_KIND_DIR;
}

/* Change @ev of the source; false: leave it out. */
static bool see_event(void *arg, struct reel_event *ev)
{
	struct playable *p = arg;

	if (p->failed || ev->process >= p->processes)
		return false;
	if (ev->fd >= FDS_MOST)
		ev->fd = -1;
	if (ev->layer == REEL_LAYER_MPIIO)
		return leave_out(p, RUN_OF_MPI_IO);
	if (ev->result < 0 && !ev->err)
		return leave_out(p, RUN_NO_ERRNO);
	if (is_open(ev))
		return see_open(p, ev);
	if (moves_data(ev) || ev->fd >= 0 || ev->group == REEL_GROUP_CLOSE ||
	    reel_call_takes_fd(ev->call))
		return see_use(p, ev);
	return ev->file ? true : leave_out(p, RUN_NO_FILE);
}

static int first_pass(struct playable *p, struct reel_store *st)
{
	struct reel_events *it = NULL;
	struct reel_event ev;
	int more = 0;

	if (reel_events_open(&it, st, 0, p->err))
		return -1;
	while (!p->failed && (more = reel_events_next(it, &ev, p->err)) > 0)
		see_event(p, &ev);
	reel_events_close(it);
	return p->failed || more < 0 ? -1 : 0;
}

static void table_fini(struct table *t)
{
	reel_intmap_fini(&t->index);
	free(t->desc);
	*t = (struct table){0};
}

/* --- between the passes --------------------------------------------------- */

/* Calls and open files that the format lacks. */
struct made {
	struct reel_event *event;
	struct reel_open_row *open;
	size_t events;
};

static int by_end(const void *a, const void *b)
{
	const struct reel_event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->open < y->open ? -1 : x->open > y->open;
}

static struct reel_event make_event(const struct desc *d, uint32_t open,
				    bool opens)
{
	bool writes = d->writes;
	struct reel_event ev = {
		.start_ns = opens ? d->first_ns : d->last_ns,
		.thread = d->thread,
		.process = d->process,
		.file = d->file,
		.open = open,
		.count = 1,
		.fd = d->fd,
		.fd2 = -1,
		.call = opens ? REEL_CALL_OPEN : REEL_CALL_CLOSE,
		.layer = REEL_LAYER_POSIX,
		.group = opens ? REEL_GROUP_OPEN : REEL_GROUP_CLOSE,
		.offset = REEL_NO_OFFSET,
		.asked = REEL_NO_SIZE,
		.result = opens ? d->fd : 0,
		.pos = REEL_NO_OFFSET};

	if (opens && writes) {
		ev.arg = O_CREAT | (d->reads ? O_RDWR : O_WRONLY);
		ev.arg2 = 0644;
	}
	return ev;
}

static int make_calls(struct made *m, struct playable *p)
{
	m->event =
		reel_alloc(2 * (size_t)p->descs + 1, sizeof(*m->event), p->err);
	m->open = reel_alloc((size_t)p->descs + 1, sizeof(*m->open), p->err);
	if (!m->event || !m->open)
		return -1;
	for (uint32_t i = 0; i < p->descs; i++) {
		struct desc *d = &p->desc[i];

		d->at = 0;
		d->again = false;
		if (d->fd < 0)
			d->fd = ++p->most_fd[d->process];
		m->open[i] = (struct reel_open_row){.open_id = i + 1,
						    .file_id = d->file,
						    .process_id = d->process,
						    .fd = d->fd,
						    .flags = -1,
						    .open_ns = d->first_ns,
						    .close_ns = d->last_ns};
		if (!d->made)
			continue;
		m->event[m->events++] = make_event(d, i + 1, true);
		m->event[m->events++] = make_event(d, i + 1, false);
		p->counts->opened++;
	}
	if (m->events)
		qsort(m->event, m->events, sizeof(*m->event), by_end);
	table_fini(&p->by_fd);
	table_fini(&p->by_file);
	p->used = 0;
	p->second = true;
	return 0;
}

static int copy_store(struct reel_store **out, struct playable *p,
		      struct reel_store *st)
{
	struct join_source source = {
		.st = st, .name = st->path, .format = "ioreel"};
	struct made made = {0};
	struct join_patch patch = {.event = see_event, .arg = p};
	struct join_options options = {.patch = &patch};
	struct reel_store *copy = NULL;
	int rc = make_calls(&made, p);

	patch.made = made.event;
	patch.mades = made.events;
	patch.open = made.open;
	patch.opens = p->descs;
	if (!rc)
		rc = reel_store_temporary(&copy, st->path, p->err);
	if (!rc && (reel_join(copy, &source, 1, &options, p->err) < 0 ||
		    p->failed || reel_store_finish(copy, p->err)))
		rc = -1;
	if (rc)
		reel_store_close(copy);
	else
		*out = copy;
	free(made.event);
	free(made.open);
	return rc;
}

/* The largest ids, plus one. */
static int read_sizes(struct playable *p, struct reel_store *st)
{
	int64_t processes = 0, files = 0;
	bool has;

	if (reel_store_int(st, "SELECT max(process_id) FROM process",
			   &processes, &has, p->err) ||
	    reel_store_int(st, "SELECT max(file_id) FROM file", &files, &has,
			   p->err))
		return -1;
	if (processes < 0 || processes > UINT32_MAX / 4 || files < 0 ||
	    files > UINT32_MAX / 4)
		return reel_fail(p->err, REEL_E_FORMAT,
				 "cannot replay '%s': an id is out of range",
				 st->path);
	p->processes = (uint32_t)processes + 1;
	p->files = (uint32_t)files + 1;
	p->written = reel_alloc(p->files, sizeof(*p->written), p->err);
	p->most_fd = reel_alloc(p->processes, sizeof(*p->most_fd), p->err);
	for (uint32_t i = 0; p->most_fd && i < p->processes; i++)
		p->most_fd[i] = 2;
	return p->written && p->most_fd ? 0 : -1;
}

int reel_run_playable(struct reel_store **out, struct run_playable *counts,
		      struct reel_store *st, struct reel_error *err)
{
	struct playable p = {.counts = counts, .err = err};
	int64_t needs = 0;
	bool has;
	int rc = 0;

	*out = NULL;
	memset(counts, 0, sizeof(*counts));
	if (reel_store_int(st,
			   "SELECT EXISTS (SELECT 1 FROM source) AND "
			   "EXISTS (SELECT 1 FROM event_block) AND "
			   "(NOT EXISTS (SELECT 1 FROM open_block) OR "
			   "EXISTS (SELECT 1 FROM open_file WHERE fd < 0))",
			   &needs, &has, err))
		return -1;
	if (needs)
		rc = read_sizes(&p, st) || first_pass(&p, st) ||
				     copy_store(out, &p, st)
			     ? -1
			     : 0;
	table_fini(&p.by_fd);
	table_fini(&p.by_file);
	free(p.desc);
	free(p.written);
	free(p.most_fd);
	return rc;
}

void reel_run_playable_words(const struct run_playable *counts,
			     struct reel_buf *out)
{
	static const char *const reasons[] = {
		[RUN_NO_FILE] = "whose file is not known",
		[RUN_NO_STREAM] = "of stdio without their fopen",
		[RUN_NO_ERRNO] = "that failed with an unknown error",
		[RUN_OF_MPI_IO] = "of MPI-IO",
	};
	char num[REEL_NUM];
	const char *between = "not replayed: ";

	if (counts->opened)
		reel_buf_printf(out, NULL,
				"the import has no opens for %s file%s: the "
				"replay opens them; ",
				reel_num_count(num, (int64_t)counts->opened),
				counts->opened == 1 ? "" : "s");
	if (counts->assumed)
		reel_buf_printf(out, NULL,
				"it has no offsets for %s reads and writes: "
				"they continue in order; ",
				reel_num_count(num, (int64_t)counts->assumed));
	for (int i = 0; i < RUN_LEFT_OUT; i++) {
		if (!counts->left_out[i])
			continue;
		reel_buf_printf(
			out, NULL, "%s%s calls %s", between,
			reel_num_count(num, (int64_t)counts->left_out[i]),
			reasons[i]);
		between = ", ";
	}
	if (out->len > 2 && !strcmp(out->data + out->len - 2, "; "))
		out->data[out->len -= 2] = '\0';
}
