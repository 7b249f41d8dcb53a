/* SPDX-License-Identifier: MIT */
/*
 * Plays one stream: wait, call, compare, post.
 *
 * at_ns, the plan's time of the thread, advances by the gaps and by the real
 * duration of calls, not by lateness: time lost to preemption, or to a sleep
 * that ended late, is made up in the next gap. Waits for other streams advance
 * it, too.
 */
#include "replay/engine/player.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "schemas/ioreel.h"
#include "schemas/syscall.h"

#include "lib/calls.h"
#include "lib/clock.h"
#include "lib/store/event.h"

#include "replay/engine/beneath.h"
#include "replay/engine/buffers.h"
#include "replay/engine/calls.h"
#include "replay/engine/engine.h"
#include "replay/engine/fdtable.h"
#include "replay/model/classify.h"

#define BEHIND_BYTES (1 << 20) /* of a stream, before its pages are dropped */
#define BEHIND_RECORDS 2048    /* between two checks of that */

/* A call that starts this long after its time is late. */
#define LATE_NS 1000000

/* How a result is compared with the recorded one. */
enum verdict { VERDICT_EXACT, VERDICT_SUCCESS };

static const struct plan_more no_more = PLAN_MORE_NONE;

/* --- one call ------------------------------------------------------------ */

static bool is_stopped(const struct player *p)
{
	return __atomic_load_n(&p->engine->result.head->stop, __ATOMIC_RELAXED);
}

/*
 * The path in the sandbox of the job's path @name. Without a name it is a bad
 * pointer for EFAULT, else "", which is missing or means the descriptor itself.
 * It is relative to the sandbox, the working directory: then it has as many
 * components as in the job, and each of them costs the kernel time.
 */
static const char *path_of(struct player *p, const struct plan_more *m,
			   uint32_t name, char out[static PATH_MAX], int *err)
{
	const struct sandbox *sb = &p->engine->sandbox;
	const char *path;

	if (name == PLAN_NONE && m->err == ENAMETOOLONG) {
		memset(out, 'n', PATH_MAX - 1);
		out[PATH_MAX - 1] = '\0';
		return out;
	}
	if (name == PLAN_NONE && m->err == EBADF)
		return "."; /* below a closed descriptor */
	if (name == PLAN_NONE)
		return m->err == EFAULT ? (const char *)1 : "";
	path = sandbox_path(sb, plan_name(p->engine->plan, name), out);
	if (!path)
		*err = errno;
	else if ((!p->process->elsewhere || m->err == EBADF) &&
		 path[sb->root_len + 1])
		path += sb->root_len + 1;
	return path;
}

/* Returns 0, or the error that keeps the call from being issued. */
static int decode_call(struct player *p, const struct plan_record *r,
		       const struct plan_more *m, struct call_spec *s)
{
	int err = 0;

	s->r = r;
	s->m = m;
	s->slot = fdtable_slot(p->process, r->fd);
	s->size = r->size < 0 ? 0 : r->size;
	s->offset = r->offset;
	s->moved = 0;
	s->want = r->flags & PLAN_F_FULL ? r->size
		  : m == &no_more	 ? 0
					 : m->result;
	s->flags = m->arg == PLAN_NO_OFFSET ? 0 : (int)m->arg;
	s->path = path_of(p, m, m->name, p->path, &err);
	s->path2 = m->name2 == PLAN_NONE
			   ? NULL
			   : path_of(p, m, m->name2, p->path2, &err);
	s->target = s->path2 ? p->path2 : "target";
	return err;
}

/* A number that was closed in the job may be open here. */
static int real_fd(struct player *p, const struct call_spec *s, int32_t fd)
{
	const struct slot *slot = fdtable_slot(p->process, fd);

	if (slot && slot->fd >= 0)
		return slot->fd;
	return s->m->err == EBADF && !fdtable_ensure_closed(p->process, fd)
		       ? -1
		       : fd;
}

static void find_descriptors(struct player *p, struct call_spec *s)
{
	s->fd = real_fd(p, s, s->r->fd);
	s->to = is_two_fd_copy(s->r->op) ? real_fd(p, s, s->m->fd2) : -1;
}

