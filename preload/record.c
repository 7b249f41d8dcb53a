/* SPDX-License-Identifier: MIT */
/*
 * The record with everything: paths, arguments, new descriptors, marks. The
 * grammar is schemas/trace_format.h, "RECORD"; the short form of the hot calls
 * is shim_record_io() in shim.h, and both keep the same context.
 */
#include "preload/counters.h"
#include "preload/real.h"
#include "preload/types.h"

#include <string.h>

#include "preload/site.h"
#include "preload/storage.h"

/* The directory of a relative path, as a descriptor id; 0: the cwd. */
static uint32_t at_desc(int at, const char *path)
{
	if (at == AT_FDCWD || !path || path[0] == '/')
		return 0;
	uint32_t e = shim_fd(at);

	return shim_is_desc(e) ? e : 0;
}

/* Names are short: a call of memcpy would cost as much again. */
HOT void copy_bytes(void *to, const char *from, size_t n)
{
	char *p = to;
	size_t i = 0;

	if (n >= 8) {
		for (; i < n - 8; i += 8)
			__builtin_memcpy(p + i, from + i, 8);
		__builtin_memcpy(p + n - 8, from + n - 8, 8);
		return;
	}
	for (; i < n; i++)
		p[i] = from[i];
}

HOT uint8_t *put_bytes(uint8_t *p, const char *s, size_t n)
{
	p = shim_put(p, n);
	copy_bytes(p, s, n);
	return p + n;
}

/* What it shares with the previous path of the block, then the rest. */
HOT uint8_t *put_path(struct shim_thread *t, uint8_t *p,
		      const struct shim_event *ev, size_t len)
{
	size_t most = t->path_len < len ? t->path_len : len;
	size_t same = shim_same_bytes(t->path, ev->path, most);

	p = shim_put(p, same);
	p = put_bytes(p, ev->path + same, len - same);
	if (len > REEL_PATH_SHARED)
		len = REEL_PATH_SHARED;
	if (len > same)
		copy_bytes(t->path + same, ev->path + same, len - same);
	t->path[len] = '\0';
	t->path_len = (uint32_t)len;
	t->data_dir = ev->data_dir;
	return p;
}

static int64_t size_seen(const struct shim_event *ev, int err)
{
	const struct stat *st = ev->st;
	const struct statx *x = ev->st;
	const uint32_t both = STATX_TYPE | STATX_SIZE;

	if (ev->pos != NONE || !st || err)
		return ev->pos;
	if (ev->call == CALL_STATX)
		return (x->stx_mask & both) == both && S_ISREG(x->stx_mode)
			       ? (int64_t)x->stx_size
			       : NONE;
	return S_ISREG(st->st_mode) ? st->st_size : NONE;
}

struct lengths {
	size_t path, path2;
	const char *second;
};

static uint8_t more_flags(const struct shim_event *ev, const struct lengths *n,
			  int64_t pos, uint32_t at)
{
	return (ev->newdesc || ev->bad_fd ? REEL_M_NEWDESC : 0) |
	       (ev->arg != NONE ? REEL_M_ARG : 0) |
	       (ev->arg2 != NONE ? REEL_M_ARG2 : 0) |
	       (pos != NONE ? REEL_M_POS : 0) | (ev->path ? REEL_M_PATH : 0) |
	       (at ? REEL_M_AT : 0) | (n->second ? REEL_M_PATH2 : 0);
}

/* The rest of the record stands: its first byte makes it one. */
static void put_call(uint8_t *p, uint32_t call)
{
	shim_barrier();
	if (unlikely(call >= REEL_CALL_WIDE)) {
		p[1] = (uint8_t)(call - REEL_CALL_WIDE);
		call = REEL_CALL_WIDE + ((call - REEL_CALL_WIDE) >> 8);
		shim_barrier();
	}
	p[0] = (uint8_t)call;
}

/* desc, offset, size and result; returns the flags they need. */
HOT uint8_t *put_core(struct shim_thread *t, uint8_t *p, uint8_t *flags,
		      const struct shim_event *ev, int64_t result, int err)
{
	int64_t expected = ev->size == NONE ? 0 : ev->size;

	if (ev->desc) {
		*flags |= ev->desc == t->last_desc ? REEL_F_DESC_SAME
						   : REEL_F_DESC_NEW;
		if (ev->desc != t->last_desc)
			p = shim_put(p, ev->desc);
		t->last_desc = ev->desc;
	}
	if (ev->offset != NONE) {
		*flags |= REEL_F_OFFSET;
		p = shim_put(p,
			     shim_zigzag((int64_t)((uint64_t)ev->offset -
						   (uint64_t)t->next_offset)));
		t->next_offset =
			(int64_t)((uint64_t)ev->offset + (uint64_t)expected);
	}
	if (ev->size != NONE) {
		/* The greatest size is what stands there before the first. */
		bool same = (uint64_t)ev->size == t->last_size &&
			    t->last_size != UINT64_MAX;

		*flags |= same ? REEL_F_SIZE_SAME : REEL_F_SIZE_NEW;
		if (!same)
			p = shim_put(p, (uint64_t)ev->size);
		t->last_size = (uint64_t)ev->size;
	}
	if (err) {
		*flags |= REEL_F_RES_ERROR;
		p = shim_put(p, (uint64_t)err);
	} else if (result != expected) {
		*flags |= result ? REEL_F_RES_OTHER : REEL_F_RES_ZERO;
		if (result)
			p = shim_put(p, shim_zigzag(result));
	}
	return p;
}

