/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that an image was born with: which open file description each is.
 *
 * "cmd >log 2>&1" gives cmd two descriptors that share one position with each
 * other and with the shell. The trace says of each only its number, path, flags
 * and position at its first use; a wrong guess would give wrong offsets to all
 * who share, so what is known of both must agree.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/resolve/internal.h"

int handed_add(struct reel_resolver *r, struct handed_list *h, int32_t fd,
	       uint32_t open, struct reel_error *err)
{
	if (h->n >= HANDED_MAX)
		return 0;
	if (!h->item) {
		h->item = reel_alloc(HANDED_MAX, sizeof(*h->item), err);
		if (!h->item)
			return -1;
	}
	opens_hold(&r->opens, open);
	h->item[h->n++] = (struct handed){fd, open};
	return 0;
}

int handed_fini(struct reel_resolver *r, struct handed_list *h,
		struct reel_error *err)
{
	int rc = 0;

	while (h->n)
		if (opens_release(r, h->item[--h->n].open, err))
			rc = -1;
	free(h->item);
	h->item = NULL;
	return rc;
}

/* Descriptors of @d: those open now by number, then those closed of late: who
 * spawns closes its ends of pipes before the new image says a word. */
static int take_open(struct reel_resolver *r, struct handed_list *to,
		     const struct descs *d, struct reel_error *err)
{
	uint32_t first =
		d->recents > HANDED_MAX / 4 ? d->recents - HANDED_MAX / 4 : 0;

	for (uint32_t fd = 0; fd < d->fds && to->n < HANDED_MAX; fd++) {
		const struct desc *p =
			d->by_fd[fd] ? descs_find(d, d->by_fd[fd]) : NULL;

		if (p && !p->closed && handed_add(r, to, p->fd, p->open, err))
			return -1;
	}
	for (uint32_t k = d->recents; k > first && to->n < HANDED_MAX; k--) {
		const struct desc *p = descs_find_recent(d, k - 1);

		if (p && handed_add(r, to, -1, p->open, err))
			return -1;
	}
	return 0;
}

int handed_take(struct reel_resolver *r, struct process *to,
		const struct process *from, bool with_open,
		struct reel_error *err)
{
	if (with_open && take_open(r, &to->handed, &from->descs, err))
		return -1;
	for (uint32_t i = 0; i < from->handed.n; i++)
		if (handed_add(r, &to->handed, from->handed.item[i].fd,
			       from->handed.item[i].open, err))
			return -1;
	return 0;
}

static bool same_file(const struct opened *o, const struct handed_mark *m)
{
	if (o->row.file_id != m->file)
		return false;
	if (o->row.flags < 0 || m->flags < 0)
		return true;
	return (o->row.flags & O_ACCMODE) == (m->flags & O_ACCMODE) &&
	       o->append == !!(m->flags & O_APPEND);
}

/* Both stand at the same place, or neither can (pipes). */
static bool same_place(const struct opened *o, const struct handed_mark *m)
{
	return same_file(o, m) && o->pos == m->pos;
}

/* Somebody unseen may have moved it on, but not back. */
static bool not_before(const struct opened *o, const struct handed_mark *m)
{
	return same_file(o, m) && o->pos <= m->pos;
}

static uint32_t
find_in(const struct reel_resolver *r, const struct handed_list *h,
	const struct handed_mark *m,
	bool (*by_number)(const struct opened *, const struct handed_mark *))
{
	const struct opened *open = r->opens.open;

	for (uint32_t i = 0; i < h->n; i++)
		if (h->item[i].fd == m->fd &&
		    by_number(&open[h->item[i].open], m))
			return h->item[i].open;
	for (uint32_t i = 0; i < h->n; i++)
		if (same_place(&open[h->item[i].open], m))
			return h->item[i].open;
	return 0;
}

uint32_t handed_find(const struct reel_resolver *r, const struct process *p,
		     const struct handed_mark *m)
{
	uint32_t i = find_in(r, &p->handed, m, same_file);

	return i ? i : find_in(r, &r->outside, m, not_before);
}
