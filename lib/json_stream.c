/* SPDX-License-Identifier: MIT */
/*
 * Read JSON value by value. A token is contiguous in the buffer: what is left of a
 * piece moves to its beginning before more is read.
 */
#include "lib/json_stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/source.h"

#define BUFFER_FIRST (512u << 10)
#define TOKEN_MOST (16u << 20)
#define DEPTH_MOST 512
#define NAME_AHEAD 64u	   /* bytes behind a name that show its end */
#define NAME_MOST 65536u   /* of a name with bare quotes */
#define OBJECT_AROUND 256u /* bytes around an object that show what it is */
#define AGAIN_MOST (UINT64_C(1) << 30)

static const char *const brackets = "a bracket that closes nothing";

struct reel_json_stream {
	struct reel_source *source;
	char *buf;
	size_t at, n, room;
	uint64_t offset; /* of buf[0] in the document */
	bool ended;
	unsigned int depth;
	uint64_t object[DEPTH_MOST / 64]; /* bit: the level is an object */
	bool value_next;		  /* a key was read: its value comes */
	bool lines;			  /* strings have no line end */
	bool flat;			  /* no event is inside of another */
	bool marked;
	size_t mark;	/* of buf: kept from here on */
	uint64_t again; /* bytes that damage made it read again */
};

int reel_json_open(struct reel_json_stream **out, struct reel_source *source,
		   struct reel_error *err)
{
	struct reel_json_stream *js = reel_alloc(1, sizeof(*js), err);

	if (!js)
		return -1;
	js->source = source;
	js->room = BUFFER_FIRST;
	js->buf = calloc(js->room + REEL_JSON_AHEAD, 1);
	if (!js->buf) {
		free(js);
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	}
	*out = js;
	return 0;
}

void reel_json_close(struct reel_json_stream *js)
{
	if (js)
		free(js->buf);
	free(js);
}

unsigned int reel_json_depth(const struct reel_json_stream *js)
{
	return js->depth;
}

uint64_t reel_json_offset(const struct reel_json_stream *js)
{
	return js->offset + js->at;
}

int reel_json_bad(const struct reel_json_stream *js, const char *why,
		  struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s",
			 reel_source_path(js->source),
			 (unsigned long long)reel_json_offset(js), why);
}

/* More bytes behind those from js->at on. 1, 0 at the end, or -1. */
static int more(struct reel_json_stream *js, struct reel_error *err)
{
	int64_t got;
	size_t keep;

	if (js->ended)
		return 0;
	if (js->marked && !js->mark && js->n >= TOKEN_MOST)
		js->marked = false; /* bounded memory comes first */
	keep = js->marked ? js->mark : js->at;
	if (keep) {
		memmove(js->buf, js->buf + keep, js->n - keep);
		js->offset += keep;
		js->n -= keep;
		js->at -= keep;
		js->mark -= js->marked ? keep : 0;
	}
	if (js->n == js->room) {
		if (js->room >= TOKEN_MOST)
			return reel_json_bad(js, "a value of more than 16 MiB",
					     err);
		if (reel_grow(&js->buf, 2 * js->room + REEL_JSON_AHEAD, 1, err))
			return -1;
		js->room *= 2;
	}
	got = reel_source_read(js->source, js->buf + js->n, js->room - js->n,
			       err);
	js->n += got > 0 ? (size_t)got : 0;
	memset(js->buf + js->n, 0, REEL_JSON_AHEAD);
	js->ended = !got;
	return got > 0 ? 1 : (int)got;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* To the first byte of a token, past commas. 1, 0 at the end, or -1. */
static int find_token(struct reel_json_stream *js, struct reel_error *err)
{
	for (;;) {
		while (js->at < js->n &&
		       (is_space(js->buf[js->at]) || js->buf[js->at] == ','))
			js->at++;
		if (js->at < js->n)
			return 1;
		int rc = more(js, err);

		if (rc <= 0)
			return rc;
	}
}

/* Is there a key of Chrome's events at @p? */
static bool at_event_key(const char *p, const char *end)
{
	static const char *const keys[] = {"\"ph\"",  "\"cat\"",  "\"name\"",
					   "\"pid\"", "\"tid\"",  "\"ts\"",
					   "\"dur\"", "\"args\"", "\"id\""};

	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i]);

		if ((size_t)(end - p) > n && !memcmp(p, keys[i], n))
			return true;
	}
	return false;
}