/* NULL: the call is not issued again. */
static player_call *const calls[] = {
#define ISSUED(layer, group)                                                   \
	(REEL_LAYER_##layer != REEL_LAYER_MPIIO &&                             \
	 REEL_GROUP_##group != REEL_GROUP_PROCESS &&                           \
	 REEL_GROUP_##group != REEL_GROUP_QUEUE)
#define CALL(id, NAME, layer, group, ...)                                      \
	[id] = ISSUED(layer, group) ? issue_##NAME : NULL,
#define BY_HAND(id, NAME, layer, group, ...)                                   \
	[id] = ISSUED(layer, group) ? issue_##NAME : NULL,
#define PART(id, NAME, layer, group, ...)                                      \
	[id] = ISSUED(layer, group) ? issue_##NAME : NULL,
#include "schemas/calls.def"
};

static player_call *call_of(uint16_t op)
{
	return op < sizeof(calls) / sizeof(calls[0]) ? calls[op] : NULL;
}

static enum verdict verdict_of(uint16_t op)
{
	const struct reel_call_info *info = reel_call_info(op);

	if (info->group == REEL_GROUP_READ || info->group == REEL_GROUP_WRITE ||
	    (info->group == REEL_GROUP_SEEK && op == REEL_CALL_LSEEK))
		return VERDICT_EXACT;
	switch (op) {
	case REEL_CALL_READDIR:
	case REEL_CALL_SCANDIR:
	case REEL_CALL_READLINK:
	case REEL_CALL_READLINKAT:
		return VERDICT_EXACT;
	}
	return VERDICT_SUCCESS;
}

static int64_t call_one(struct player *p, struct call_spec *s,
			player_call *call)
{
	int64_t r;

	if (s->r->flags & PLAN_F_MESSAGE || call_stdio_sends(p, s))
		return message_call(p, s, call);
	if (!s->m->lines)
		return call(p, s);
	line_writes_add(p, s);
	r = call(p, s);
	line_writes_remove(p, s);
	return r;
}

/* A record of several calls: each has a part of the size. */
static int64_t call_all(struct player *p, struct call_spec *s,
			player_call *call)
{
	int64_t size = s->size, want = s->want, sum = 0;
	uint32_t n = s->m->count;

	for (uint32_t i = 0; i < n && !is_stopped(p); i++) {
		int64_t r;

		s->size = size / n + (i == 0 ? size % n : 0);
		s->want = want / n + (i == 0 ? want % n : 0);
		r = call_one(p, s, call);
		if (r < 0) {
			sum = r;
			break;
		}
		sum += r;
		s->moved += r;
	}
	s->size = size;
	s->want = want;
	return sum;
}

static int64_t issue_call(struct player *p, struct call_spec *s,
			  player_call *call)
{
	return s->m->count > 1 ? call_all(p, s, call) : call_one(p, s, call);
}

static void store_difference(struct player *p, const struct call_spec *s,
			     int64_t got, int err)
{
	struct result_head *h = p->engine->result.head;
	uint32_t i = __atomic_fetch_add(&h->differences, 1, __ATOMIC_RELAXED);
	struct result_difference *d = &h->difference[i];

	p->result->differ++;
	if (i >= RESULT_DIFFERENCES)
		return;
	d->stream = p->index;
	d->call = p->result->calls;
	d->op = s->r->op;
	d->name = s->m->name;
	d->want = s->want;
	d->got = got;
	d->want_err = s->m->err;
	d->got_err = err;
	__atomic_store_n(&d->set, 1, __ATOMIC_RELEASE);
}

static void count_result(struct player *p, const struct call_spec *s,
			 int64_t got, int err)
{
	bool same;

	if (s->m->err)
		same = got < 0 &&
		       (err == s->m->err || s->m->err == REEL_ERRNO_UNKNOWN);
	else if (verdict_of(s->r->op) == VERDICT_EXACT)
		same = got == s->want;
	else
		same = got >= 0;
	if (err == ENOSPC && s->m->err != ENOSPC)
		p->engine->result.head->full = 1;
	if (same)
		p->result->same++;
	else
		store_difference(p, s, got, got < 0 ? err : 0);
}

/* --- time ---------------------------------------------------------------- */

static int64_t wide_ns(uint32_t low, uint32_t high)
{
	return (int64_t)((uint64_t)high << 32 | low);
}

static void wait_edges(struct player *p, const struct plan_more *m)
{
	const struct plan *plan = p->engine->plan;
	bool waited = false;

	for (uint32_t i = 0; i < m->edges; i++) {
		const struct plan_edge *e = &plan->edge[m->edge + i];
		struct result_stream *s = &p->engine->result.stream[e->stream];

		if (result_reached(s, e->calls))
			continue;
		waited = true;
		wait_for(&p->engine->result, s, p->result, e->calls);
	}
	if (waited) {
		int64_t now = reel_now_ns();

		if (now > p->at_ns) {
			p->result->waited_ns += now - p->at_ns;
			p->at_ns = now;
		}
	}
}

/*
 * Wait until it is time for the record. --timed follows the job's clock in any
 * case; otherwise the gap counts from the end of the previous call.
 */
static void wait_turn(struct player *p, const struct plan_record *r,
		      const struct plan_more *m)
{
	const struct engine *e = p->engine;
	int64_t gap = wide_ns(r->gap_ns, m->gap_high);
	bool first = r->flags & PLAN_F_WAIT_FIRST;

	if (e->mode == REPLAY_AFAP) {
		wait_edges(p, m);
		return;
	}
	if (first && gap > m->after_ns)
		p->result->job_waited_ns += gap - m->after_ns;
	if (e->mode == REPLAY_THINK && first) {
		wait_edges(p, m);
		gap = m->after_ns;
	}
	p->at_ns += gap;
	if (p->at_ns - reel_now_ns() > 0)
		wait_until(&e->clock, &e->result, p->at_ns);
	if (m->edges && !(e->mode == REPLAY_THINK && first)) {
		int64_t keep = p->at_ns;

		wait_edges(p, m);
		if (e->mode == REPLAY_TIMED)
			p->at_ns = keep;
	}
}

/* The job waited inside the read of a message, the replay before it. */
static void note_wait(struct player *p, const struct plan_record *r,
		      const struct plan_more *m, int64_t took_ns)
{
	if (!(r->flags & PLAN_F_MESSAGE) || plan_is_write(r) || !m->edges)
		return;
	p->result->waited_ns += took_ns;
	p->result->job_waited_ns += wide_ns(r->dur_ns, m->dur_high);
}

static void note_lateness(struct player *p, int64_t start_ns)
{
	int64_t late = start_ns - p->at_ns;

	if (p->engine->mode == REPLAY_AFAP || late <= 0)
		return;
	if (late > p->result->late_most_ns)
		p->result->late_most_ns = late;
	if (late > LATE_NS)
		p->result->late++;
}

/* --- the stream ---------------------------------------------------------- */

/* Reads of messages take as long as their senders, whatever the memory. */
static bool is_timed_read(const struct plan_record *r)
{
	return plan_needs_buffer(r) && !plan_is_write(r) &&
	       !(r->flags & PLAN_F_MESSAGE);
}

static void play_call(struct player *p, const struct plan_record *r,
		      const struct plan_more *m)
{
	player_call *call = call_of(r->op);
	int64_t start, end, got = -1;
	struct beneath beneath;
	struct call_spec s;
	int bad, err;

	bad = decode_call(p, r, m, &s);
	wait_turn(p, r, m);
	if (m->object != PLAN_NONE)
		fdtable_provide(p, &s, r->fd, m->object);
	if (m->object2 != PLAN_NONE)
		fdtable_provide(p, &s, m->fd2, m->object2);
	find_descriptors(p, &s);
	if (!bad && r->flags & PLAN_F_EXTERNAL)
		external_changes_apply(p, &s);
	if (r->flags & PLAN_F_FETCH && !p->engine->warm)
		raw(SYS_fadvise64, s.fd, m->pos, m->lost_bytes,
		    POSIX_FADV_DONTNEED);
	if (beneath_on(p) && !bad)
		bad = beneath_enter(p, &s, &beneath);
	buffers_before(p, &s, is_timed_read(r));
	start = reel_now_ns();
	note_lateness(p, start);
	errno = bad;
	if (call && !bad)
		got = issue_call(p, &s, call);
	err = errno;
	end = reel_now_ns();
	if (beneath_on(p))
		beneath_leave(&beneath);
	note_wait(p, r, m, end - start);
	if (is_timed_read(r))
		buffers_after_read(p, &s, start, end,
				   wide_ns(r->dur_ns, m->dur_high));
	if (!(r->flags & PLAN_F_ASYNC))
		p->at_ns += p->engine->mode == REPLAY_TIMED
				    ? wide_ns(r->dur_ns, m->dur_high)
				    : end - start;
	if (r->flags & PLAN_F_NAMED && got >= 0)
		external_changes_name_file(p, &s, (int)got);
	if (call)
		count_result(p, &s, got, err);
	else
		p->result->skipped++;
	p->result->calls++;
	if (r->flags & PLAN_F_POST)
		wait_post(p->result, p->result->calls);
}

static void play_control(struct player *p, const struct plan_record *r,
			 const struct plan_more *m)
{
	const char *name = m->name == PLAN_NONE
				   ? NULL
				   : plan_name(p->engine->plan, m->name);

	if (r->op == PLAN_OP_END)
		engine_join(p);
	wait_turn(p, r, m);
	switch (r->op) {
	case PLAN_OP_FORK:
		engine_fork(p, (uint32_t)m->arg, p->at_ns);
		break;
	case PLAN_OP_COLLECTIVE:
		p->result->job_waited_ns += wide_ns(r->dur_ns, m->dur_high);
		if (p->engine->mode == REPLAY_TIMED)
			p->at_ns += wide_ns(r->dur_ns, m->dur_high);
		p->result->calls++;
		if (r->flags & PLAN_F_POST)
			wait_post(p->result, p->result->calls);
		break;
	case PLAN_OP_SPAN_BEGIN:
		if (name)
			IOREEL_BEGIN(name, m->arg2);
		else if (ioreel_span_begin)
			ioreel_span_begin((int)m->arg, m->arg2);
		break;
	case PLAN_OP_SPAN_END:
		if (name)
			IOREEL_END(name);
		else if (ioreel_span_end)
			ioreel_span_end((int)m->arg);
		break;
	}
}

/* Drop pages of records that were played. */
static size_t drop_behind(const void *from, size_t dropped, const void *to)
{
	uintptr_t a = ((uintptr_t)from + dropped + 4095) & ~(uintptr_t)4095;
	uintptr_t b = (uintptr_t)to & ~(uintptr_t)4095;

	if (b > a && b - a >= BEHIND_BYTES) {
		raw(SYS_madvise, a, b - a, MADV_DONTNEED);
		dropped = b - (uintptr_t)from;
	}
	return dropped;
}

void player_begin(struct player *p)
{
	char id[16];

	wait_begin();
	if (!ioreel_note)
		return;
	snprintf(id, sizeof(id), "%u", p->stream->thread_id);
	ioreel_note("replay.thread", id);
}

void player_run(struct player *p)
{
	const uint8_t *map = p->engine->plan->map;
	const void *records = map + p->stream->records_at;
	const void *mores = map + p->stream->more_at;
	const struct plan_record *r = records, *end = r + p->stream->records;
	const struct plan_more *more = mores;
	size_t dropped = 0, more_dropped = 0;
	uint64_t played = 0;

	p->result->state = STREAM_RUNS;
	for (; r < end && !is_stopped(p); r++) {
		const struct plan_more *m = &no_more;

		if (r->flags & PLAN_F_MORE)
			m = more++;
		if (r->op < PLAN_OP_FORK)
			play_call(p, r, m);
		else
			play_control(p, r, m);
		p->result->plan_ns += wide_ns(r->gap_ns, m->gap_high) +
				      wide_ns(r->dur_ns, m->dur_high);
		if (++played % BEHIND_RECORDS == 0) {
			dropped = drop_behind(records, dropped, r);
			more_dropped = drop_behind(mores, more_dropped, more);
		}
	}
	p->result->state = STREAM_DONE;
	/* Release all waiters. */
	wait_post(p->result, UINT32_MAX);
}
