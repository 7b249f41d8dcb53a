/* SPDX-License-Identifier: MIT */
/*
 * Rules for descriptors: an open file description is used after its open and
 * closed after its last use, its position is moved in turn, and a descriptor
 * number is reused after its close.
 */
#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"

#include "replay/deps/internal.h"
#include "replay/model/classify.h"

/* Does the call move the position of the open file description? */
static bool moves_position(const struct reel_event *ev)
{
	return uses_position(ev) &&
	       (ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE ||
		ev->group == REEL_GROUP_SEEK || ev->call == REEL_CALL_READDIR);
}

static struct fd_number *number_of(struct deps *d, uint32_t process, int32_t fd)
{
	uint32_t known = d->numbers.used, i;

	i = reel_intmap_get(&d->numbers, (uint64_t)process << 32 | (uint32_t)fd,
			    d->err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&d->number, &d->number_room, i, sizeof(*d->number),
			     d->err))
		return NULL;
	if (i == known)
		d->number[i].closer = d->number[i].next_opener =
			d->number[i].opener = NO_CALL;
	return &d->number[i];
}

/* The call gets the number from the kernel, or uses the descriptor that has
 * it. */
static void take_number(struct deps *d, struct fd_number *n, uint32_t process)
{
	uint32_t open = d->ev->open;

	if (n->ofd == open) {
		deps_after(d, &n->opener);
	} else if (n->next_opener.stream != JOB_NONE && n->next_ofd == open) {
		deps_after(d, &n->next_opener);
	} else if (!n->ofd) {
		n->ofd = open;
		n->opener = *d->call;
		deps_add(d, &n->closer, d->call, d->err);
	} else {
		/* The close of the owner has not ended yet, or is not in the
		 * trace. */
		n->next_opener = *d->call;
		n->next_ofd = open;
		deps_after_users(d, &d->ofd[n->ofd].users, process);
	}
}

/* dup2(): the call puts its open file description behind the number, which may
 * be in use. */
static void replace_number(struct deps *d, struct fd_number *n,
			   uint32_t process)
{
	deps_after(d, &n->closer);
	deps_after(d, &n->opener);
	deps_after(d, &n->next_opener);
	if (n->ofd)
		deps_after_users(d, &d->ofd[n->ofd].users, process);
	*n = (struct fd_number){.closer = NO_CALL,
				.next_opener = NO_CALL,
				.opener = *d->call,
				.ofd = d->ev->open};
}

/* The call closes the number. An open that already has it waits for this close.
 */
static void release_number(struct deps *d, struct fd_number *n)
{
	uint32_t open = d->ev->open;

	if (n->unclosed_ofd && n->unclosed_ofd == open) {
		n->unclosed_ofd = 0;
		deps_add_late(d, d->call, &n->unclosed_next_opener, d->err);
		return;
	}
	if (n->next_opener.stream != JOB_NONE && n->ofd == open) {
		n->opener = n->next_opener;
		n->next_opener = NO_CALL;
		n->ofd = n->next_ofd;
		deps_add_late(d, d->call, &n->opener, d->err);
		return;
	}
	if (n->next_opener.stream != JOB_NONE && n->next_ofd == open) {
		n->unclosed_ofd = n->ofd;
		n->unclosed_next_opener = n->next_opener;
		n->next_opener = NO_CALL;
	} else if (n->ofd && n->ofd != open) {
		return;
	}
	n->closer = *d->call;
	n->ofd = 0;
}

static void on_number(struct deps *d, int32_t fd, bool closes)
{
	const struct reel_event *ev = d->ev;
	bool replaces = fd != ev->fd && (ev->call == REEL_CALL_DUP2 ||
					 ev->call == REEL_CALL_DUP3);
	uint32_t process = d->job->stream[d->call->stream].process;
	struct fd_number *n;

	if (d->job->process[process].streams < 2 ||
	    !(n = number_of(d, process, fd)))
		return;
	if (closes)
		release_number(d, n);
	else if (replaces)
		replace_number(d, n, process);
	else
		take_number(d, n, process);
}

void deps_on_ofd(struct deps *d)
{
	const struct reel_event *ev = d->ev;
	struct ofd_uses *o = &d->ofd[ev->open];
	uint32_t process = d->job->stream[d->call->stream].process;
	bool closes = ev->group == REEL_GROUP_CLOSE;

	if (ev->group == REEL_GROUP_OPEN) {
		o->opener = *d->call;
		on_number(d, ev->fd, false);
		return;
	}
	/* The first use of a descriptor that no recorded call made takes the
	 * number too. */
	if (!is_by_address(ev->call) && !is_async(ev) && !closes)
		on_number(d, ev->fd, false);
	deps_after(d, &o->opener);
	if (moves_position(ev)) {
		deps_after(d, &o->last_move);
		o->last_move = *d->call;
	}
	if (ev->fd2 >= 0)
		on_number(d, ev->fd2, false);
	/* Any thread may have made the mapping. */
	if (is_by_address(ev->call) || closes)
		deps_after_users(d, &o->users, process);
	if (closes)
		on_number(d, ev->fd, true);
	users_add(&o->users, d->call, d->err);
}
