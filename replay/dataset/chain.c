/* SPDX-License-Identifier: MIT */
/*
 * A Markov chain of reads in place of a format's reader. Each state is a read of
 * some bytes at some distance from the end of the read before it; one of no bytes
 * asks for one at the end of the file. The first read of a file is that of state 0,
 * at the start of the sample it is for; which state follows depends on the seed, the
 * epoch and that sample alone.
 *
 * A sample has its share of the bytes: the chain goes on until as many bytes were
 * read as the samples so far have, times access.chain_share. A read that would leave
 * the file is moved, modulo the file's size, and one behind the end to where the rest
 * of the sample has room; a read is cut at the end.
 *
 * A chain with a state whose place or size follows from that of the file reads each
 * sample once: until state 0 is next.
 *
 * A chain without a seek is a stream: it asks for more at the end of its file alone,
 * and reads the bytes of the format, such as the headers of a tar, with the samples.
 */
#include <stdlib.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/dataset/formats.h"
#include "replay/io/io.h"
#include "replay/workload/quantiles.h"

#define READ_MOST (1u << 30) /* of one call */
#define ONCE_MOST 4096 /* states of a sample, where these follow the file */

struct chain {
	const struct dataset *d;
	struct io *io;
	int fd;
	uint64_t first; /* sample of the file */
	uint64_t next;	/* sample that a stream would read; or first - 1 */
	uint64_t size;	/* of the file */
	uint64_t payload, taken; /* of all its samples; of those so far */
	uint64_t random;	 /* state of the sequence */
	uint64_t at;		 /* end of the last read */
	uint64_t read;		 /* bytes, since the chain began */
	uint64_t due;		 /* of them, for the samples so far */
	uint32_t state;		 /* of the next read */
	bool begun;		 /* a read was made */
	bool stream, once;
	uint8_t *buf;
	size_t room;
	void *own; /* the memory, where it is not that of the reader */
};

static bool follows_file(const struct workload_access *a)
{
	for (uint32_t i = 0; i < a->chain_n; i++)
		if (a->chain[i].from || a->chain[i].to_end)
			return true;
	return false;
}

bool chain_is_stream(const struct workload_access *a)
{
	for (uint32_t i = 0; i < a->chain_n; i++)
		if (a->chain[i].stride)
			return false;
	return a->chain_n > 0 && !follows_file(a);
}

static int chain_close(void *state, struct reel_error *err)
{
	struct chain *c = state;
	int rc = 0;

	if (!c)
		return 0;
	if (c->fd >= 0)
		rc = io_close(c->io, c->fd, err);
	free(c->own);
	free(c);
	return rc;
}

/* Memory for the largest read of the file, as far as one call goes. */
static int make_room(struct chain *c, struct reel_error *err)
{
	const struct workload_access *a = c->io->access;
	uint64_t most = 1;

	for (uint32_t i = 0; i < a->chain_n; i++)
		if (a->chain[i].to_end)
			most = c->size > most ? c->size : most;
		else if ((uint64_t)a->chain[i].bytes > most)
			most = (uint64_t)a->chain[i].bytes;
	if (most > c->size)
		most = c->size;
	c->room = most < READ_MOST ? (size_t)most : READ_MOST;
	/* Memory that stays from file to file costs no page faults; O_DIRECT needs
	 * that of the reader for the blocks around the bytes. */
	if (!c->io->direct) {
		if (io_room(c->io, c->room + 1, err))
			return -1;
		c->buf = c->io->bounce;
		return 0;
	}
	if (posix_memalign(&c->own, IO_BLOCK, c->room + 1)) {
		c->own = NULL;
		return reel_fail(err, REEL_E_MEMORY,
				 "out of memory for %zu bytes", c->room);
	}
	c->buf = c->own;
	return 0;
}

static int chain_open(void **state, const struct dataset *d, uint64_t file,
		      struct io *io, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct chain *c = reel_alloc(1, sizeof(*c), err);
	int rc = -1;

	if (!c)
		return -1;
	c->d = d;
	c->io = io;
	c->fd = -1;
	c->first = file * d->samples_per_file;
	c->next = UINT64_MAX;
	c->stream = chain_is_stream(io->access);
	c->once = follows_file(io->access);
	c->size = c->payload = dataset_file_bytes(d, file);
	if (!dataset_path(d, file, &path, err)) {
		c->fd = io_open(io, reel_buf_text(&path), true, err);
		if (c->fd >= 0 && !io_fstat(io, c->fd, &c->size, err))
			rc = make_room(c, err);
	}
	reel_buf_fini(&path);
	if (rc) {
		chain_close(c, NULL);
		return -1;
	}
	*state = c;
	return 0;
}

/* The state after @from. @reads: of those that read, where one may follow. */
static uint32_t next_state(struct chain *c, uint32_t from, bool reads)
{
	const struct workload_access *a = c->io->access;
	const struct workload_access_state *s = &a->chain[from];
	double share = random_share(&c->random), sum = 0;
	uint32_t last = from;

	for (uint32_t i = 0; reads && i < s->next_n; i++)
		if (a->chain[i].bytes)
			sum += s->next[i];
	if (sum > 0)
		share *= sum;
	for (uint32_t i = 0; i < s->next_n; i++) {
		if (s->next[i] <= 0 || (sum > 0 && !a->chain[i].bytes))
			continue;
		last = i;
		share -= s->next[i];
		if (share < 0)
			break;
	}
	return last; /* the sum may be a little less than 1 */
}

