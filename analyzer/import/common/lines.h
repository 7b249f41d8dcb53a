/* SPDX-License-Identifier: MIT */
/* Lines of a text file, plain or compressed (lib/source.h), one at a time. */
#ifndef ANALYZER_IMPORT_LINES_H
#define ANALYZER_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_lines;
struct reel_error;

/* Open @path. Gives *@out for import_lines_close(). REEL_E_IO,
 * REEL_E_MEMORY. */
int import_lines_open(struct import_lines **out, const char *path,
		      struct reel_error *err);
/*
 * The next line without its newline, borrowed until the next call. Lines of
 * more than 16 MiB are skipped and counted. 1; 0 at the end; -1 with @err:
 * REEL_E_IO, or REEL_E_FORMAT when the compressed data are damaged.
 */
int import_lines_next(struct import_lines *l, const char **line, size_t *len,
		      struct reel_error *err);
/* Lines end at @c instead of a newline. Before the first line. */
void import_lines_delimiter(struct import_lines *l, char c);
/* Its number, from 1. */
uint64_t import_lines_number(const struct import_lines *l);
/* Has the last line no delimiter behind it? The file may be cut off in it. */
bool import_lines_open_end(const struct import_lines *l);
/* Lines that were too long, or that a gap cuts off. */
uint64_t import_lines_skipped(const struct import_lines *l);
/* Bytes of text read so far; bytes of the file, compressed as it is. */
uint64_t import_lines_bytes(const struct import_lines *l);
uint64_t import_lines_offset(const struct import_lines *l);
void import_lines_close(struct import_lines *l);

#endif
