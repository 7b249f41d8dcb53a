/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event JSON as many tools write it: an array of events, or an
 * object with one under "traceEvents". One event at a time, in bounded memory;
 * the array may be unclosed, its commas may be missing, numbers may be quoted.
 *
 * Source: "Trace Event Format" (Google); real files of Kineto, TensorFlow,
 * DFTracer and Horovod.
 */
#ifndef ANALYZER_IMPORT_TRACE_EVENTS_H
#define ANALYZER_IMPORT_TRACE_EVENTS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reel_error;
struct trace_events;

#define TRACE_ARGS_MOST 48   /* more of an event are ignored */
#define TRACE_DIGITS_MOST 18 /* no number of so many digits is too large */

/* Text of an event: ended by NUL, borrowed until the next one. */
struct trace_text {
	const char *s; /* "" when it is absent */
	size_t len;
	int64_t number; /* its value, if @integer; else it may be one, too */
	bool integer;
};

struct trace_arg {
	struct trace_text key, value; /* value: text or number as written */
	uint64_t word;		      /* trace_word() of the key */
};

struct trace_event {
	char phase; /* 'X', 'B', 'E', 'M', 'i' ...; 0: none */
	struct trace_text name, category;
	struct trace_text pid, tid, id; /* numbers or words, as written */
	bool has_ts, has_dur;
	bool local_id; /* another process has its own @id of that value */
	int64_t ts_ns, dur_ns;		       /* of the file's clock */
	struct trace_arg arg[TRACE_ARGS_MOST]; /* values that are no objects */
	unsigned int args;
};

/* Open @path, compressed or not. Gives *@out for trace_events_close(). */
int trace_events_open(struct trace_events **out, const char *path,
		      struct reel_error *err);
void trace_events_close(struct trace_events *t);

/* Skip all arguments: several times as fast where events have many. */
void trace_events_without_args(struct trace_events *t);
/* Before the first event: a document that begins with an object is a row of
 * events without an array around them. */
void trace_events_without_array(struct trace_events *t);
/* An event is a line from now on, and the document may be several, one behind the
 * other. */
void trace_events_lines(struct trace_events *t);
/* Times are in units of 10^@digits ns from now on, not of 10^3 ns. */
void trace_events_time_digits(struct trace_events *t, int digits);

/* The next event. 1; 0 at the end, and before damage that the watcher of
 * lib/source.h takes for it, if no event is found behind it; or -1 with @err (file
 * and offset). */
int trace_events_next(struct trace_events *t, struct trace_event *ev,
		      struct reel_error *err);

/*
 * A value of the document beside the events, NULL so far: complete only at the end,
 * as some stand behind the events. "distributedInfo.rank" is inside an object.
 */
const char *trace_events_value(const struct trace_events *t, const char *key);

/* Has the document an array of events, as far as it was read? */
bool trace_events_has_array(const struct trace_events *t);

/* Events whose ts or dur could not be read. */
uint64_t trace_events_bad(const struct trace_events *t);

/* The first eight bytes of @text, of which eight can be read; zeros behind its end. */
static inline uint64_t trace_word(const struct trace_text *text)
{
	uint64_t word;

	memcpy(&word, text->s, sizeof(word));
	word = le64toh(word);
	return text->len >= sizeof(word) ? word
					 : word & ~(~0ull << 8 * text->len);
}

/* The same of a literal, which is a constant then. */
static inline uint64_t trace_word_of(const char *s, size_t n)
{
#define TRACE_BYTE(i) (n > (i) ? (uint64_t)(uint8_t)s[i] << 8 * (i) : 0)
	return TRACE_BYTE(0) | TRACE_BYTE(1) | TRACE_BYTE(2) | TRACE_BYTE(3) |
	       TRACE_BYTE(4) | TRACE_BYTE(5) | TRACE_BYTE(6) | TRACE_BYTE(7);
#undef TRACE_BYTE
}

/* Is the key of @arg @word? Inline, as the next ones: @word is mostly a literal, whose
 * length and bytes are constants then. */
static inline bool trace_key_is(const struct trace_arg *arg, const char *word)
{
	size_t n = strlen(word);

	return arg->word == trace_word_of(word, n) && arg->key.len == n &&
	       (n <= sizeof(arg->word) || !memcmp(arg->key.s, word, n));
}

static inline bool trace_text_is(const struct trace_text *text,
				 const char *word)
{
	size_t n = strlen(word);

	return text->len == n && !memcmp(text->s, word, n);
}

/* The argument @key, NULL: none. */
static inline const struct trace_text *
trace_event_arg(const struct trace_event *ev, const char *key)
{
	for (unsigned int i = 0; i < ev->args; i++)
		if (trace_key_is(&ev->arg[i], key))
			return &ev->arg[i].value;
	return NULL;
}

/* The slow path of trace_text_int(): signs, spaces, an overflow. */
bool trace_text_parse(const struct trace_text *text, int64_t *out);

/* The text as an integer; false: it is none, or absent. */
static inline bool trace_text_int(const struct trace_text *text, int64_t *out)
{
	int64_t v = 0;
	size_t i = 0;

	if (!text)
		return false;
	if (text->integer) {
		*out = text->number;
		return true;
	}
	if (!text->len || text->len > TRACE_DIGITS_MOST)
		return trace_text_parse(text, out);
	while (i < text->len && text->s[i] >= '0' && text->s[i] <= '9')
		v = 10 * v + (text->s[i++] - '0');
	if (i < text->len)
		return trace_text_parse(text, out);
	*out = v;
	return true;
}

#endif