/* A sample that does not follow the last one begins the chain again. */
static void begin_chain(struct chain *c, uint64_t sample)
{
	double share =
		(double)(sample - c->first) / (double)c->d->samples_per_file;

	c->random = c->io->seed ^ (c->io->epoch << 40) ^ (sample + 1);
	random_next(&c->random);
	c->state = 0;
	c->begun = false;
	c->at = (uint64_t)(share * (double)c->size);
	c->read = c->due = c->taken = 0;
}

/* Move the read of @s into the file: its offset, and *@n bytes of it. One behind the
 * end comes to where the rest of its sample has room. */
static uint64_t place(const struct chain *c,
		      const struct workload_access_state *s, uint64_t *n)
{
	int64_t size = (int64_t)c->size;
	int64_t stride = c->begun ? s->stride : 0;
	int64_t rest = (int64_t)(c->due > c->read ? c->due - c->read : 0);
	int64_t to = (int64_t)c->at + stride, at;

	if (s->from)
		to = s->stride + (s->from == WORKLOAD_END ? size : 0);
	at = to % size;
	if (at < 0)
		at += size;
	if (c->once && to < 0) /* the file is shorter than that */
		at = 0;
	if (!c->once && to >= size && rest <= size && at > size - rest)
		at = size - rest;
	*n = (uint64_t)s->bytes;
	if (s->to_end)
		*n = s->bytes < size - at ? (uint64_t)(size - at - s->bytes)
					  : 0;
	if (*n > c->size - (uint64_t)at)
		*n = c->size - (uint64_t)at;
	return (uint64_t)at;
}

/* One state: its read, in several calls where the workload limits them. */
static int read_state(struct chain *c, struct reel_error *err)
{
	const struct workload_access_state *s = &c->io->access->chain[c->state];
	uint64_t n, at, done = 0;

	/* A stream asks for more at the end of its file, wherever the chain is. */
	c->state = next_state(c, c->state, c->stream);
	if (!s->bytes && !s->to_end)
		return io_pread(c->io, c->fd, c->buf, 1, c->size, err) < 0 ? -1
									   : 0;
	at = place(c, s, &n);
	c->begun = true;
	while (done < n) {
		size_t want = n - done < c->room ? (size_t)(n - done) : c->room;
		ssize_t got =
			io_pread(c->io, c->fd, c->buf, want, at + done, err);

		if (got < 0)
			return -1;
		if (!got)
			return reel_fail(err, REEL_E_FORMAT,
					 "it became shorter while it was "
					 "read");
		done += (uint64_t)got;
	}
	c->at = at + n;
	c->read += n;
	return 0;
}

/* All states of no bytes that follow each other, at the end of a stream. */
static int read_end(struct chain *c, struct reel_error *err)
{
	const struct workload_access *a = c->io->access;
	uint32_t state = 0;

	while (state < a->chain_n && a->chain[state].bytes)
		state++;
	if (state == a->chain_n)
		return 0;
	/* As often as the chain has states: it may never leave them. */
	for (uint32_t i = 0; i < a->chain_n && !a->chain[state].bytes; i++) {
		if (io_pread(c->io, c->fd, c->buf, 1, c->size, err) < 0)
			return -1;
		state = next_state(c, state, false);
	}
	return 0;
}

/* Read until all that is due is read. */
static int read_stream(struct chain *c, struct reel_error *err)
{
	while (c->read < c->due) {
		if (!c->io->access->chain[c->state].bytes)
			c->state = 0;
		if (read_state(c, err))
			return -1;
	}
	return c->at == c->size ? read_end(c, err) : 0;
}

/* As often as a chain may have states, many times: it may not lead to the first. */
static int read_once(struct chain *c, struct reel_error *err)
{
	begin_chain(c, c->next - 1);
	for (uint32_t i = 0; c->size && i < ONCE_MOST; i++) {
		if (read_state(c, err))
			return -1;
		if (!c->state)
			break;
	}
	return 0;
}

static int chain_read(void *state, uint64_t sample, struct format_sample *out,
		      struct reel_error *err)
{
	struct chain *c = state;

	out->bytes = dataset_sample_bytes(c->d, sample);
	out->number = UINT64_MAX;
	if (sample != c->next)
		begin_chain(c, sample);
	c->next = sample + 1;
	c->taken += out->bytes;
	c->due = (uint64_t)((double)c->taken * c->io->access->chain_share);
	if (c->stream && c->payload)
		c->due = (uint64_t)((double)c->taken / (double)c->payload *
				    (double)c->size);
	if (c->taken && !c->size)
		return reel_fail(err, REEL_E_FORMAT,
				 "it is shorter than it was made: it is empty");
	if (c->stream)
		return read_stream(c, err);
	if (c->once)
		return read_once(c, err);
	/* A read of no bytes belongs to the one before it. */
	while (c->read < c->due ||
	       (c->begun && !c->io->access->chain[c->state].bytes))
		if (read_state(c, err))
			return -1;
	return 0;
}

const struct format format_chain = {
	.name = "chain",
	.suffix = "",
	.any_order = true,
	.open = chain_open,
	.read = chain_read,
	.close = chain_close,
};
