/* SPDX-License-Identifier: MIT */
/*
 * Encodes records with all fields: paths, arguments, new descriptors, marks.
 * The grammar is in schemas/trace_format.h, "RECORD". The short form of the hot
 * calls is shim_record_io() in shim.h; both keep the same context of the block.
 */
#include <string.h>

#include "preload/core/block_io.h"
#include "preload/core/counters.h"
#include "preload/core/features.h"
#include "preload/core/symbols.h"
#include "preload/core/types.h"

bool shim_sites;

/* The descriptor id of a relative path's directory; 0: the cwd. The name of an
 * unrecorded directory is already part of the path, if it has one. */
static uint32_t at_desc(int at, const char *path)
{
	if (at == AT_FDCWD || !path || path[0] == '/')
		return 0;
	uint32_t e = shim_fd(at);

	return shim_is_desc(e) ? e : REEL_NO_DESC;
}

/* Inlined: for a short name a call of memcpy() would double the cost. */
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

/* Compare the path with the thread's previous path and encode only the
 * suffix. */
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

HOT int64_t size_seen(const struct shim_event *ev, int err)
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

/* Complete a record: its first byte, stored last, makes it valid. */
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

HOT void end_record(struct shim_thread *t, uint8_t *p, uint32_t call)
{
	put_call(t->p, call);
	if (call < CALL_OPEN)
		t->events--; /* a mark is not an event */
	shim_end(t, p);
}

/* Write desc, offset, size and result, and add the flags that they need. */
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
		/* UINT64_MAX means that no record had a size yet. */
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

/* Write the fields between the result and the names, and add their flags. */
HOT uint8_t *put_more(struct shim_thread *t, uint8_t *p, uint8_t *more,
		      const struct shim_event *ev, int64_t pos)
{
	if (ev->newdesc || ev->bad_fd) {
		*more |= REEL_M_NEWDESC;
		p = shim_put(p, ev->newdesc);
		if (ev->newdesc) /* the next record is likely its */
			t->last_desc = ev->newdesc;
		p = shim_put(p, (uint64_t)(uint32_t)ev->newfd);
	}
	if (ev->arg != NONE) {
		*more |= REEL_M_ARG;
		p = shim_put(p, shim_zigzag(ev->arg));
	}
	if (ev->arg2 != NONE) {
		*more |= REEL_M_ARG2;
		p = shim_put(p, shim_zigzag(ev->arg2));
	}
	if (pos != NONE) {
		*more |= REEL_M_POS;
		p = shim_put(p, (uint64_t)pos);
	}
	return p;
}

/*
 * Write a record without names; @more: with the fields of put_more(). Inlined,
 * so that fields that the caller's event cannot have cost nothing: between
 * calls the job evicts our cache lines, and each line of code is a fetch.
 */
HOT void record_plain(const struct shim_event *ev, bool more, uint64_t start,
		      uint64_t end, int64_t result, int err)
{
	struct shim_thread *t = shim_begin(SHIM_RECORD_MAX, start);
	uint8_t flags = 0, has = 0, *p, *head;

	if (unlikely(!t))
		return;
	head = t->p + (ev->call >= REEL_CALL_WIDE);
	p = shim_put_span(t, head + (more ? SHIM_HEAD : 2), start, end);
	p = put_core(t, p, &flags, ev, result, err);
	if (more) {
		p = put_more(t, p, &has, ev, size_seen(ev, err));
		head[2] = has;
		flags |= REEL_F_MORE;
	}
	head[1] = flags;
	end_record(t, p, ev->call);
}

static __attribute__((noinline)) void record_named(const struct shim_event *ev,
						   uint64_t start, uint64_t end,
						   int64_t result, int err)
{
	const char *second = ev->path2 ? ev->path2 : ev->text;
	uint32_t at = at_desc(ev->at, ev->path);
	uint32_t at2 = ev->path2 ? at_desc(ev->at2, ev->path2) : 0;
	size_t len = ev->path_len, len2 = second ? strlen(second) : 0;
	uint8_t flags = 0, more = 0, *p, *head;
	struct shim_thread *t;

	if (ev->path && !len)
		len = strlen(ev->path);
	if (len >= REEL_PATH_BYTES || len2 >= REEL_PATH_BYTES) {
		shim_count(REEL_LOST_LIMIT, 1);
		return;
	}
	t = shim_begin(SHIM_RECORD_MAX + len + len2, start);
	if (unlikely(!t))
		return;
	head = t->p + (ev->call >= REEL_CALL_WIDE);
	p = shim_put_span(t, head + SHIM_HEAD, start, end);
	p = put_core(t, p, &flags, ev, result, err);
	p = put_more(t, p, &more, ev, size_seen(ev, err));
	if (ev->path) {
		more |= REEL_M_PATH;
		p = put_path(t, p, ev, len);
	}
	if (at) {
		more |= REEL_M_AT;
		p = shim_put(p, at);
	}
	if (second) {
		more |= REEL_M_PATH2;
		p = put_bytes(p, second, len2);
		p = shim_put(p, at2);
	}
	head[1] = flags | REEL_F_MORE;
	head[2] = more;
	end_record(t, p, ev->call);
}

HOT void record_full(const struct shim_event *ev, uint64_t start, uint64_t end,
		     int64_t result, int err)
{
	if (unlikely(shim_sites) && !shim_features_site(ev->call, end))
		return;
	if (ev->path || ev->path2 || ev->text)
		record_named(ev, start, end, result, err);
	else
		record_plain(ev, true, start, end, result, err);
}

/* Record a call with its call site, or with the bytes that it fetched,
 * @arg2. */
static COLD void record_more(uint32_t call, uint32_t desc, int64_t size,
			     int64_t offset, int64_t arg2, uint64_t start,
			     uint64_t end, int64_t result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.desc = desc;
	ev.size = size;
	ev.offset = offset;
	ev.arg2 = arg2;
	record_full(&ev, start, end, result, err);
}

void shim_record_odd(uint32_t call, uint32_t desc, int64_t size, int64_t offset,
		     uint64_t start, uint64_t end, int64_t result, int err)
{
	struct shim_event ev = {SHIM_EVENT_NONE};
	int64_t fetched;

	if (err == SHIM_ERRNO)
		err = result < 0 ? errno : 0;
	if (unlikely(shim_counting) &&
	    shim_counted_io(call, desc, size, start, end, result, err))
		return;
	fetched = shim_fetched(call, desc, end - start, result);
	if (unlikely(shim_sites || fetched != NONE)) {
		record_more(call, desc, size, offset, fetched, start, end,
			    result, err);
		return;
	}
	if (call < CALL_OPEN || call >= REEL_CALL_WIDE)
		__builtin_unreachable(); /* shim_record_io() promises it */
	ev.call = call;
	ev.desc = desc;
	ev.size = size;
	ev.offset = offset;
	record_plain(&ev, false, start, end, result, err);
}

COLD void shim_record_now(const struct shim_event *ev, uint64_t start,
			  uint64_t end, int64_t result, int err)
{
	record_full(ev, start, end, result, err);
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
