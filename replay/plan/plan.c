/* SPDX-License-Identifier: MIT */
/*
 * Maps a plan and checks every offset, index and length in it.
 *
 * The engine does not check again: a new section needs its row in PLAN_SECTIONS,
 * a new index its line in check_*(), before the engine may use it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "schemas/syscall.h"

#include "lib/calls.h"
#include "lib/error.h"

#include "replay/model/classify.h"
#include "replay/model/plan.h"

#define DROP_RECORDS (1 << 16)
#define TIME_MOST_NS (INT64_MAX / 8) /* 36 years: some add up to no overflow */
#define TIME_BEYOND_NS 60000000000   /* clocks of processes differ by less */
#define ENTRIES_MOST 100000000
#define PIPES_MOST (1 << 20)
#define COUNT_MOST 1000000000

static int report_damage(struct reel_error *err, const char *path,
			 const char *fault)
{
	return reel_fail(err, REEL_E_FORMAT, "plan '%s' is damaged: %s", path,
			 fault);
}

/* Are the @n items of @bytes at @at inside the file, and aligned? */
static bool is_inside(const struct plan_head *h, uint64_t at, uint64_t n,
		      size_t bytes)
{
	return at % 8 == 0 && at >= h->head_bytes && at <= h->file_bytes &&
	       n <= (h->file_bytes - at) / bytes;
}

static bool sections_inside(const struct plan *p)
{
	const struct plan_head *h = p->head;

#define INSIDE(NAME, at, count, items, beyond)                                 \
	if (!is_inside(h, h->at, (uint64_t)h->count + beyond,                  \
		       sizeof(*p->items)))                                     \
		return false;
	PLAN_SECTIONS(INSIDE)
	return true;
}

/* Every name is inside the text and ends with the only NUL in it. */
static const char *check_names(const struct plan *p)
{
	const struct plan_head *h = p->head;

	for (uint32_t i = 0; i < h->names; i++) {
		uint64_t a = p->name_at[i], b = p->name_at[i + 1];

		if (a >= b || b > h->text_bytes || b - a > 4096)
			return "a name is outside";
		if (p->text[b - 1] || memchr(p->text + a, 0, b - a - 1))
			return "a name does not end";
	}
	return NULL;
}

bool plan_needs_buffer(const struct plan_record *r)
{
	const struct reel_call_info *info =
		r->op < REEL_CALL_MAX ? reel_call_info(r->op) : NULL;

	/* Copies stay in the kernel; stdio parts and mappings go piecewise. */
	if (!info || r->size <= 0 || is_two_fd_copy(r->op) ||
	    is_mapped_access(r->op) || r->op == REEL_CALL_COPY_OUT ||
	    r->op == REEL_CALL_STDIO_READ || r->op == REEL_CALL_STDIO_WRITE)
		return false;
	return info->group == REEL_GROUP_READ ||
	       info->group == REEL_GROUP_WRITE ||
	       info->group == REEL_GROUP_DIR || info->group == REEL_GROUP_STAT;
}

bool plan_is_write(const struct plan_record *r)
{
	const struct reel_call_info *info =
		r->op < REEL_CALL_MAX ? reel_call_info(r->op) : NULL;

	return info && info->group == REEL_GROUP_WRITE;
}

static bool name_ok(const struct plan_head *h, uint32_t name)
{
	return name == PLAN_NONE || name < h->names;
}

/* Are the holes sorted, disjoint, not empty, and inside the file? */
static bool are_holes_valid(const struct plan *p, const struct plan_file *f)
{
	int64_t at = 0;

	if (f->hole > p->head->holes || f->holes > p->head->holes - f->hole)
		return false;
	for (uint32_t i = 0; i < f->holes; i++) {
		const struct plan_hole *hole = &p->hole[f->hole + i];

		if (hole->at < at || hole->at > f->size_bytes ||
		    hole->bytes <= 0 || hole->bytes > f->size_bytes - hole->at)
			return false;
		at = hole->at + hole->bytes;
	}
	return true;
}

/* Does the child start after its parent, or have the higher index? Then there
 * is no cycle. */
static bool is_later(const struct plan *p, uint32_t child, uint32_t parent)
{
	int64_t a = p->process[parent].start_ns, b = p->process[child].start_ns;

	return a < b || (a == b && parent < child);
}

