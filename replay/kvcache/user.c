/* SPDX-License-Identifier: MIT */
/* A user of the cache: conversations, and the reads and writes of a turn. */
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/error.h"

#include "replay/io/call_log.h"
#include "replay/kvcache/internal.h"
#include "replay/pipeline/stop.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define ALIGNED 64	/* NumPy's arrays; blocks of objects differ */
#define NAP_NS 50000000 /* of a wait: then the end is looked for */

bool kvcache_over(struct kvcache *c)
{
	return atomic_load(&c->failed) || stop_signal() ||
	       reel_now_ns() >= c->deadline_ns;
}

static bool is_over(void *cache)
{
	return kvcache_over(cache);
}

static void fail(struct kvcache *c, const struct reel_error *err)
{
	pthread_mutex_lock(&c->lock);
	if (!c->err.code)
		c->err = *err;
	pthread_mutex_unlock(&c->lock);
	atomic_store(&c->failed, true);
}

static int64_t draw(struct kvcache_user *u, const struct quantiles *q)
{
	return quantiles_at(q, random_share(&u->random));
}

static void think(struct kvcache_user *u)
{
	int64_t end = reel_now_ns() + draw(u, &u->cache->is->think_ns), left;

	while ((left = end - reel_now_ns()) > 0 && !kvcache_over(u->cache)) {
		struct timespec nap = {0, left < NAP_NS ? left : NAP_NS};

		nanosleep(&nap, NULL);
	}
}

/* --- objects -------------------------------------------------------------- */

int kvcache_write(struct kvcache_user *u, const struct kv_object *o,
		  struct reel_error *err)
{
	const struct room *noise = &u->cache->noise;
	uint64_t bytes = object_bytes(&o->shape), spare = noise->bytes - bytes;
	int64_t start = reel_now_ns(), sync_ns = 0, ns;
	char name[KV_NAME];

	tiers_name(o, name);
	if (object_save(&u->io, name, &o->shape,
			noise->at + random_next(&u->random) % (spare + 1) /
					    ALIGNED * ALIGNED,
			u->cache->is->fsync, &sync_ns, err))
		return -1;
	ns = reel_now_ns() - start;
	latency_add(&u->write, ns);
	if (u->cache->is->fsync)
		latency_add(&u->sync, sync_ns);
	u->n.storage_ns += ns;
	u->n.writes++;
	u->n.written_bytes += (int64_t)bytes;
	return 0;
}

static int load(struct kvcache_user *u, const struct kv_object *o,
		struct reel_error *err)
{
	int64_t start, ns;
	char name[KV_NAME];

	tiers_name(o, name);
	if (u->cache->is->drop_cache && object_drop(&u->io, name, err))
		return -1;
	start = reel_now_ns();
	if (object_load(&u->io, name, &o->shape, u->target.at, err))
		return -1;
	ns = reel_now_ns() - start;
	latency_add(&u->read, ns);
	u->n.storage_ns += ns;
	u->n.reads++;
	u->n.read_bytes += (int64_t)object_bytes(&o->shape);
	return 0;
}

static int read_object(struct kvcache_user *u, struct kv_object *o,
		       struct reel_error *err)
{
	struct tiers *t = &u->cache->tiers;
	enum tier tier = tiers_pin(t, o);
	int rc = 0;

	if (tier == TIER_NONE) {
		u->n.lost_reads++;
		return 0;
	}
	if (tier == TIER_MEMORY)
		u->n.memory_reads++;
	else
		rc = load(u, o, err);
	tiers_unpin(t, o);
	return rc;
}

/* --- turns ---------------------------------------------------------------- */

/* NULL: with @err, or the trial is over. */
static struct kv_object *write_turn(struct kvcache_user *u, int64_t tokens,
				    struct reel_error *err)
{
	struct kvcache *c = u->cache;
	bool bounded = c->is->limit == WORKLOAD_LIMIT_WRITES;
	struct kv_object *o;

	if (bounded && !gate_enter(&c->gate, is_over, c))
		return NULL;
	o = tiers_add(&c->tiers, u, (uint64_t)tokens, err);
	if (bounded)
		gate_leave(&c->gate);
	if (o)
		tiers_unpin(&c->tiers, o);
	return o;
}

static int64_t decode_reads(const struct workload_kvcache *k, int64_t generated)
{
	return 1 + (k->decode_tokens ? (generated + k->decode_tokens - 1) /
					       k->decode_tokens
				     : 0);
}

/* 1: finished; 0: the trial ended before; -1 with @err. */
static int turn(struct kvcache_user *u, int64_t *tokens, struct reel_error *err)
{
	const struct workload_kvcache *k = u->cache->is;
	int64_t context = draw(u, &k->context_tokens);
	int64_t generated = draw(u, &k->generated_tokens), reads;
	struct kv_object *o;

	*tokens = generated;
	for (uint32_t i = 0; i < u->turns; i++) {
		if (kvcache_over(u->cache))
			return 0;
		if (read_object(u, u->turn[i], err))
			return -1;
	}
	if (kvcache_over(u->cache))
		return 0;
	o = write_turn(u, context, err);
	if (!o)
		return err->code ? -1 : 0;
	u->turn[u->turns++] = o;
	reads = k->prefill_tokens && context >= k->prefill_tokens
			? 0
			: decode_reads(k, generated);
	for (int64_t i = 0; i < reads; i++) {
		if (kvcache_over(u->cache))
			return 0;
		if (read_object(u, o, err))
			return -1;
	}
	return 1;
}

static int request(struct kvcache_user *u, struct reel_error *err)
{
	struct kvcache *c = u->cache;
	const struct workload_kvcache *k = c->is;
	bool bounded = k->limit == WORKLOAD_LIMIT_REQUESTS;
	int64_t start = reel_now_ns(), tokens, ns;
	int rc;

	if (u->turns >= k->turns ||
	    random_share(&u->random) >= k->continue_share)
		u->turns = 0; /* another conversation */
	if (bounded && !gate_enter(&c->gate, is_over, c))
		return 0;
	rc = turn(u, &tokens, err);
	if (bounded)
		gate_leave(&c->gate);
	if (rc != 1)
		return rc;
	ns = reel_now_ns() - start;
	latency_add(&u->request, ns);
	u->n.request_ns += ns;
	u->n.requests++;
	u->n.tokens += tokens;
	return 0;
}

void *kvcache_user_main(void *arg)
{
	struct kvcache_user *u = arg;
	struct reel_error err = {0};
	int rc = 0;

	if (u->io.log)
		call_log_begin(u->io.log, false);
	while (!rc && !kvcache_over(u->cache)) {
		think(u);
		if (!kvcache_over(u->cache))
			rc = request(u, &err);
	}
	if (rc)
		fail(u->cache, &err);
	if (u->io.log)
		call_log_flush(u->io.log);
	return NULL;
}
