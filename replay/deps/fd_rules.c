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

static struct fd_number *number_of(struct deps *d, uint32_t process, int32_t fd,
				   struct reel_error *err)
{
	uint32_t known = d->numbers.used, i;

	i = reel_intmap_get(&d->numbers, (uint64_t)process << 32 | (uint32_t)fd,
			    err);
	if (i == REEL_NO_INDEX || reel_array_reach(&d->number, &d->number_room,
						   i, sizeof(*d->number), err))
		return NULL;
	if (i == known)
		d->number[i].closer = d->number[i].next_opener =
			d->number[i].opener = NO_CALL;
	return &d->number[i];
}

/* @ev gets the number from the kernel, or uses the descriptor that has it. */
static int take_number(struct deps *d, struct fd_number *n, uint32_t process,
		       const struct reel_event *ev, const struct call_ref *call,
		       struct reel_error *err)
{
	if (n->ofd == ev->open)
		return deps_after(d, &n->opener, ev, call, err);
	if (n->next_opener.stream != JOB_NONE && n->next_ofd == ev->open)
		return deps_after(d, &n->next_opener, ev, call, err);
	if (!n->ofd) {
		n->ofd = ev->open;
		n->opener = *call;
		return deps_add(d, &n->closer, call, err) < 0 ? -1 : 0;
	}
	/* The close of the owner has not ended yet, or is not in the trace. */
	n->next_opener = *call;
	n->next_ofd = ev->open;
	return deps_after_users(d, &d->ofd[n->ofd].users, process, ev, call,
				err);
}

/* dup2(): @ev puts its open file description behind the number, which may be
 * in use. */
static int replace_number(struct deps *d, struct fd_number *n, uint32_t process,
			  const struct reel_event *ev,
			  const struct call_ref *call, struct reel_error *err)
{
	if (deps_after(d, &n->closer, ev, call, err) ||
	    deps_after(d, &n->opener, ev, call, err) ||
	    deps_after(d, &n->next_opener, ev, call, err) ||
	    (n->ofd && deps_after_users(d, &d->ofd[n->ofd].users, process, ev,
					call, err)))
		return -1;
	*n = (struct fd_number){.closer = NO_CALL,
				.next_opener = NO_CALL,
				.opener = *call,
				.ofd = ev->open};
	return 0;
}

/* @ev closes the number. An open that already has it waits for this close. */
static int release_number(struct deps *d, struct fd_number *n,
			  const struct reel_event *ev,
			  const struct call_ref *call, struct reel_error *err)
{
	if (n->unclosed_ofd && n->unclosed_ofd == ev->open) {
		n->unclosed_ofd = 0;
		return deps_add_late(d, call, &n->unclosed_next_opener, err) < 0
			       ? -1
			       : 0;
	}
	if (n->next_opener.stream != JOB_NONE && n->ofd == ev->open) {
		struct call_ref opener = n->next_opener;

		n->next_opener = NO_CALL;
		n->opener = opener;
		n->ofd = n->next_ofd;
		return deps_add_late(d, call, &opener, err) < 0 ? -1 : 0;
	}
	if (n->next_opener.stream != JOB_NONE && n->next_ofd == ev->open) {
		n->unclosed_ofd = n->ofd;
		n->unclosed_next_opener = n->next_opener;
		n->next_opener = NO_CALL;
	} else if (n->ofd && n->ofd != ev->open) {
		return 0;
	}
	n->closer = *call;
	n->ofd = 0;
	return 0;
}

static int on_number(struct deps *d, const struct reel_event *ev,
		     const struct call_ref *call, int32_t fd, bool closes,
		     struct reel_error *err)
{
	bool replaces = fd != ev->fd && (ev->call == REEL_CALL_DUP2 ||
					 ev->call == REEL_CALL_DUP3);
	uint32_t process = d->job->stream[call->stream].process;
	struct fd_number *n;

	if (d->job->process[process].streams < 2)
		return 0;
	n = number_of(d, process, fd, err);
	if (!n)
		return -1;
	return closes	  ? release_number(d, n, ev, call, err)
	       : replaces ? replace_number(d, n, process, ev, call, err)
			  : take_number(d, n, process, ev, call, err);
}

int deps_on_ofd(struct deps *d, const struct reel_event *ev,
		const struct call_ref *call, struct reel_error *err)
{
	struct ofd_uses *o = &d->ofd[ev->open];
	uint32_t process = d->job->stream[call->stream].process;

	if (ev->group == REEL_GROUP_OPEN) {
		o->opener = *call;
		return on_number(d, ev, call, ev->fd, false, err);
	}
	/* The first use of a descriptor that no recorded call made takes the
	 * number too. */
	if (!is_by_address(ev->call) && !is_async(ev) &&
	    ev->group != REEL_GROUP_CLOSE &&
	    on_number(d, ev, call, ev->fd, false, err))
		return -1;
	if (deps_after(d, &o->opener, ev, call, err))
		return -1;
	if (moves_position(ev)) {
		if (deps_after(d, &o->last_move, ev, call, err))
			return -1;
		o->last_move = *call;
	}
	if (ev->fd2 >= 0 && on_number(d, ev, call, ev->fd2, false, err))
		return -1;
	/* Any thread may have made the mapping. */
	if (is_by_address(ev->call) &&
	    deps_after_users(d, &o->users, process, ev, call, err))
		return -1;
	if (ev->group == REEL_GROUP_CLOSE &&
	    (deps_after_users(d, &o->users, process, ev, call, err) ||
	     on_number(d, ev, call, ev->fd, true, err)))
		return -1;
	return users_add(&o->users, call, err);
}
