/* SPDX-License-Identifier: MIT */
/* Write JSON documents with strings of any bytes. */
#ifndef LIB_JSON_H
#define LIB_JSON_H

#include <stddef.h>

#include <jansson.h>

struct reel_error;

/*
 * @text as a JSON string. Text that is not valid UTF-8 is escaped: bytes that
 * cannot be printed become \xNN. Gives a reference; NULL: out of memory.
 */
json_t *reel_json_text(const char *text, size_t len);
/* reel_json_text() of a NUL-terminated string; NULL becomes null. */
json_t *reel_json_name(const char *name);

/* Print @value (taken; NULL: out of memory) on stdout, its lines after the first
 * indented by @columns. 0, or -1 with @err. */
int reel_json_put(json_t *value, int columns, struct reel_error *err);
/* Print @doc (taken; NULL: out of memory) and a newline. 0, or -1 with @err. */
int reel_json_print(json_t *doc, struct reel_error *err);

#endif