static void shim_record_any(struct shim_thread *t, const struct shim_event *ev,
			    uint64_t start, uint64_t end, int64_t result,
			    int err)
{
	uint8_t flags = 0, *p;

	p = shim_put_span(t, t->p + 2, start, end);
	p = put_core(t, p, &flags, ev, result, err);
	t->p[1] = flags;
	shim_barrier();
	t->p[0] = (uint8_t)ev->call;
	shim_end(t, p);
}

static void record_full(const struct shim_event *ev, uint64_t start,
			uint64_t end, int64_t result, int err)
{
	struct lengths n = {ev->path_len, 0, ev->path2 ? ev->path2 : ev->text};
	uint32_t at = at_desc(ev->at, ev->path);
	uint32_t at2 = ev->path2 ? at_desc(ev->at2, ev->path2) : 0;
	int64_t pos = size_seen(ev, err);
	uint8_t more, flags = 0, *p, *flags_at;
	struct shim_thread *t;

	if (unlikely(shim_sites) && !shim_site(ev->call, end))
		return;
	if (ev->path && !n.path)
		n.path = strlen(ev->path);
	n.path2 = n.second ? strlen(n.second) : 0;
	if (n.path >= REEL_PATH_BYTES || n.path2 >= REEL_PATH_BYTES) {
		shim_count(REEL_LOST_LIMIT, 1);
		return;
	}
	t = shim_begin(SHIM_RECORD_MAX + n.path + n.path2, start);
	if (unlikely(!t))
		return;
	p = t->p + (ev->call < REEL_CALL_WIDE ? 1 : 2);
	flags_at = p++;
	more = more_flags(ev, &n, pos, at);
	if (more) {
		flags |= REEL_F_MORE;
		*p++ = more;
	}
	p = shim_put_span(t, p, start, end);
	p = put_core(t, p, &flags, ev, result, err);
	if (ev->newdesc || ev->bad_fd) {
		p = shim_put(p, ev->newdesc);
		if (ev->newdesc) /* what comes next is for it */
			t->last_desc = ev->newdesc;
		p = shim_put(p, (uint64_t)(uint32_t)ev->newfd);
	}
	if (ev->arg != NONE)
		p = shim_put(p, shim_zigzag(ev->arg));
	if (ev->arg2 != NONE)
		p = shim_put(p, shim_zigzag(ev->arg2));
	if (pos != NONE)
		p = shim_put(p, (uint64_t)pos);
	if (ev->path)
		p = put_path(t, p, ev, n.path);
	if (at)
		p = shim_put(p, at);
	if (n.second) {
		p = put_bytes(p, n.second, n.path2);
		p = shim_put(p, at2);
	}
	*flags_at = flags;
	put_call(t->p, ev->call);
	if (ev->call < CALL_OPEN)
		t->events--; /* a mark is none */
	shim_end(t, p);
}

void shim_record_odd(uint32_t call, uint32_t desc, int64_t size, int64_t offset,
		     uint64_t start, uint64_t end, int64_t result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE};
	struct shim_thread *t;

	if (err == SHIM_ERRNO)
		err = result < 0 ? errno : 0;
	if (unlikely(shim_counting) &&
	    shim_counted_io(call, desc, size, start, end, result, err))
		return;
	ev.call = call;
	ev.desc = desc;
	ev.size = size;
	ev.offset = offset;
	ev.arg2 = shim_storage(call, desc, end - start, result);
	if (unlikely(ev.arg2 != NONE)) {
		record_full(&ev, start, end, result, err);
		return;
	}
	if (unlikely(shim_sites) && !shim_site(call, end))
		return;
	t = shim_begin(SHIM_RECORD_MAX, start);
	if (unlikely(!t))
		return;
	shim_record_any(t, &ev, start, end, result, err);
}

void shim_record_full(const struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err)
{
	struct shim_event counted;

	if (likely(!shim_counting)) {
		record_full(ev, start, end, result, err);
		return;
	}
	counted = *ev;
	if (!shim_counted(&counted, start, end, result, err))
		record_full(&counted, start, end, result, err);
}
