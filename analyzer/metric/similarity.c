/* SPDX-License-Identifier: MIT */
/*
 * A hash per thread that is equal in two runs if the thread made the same calls
 * in the same order with the same results: for "ioreel compare".
 *
 * It chains call, file, descriptors, offset, bytes requested and returned, and
 * errno; no times, addresses or stream pointers. File ids differ between runs
 * and paths are known only at the end: the chain notes a change of file, a log
 * records the new file, and the paths are chained at the end.
 *
 * Messages have a chain of their own: timing decides how they are split. So
 * have calls of a higher layer, because a replay plays only the calls below;
 * files used through mappings are added there, without an order, because pages
 * are reported when a mapping ends. A file name made by mkstemp() is random: it
 * is replaced by the rest of its name and its ordinal among such files of its
 * thread.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/event_op.h"
#include "lib/store/insert.h"

#include "analyzer/metric/metric.h"
#include "analyzer/metric/spill_log.h"

static const char schema[] =
#include "schemas/metric_similarity.sql.inc"
	;

#define STEP 0x9e3779b97f4a7c15ull
#define OFFSET_STEP 0xa0761d6478bd642full

#define LOG_BYTES (16u << 20)
#define MADE_UP 6 /* random letters */

enum { IO, MESSAGES, UPPER, CHAINS };

struct chain {
	uint64_t calls, hash;
	uint32_t last_file;
	uint32_t made; /* files by mkstemp() */
};

struct sequences {
	struct chain (*thread)[CHAINS];
	uint32_t room;
	struct reel_intmap mapped[2]; /* thread and file: read, written */
	uint32_t *made; /* ordinal of mkstemp() in its thread, by file */
	uint32_t made_room;
	struct reel_spill_log *log; /* file ids; CHAINS streams a thread */
};

static int sequences_init(void *state, struct reel_error *err)
{
	struct sequences *s = state;

	return reel_spill_log_new(&s->log, LOG_BYTES, err);
}

static inline uint64_t mix_hash(uint64_t h, uint64_t v)
{
	v *= 0xff51afd7ed558ccdull;
	v ^= v >> 32;
	h = (h ^ v) * STEP;
	return h ^ h >> 29;
}

/*
 * Independent products, so that the processor computes them in parallel. fd
 * numbers depend on other threads: they count only when no file identifies the
 * call, except for EBADF, where they may be any. Two opens of one file differ
 * in their offsets.
 */
static inline uint64_t hash_event(const struct metric_event *ev, uint32_t turns)
{
	uint64_t moved = 0, number = 0;

	if (!ev->raw.file && ev->raw.err != EBADF)
		number = (uint64_t)(uint32_t)ev->raw.fd << 32 |
			 (uint32_t)ev->raw.fd2;
	if (ev->raw.group == REEL_GROUP_READ ||
	    ev->raw.group == REEL_GROUP_WRITE)
		moved = (uint64_t)ev->raw.result;
	return (ev->raw.call | (uint64_t)(uint32_t)ev->raw.err << 16 |
		(uint64_t)turns << 60) *
		       0xc2b2ae3d27d4eb4full +
	       number * 0xd6e8feb86659fd93ull +
	       (uint64_t)ev->raw.offset * OFFSET_STEP +
	       (uint64_t)ev->raw.asked * 0xe7037ed1a0b428dbull +
	       moved * 0x8ebc6af09c88c6e3ull +
	       ev->raw.count * 0x589965cc75374cc3ull;
}

static int log_file(struct sequences *s, uint32_t stream, uint32_t file,
		    struct reel_error *err)
{
	uint64_t number = file;

	return reel_spill_log_add(s->log, stream, &number, 1, 1, err);
}

static int count_made_up(struct sequences *s, const struct metric_event *ev,
			 struct chain *c, struct reel_error *err)
{
	if (ev->raw.err || !ev->raw.file)
		return 0;
	if (reel_array_reach(&s->made, &s->made_room, ev->raw.file,
			     sizeof(*s->made), err))
		return -1;
	s->made[ev->raw.file] = ++c->made;
	return 0;
}

