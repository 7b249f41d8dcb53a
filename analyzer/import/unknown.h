/* SPDX-License-Identifier: MIT */
/* Names for files of no known format, and what to import in their place. */
#ifndef ANALYZER_IMPORT_UNKNOWN_H
#define ANALYZER_IMPORT_UNKNOWN_H

#include <stdbool.h>
#include <stddef.h>

struct import_unknown {
	const char *is;	 /* such as "strace's table of sums" */
	const char *try; /* a command or a source */
};

/* The output of a tool, the file @path, that begins with the @n bytes @head; NULL: not
 * known. */
const struct import_unknown *import_unknown_find(const char *path,
						 const char *head, size_t n);

/* Do the @n bytes @head begin with the byte order mark of UTF-16? */
bool import_unknown_is_utf16(const char *head, size_t n);

#endif