bool reel_json_has_phase(const char *p, const char *end)
{
	while (p < end && is_space(*p))
		p++;
	return end - p > 4 && !memcmp(p, "\"ph\"", 4);
}

bool reel_json_cut(const char *from, const char *quote, const char *end)
{
	const char *p = quote;

	while (p > from && is_space(p[-1]))
		p--;
	return p > from && p[-1] == '{' && at_event_key(quote, end);
}

/* A string whose first @i bytes, its quote too, are read: js->at is at the quote,
 * and past its other one then. */
static int read_string_from(struct reel_json_stream *js,
			    struct reel_json_token *t, size_t i,
			    struct reel_error *err)
{
	for (;;) { /* i is from js->at on, which more() moves */
		const char *p = js->buf + js->at;
		size_t left = js->n - js->at;

		while (i < left && p[i] != '"' && p[i] != '\\')
			i++;
		if (i < left && p[i] == '"')
			break;
		if (i + 1 < left) { /* an escape */
			t->escaped = true;
			i += 2;
			continue;
		}
		int rc = more(js, err);

		if (rc < 0)
			return -1;
		if (!rc)
			return reel_json_bad(js, "a string is cut off", err);
	}
	t->text = js->buf + js->at + 1;
	t->len = i - 1;
	if ((js->lines && memchr(t->text, '\n', t->len)) ||
	    reel_json_cut(t->text, t->text + t->len, js->buf + js->n))
		return reel_json_bad(js, "a string is cut off", err);
	js->at += i + 1;
	return 0;
}

static int read_string(struct reel_json_stream *js, struct reel_json_token *t,
		       struct reel_error *err)
{
	t->escaped = false;
	return read_string_from(js, t, 1, err);
}

/*
 * Does the quote before @p end a string? @broken: the string holds quotes that are
 * not escaped, so that only the next key of an event or its end prove it.
 */
static bool ends_string(const char *p, const char *end, bool broken)
{
	while (p < end && is_space(*p))
		p++;
	if (p == end || !broken)
		return p == end || strchr(",}]:\"", *p);
	if (*p == ',') {
		for (p++; p < end && is_space(*p);)
			p++;
		return at_event_key(p, end);
	}
	if (*p != '}')
		return false;
	for (p++; p < end && is_space(*p);)
		p++;
	return p == end || strchr(",]{", *p);
}

/* Like read_string(), of a name that may hold bare quotes. */
static int read_name(struct reel_json_stream *js, struct reel_json_token *t,
		     struct reel_error *err)
{
	bool broken = false;

	if (read_string(js, t, err))
		return -1;
	for (;;) {
		size_t len = t->len;

		while (js->n - js->at < NAME_AHEAD && !js->ended) {
			js->at -= len + 2; /* the name stays in the buffer */
			if (more(js, err) < 0)
				return -1;
			js->at += len + 2;
			t->text = js->buf + js->at - len - 1;
		}
		if (ends_string(js->buf + js->at, js->buf + js->n, broken))
			return 0;
		if (len > NAME_MOST)
			return reel_json_bad(js, "a name without end", err);
		broken = true;
		js->at -= len + 2; /* the quote is text: read on behind it */
		if (read_string_from(js, t, len + 2, err))
			return -1;
		if (memchr(t->text, '\n', t->len)) {
			/* It is cut off: the quotes are of the next event. */
			js->at -= t->len + 2;
			return reel_json_bad(js, "a string is cut off", err);
		}
	}
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
	       c == 'e' || c == 'E';
}

static bool in_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/* A number or a word: all bytes of @in. */
static int read_run(struct reel_json_stream *js, struct reel_json_token *t,
		    bool (*in)(char), struct reel_error *err)
{
	size_t i = 0;

	for (;;) {
		while (i < js->n - js->at && in(js->buf[js->at + i]))
			i++;
		if (i < js->n - js->at)
			break;
		int rc = more(js, err);

		if (rc < 0)
			return -1;
		if (!rc)
			break;
	}
	t->text = js->buf + js->at;
	t->len = i;
	js->at += i;
	return 0;
}

static int read_word(struct reel_json_stream *js, struct reel_json_token *t,
		     struct reel_error *err)
{
	static const struct {
		const char *word;
		enum reel_json_type type;
	} words[] = {
		{"true", REEL_JSON_TRUE},      {"false", REEL_JSON_FALSE},
		{"null", REEL_JSON_NULL},      {"NaN", REEL_JSON_NULL},
		{"Infinity", REEL_JSON_NULL},  {"inf", REEL_JSON_NULL},
		{"-Infinity", REEL_JSON_NULL}, {"-inf", REEL_JSON_NULL},
		{"nan", REEL_JSON_NULL},
	};

