/* SPDX-License-Identifier: MIT */
/*
 * Rules for the bytes of an inode: they are read after they were written,
 * truncated after they were read, and a write behind the end of the file comes
 * after the reads that hit that end. append_order.c orders the calls that
 * overlapped.
 */
#include <unistd.h>

#include "lib/calls.h"
#include "lib/store/event.h"

#include "replay/deps/append_order.h"
#include "replay/deps/internal.h"

/* A log has many writers. Of more than USERS_MOST only the last counts, or
 * every read would wait for all of them. */
int deps_after_writers(struct deps *d, const struct inode_uses *inode,
		       const struct reel_event *ev, const struct call_ref *call,
		       struct reel_error *err)
{
	return inode->writers.n < USERS_MOST
		       ? deps_after_users(d, &inode->writers, JOB_NONE, ev,
					  call, err)
		       : deps_after(d, &inode->last_write, ev, call, err);
}

/* Truncation waits for reads of the old bytes and for the previous truncation.
 */
int deps_on_truncate(struct deps *d, const struct reel_event *ev,
		     struct inode_uses *inode, const struct call_ref *call,
		     struct reel_error *err)
{
	if (deps_after_users(d, &inode->transfers, JOB_NONE, ev, call, err) ||
	    deps_after(d, &inode->last_truncate, ev, call, err))
		return -1;
	users_clear(&inode->transfers);
	if (!ev->err)
		inode->last_truncate = *call;
	return 0;
}

static bool changes_bytes(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_WRITE ||
	       reel_call_traits(ev->call) &
		       (REEL_TRAIT_FLUSHES | REEL_TRAIT_RESIZES);
}

static bool same_process(const struct deps *d, const struct call_ref *a,
			 const struct call_ref *b)
{
	return a->stream != JOB_NONE &&
	       d->job->stream[a->stream].process ==
		       d->job->stream[b->stream].process;
}

/* SEEK_END, SEEK_DATA, SEEK_HOLE: the result depends on the file. */
static bool seeks_in_data(const struct reel_event *ev)
{
	return ev->call == REEL_CALL_LSEEK && ev->arg != SEEK_SET &&
	       ev->arg != SEEK_CUR;
}

static int on_write(struct deps *d, const struct reel_event *ev,
		    struct inode_uses *inode, const struct call_ref *call,
		    struct reel_error *err)
{
	if (ev->layer == REEL_LAYER_STDIO && ev->group != REEL_GROUP_WRITE &&
	    !same_process(d, &inode->last_write, call))
		return 0; /* the stream had nothing to flush */
	if (ev->group == REEL_GROUP_WRITE &&
	    append_order_event(d, &inode->order, ev, call, err))
		return -1;
	inode->last_write = *call;
	if (inode->writers.n < USERS_MOST &&
	    users_add(&inode->writers, call, err))
		return -1;
	/*
	 * Writes wait for earlier reads that hit EOF. Those reads stay known:
	 * later writes of other streams wait for them too.
	 */
	if (deps_after_users(d, &inode->eof_reads, JOB_NONE, ev, call, err) ||
	    deps_after(d, &inode->last_truncate, ev, call, err))
		return -1;
	if (inode->eof_reads.n >= USERS_MOST)
		users_clear(&inode->eof_reads);
	if (ev->call == REEL_CALL_FTRUNCATE &&
	    deps_on_truncate(d, ev, inode, call, err))
		return -1;
	return users_add(&inode->transfers, call, err);
}

int deps_on_bytes(struct deps *d, const struct reel_event *ev,
		  struct inode_uses *inode, const struct call_ref *call,
		  struct reel_error *err)
{
	bool read = ev->group == REEL_GROUP_READ;

	if (changes_bytes(ev))
		return on_write(d, ev, inode, call, err);
	if ((read || ev->group == REEL_GROUP_STAT ||
	     ev->call == REEL_CALL_MMAP || seeks_in_data(ev)) &&
	    deps_after_writers(d, inode, ev, call, err))
		return -1;
	if (read && deps_after(d, &inode->last_truncate, ev, call, err))
		return -1;
	if (seeks_in_data(ev) && (users_add(&inode->eof_reads, call, err) ||
				  users_add(&inode->transfers, call, err)))
		return -1;
	if (!read)
		return 0;
	if ((ev->result < ev->asked &&
	     users_add(&inode->eof_reads, call, err)) ||
	    (inode->writable &&
	     append_order_event(d, &inode->order, ev, call, err)))
		return -1;
	return ev->result > 0 ? users_add(&inode->transfers, call, err) : 0;
}