static const char *check_processes(const struct plan *p)
{
	const struct plan_head *h = p->head;

	if (h->wall_ns < 0 || h->wall_ns > TIME_MOST_NS)
		return "its time is not possible";
	for (uint32_t i = 0; i < h->processes; i++) {
		const struct plan_process *q = &p->process[i];

		if (q->parent != PLAN_NONE && q->parent >= h->processes)
			return "a process has no parent";
		if (q->start_ns < 0 || q->start_ns > TIME_MOST_NS ||
		    q->end_ns < 0 || q->end_ns > TIME_MOST_NS)
			return "the time of a process is not possible";
		if (q->parent != PLAN_NONE && !is_later(p, i, q->parent))
			return "a process comes before its parent";
		if (q->stream > h->streams ||
		    q->streams > h->streams - q->stream)
			return "a process has no streams";
		for (uint32_t k = 0; k < q->streams; k++)
			if (p->stream[q->stream + k].process != i)
				return "a stream is another process's";
		if (q->fds > h->fds)
			return "a process has too many descriptors";
	}
	return NULL;
}

/* The files add up to the sums that the check for free space uses. */
static const char *check_files(const struct plan *p)
{
	const struct plan_head *h = p->head;
	uint64_t bytes = 0, holes = 0;

	for (uint32_t i = 0; i < h->files; i++) {
		const struct plan_file *f = &p->file[i];

		if (f->name >= h->names || f->size_bytes < 0 ||
		    f->kind < PLAN_FILE_REGULAR || f->kind > PLAN_FILE_LOOP ||
		    f->line > h->lines || f->lines > h->lines - f->line ||
		    f->cold > 1 || !are_holes_valid(p, f))
			return "a file is outside";
		if (f->entries > ENTRIES_MOST)
			return "a directory has too many entries";
		bytes += (uint64_t)f->size_bytes; /* below 2^63 each */
		if (bytes > INT64_MAX)
			return "the sizes of the files are not possible";
		for (uint32_t k = 0; k < f->holes; k++)
			holes += (uint64_t)p->hole[f->hole + k].bytes;
		if (holes > bytes)
			return "the holes are larger than the files";
	}
	return bytes != h->file_total_bytes || holes != h->hole_total_bytes
		       ? "the sizes of the files do not add up"
		       : NULL;
}

static const char *check_tables(const struct plan *p)
{
	const struct plan_head *h = p->head;

	for (uint32_t i = 0; i < h->objects; i++) {
		const struct plan_object *o = &p->object[i];

		if (o->kind < PLAN_OBJECT_PIPE_READ ||
		    o->kind > PLAN_OBJECT_NULL || !name_ok(h, o->name))
			return "an object is unknown";
		if (o->kind <= PLAN_OBJECT_SOCKET && o->pipe >= h->pipes)
			return "a pipe is outside";
		if (o->kind == PLAN_OBJECT_FILE && o->name == PLAN_NONE)
			return "an object has no name";
	}
	for (uint64_t i = 0; i < h->edges; i++)
		if (p->edge[i].stream >= h->streams)
			return "an edge leads nowhere";
	if (h->pipes > PIPES_MOST)
		return "too many pipes";
	return h->fds > 1 << 20 ? "too many descriptors" : NULL;
}

/* The state of checking streams. */
struct check {
	const struct plan *plan;
	uint64_t most_ns; /* no stream ends later */
	uint8_t *forked;  /* by process: 1: a record forks it */
};