	if (read_run(js, t, in_word, err))
		return -1;
	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (reel_json_is(t, words[i].word)) {
			t->type = words[i].type;
			return 0;
		}
	js->at -= t->len;
	return reel_json_bad(js, "no JSON value", err);
}

static int enter(struct reel_json_stream *js, struct reel_json_token *t,
		 bool object, struct reel_error *err)
{
	unsigned int d = js->depth;

	if (d == DEPTH_MOST)
		return reel_json_bad(js, "values are nested too deeply", err);
	js->object[d / 64] &= ~(1ull << d % 64);
	js->object[d / 64] |= (uint64_t)object << d % 64;
	js->depth++;
	js->at++;
	t->type = object ? REEL_JSON_OBJECT : REEL_JSON_ARRAY;
	return 0;
}

static bool in_object(const struct reel_json_stream *js)
{
	unsigned int d = js->depth - 1;

	return js->depth && js->object[d / 64] >> d % 64 & 1;
}

static int leave(struct reel_json_stream *js, struct reel_json_token *t,
		 bool object, struct reel_error *err)
{
	if (!js->depth || in_object(js) != object)
		return reel_json_bad(js, brackets, err);
	js->depth--;
	js->at++;
	t->type = object ? REEL_JSON_OBJECT_END : REEL_JSON_ARRAY_END;
	return 0;
}

/* A key and its colon. */
static int read_key(struct reel_json_stream *js, struct reel_json_token *t,
		    struct reel_error *err)
{
	size_t text, i = 0;

	if (js->buf[js->at] != '"')
		return reel_json_bad(js, "no key", err);
	if (read_string(js, t, err))
		return -1;
	/* The key stays in the buffer while its colon is looked for. */
	text = t->len + 2;
	js->at -= text;
	for (;;) {
		while (i < js->n - js->at - text &&
		       is_space(js->buf[js->at + text + i]))
			i++;
		if (i < js->n - js->at - text)
			break;
		int rc = more(js, err);

		if (rc < 0)
			return -1;
		if (!rc)
			return reel_json_bad(js, "a key without value", err);
	}
	if (js->buf[js->at + text + i] != ':')
		return reel_json_bad(js, "a key without value", err);
	t->text = js->buf + js->at + 1;
	t->type = REEL_JSON_KEY;
	js->at += text + i + 1;
	js->value_next = true;
	return 0;
}

int reel_json_next(struct reel_json_stream *js, struct reel_json_token *t,
		   struct reel_error *err)
{
	int rc = find_token(js, err);
	bool value = js->value_next || !in_object(js);
	char c;

	t->text = NULL;
	t->len = 0;
	t->escaped = false;
	t->type = REEL_JSON_END;
	if (rc <= 0)
		return rc;
	c = js->buf[js->at];
	if (c == '}')
		return leave(js, t, true, err);
	if (!value)
		return read_key(js, t, err);
	js->value_next = false;
	switch (c) {
	case '{':
	case '[':
		return enter(js, t, c == '{', err);
	case ']':
		return leave(js, t, false, err);
	case '"':
		t->type = REEL_JSON_STRING;
		return read_string(js, t, err);
	case '0' ... '9':
		t->type = REEL_JSON_NUMBER;
		return read_run(js, t, in_number, err);
	case '-':
		t->type = REEL_JSON_NUMBER;
		if (js->at + 1 == js->n && more(js, err) < 0)
			return -1;
		if (js->at + 1 < js->n && in_number(js->buf[js->at + 1]))
			return read_run(js, t, in_number, err);
	}
	return read_word(js, t, err);
}

int reel_json_next_name(struct reel_json_stream *js, struct reel_json_token *t,
			struct reel_error *err)
{
	if (!js->value_next || find_token(js, err) <= 0 ||
	    js->buf[js->at] != '"')
		return reel_json_next(js, t, err);
	js->value_next = false;
	t->type = REEL_JSON_STRING;
	return read_name(js, t, err);
}

char *reel_json_peek(struct reel_json_stream *js, size_t *n)
{
	*n = js->n - js->at;
	return js->buf + js->at;
}

void reel_json_use(struct reel_json_stream *js, size_t n)
{
	js->at += n;
}