/* Touched pages of a mapping: no call, and they vary between runs. */
static int add_mapped(struct sequences *s, const struct metric_event *ev,
		      struct reel_error *err)
{
	uint64_t key = (uint64_t)ev->raw.thread << 32 | ev->raw.file;

	if (ev->bytes <= 0)
		return 0;
	return reel_intmap_get(&s->mapped[ev->raw.group == REEL_GROUP_WRITE],
			       key, err) == REEL_NO_INDEX
		       ? -1
		       : 0;
}

/* Chain the @n events after @ev of its run: only their offsets differ. */
static void add_others(struct chain *c, const struct metric_event *ev,
		       uint32_t n)
{
	uint64_t alike, hash = c->hash;

	alike = hash_event(ev, 0) - (uint64_t)ev->raw.offset * OFFSET_STEP;
	for (uint32_t i = 1; i <= n; i++)
		hash = mix_hash(hash, alike + (uint64_t)ev[i].raw.offset *
						      OFFSET_STEP);
	c->hash = hash;
}

static METRIC_INLINE int add_run(void *state, const struct metric_event *ev,
				 uint32_t n, struct reel_error *err)
{
	struct sequences *s = state;
	enum metric_op op = ev->op;
	uint32_t chain = op == METRIC_MESSAGE	     ? MESSAGES
			 : op == METRIC_HIGHER_LAYER ? UPPER
						     : IO;
	uint32_t stream = CHAINS * ev->raw.thread + chain, turns = 0;
	struct chain *c;

	if (op == METRIC_IGNORE)
		return 0;
	if (reel_array_reach(&s->thread, &s->room, ev->raw.thread,
			     sizeof(*s->thread), err))
		return -1;
	if (op == METRIC_MAPPED)
		return add_mapped(s, ev, err);
	c = &s->thread[ev->raw.thread][chain];
	if (ev->raw.file != c->last_file) {
		turns = 1;
		if (ev->raw.call == REEL_CALL_MKSTEMP &&
		    count_made_up(s, ev, c, err))
			return -1;
		if (log_file(s, stream, ev->raw.file, err))
			return -1;
		c->last_file = ev->raw.file;
	}
	if (ev->raw.file2) {
		turns |= 2;
		if (log_file(s, stream, ev->raw.file2, err))
			return -1;
	}
	c->calls += (uint64_t)n * ev->calls;
	c->hash = mix_hash(c->hash, hash_event(ev, turns));
	if (n > 1)
		add_others(c, ev, n - 1);
	return 0;
}

METRIC_FEED_RUNS(sequences_feed)

/* Hash a path, without the inode number of a pipe or socket. */
static uint64_t path_hash(const char *path, const char *kind, uint32_t made)
{
	bool numbered = !strcmp(kind, "pipe") || !strcmp(kind, "socket");
	size_t n = numbered ? strcspn(path, ":") : strlen(path);
	uint64_t h;

	if (made)
		n -= n < MADE_UP ? n : MADE_UP;
	h = reel_fnv1a(STEP, path, n);
	return made ? mix_hash(h, made) : h;
}

/* Gives the hashes of all paths, by file_id. */
static int read_paths(const struct sequences *s, uint64_t **out, uint32_t *room,
		      struct reel_store *st, struct reel_error *err)
{
	sqlite3_stmt *q = NULL;
	uint64_t *hash = NULL;
	int rc = -1, step;

	if (reel_store_prepare(st, &q, "SELECT file_id, path, kind FROM file",
			       err))
		goto out;
	while ((step = sqlite3_step(q)) == SQLITE_ROW) {
		sqlite3_int64 id = sqlite3_column_int64(q, 0);
		const char *path = (const char *)sqlite3_column_text(q, 1);
		const char *kind = (const char *)sqlite3_column_text(q, 2);

		if (id < 0 || id > UINT32_MAX || !path || !kind)
			continue;
		if (reel_array_reach(&hash, room, (uint32_t)id, sizeof(*hash),
				     err))
			goto out;
		hash[id] = path_hash(path, kind,
				     id < s->made_room ? s->made[id] : 0);
	}
	if (step != SQLITE_DONE) {
		reel_fail(err, REEL_E_DB, "cannot read the files: %s",
			  sqlite3_errmsg(st->db));
		goto out;
	}
	*out = hash;
	hash = NULL;
	rc = 0;
out:
	sqlite3_finalize(q);
	free(hash);
	return rc;
}

