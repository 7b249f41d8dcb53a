/* SPDX-License-Identifier: MIT */
/*
 * The resolver's descriptors and open file descriptions (OFDs).
 *
 * Memory is bounded by the descriptors that are open: a closed one stays
 * findable for the next 512 closes of its process (a read that began before the
 * close may end after it), for fewer if thousands of processes share the memory,
 * and is then freed. An OFD is freed with its last descriptor, and its row is
 * complete.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/prefetch.h"

#include "analyzer/resolve/internal.h"

#define FIRST_SLOTS 16
#define FDS_MAX (1 << 20)

/* Copied: gcc would clear a struct of this size with "rep stos", slowly. */
static const struct ofd empty = {.pos = POS_UNKNOWN, .answer = {.before = -1}};

uint32_t ofds_new(struct ofds *o, const struct reel_open_row *row,
		  struct reel_error *err)
{
	uint32_t i = o->free;

	if (i) {
		o->free = o->ofd[i].row.file_id;
	} else {
		if (o->n + 1 >= o->room) {
			uint32_t room = o->room ? 2 * o->room : 64;

			if (reel_grow(&o->ofd, room, sizeof(*o->ofd), err))
				return 0;
			o->room = room;
		}
		i = ++o->n;
	}
	o->ofd[i] = empty;
	o->ofd[i].row = *row;
	o->ofd[i].dir = row->file_id;
	o->ofd[i].row.open_id = ++o->last_id;
	return i;
}

void ofds_hold(struct ofds *o, uint32_t i)
{
	o->ofd[i].refs++;
}

int ofds_release(struct reel_resolver *r, uint32_t i, struct reel_error *err)
{
	struct ofd *o = &r->ofds.ofd[i];
	int rc;

	if (--o->refs > 0)
		return 0;
	rc = r->sink.open(r->sink.arg, &o->row, err);
	o->row.file_id = r->ofds.free;
	r->ofds.free = i;
	return rc;
}

static int descs_grow(struct descs *d, struct reel_error *err)
{
	uint32_t slots = d->slots ? 2 * d->slots : FIRST_SLOTS;
	struct desc *old = d->slot, *slot;
	uint32_t old_slots = d->slots;

	slot = reel_alloc(slots, sizeof(*slot), err);
	if (!slot)
		return -1;
	d->slot = slot;
	d->slots = slots;
	for (uint32_t k = 0; k < old_slots; k++) {
		uint32_t i;

		if (!old[k].id)
			continue;
		i = descs_home(d, old[k].id);
		while (slot[i].id)
			i = (i + 1) & (slots - 1);
		slot[i] = old[k];
	}
	free(old);
	return 0;
}

/* Remove slot @i and close the gap, so that no search stops early. */
static void descs_remove(struct descs *d, uint32_t i)
{
	uint32_t mask = d->slots - 1, gap = i;

	for (i = (i + 1) & mask; d->slot[i].id; i = (i + 1) & mask) {
		uint32_t want = descs_home(d, d->slot[i].id);

		if (((i - want) & mask) >= ((i - gap) & mask)) {
			d->slot[gap] = d->slot[i];
			gap = i;
		}
	}
	d->slot[gap].id = 0;
	d->n--;
}

static int free_closed(struct reel_resolver *r, struct descs *d, uint32_t id,
		       struct reel_error *err)
{
	struct desc *p = descs_find(d, id);
	uint32_t open;

	if (!p || !p->closed || p->maps)
		return 0;
	open = p->open;
	descs_remove(d, (uint32_t)(p - d->slot));
	return ofds_release(r, open, err);
}

static void set_by_fd(struct descs *d, int32_t fd, uint32_t id)
{
	if (fd < 0 || fd >= FDS_MAX)
		return;
	if ((uint32_t)fd >= d->fds) {
		uint32_t fds = d->fds ? d->fds : 16;
		uint32_t *p;

		while (fds <= (uint32_t)fd)
			fds *= 2;
		p = realloc(d->by_fd, fds * sizeof(*p));
		if (!p)
			return; /* only implied closes are missed */
		memset(p + d->fds, 0, (fds - d->fds) * sizeof(*p));
		d->by_fd = p;
		d->fds = fds;
	}
	d->by_fd[fd] = id;
}

static uint32_t get_by_fd(const struct descs *d, int32_t fd)
{
	return fd >= 0 && (uint32_t)fd < d->fds ? d->by_fd[fd] : 0;
}

/* The length of a ring that begins now. */
static uint32_t ring_length(const struct reel_resolver *r)
{
	uint32_t share = RECENT_TOGETHER / (r->running > 0 ? r->running : 1);

	if (share > RECENT_MOST)
		return RECENT_MOST;
	return share < RECENT_LEAST ? RECENT_LEAST : share;
}

/* With the slots after it, which a removal reads. */
static void prefetch_slot(const struct descs *d, uint32_t id)
{
	const struct desc *slot = &d->slot[descs_home(d, id)];

	reel_prefetch(slot);
	reel_prefetch((const char *)slot + REEL_CACHE_LINE);
}

static uint32_t ring_next(const struct descs *d, uint32_t at)
{
	return at + 1 < d->recent_most ? at + 1 : 0;
}

/* Add the closed descriptor @p to the ring and free the one that it
 * replaces. */
