/* SPDX-License-Identifier: MIT */
/* The calls of schemas/calls.def by all their symbols: "pread64" is pread. */
#ifndef ANALYZER_IMPORT_COMMON_SYMBOLS_H
#define ANALYZER_IMPORT_COMMON_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define IMPORT_SYMBOLS_MOST 1024

struct import_symbol {
	const char *name;
	uint16_t call; /* enum reel_call */
};

struct import_symbols {
	struct import_symbol symbol[IMPORT_SYMBOLS_MOST]; /* by name */
	size_t n;
};

void import_symbols_init(struct import_symbols *s);
/* The call with the symbol @name; 0: there is none. */
uint16_t import_symbols_find(const struct import_symbols *s, const char *name);

#endif
