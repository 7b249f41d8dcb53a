/* SPDX-License-Identifier: MIT */
/* Table call, and the ids of calls that calls.def lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/error.h"

#include "analyzer/write/internal.h"

#define RANGE (REEL_CALL_IDS - REEL_CALL_NAMED)
#define NAME_BYTES 200 /* of a name, at most */

_Static_assert(sizeof(((struct reel_writer *)0)->seen_call) >= REEL_CALL_IDS,
	       "each id may be seen");
_Static_assert(2 * REEL_WRITER_NAMES <= RANGE, "a free id is found soon");

/* Where @name is, or would be: its hash chooses the first place. */
static uint32_t find_place(const struct writer_names *names, const char *name)
{
	uint32_t i = (uint32_t)(reel_fnv1a(REEL_FNV_SEED, name, strlen(name)) %
				RANGE);

	while (names->by_id[i].name && strcmp(names->by_id[i].name, name) != 0)
		i = (i + 1) % RANGE;
	return i;
}

uint16_t reel_writer_call(struct reel_writer *w, const char *name,
			  enum reel_layer layer, enum reel_group group,
			  struct reel_error *err)
{
	struct writer_names *names = &w->names;
	struct writer_name *n;
	char kept[NAME_BYTES];

	if (!names->by_id) {
		names->by_id = reel_alloc(RANGE, sizeof(*names->by_id), err);
		if (!names->by_id)
			return 0;
	}
	snprintf(kept, sizeof(kept), "%s", name);
	n = &names->by_id[find_place(names, kept)];
	if (!n->name && names->used >= REEL_WRITER_NAMES - 1) {
		n = &names->by_id[find_place(names, "other")];
		snprintf(kept, sizeof(kept), "other");
		layer = REEL_LAYER_OTHER;
		group = REEL_GROUP_OTHER;
	}
	if (!n->name) {
		n->name = reel_strdup(kept, err);
		if (!n->name)
			return 0;
		n->layer = layer;
		n->group = group;
		names->used++;
	}
	return (uint16_t)(REEL_CALL_NAMED + (n - names->by_id));
}

static int put_call(struct reel_insert *out, unsigned int id,
		    const struct reel_call_info *info, struct reel_error *err)
{
	reel_insert_int(out, id);
	reel_insert_text(out, info->name);
	reel_insert_text(out, info->layer ? reel_layer_name(info->layer) : "");
	reel_insert_text(out, info->group ? reel_group_name(info->group) : "");
	reel_insert_int(out, reel_call_is_higher(info->layer, info->group));
	return reel_insert_done(out, err);
}

int writer_calls_put(struct reel_writer *w, struct reel_error *err)
{
	struct reel_insert out;
	int rc = reel_insert_open(
		&out, w->st, "INSERT INTO call VALUES (?, ?, ?, ?, ?)", err);

	for (unsigned int id = 0; !rc && id < sizeof(w->seen_call); id++) {
		const struct reel_call_info *info = reel_call_info(id);
		struct reel_call_info other = {0};
		char number[32];

		if (!w->seen_call[id])
			continue;
		if (!info && w->names.by_id && id >= REEL_CALL_NAMED &&
		    id < REEL_CALL_IDS) {
			const struct writer_name *n =
				&w->names.by_id[id - REEL_CALL_NAMED];

			other.name = n->name;
			other.layer = n->layer;
			other.group = n->group;
		}
		if (!info && !other.name) { /* a newer shim's */
			snprintf(number, sizeof(number), "call_%u", id);
			other.name = number;
		}
		rc = put_call(&out, id, info ? info : &other, err);
	}
	return reel_insert_close(&out, rc);
}

void writer_calls_fini(struct reel_writer *w)
{
	for (uint32_t i = 0; w->names.by_id && i < RANGE; i++)
		free(w->names.by_id[i].name);
	free(w->names.by_id);
}