static int retire(struct reel_resolver *r, struct descs *d,
		  const struct desc *p, struct reel_error *err)
{
	const struct recent *soon;
	struct recent *place;
	uint32_t oldest;

	if (!d->recent_most)
		d->recent_most = ring_length(r);
	/* It is a ring only when it is full: most processes close few. */
	if (d->recents < d->recent_most &&
	    reel_array_reach(&d->recent, &d->recent_room, d->recents,
			     sizeof(*d->recent), err))
		return -1;
	place = &d->recent[d->recent_at];
	d->recents++;
	d->recent_at = ring_next(d, d->recent_at);
	oldest = place->id;
	*place = (struct recent){p->id, p->open};
	if (!oldest)
		return 0;
	/* The oldest one has left the CPU caches: prefetch the next but one. */
	soon = &d->recent[ring_next(d, d->recent_at)];
	prefetch_slot(d, soon->id);
	reel_prefetch_range(&r->ofds.ofd[soon->open], sizeof(struct ofd));
	return free_closed(r, d, oldest, err);
}

const struct desc *descs_find_recent(const struct descs *d, uint32_t k)
{
	const struct desc *p = NULL;

	/* Later ones have taken the places of the older ones. */
	if (k < d->recents && d->recents - k <= d->recent_most)
		p = descs_find(d, d->recent[k % d->recent_most].id);
	return p && p->closed ? p : NULL;
}

int descs_map(struct reel_resolver *r, struct descs *d, uint32_t id, int by,
	      struct reel_error *err)
{
	struct desc *p = descs_find(d, id);

	if (!p || (by < 0 && !p->maps))
		return 0;
	p->maps += (uint32_t)by;
	return by < 0 && p->closed && !p->maps ? retire(r, d, p, err) : 0;
}

int descs_close(struct reel_resolver *r, struct descs *d, uint32_t id,
		int64_t now_ns, struct reel_error *err)
{
	struct desc *p = descs_find(d, id);
	struct ofd *o;

	if (!p || p->closed)
		return 0;
	p->closed = true;
	if (get_by_fd(d, p->fd) == id)
		set_by_fd(d, p->fd, 0);
	o = &r->ofds.ofd[p->open];
	if (--o->live == 0)
		o->row.close_ns = now_ns;
	return retire(r, d, p, err);
}

int descs_close_range(struct reel_resolver *r, struct descs *d, int64_t first,
		      int64_t last, int64_t now_ns, struct reel_error *err)
{
	for (int64_t fd = first < 0 ? 0 : first; fd <= last && fd < d->fds;
	     fd++) {
		uint32_t id = d->by_fd[fd];

		if (id && descs_close(r, d, id, now_ns, err))
			return -1;
	}
	return 0;
}

/* One more descriptor refers to @o, which may have been closed before. */
static void add_ref(struct ofd *o)
{
	o->refs++;
	if (!o->live++)
		o->row.close_ns = NO_NS;
	o->shared |= o->live > 1;
}

struct desc *descs_add(struct reel_resolver *r, struct descs *d, uint32_t id,
		       int32_t fd, uint32_t open, int64_t now_ns,
		       struct reel_error *err)
{
	uint32_t was = get_by_fd(d, fd);
	struct desc *p;

	if (was && was != id && descs_close(r, d, was, now_ns, err))
		return NULL;
	p = descs_find(d, id);
	if (p) { /* an id used twice: damage, or a repeated mark */
		uint32_t old = p->open;

		if (!p->closed)
			r->ofds.ofd[old].live--;
		add_ref(&r->ofds.ofd[open]);
		*p = (struct desc){.id = id,
				   .fd = fd,
				   .open = open,
				   .stream_pos = NO_STREAM};
		set_by_fd(d, fd, id);
		return ofds_release(r, old, err) ? NULL : p;
	}
	if (d->n + 1 > d->slots / 4 * 3 && descs_grow(d, err))
		return NULL;
	p = &d->slot[descs_home(d, id)];
	while (p->id)
		p = p + 1 < d->slot + d->slots ? p + 1 : d->slot;
	*p = (struct desc){
		.id = id, .fd = fd, .open = open, .stream_pos = NO_STREAM};
	d->n++;
	prefetch_slot(d, id + 1); /* ids are given out in order */
	add_ref(&r->ofds.ofd[open]);
	set_by_fd(d, fd, id);
	return p;
}

int descs_inherit(struct reel_resolver *r, struct descs *to,
		  const struct descs *from, uint32_t first_desc,
		  struct reel_error *err)
{
	for (uint32_t i = 0; i < from->slots; i++) {
		const struct desc *p = &from->slot[i];
		struct desc *copy;

		if (!p->id || p->closed || p->id >= first_desc)
			continue;
		copy = descs_add(r, to, p->id, p->fd, p->open, NO_NS, err);
		if (!copy)
			return -1;
		copy->stream_pos = p->stream_pos;
		copy->others = p->others;
	}
	return 0;
}

int descs_fini(struct reel_resolver *r, struct descs *d, struct reel_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->slots; i++) {
		if (!d->slot[i].id)
			continue;
		if (!d->slot[i].closed)
			r->ofds.ofd[d->slot[i].open].live--;
		if (ofds_release(r, d->slot[i].open, err))
			rc = -1;
	}
	free(d->slot);
	free(d->by_fd);
	free(d->recent);
	memset(d, 0, sizeof(*d));
	return rc;
}