void reel_json_lines(struct reel_json_stream *js)
{
	js->lines = true;
}

void reel_json_flat(struct reel_json_stream *js)
{
	js->flat = true;
}

/* Behind the string whose quote was read; nothing of it is kept. */
static int skip_string(struct reel_json_stream *js, struct reel_error *err)
{
	bool escape = false; /* the next byte is escaped */

	for (;;) {
		const char *p = js->buf + js->at, *end = js->buf + js->n;

		while (p < end && (escape || *p != '"')) {
			escape = !escape && *p == '\\';
			p++;
		}
		js->at = (size_t)(p - js->buf);
		if (p < end && reel_json_cut(js->buf, p, end))
			return reel_json_bad(js, "a string is cut off", err);
		if (p < end) {
			js->at++;
			return 0;
		}
		int rc = more(js, err);

		if (rc < 0)
			return -1;
		if (!rc)
			return reel_json_bad(js, "a string is cut off", err);
	}
}

/* Up to the end of the object or array that was entered. Only its brackets are
 * counted: this is several times as fast as reading its values. */
static int skip_inside(struct reel_json_stream *js, struct reel_error *err)
{
	const bool object = in_object(js);
	unsigned int open = 1;

	for (;;) {
		while (js->at < js->n) {
			char c = js->buf[js->at++];

			if (c == '"') {
				if (skip_string(js, err))
					return -1;
			} else if (c == '{' || c == '[') {
				open++;
				if (js->flat &&
				    reel_json_has_phase(js->buf + js->at,
							js->buf + js->n))
					return reel_json_bad(
						js, "a value is cut off", err);
			} else if ((c == '}' || c == ']') && !--open) {
				js->depth--;
				return (c == '}') == object
					       ? 0
					       : reel_json_bad(js, brackets,
							       err);
			} else if (c == '\n' && js->lines) {
				return reel_json_bad(js, "a line is cut off",
						     err);
			}
		}
		int rc = more(js, err);

		if (rc < 0)
			return -1;
		if (!rc)
			return reel_json_bad(js, "a value is cut off", err);
	}
}

int reel_json_skip(struct reel_json_stream *js, const struct reel_json_token *t,
		   struct reel_error *err)
{
	struct reel_json_token value = *t;

	if (t->type == REEL_JSON_KEY && reel_json_next(js, &value, err))
		return -1;
	if (value.type != REEL_JSON_OBJECT && value.type != REEL_JSON_ARRAY)
		return 0;
	return skip_inside(js, err);
}

int reel_json_mark(struct reel_json_stream *js, struct reel_error *err)
{
	js->marked = false;
	if (find_token(js, err) < 0)
		return -1;
	js->marked = true;
	js->mark = js->at;
	return 0;
}

void reel_json_unmark(struct reel_json_stream *js)
{
	js->marked = false;
}

/* Does an event of Chrome's begin at the brace js->buf[i]? It does behind another
 * one, a comma, a bracket or a line end, by a key. */
static bool is_event(const struct reel_json_stream *js, size_t i)
{
	const char *p = js->buf + i + 1, *end = js->buf + js->n;

	do {
		if (!i--)
			return false;
	} while (js->buf[i] == ' ' || js->buf[i] == '\t');
	while (p < end && is_space(*p))
		p++;
	return strchr(",[}\n\r", js->buf[i]) && js->buf[i] &&
	       at_event_key(p, end);
}

/* More bytes, of which those around js->buf[*i] stay. As more(). */
static int more_around(struct reel_json_stream *js, size_t *i,
		       struct reel_error *err)
{
	uint64_t before = js->offset;
	int rc;

	js->at = *i > OBJECT_AROUND ? *i - OBJECT_AROUND : 0;
	rc = more(js, err);
	*i -= js->offset - before;
	return rc;
}

int reel_json_resume(struct reel_json_stream *js, unsigned int depth,
		     uint64_t *from, uint64_t *to, struct reel_error *err)
{
	uint64_t failed = js->offset + js->at;
	size_t i = js->marked ? js->mark : js->at;

	*from = js->offset + i;
	js->marked = false;
	for (i++;; i++) {
		const char *brace =
			i < js->n ? memchr(js->buf + i, '{', js->n - i) : NULL;
		int rc = 1;

		i = brace ? (size_t)(brace - js->buf) : js->n;
		if (js->n - i < OBJECT_AROUND && !js->ended)
			rc = more_around(js, &i, err);
		if (rc < 0)
			return -1;
		if (i < js->n && is_event(js, i))
			break;
		if (i >= js->n && js->ended)
			return 0;
		i -= i < js->n && js->buf[i] != '{';
	}
	js->at = i;
	*to = js->offset + i;
	js->again += failed > *to ? failed - *to : 0;
	js->depth = depth;
	js->value_next = false;
	memset(js->object, 0, sizeof(js->object));
	js->object[0] = depth == 2;
	return js->again < AGAIN_MOST;
}

