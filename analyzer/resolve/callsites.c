/* SPDX-License-Identifier: MIT */
/*
 * The resolver's call sites: each process numbers its sites and records the
 * frames of each once; sites with equal frames are one site of the job.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"
#include "lib/error.h"

#include "analyzer/resolve/internal.h"

#define NUMBERS_MAX (1 << 20) /* of a process; the shim uses fewer */

int sites_mark(struct reel_resolver *r, uint32_t process,
	       const struct reel_record *rec, uint32_t *site,
	       struct reel_error *err)
{
	struct sites *s = &r->sites;
	uint32_t i, text, before = s->by_text.used;

	*site = 0;
	if (!rec->has_arg || rec->arg <= 0 || rec->arg > NUMBERS_MAX)
		return 0;
	i = reel_intmap_get(&s->by_number,
			    (uint64_t)process << 32 | (uint64_t)rec->arg, err);
	if (i == REEL_NO_INDEX ||
	    reel_array_reach(&s->id, &s->room, i, sizeof(*s->id), err))
		return -1;
	if (rec->path) {
		text = reel_intmap_get(
			&s->by_text,
			reel_fnv1a(REEL_FNV_SEED, rec->path, rec->path_len),
			err);
		if (text == REEL_NO_INDEX)
			return -1;
		s->id[i] = text + 1;
		if (text == before && r->sink.site &&
		    r->sink.site(r->sink.arg, text + 1, rec->path, err))
			return -1;
	}
	*site = s->id[i];
	return 0;
}

void sites_fini(struct sites *s)
{
	reel_intmap_fini(&s->by_number);
	reel_intmap_fini(&s->by_text);
	free(s->id);
}