static const char *check_more(const struct check *c,
			      const struct plan_process *q,
			      const struct plan_record *r,
			      const struct plan_more *m)
{
	const struct plan *p = c->plan;
	const struct plan_head *h = p->head;

	if (!name_ok(h, m->name) || !name_ok(h, m->name2))
		return "a record's name is outside";
	if ((m->object != PLAN_NONE && m->object >= h->objects) ||
	    (m->object2 != PLAN_NONE && m->object2 >= h->objects))
		return "a record's object is outside";
	if (m->line > h->lines || m->lines > h->lines - m->line)
		return "a record's lines are outside";
	if (m->lines && (!plan_is_write(r) || !(r->flags & PLAN_F_LINES)))
		return "lines are not written";
	if (m->edge > h->edges || m->edges > h->edges - m->edge)
		return "a record's edges are outside";
	if (m->fd2 < -1 || m->fd2 >= (int64_t)q->fds)
		return "a record's descriptor is outside";
	if (r->op == PLAN_OP_FORK &&
	    (m->arg < 0 || m->arg >= (int64_t)h->processes ||
	     !p->process[m->arg].streams))
		return "a fork has no child";
	if (r->op == PLAN_OP_FORK &&
	    (p->process[m->arg].parent != (uint32_t)(q - p->process) ||
	     c->forked[m->arg]++))
		return "a process has another parent, or two";
	if (r->flags & PLAN_F_ENTRIES &&
	    (m->entries < 0 || m->entries > ENTRIES_MOST))
		return "a directory has too many entries";
	return m->count && m->count <= COUNT_MOST
		       ? NULL
		       : "a record stands for no call, or too many";
}

/*
 * Add the record's gap to the time of a stream. False when that exceeds the end
 * of the job. Durations do not add up: a call may be inside another one, and
 * asynchronous operations run side by side.
 */
static bool add_time(const struct check *c, const struct plan_record *r,
		     const struct plan_more *m, uint64_t *at_ns)
{
	uint64_t gap = (uint64_t)(m ? m->gap_high : 0) << 32 | r->gap_ns;
	uint64_t dur = (uint64_t)(m ? m->dur_high : 0) << 32 | r->dur_ns;

	if (gap > c->most_ns || dur > c->most_ns ||
	    (m && (m->after_ns < 0 || (uint64_t)m->after_ns > gap)))
		return false;
	*at_ns += gap;
	return *at_ns <= c->most_ns;
}

/* Drop the checked pages. A raw system call: the shim must not record it. */
static void drop_pages(const struct plan *p)
{
	raw(SYS_madvise, p->map, p->head->file_bytes, MADV_DONTNEED);
}

/* The buffers of a stream have the size that its records need. */
static const char *check_stream(const struct check *c, struct plan_stream s)
{
	const struct plan *p = c->plan;
	const struct plan_head *h = p->head;
	const struct plan_process *q = &p->process[s.process];
	uint64_t more = 0, calls = 0, most_read = 0, most_written = 0;
	uint64_t at_ns = (uint64_t)q->start_ns;

	for (uint64_t i = 0; i < s.records; i++) {
		const struct plan_record *r =
			(const struct plan_record *)(p->map + s.records_at) + i;
		const struct plan_more *m = NULL;
		const char *bad = NULL;

		if (i % DROP_RECORDS == DROP_RECORDS - 1)
			drop_pages(p);
		if (r->op >= PLAN_OPS || r->fd < -1 ||
		    r->fd >= (int64_t)q->fds || r->size < PLAN_NO_SIZE)
			return "a record is not possible";
		if (plan_needs_buffer(r) &&
		    (uint64_t)r->size >
			    (plan_is_write(r) ? s.most_written : s.most_read))
			return "a record is larger than its buffer";
		if (r->flags & PLAN_F_MORE) {
			if (more == s.mores)
				return "a record is cut short";
			m = (const struct plan_more *)(p->map + s.more_at) +
			    more++;
			bad = check_more(c, q, r, m);
		} else if (r->op >= REEL_CALL_MAX && r->op != PLAN_OP_END) {
			bad = "a record is cut short";
		}
		if (plan_is_write(r) && r->flags & PLAN_F_LINES &&
		    s.most_written <= PLAN_SHARED_BYTES)
			return "lines would go into shared memory";
		if (bad)
			return bad;
		if (!add_time(c, r, m, &at_ns))
			return "a stream goes on after the job";
		calls += plan_counts(r);
		if (plan_needs_buffer(r)) {
			uint64_t *most =
				plan_is_write(r) ? &most_written : &most_read;

			if ((uint64_t)r->size > *most)
				*most = (uint64_t)r->size;
		}
	}
	/* Writes with newlines need a private buffer, whatever their size. */
	if (s.most_read > most_read || (s.most_written > most_written &&
					s.most_written > PLAN_SHARED_BYTES + 1))
		return "a buffer is larger than its records";
	if (h->processes && more == s.mores && calls == s.calls)
		return NULL;
	return "a stream does not add up";
}

