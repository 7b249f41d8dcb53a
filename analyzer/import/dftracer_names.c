/* SPDX-License-Identifier: MIT */
/* The records of DFTracer's logs: their phases, and the names that they have as hashes. */
#include "analyzer/import/dftracer_names.h"

#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/trace_events.h"

enum dftracer_phase dftracer_phase_of(const struct trace_event *ev)
{
	switch (ev->phase) {
	case 'X':
	case DFTRACER_PHASE_2_EVENT:
		return DFTRACER_PHASE_EVENT;
	case '3':
		return DFTRACER_PHASE_SUM;
	case 'M':
	case '4':
		return DFTRACER_PHASE_METADATA;
	}
	return DFTRACER_PHASE_OTHER;
}

int dftracer_open(struct trace_events **t, const char *path,
		  struct reel_error *err)
{
	if (trace_events_open(t, path, err))
		return -1;
	trace_events_without_array(*t);
	trace_events_lines(*t);
	return 0;
}

/* The name of @hash; @type: 'F', 'H', 'S'. NULL with @err: no memory. */
static struct dftracer_name *look_up(struct dftracer_names *names, char type,
				     const struct trace_text *hash,
				     struct reel_error *err)
{
	uint64_t key = reel_hash_bytes(REEL_HASH_FIRST ^ (uint8_t)type, hash->s,
				       hash->len);

	for (;; key++) { /* two hashes may have one key */
		uint32_t i = reel_intmap_get(&names->by_hash, key, err);
		struct dftracer_name *n;

		if (i == REEL_NO_INDEX)
			return NULL;
		if (i < names->n) {
			n = &names->name[i];
			if (n->hash[0] == type && !strcmp(n->hash + 1, hash->s))
				return n;
			continue;
		}
		if (reel_array_reach(&names->name, &names->room, i, sizeof(*n),
				     err))
			return NULL;
		n = &names->name[names->n];
		n->hash = reel_alloc(hash->len + 2, 1, err);
		if (!n->hash)
			return NULL;
		n->hash[0] = type;
		memcpy(n->hash + 1, hash->s, hash->len);
		names->n++;
		return n;
	}
}

int dftracer_read_name(struct dftracer_names *names,
		       const struct trace_event *ev, struct reel_error *err)
{
	const struct trace_text *text = trace_event_arg(ev, "name");
	const struct trace_text *hash = trace_event_arg(ev, "value");
	struct dftracer_name *n;

	if (ev->name.len != 2 || ev->name.s[1] != 'H' ||
	    !strchr("FHS", ev->name.s[0]) || !text || !text->len || !hash)
		return 0;
	n = look_up(names, ev->name.s[0], hash, err);
	if (!n)
		return -1;
	if (!n->text)
		n->text = reel_strdup(text->s, err);
	return n->text ? 0 : -1;
}

static int read_all(struct dftracer_names *names, struct reel_error *err)
{
	int rc = 0;

	names->all = true;
	for (int i = 0; rc >= 0 && i < names->in->paths; i++) {
		struct trace_events *t = NULL;
		struct trace_event ev;

		rc = dftracer_open(&t, names->in->path[i], err);
		while (!rc && (rc = trace_events_next(t, &ev, err)) > 0)
			rc = dftracer_phase_of(&ev) == DFTRACER_PHASE_METADATA
				     ? dftracer_read_name(names, &ev, err)
				     : 0;
		trace_events_close(t);
	}
	return rc;
}

struct dftracer_name *dftracer_find_name(struct dftracer_names *names,
					 char type,
					 const struct trace_text *hash,
					 struct reel_error *err)
{
	struct dftracer_name *n = look_up(names, type, hash, err);

	if (!n || n->text || names->all)
		return n;
	return read_all(names, err) ? NULL : look_up(names, type, hash, err);
}

void dftracer_names_fini(struct dftracer_names *names)
{
	for (uint32_t i = 0; i < names->n; i++) {
		free(names->name[i].hash);
		free(names->name[i].text);
	}
	free(names->name);
	reel_intmap_fini(&names->by_hash);
}
