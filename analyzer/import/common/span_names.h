/* SPDX-License-Identifier: MIT */
/*
 * The meaning of ranges that people and frameworks name: steps, fetches and the
 * like, by the names in use. A name that says nothing is a range of the user.
 */
#ifndef ANALYZER_IMPORT_SPAN_NAMES_H
#define ANALYZER_IMPORT_SPAN_NAMES_H

#include <stdint.h>

struct span_meaning {
	uint32_t kind;	/* enum reel_span */
	int64_t number; /* at the end of the name, of a step or epoch; -1 */
};

/* Upper case counts as lower case, and blanks, "-", ":", "#", "=" as "_". A place in a
 * program behind the name, " (FILE:LINE)", is none of it. */
struct span_meaning span_names_meaning(const char *name);

#endif
