/* SPDX-License-Identifier: MIT */
/*
 * Descriptors inherited across exec: find the OFD of each.
 *
 * "cmd >log 2>&1" gives cmd two descriptors that share one position with each
 * other and with the shell. The trace has only number, path, flags and position
 * at the first use of each. A wrong match would give wrong offsets to all
 * sharers, so every known property of both must agree.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "lib/error.h"

#include "analyzer/resolve/internal.h"

int inherited_add(struct reel_resolver *r, struct inherited_fds *h, int32_t fd,
		  uint32_t open, struct reel_error *err)
{
	if (h->n >= INHERITED_MAX)
		return 0;
	if (!h->item) {
		h->item = reel_alloc(INHERITED_MAX, sizeof(*h->item), err);
		if (!h->item)
			return -1;
	}
	ofds_hold(&r->ofds, open);
	h->item[h->n++] = (struct inherited_fd){fd, open};
	return 0;
}

int inherited_fini(struct reel_resolver *r, struct inherited_fds *h,
		   struct reel_error *err)
{
	int rc = 0;

	while (h->n)
		if (ofds_release(r, h->item[--h->n].open, err))
			rc = -1;
	free(h->item);
	h->item = NULL;
	return rc;
}

/* Descriptors of @d: the open ones by number, then those closed recently: after
 * a spawn the parent closes its pipe ends before the new image makes a
 * record. */
static int add_open(struct reel_resolver *r, struct inherited_fds *to,
		    const struct descs *d, struct reel_error *err)
{
	uint32_t first = d->recents > INHERITED_MAX / 4
				 ? d->recents - INHERITED_MAX / 4
				 : 0;

	for (uint32_t fd = 0; fd < d->fds && to->n < INHERITED_MAX; fd++) {
		const struct desc *p =
			d->by_fd[fd] ? descs_find(d, d->by_fd[fd]) : NULL;

		if (p && !p->closed &&
		    inherited_add(r, to, p->fd, p->open, err))
			return -1;
	}
	for (uint32_t k = d->recents; k > first && to->n < INHERITED_MAX; k--) {
		const struct desc *p = descs_find_recent(d, k - 1);

		if (p && inherited_add(r, to, -1, p->open, err))
			return -1;
	}
	return 0;
}

int inherited_take(struct reel_resolver *r, struct process *to,
		   const struct process *from, bool with_open,
		   struct reel_error *err)
{
	if (with_open && add_open(r, &to->inherited, &from->descs, err))
		return -1;
	for (uint32_t i = 0; i < from->inherited.n; i++)
		if (inherited_add(r, &to->inherited, from->inherited.item[i].fd,
				  from->inherited.item[i].open, err))
			return -1;
	return 0;
}

static bool same_file(const struct ofd *o, const struct fd_mark *m)
{
	if (o->row.file_id != m->file)
		return false;
	if (o->row.flags < 0 || m->flags < 0)
		return true;
	return (o->row.flags & O_ACCMODE) == (m->flags & O_ACCMODE) &&
	       o->append == !!(m->flags & O_APPEND);
}

/* The same position, or none (pipes). */
static bool same_pos(const struct ofd *o, const struct fd_mark *m)
{
	return same_file(o, m) && o->pos == m->pos;
}

/* An untraced process may have advanced the position, never set it back. */
static bool not_before(const struct ofd *o, const struct fd_mark *m)
{
	return same_file(o, m) && o->pos <= m->pos;
}

static uint32_t find_in(const struct reel_resolver *r,
			const struct inherited_fds *h, const struct fd_mark *m,
			bool (*by_number)(const struct ofd *,
					  const struct fd_mark *))
{
	const struct ofd *open = r->ofds.ofd;

	for (uint32_t i = 0; i < h->n; i++)
		if (h->item[i].fd == m->fd &&
		    by_number(&open[h->item[i].open], m))
			return h->item[i].open;
	for (uint32_t i = 0; i < h->n; i++)
		if (same_pos(&open[h->item[i].open], m))
			return h->item[i].open;
	return 0;
}

uint32_t inherited_find(const struct reel_resolver *r, const struct process *p,
			const struct fd_mark *m)
{
	uint32_t i = find_in(r, &p->inherited, m, same_file);

	return i ? i : find_in(r, &r->initial_fds, m, not_before);
}
