/* SPDX-License-Identifier: MIT */
/* analyzer/import/common/sorter.c: in memory, in many runs, and in the order of
 * arrival. */
#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/import/common/sorter.h"
#include "lib/error.h"
#include "tests/lib/random.h"
#include "tests/lib/tap.h"

#define RECORDS 20000

struct record {
	uint64_t key, order;
};

static int by_key(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Sort @n records with room for @most: are they those of qsort()? */
static bool sorts(uint64_t n, size_t most, sorter_compare *compare)
{
	static struct record want[RECORDS];
	struct reel_error err = {0};
	struct sorter *s = NULL;
	struct record r;
	uint64_t got = 0;
	bool same = !sorter_new(&s, sizeof(r), compare, most * sizeof(r), &err);

	for (uint64_t i = 0; same && i < n; i++) {
		want[i] = (struct record){chance() % (n / 2 + 1), i};
		same = !sorter_add(s, &want[i], &err);
	}
	if (compare && n)
		qsort(want, n, sizeof(*want), compare);
	same = same && sorter_count(s) == n && !sorter_finish(s, &err);
	while (same && sorter_next(s, &r, &err) > 0)
		same = got < n && r.key == want[got].key &&
		       r.order == want[got++].order;
	same = same && got == n && !sorter_next(s, &r, &err) && !err.code;
	sorter_free(s);
	return same;
}

/* Records that come in @runs runs, each in order already. */
static bool merges(uint64_t runs)
{
	uint64_t each = RECORDS / runs, got = 0;
	struct reel_error err = {0};
	struct sorter *s = NULL;
	struct record r;
	bool same = !sorter_new(&s, sizeof(r), by_key, 0, &err);

	for (uint64_t i = 0; same && i < each * runs; i++) {
		r = (struct record){i % each * runs + i / each, 0};
		same = !sorter_run_add(s, &r, &err) &&
		       ((i + 1) % each || !sorter_run_end(s, &err));
	}
	same = same && sorter_count(s) == each * runs &&
	       !sorter_finish(s, &err);
	while (same && sorter_next(s, &r, &err) > 0)
		same = r.key == got++;
	same = same && got == each * runs && !err.code;
	sorter_free(s);
	return same;
}

int main(void)
{
	ok(sorts(0, 100, by_key), "nothing");
	ok(sorts(1, 100, by_key), "one record");
	ok(sorts(5000, RECORDS, by_key), "in memory");
	ok(sorts(100, 100, by_key), "as many as there is room for");
	ok(sorts(101, 100, by_key), "one more: two runs");
	ok(sorts(RECORDS, 100, by_key), "200 runs");
	ok(sorts(RECORDS, 7000, by_key), "runs that are read in pieces");
	ok(sorts(RECORDS, 100, NULL), "the order of arrival");
	ok(merges(1) && merges(7) && merges(400), "runs that are in order");
	setenv("TMPDIR", "/nowhere", 1);
	ok(!sorts(RECORDS, 100, by_key), "a folder that is not there");
	return done();
}