/* Chain the paths of the log, in their order. */
static int add_paths(struct sequences *s, uint32_t stream, struct chain *c,
		     const uint64_t *hash, uint32_t room,
		     struct reel_error *err)
{
	struct reel_spill_reader *r = NULL;
	const uint8_t *p;
	int more;

	if (!c->calls)
		return 0;
	if (reel_spill_reader_open(&r, s->log, stream, err))
		return -1;
	while ((more = reel_spill_reader_at(r, &p, err)) > 0) {
		uint64_t file = reel_spill_number(&p);

		reel_spill_reader_to(r, p);
		c->hash = mix_hash(c->hash, file < room ? hash[file] : 0);
	}
	reel_spill_reader_close(r);
	return more;
}

/* Sum the hashes of each thread's mapped files: independent of the order. */
static void sum_mapped(const struct sequences *s, uint64_t *sum,
		       const uint64_t *hash, uint32_t room)
{
	for (int w = 0; w < 2; w++) {
		const struct reel_intmap *m = &s->mapped[w];

		for (uint32_t i = 0; m->mask && i <= m->mask; i++) {
			uint32_t file = (uint32_t)m->slot[i].key;

			if (m->slot[i].index)
				sum[m->slot[i].key >> 32] +=
					mix_hash(file < room ? hash[file] : 0,
						 (uint64_t)w + 1);
		}
	}
}

static int write_thread(struct sequences *s, struct reel_insert *out,
			uint32_t thread, uint64_t mapped, const uint64_t *hash,
			uint32_t room, struct reel_error *err)
{
	struct chain *c = s->thread[thread];
	int i;

	if (!c[IO].calls && !c[MESSAGES].calls && !c[UPPER].calls)
		return 0;
	reel_insert_int(out, thread);
	for (i = 0; i < CHAINS; i++) {
		if (add_paths(s, CHAINS * thread + (uint32_t)i, &c[i], hash,
			      room, err))
			return -1;
		reel_insert_int(out, (int64_t)c[i].calls);
		if (i == UPPER)
			c[i].hash += mapped;
		reel_insert_int(out, (int64_t)c[i].hash);
	}
	return reel_insert_done(out, err);
}

static int sequences_finish(void *state, struct reel_store *st,
			    struct reel_error *err)
{
	struct sequences *s = state;
	struct reel_insert out = {0};
	uint64_t *hash = NULL, *mapped = reel_alloc(s->room + 1ul, 8, err);
	uint32_t room = 0, i;
	int rc = -1;

	if (!mapped || read_paths(s, &hash, &room, st, err))
		goto out;
	sum_mapped(s, mapped, hash, room);
	rc = reel_insert_open(
		&out, st, "INSERT INTO thread_sequence VALUES (?,?,?,?,?,?,?)",
		err);
	for (i = 0; !rc && i < s->room; i++)
		rc = write_thread(s, &out, i, mapped[i], hash, room, err);
out:
	free(mapped);
	free(hash);
	return reel_insert_close(&out, rc);
}

static void sequences_fini(void *state)
{
	struct sequences *s = state;

	reel_spill_log_close(s->log);
	reel_intmap_fini(&s->mapped[0]);
	reel_intmap_fini(&s->mapped[1]);
	free(s->made);
	free(s->thread);
}

const struct reel_metric reel_metric_similarity = {
	.name = "similarity",
	.schema = schema,
	.state_bytes = sizeof(struct sequences),
	.init = sequences_init,
	.feed = sequences_feed,
	.finish = sequences_finish,
	.fini = sequences_fini,
};
