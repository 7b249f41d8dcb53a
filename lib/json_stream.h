/* SPDX-License-Identifier: MIT */
/*
 * Read JSON value by value in bounded memory. Written for logs that profilers
 * leave: commas may be missing or doubled, and a document may end anywhere outside
 * a value (Chrome's arrays of events are often never closed).
 */
#ifndef LIB_JSON_STREAM_H
#define LIB_JSON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_buf;
struct reel_error;
struct reel_json_stream;
struct reel_source;

enum reel_json_type {
	REEL_JSON_END, /* of the document; look at depth */
	REEL_JSON_OBJECT,
	REEL_JSON_OBJECT_END,
	REEL_JSON_ARRAY,
	REEL_JSON_ARRAY_END,
	REEL_JSON_KEY, /* its value comes next */
	REEL_JSON_STRING,
	REEL_JSON_NUMBER, /* text: as it is written */
	REEL_JSON_TRUE,
	REEL_JSON_FALSE,
	REEL_JSON_NULL,
};

struct reel_json_token {
	enum reel_json_type type;
	/* For keys, strings and numbers, without quotes. Borrowed until the next
	 * token; not ended by NUL. */
	const char *text;
	size_t len;
	bool escaped; /* reel_json_unescape() */
};

/* Gives *@out for reel_json_close(); borrows @source until then. 0, or -1. */
int reel_json_open(struct reel_json_stream **out, struct reel_source *source,
		   struct reel_error *err);
void reel_json_close(struct reel_json_stream *js); /* NULL too */

/* The next token. 0, or -1 with @err: REEL_E_FORMAT with file and offset. */
int reel_json_next(struct reel_json_stream *js, struct reel_json_token *t,
		   struct reel_error *err);
/*
 * The same, of a value that may be a name with quotes that are not escaped, as
 * Kineto's event names: such a name ends before a key of Chrome's events, or
 * before the end of the object.
 */
int reel_json_next_name(struct reel_json_stream *js, struct reel_json_token *t,
			struct reel_error *err);
#define REEL_JSON_AHEAD 32u
/*
 * The bytes behind the last token that are in memory, @n of them, for a caller that
 * parses simple values itself; it may change those that it uses. REEL_JSON_AHEAD NULs
 * are behind them. Borrowed until the next token. reel_json_use() moves on, past whole
 * values only.
 */
char *reel_json_peek(struct reel_json_stream *js, size_t *n);
void reel_json_use(struct reel_json_stream *js, size_t n);
/* No string of the document has a line end in it from now on: one that has is cut
 * off. */
void reel_json_lines(struct reel_json_stream *js);
/* No event of Chrome's is inside of a value that is skipped: where one is, the value
 * lost its end. */
void reel_json_flat(struct reel_json_stream *js);
/* Keep the bytes from the next token on in memory, if they fit, until the next mark
 * or none. 0, or -1. */
int reel_json_mark(struct reel_json_stream *js, struct reel_error *err);
void reel_json_unmark(struct reel_json_stream *js);
/*
 * Behind damage, go on at the next object behind the mark that looks like an event
 * of Chrome's: an element of an array that is at @depth, 0 to 2, of which the outer
 * one of 2 is an object. The bytes from *@from up to *@to are left out. 1; 0: there
 * is none, or damage made it read 1 GiB again; or -1.
 */
int reel_json_resume(struct reel_json_stream *js, unsigned int depth,
		     uint64_t *from, uint64_t *to, struct reel_error *err);
/* Skip what is left of the value that @t began. 0, or -1. */
int reel_json_skip(struct reel_json_stream *js, const struct reel_json_token *t,
		   struct reel_error *err);

unsigned int reel_json_depth(const struct reel_json_stream *js);
/* Offset of the next byte in the decompressed document. */
uint64_t reel_json_offset(const struct reel_json_stream *js);
/* Fail at the present offset: "'FILE' is damaged at offset N: WHY". -1. */
int reel_json_bad(const struct reel_json_stream *js, const char *why,
		  struct reel_error *err);

/* Append the text of @t, its escapes resolved. 0, or -1 (REEL_E_MEMORY). */
int reel_json_unescape(const struct reel_json_token *t, struct reel_buf *out,
		       struct reel_error *err);

/*
 * A decimal number in units of 10^-@digits, rounded to nearest: of "12.3456" and
 * 3 it is 12346. False: no number, or out of range.
 */
bool reel_json_decimal(const struct reel_json_token *t, int digits,
		       int64_t *out);
/* Is the key at @p, behind spaces, that of an event's phase? */
bool reel_json_has_phase(const char *p, const char *end);
/*
 * Is the string from @from to @quote cut off? Its closing quote is that of the first
 * key of the next event of Chrome's then, and all that follows would be read inside
 * out. @end: of the bytes behind it.
 */
bool reel_json_cut(const char *from, const char *quote, const char *end);
/* Is the text of @t @word? */
bool reel_json_is(const struct reel_json_token *t, const char *word);

#endif
