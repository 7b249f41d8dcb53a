/* SPDX-License-Identifier: MIT */
/* The calls of schemas/calls.def by all their symbols. */
#include "analyzer/import/common/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"

static const struct import_symbol symbols[] = {
#define CALL(id, NAME, l, g, t, ret, fails, fn, ...) {#fn, id},
#define BY_HAND(id, NAME, l, g, t, ret, fn, ...) {#fn, id},
#define PART(...)
#define MARK(...)
#define ALSO(NAME, ret, fails, fn, ...) {#fn, REEL_CALL_##NAME},
#define ALSO_BY_HAND(NAME, ret, fn, ...) {#fn, REEL_CALL_##NAME},
#include "schemas/calls.def"
#undef CALL
#undef BY_HAND
#undef PART
#undef MARK
#undef ALSO
#undef ALSO_BY_HAND
};

#define SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))
_Static_assert(SYMBOLS <= IMPORT_SYMBOLS_MOST, "raise IMPORT_SYMBOLS_MOST");

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct import_symbol *)a)->name,
		      ((const struct import_symbol *)b)->name);
}

void import_symbols_init(struct import_symbols *s)
{
	memcpy(s->symbol, symbols, sizeof(symbols));
	s->n = SYMBOLS;
	qsort(s->symbol, s->n, sizeof(s->symbol[0]), by_name);
}

uint16_t import_symbols_find(const struct import_symbols *s, const char *name)
{
	struct import_symbol key = {.name = name};
	const struct import_symbol *found =
		bsearch(&key, s->symbol, s->n, sizeof(key), by_name);

	return found ? found->call : 0;
}
