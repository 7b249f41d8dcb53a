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

#include "replay/deps/internal.h"

/* A log has many writers. Of more than USERS_MOST only the last counts, or
 * every read would wait for all of them. */
void deps_after_writers(struct deps *d, const struct inode_uses *inode)
{
	if (inode->writers.n < USERS_MOST)
		deps_after_users(d, &inode->writers, JOB_NONE);
	else
		deps_after(d, &inode->last_write);
}

/* Truncation waits for reads of the old bytes and for the previous truncation.
 */
void deps_on_truncate(struct deps *d, struct inode_uses *inode)
{
	deps_after_users(d, &inode->transfers, JOB_NONE);
	deps_after(d, &inode->last_truncate);
	users_clear(&inode->transfers);
	if (!d->ev->err)
		inode->last_truncate = *d->call;
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

static void on_write(struct deps *d, struct inode_uses *inode)
{
	const struct reel_event *ev = d->ev;

	if (ev->layer == REEL_LAYER_STDIO && ev->group != REEL_GROUP_WRITE &&
	    !same_process(d, &inode->last_write, d->call))
		return; /* the stream had nothing to flush */
	if (ev->group == REEL_GROUP_WRITE)
		append_order_event(d, &inode->order);
	inode->last_write = *d->call;
	if (inode->writers.n < USERS_MOST)
		users_add(&inode->writers, d->call, d->err);
	/*
	 * Writes wait for earlier reads that hit EOF. Those reads stay known:
	 * later writes of other streams wait for them too.
	 */
	deps_after_users(d, &inode->eof_reads, JOB_NONE);
	deps_after(d, &inode->last_truncate);
	if (inode->eof_reads.n >= USERS_MOST)
		users_clear(&inode->eof_reads);
	if (ev->call == REEL_CALL_FTRUNCATE)
		deps_on_truncate(d, inode);
	users_add(&inode->transfers, d->call, d->err);
}

void deps_on_bytes(struct deps *d, struct inode_uses *inode)
{
	const struct reel_event *ev = d->ev;
	bool read = ev->group == REEL_GROUP_READ, seeks = seeks_in_data(ev);

	if (changes_bytes(ev)) {
		on_write(d, inode);
		return;
	}
	if (read || ev->group == REEL_GROUP_STAT ||
	    ev->call == REEL_CALL_MMAP || seeks)
		deps_after_writers(d, inode);
	if (read)
		deps_after(d, &inode->last_truncate);
	if (seeks || (read && ev->result < ev->asked))
		users_add(&inode->eof_reads, d->call, d->err);
	if (read && inode->writable)
		append_order_event(d, &inode->order);
	if (seeks || (read && ev->result > 0))
		users_add(&inode->transfers, d->call, d->err);
}
