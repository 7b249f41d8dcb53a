/* SPDX-License-Identifier: MIT */
/* Objects and their places. */
#include "replay/kvcache/tiers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"

#include "replay/kvcache/internal.h"
#include "replay/workload/workload.h"

void tiers_init(struct tiers *t, int64_t memory, int64_t storage)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->room, NULL);
	t->capacity[TIER_MEMORY] = memory;
	t->capacity[TIER_STORAGE] = storage;
	for (int i = 0; i < TIERS; i++)
		t->used_last[i].before = t->used_last[i].after =
			&t->used_last[i];
}

void tiers_name(const struct kv_object *o, char name[static KV_NAME])
{
	snprintf(name, KV_NAME, "user%d_%" PRIu64 ".npy", o->user, o->number);
}

static void list_push(struct tiers *t, struct kv_object *o)
{
	struct kv_object *ring = &t->used_last[o->tier];

	o->after = ring;
	o->before = ring->before;
	o->before->after = o;
	ring->before = o;
}

static void list_remove(struct kv_object *o)
{
	o->before->after = o->after;
	o->after->before = o->before;
}

/* With the lock, as all functions from here to tiers_add(). */
static void unpin(struct tiers *t, struct kv_object *o)
{
	if (!--o->pins && o->tier != TIER_NONE)
		list_push(t, o);
	pthread_cond_broadcast(&t->room);
}

static int make_room(struct tiers *t, struct kvcache_user *u, enum tier tier,
		     int64_t bytes, struct reel_error *err);

static int evict(struct tiers *t, struct kvcache_user *u, struct kv_object *o,
		 struct reel_error *err)
{
	char name[KV_NAME];
	int rc;

	o->tier = TIER_NONE;
	tiers_name(o, name);
	pthread_mutex_unlock(&t->lock);
	rc = io_unlink(&u->io, name, err);
	pthread_mutex_lock(&t->lock);
	o->on_storage = rc != 0;
	t->used[TIER_STORAGE] -= (int64_t)object_bytes(&o->shape);
	u->n.evictions++;
	pthread_cond_broadcast(&t->room);
	return rc;
}

/* From memory to storage. Readers find it in memory until it is written. */
static int demote(struct tiers *t, struct kvcache_user *u, struct kv_object *o,
		  struct reel_error *err)
{
	int64_t bytes = (int64_t)object_bytes(&o->shape);
	int rc;

	o->pins++;
	rc = make_room(t, u, TIER_STORAGE, bytes, err);
	if (!rc) {
		o->on_storage = true;
		pthread_mutex_unlock(&t->lock);
		rc = kvcache_write(u, o, err);
		pthread_mutex_lock(&t->lock);
		t->used[TIER_MEMORY] -= bytes;
		o->tier = TIER_STORAGE;
	}
	unpin(t, o);
	return rc;
}

/* Take @bytes of @tier. 0, 1 when the trial is over, -1 with @err. */
static int make_room(struct tiers *t, struct kvcache_user *u, enum tier tier,
		     int64_t bytes, struct reel_error *err)
{
	struct kv_object *ring = &t->used_last[tier];
	int rc = 0;

	while (!rc && t->used[tier] + bytes > t->capacity[tier]) {
		struct kv_object *o = ring->after;

		if (kvcache_over(u->cache))
			return 1;
		if (o == ring) { /* all are in use */
			gate_wait(&t->room, &t->lock);
			continue;
		}
		list_remove(o);
		rc = tier == TIER_MEMORY ? demote(t, u, o, err)
					 : evict(t, u, o, err);
	}
	if (!rc)
		t->used[tier] += bytes;
	return rc;
}

struct kv_object *tiers_add(struct tiers *t, struct kvcache_user *u,
			    uint64_t tokens, struct reel_error *err)
{
	struct kv_object *o = reel_alloc(1, sizeof(*o), err);
	int64_t bytes;
	enum tier tier;
	int rc;

	if (!o)
		return NULL;
	o->shape.tokens = tokens;
	o->shape.bytes_per_token = (uint64_t)u->cache->is->bytes_per_token;
	o->user = u->number;
	o->number = u->objects++;
	o->pins = 1;
	o->tier = TIER_NONE;
	bytes = (int64_t)object_bytes(&o->shape);
	tier = bytes <= t->capacity[TIER_MEMORY] ? TIER_MEMORY : TIER_STORAGE;
	pthread_mutex_lock(&t->lock);
	o->next = t->all;
	t->all = o;
	rc = make_room(t, u, tier, bytes, err);
	if (!rc && tier == TIER_STORAGE) {
		o->on_storage = true;
		pthread_mutex_unlock(&t->lock);
		rc = kvcache_write(u, o, err);
		pthread_mutex_lock(&t->lock);
	}
	if (!rc)
		o->tier = tier;
	pthread_mutex_unlock(&t->lock);
	return rc ? NULL : o;
}

enum tier tiers_pin(struct tiers *t, struct kv_object *o)
{
	enum tier tier;

	pthread_mutex_lock(&t->lock);
	tier = o->tier;
	if (tier != TIER_NONE && !o->pins++)
		list_remove(o);
	pthread_mutex_unlock(&t->lock);
	return tier;
}

void tiers_unpin(struct tiers *t, struct kv_object *o)
{
	pthread_mutex_lock(&t->lock);
	unpin(t, o);
	pthread_mutex_unlock(&t->lock);
}

int tiers_fini(struct tiers *t, struct io *io, struct reel_error *err)
{
	struct kv_object *next;
	char name[KV_NAME];
	int rc = 0;

	for (struct kv_object *o = t->all; o; o = next) {
		next = o->next;
		tiers_name(o, name);
		if (o->on_storage && io_unlink(io, name, err))
			rc = -1;
		free(o);
	}
	t->all = NULL;
	pthread_cond_destroy(&t->room);
	pthread_mutex_destroy(&t->lock);
	return rc;
}
