/* SPDX-License-Identifier: MIT */
/*
 * Buffered output of an export, without the cost of printf: some 20 numbers and
 * texts an event. The first failure is kept; later writes do nothing.
 */
#ifndef ANALYZER_EXPORT_OUT_H
#define ANALYZER_EXPORT_OUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT_OUT_BYTES 65536

struct export_out {
	FILE *file; /* borrowed */
	int failed; /* an errno; 0: none */
	size_t len;
	uint64_t written; /* bytes */
	char data[EXPORT_OUT_BYTES];
};

void export_put(struct export_out *o, const char *data, size_t len);
void export_puts(struct export_out *o, const char *text);
void export_put_int(struct export_out *o, int64_t v);
/* Nanoseconds as microseconds: 1234567 is 1234.567. */
void export_put_us(struct export_out *o, int64_t ns);
/* A JSON string with its quotes. Text that is not UTF-8 is escaped as a whole:
 * bytes that cannot be printed become \xNN, as in all JSON of ioreel. */
void export_put_json(struct export_out *o, const char *text);
/* A CSV field (RFC 4180): in quotes where it has to be; the bytes as they are. */
void export_put_csv(struct export_out *o, const char *text);

/* Write what is buffered. Returns the errno of the first failure, 0: none. */
int export_out_flush(struct export_out *o);

#endif