static const char *check_all_streams(const struct check *c)
{
	const struct plan *p = c->plan;
	const struct plan_head *h = p->head;
	const char *bad;

	for (uint32_t i = 0; i < h->streams; i++) {
		struct plan_stream s = p->stream[i];

		if (s.process >= h->processes ||
		    !is_inside(h, s.records_at, s.records,
			       sizeof(struct plan_record)) ||
		    !is_inside(h, s.more_at, s.mores, sizeof(struct plan_more)))
			return "a stream is outside";
		bad = check_stream(c, s);
		if (bad)
			return bad;
		drop_pages(p);
	}
	return NULL;
}

static const char *check_streams(const struct plan *p)
{
	struct check c = {.plan = p, .most_ns = (uint64_t)p->head->wall_ns};
	const char *bad = "no memory to check it";

	for (uint32_t i = 0; i < p->head->processes; i++)
		if ((uint64_t)p->process[i].end_ns > c.most_ns)
			c.most_ns = (uint64_t)p->process[i].end_ns;
	c.most_ns += TIME_BEYOND_NS;
	c.forked = calloc((size_t)p->head->processes + 1, 1);
	if (c.forked)
		bad = check_all_streams(&c);
	free(c.forked);
	return bad;
}

static int check_plan(struct plan *p, uint64_t bytes, const char *path,
		      struct reel_error *err)
{
	static const char *(*const checks[])(const struct plan *) = {
		check_names, check_tables, check_processes, check_files,
		check_streams};
	const struct plan_head *h = p->head;
	const char *bad = NULL;

	if (bytes < sizeof(*h) || h->magic != PLAN_MAGIC)
		return reel_fail(err, REEL_E_FORMAT, "'%s' is not a plan",
				 path);
	if (h->version != PLAN_VERSION)
		return reel_fail(err, REEL_E_VERSION,
				 "plan '%s' is of version %u, not %u", path,
				 h->version, PLAN_VERSION);
	if (h->head_bytes != sizeof(*h) || h->file_bytes != bytes ||
	    !sections_inside(p))
		return report_damage(err, path, "a section is outside");
#define POINT(NAME, at, count, items, beyond)                                  \
	p->items = (const void *)(p->map + h->at);
	PLAN_SECTIONS(POINT)
	for (size_t i = 0; !bad && i < sizeof(checks) / sizeof(checks[0]); i++)
		bad = checks[i](p);
	return bad ? report_damage(err, path, bad) : 0;
}

/* Raw system calls: the shim must not record the engine's own files. */
static int map_file(struct plan *p, const char *path, uint64_t *bytes,
		    struct reel_error *err)
{
	long fd = raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long at, why = fd;
	struct stat st;

	if (fd >= 0)
		why = raw(SYS_fstat, fd, &st);
	if (why < 0) {
		reel_fail_io(err, "open plan", path, (int)-why);
		goto out;
	}
	why = -1;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(*p->head)) {
		reel_fail(err, REEL_E_FORMAT, "'%s' is not a plan", path);
		goto out;
	}
	at = raw(SYS_mmap, 0, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at < 0 && at > -4096) {
		reel_fail_io(err, "map plan", path, (int)-at);
		goto out;
	}
	p->map = (const uint8_t *)at;
	p->head = (const struct plan_head *)at;
	*bytes = (uint64_t)st.st_size;
	why = 0;
out:
	if (fd >= 0)
		raw(SYS_close, fd);
	return why ? -1 : 0;
}

int plan_open(struct plan **out, const char *path, struct reel_error *err)
{
	struct plan *p = reel_alloc(1, sizeof(*p), err);
	uint64_t bytes;
	int rc = -1;

	if (!p || map_file(p, path, &bytes, err))
		goto out;
	if (check_plan(p, bytes, path, err)) {
		raw(SYS_munmap, p->map, bytes);
		goto out;
	}
	*out = p;
	p = NULL; /* given away */
	rc = 0;
out:
	free(p);
	return rc;
}

void plan_close(struct plan *p)
{
	if (!p)
		return;
	raw(SYS_munmap, p->map, p->head->file_bytes);
	free(p);
}

const char *plan_name(const struct plan *p, uint32_t name)
{
	return p->text + p->name_at[name];
}

uint32_t plan_line_from(const int64_t *line, uint32_t n, int64_t at)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (line[mid] < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
