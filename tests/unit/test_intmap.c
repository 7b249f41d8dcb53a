/* SPDX-License-Identifier: MIT */
/* Maps to dense indices: keys, and texts of which one copy is kept. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/intmap.h"

#include "tests/lib/tap.h"

#define MANY 5000u

static struct reel_error err;

static void keys(void)
{
	struct reel_intmap m = {0};
	bool dense = true, found = true;

	is(reel_intmap_find(&m, 7), REEL_NO_INDEX, "an empty map has no key");
	for (uint32_t i = 0; i < MANY; i++)
		dense &= reel_intmap_get(&m, (uint64_t)i << 32, &err) == i;
	for (uint32_t i = 0; i < MANY; i++)
		found &= reel_intmap_find(&m, (uint64_t)i << 32) == i;
	ok(dense && found, "%u keys have the indices of their order", MANY);
	is(reel_intmap_find(&m, 1), REEL_NO_INDEX, "another has none");
	reel_intmap_clear(&m);
	is(reel_intmap_get(&m, 1, &err), 0, "cleared, it begins again");
	reel_intmap_fini(&m);
}

static void texts(void)
{
	struct reel_texts t = {0};
	char text[32];
	bool same = true;

	for (int again = 0; again < 2; again++)
		for (uint32_t i = 0; i < MANY; i++) {
			snprintf(text, sizeof(text), "%0*u", (int)(i % 20), i);
			same &= reel_texts_keep(&t, text, &err) == i &&
				!strcmp(t.text[i], text);
		}
	ok(same, "%u texts are kept once each", MANY);
	is(t.texts, MANY, "and no more");
	is(reel_texts_keep(&t, "", &err), MANY, "the empty text is one");
	reel_texts_fini(&t);
	is(t.texts, 0, "nothing is left");
}

/* Two texts whose hashes are equal: the first one has the second one's. */
static void collision(void)
{
	struct reel_texts t = {0};

	is(reel_intmap_get(&t.by_hash, reel_hash_bytes(REEL_HASH_FIRST, "b", 1),
			   &err),
	   0, "\"a\" has the hash of \"b\"");
	t.text = calloc(1, sizeof(*t.text));
	t.text[0] = strdup("a");
	t.texts = t.room = 1;
	is(reel_texts_keep(&t, "b", &err), 1, "\"b\" has an index of its own");
	is(reel_texts_keep(&t, "b", &err), 1, "which it keeps");
	reel_texts_fini(&t);
}

int main(void)
{
	keys();
	texts();
	collision();
	return done();
}