bool reel_json_is(const struct reel_json_token *t, const char *word)
{
	size_t n = strlen(word);

	return t->len == n && !memcmp(t->text, word, n);
}

static int add_utf8(struct reel_buf *out, uint32_t c, struct reel_error *err)
{
	char s[4];
	size_t n = 0;

	if (c < 0x80) {
		s[n++] = (char)c;
	} else if (c < 0x800) {
		s[n++] = (char)(0xc0 | c >> 6);
		s[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		s[n++] = (char)(0xe0 | c >> 12);
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		s[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		s[n++] = (char)(0xf0 | c >> 18);
		s[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		s[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		s[n++] = (char)(0x80 | (c & 0x3f));
	}
	return reel_buf_add(out, s, n, err);
}

/* The four digits at @p, or -1. */
static int32_t four_digits(const char *p, const char *end)
{
	int32_t v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		v = v << 4 | (c >= '0' && c <= '9'   ? c - '0'
			      : c >= 'a' && c <= 'f' ? c - 'a' + 10
			      : c >= 'A' && c <= 'F' ? c - 'A' + 10
						     : -0x100000);
		if (v < 0)
			return -1;
	}
	return v;
}

/* \uXXXX at @p, behind the u; a pair of surrogates is one character. The bytes
 * of it, 0 when it is none. */
static size_t read_unicode(const char *p, const char *end, uint32_t *c)
{
	int32_t low, high = four_digits(p, end);

	if (high < 0)
		return 0;
	*c = (uint32_t)high;
	if (high < 0xd800 || high > 0xdfff)
		return 4;
	*c = 0xfffd;
	if (high > 0xdbff || end - p < 10 || p[4] != '\\' || p[5] != 'u')
		return 4;
	low = four_digits(p + 6, end);
	if (low < 0xdc00 || low > 0xdfff)
		return 4;
	*c = 0x10000 +
	     (((uint32_t)high & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
	return 10;
}

int reel_json_unescape(const struct reel_json_token *t, struct reel_buf *out,
		       struct reel_error *err)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = t->text, *end = p + t->len;

	while (p < end) {
		const char *back = memchr(p, '\\', (size_t)(end - p));
		const char *known;
		uint32_t c;
		size_t n;

		if (!back || back + 1 == end)
			return reel_buf_add(out, p, (size_t)(end - p), err);
		if (reel_buf_add(out, p, (size_t)(back - p), err))
			return -1;
		p = back + 2;
		known = back[1] ? strchr(from, back[1]) : NULL;
		n = back[1] == 'u' ? read_unicode(p, end, &c) : 0;
		if (!n)
			c = known ? (uint8_t)to[known - from]
				  : (uint8_t)back[1];
		p += n;
		if (n || known ? add_utf8(out, c, err)
			       : reel_buf_add(out, back + 1, 1, err))
			return -1;
	}
	return 0;
}

bool reel_json_decimal(const struct reel_json_token *t, int digits,
		       int64_t *out)
{
	const char *p = t->text, *end = p + t->len;
	bool negative = p < end && *p == '-', point = false, any = false;
	int64_t v = 0;
	int after = 0;
	bool up = false;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.' && !point) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9')
			return false;
		any = true;
		if (point && after == digits) {
			up = *p >= '5';
			break;
		}
		after += point;
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, *p - '0', &v))
			return false;
	}
	if (!any)
		return false;
	if (memchr(t->text, 'e', t->len) || memchr(t->text, 'E', t->len)) {
		char copy[64];
		double d;

		if (t->len >= sizeof(copy))
			return false;
		memcpy(copy, t->text, t->len);
		copy[t->len] = '\0';
		d = strtod(copy, NULL) * pow(10, digits);
		if (!(fabs(d) < 9e18))
			return false;
		*out = llround(d);
		return true;
	}
	for (; after < digits; after++)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	v += up;
	*out = negative ? -v : v;
	return true;
}
