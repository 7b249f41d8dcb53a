/* SPDX-License-Identifier: MIT */
/*
 * An event of Chrome's JSON that is whole in memory, parsed in place.
 *
 * Most events are one short line without escapes: parsing such a line in one pass
 * and without copies is several times as fast as reading its tokens. Whatever else
 * occurs is left to trace_events.c, so nothing here repairs or reports damage.
 */
#include "analyzer/import/common/trace_object.h"

#include <endian.h>
#include <string.h>

#include "lib/json_stream.h"

#include "analyzer/import/common/trace_events.h"

/* The bytes left; at NULL: the event is not simple. */
struct cursor {
	char *at;
	const char *end;
};

/* A value: @scalar when it is a string or a number, whose text is kept. */
struct value {
	struct trace_text text;
	bool scalar, object;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static char *skip_spaces(char *p, const char *end)
{
	while (p < end && is_space(*p))
		p++;
	return p;
}

typedef int8_t bytes16 __attribute__((vector_size(16)));
typedef uint64_t words2 __attribute__((vector_size(16)));

/* @quote, which ends the string at @from, or NULL: the string is cut off. */
static inline char *check_quote(const char *from, char *quote, const char *end)
{
	return (quote[-1] == '{' || is_space(quote[-1])) &&
			       reel_json_cut(from, quote, end)
		       ? NULL
		       : quote;
}

/* The quote that ends the string at @p, behind its first one, sixteen bytes at a
 * time; NULL: an escape comes first, or the string is cut off. */
static inline char *find_quote(char *p, const char *end)
{
	const char *from = p;

	for (; end - p >= (ptrdiff_t)sizeof(bytes16); p += sizeof(bytes16)) {
		bytes16 v;
		words2 found;

		memcpy(&v, p, sizeof(v));
		found = (words2)((v == '"') | (v == '\\'));
		if (!(found[0] | found[1]))
			continue;
		p += found[0] ? __builtin_ctzll(le64toh(found[0])) / 8
			      : 8 + __builtin_ctzll(le64toh(found[1])) / 8;
		return *p == '"' ? check_quote(from, p, end) : NULL;
	}
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p < end && *p == '"' ? check_quote(from, p, end) : NULL;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
	       c == 'e' || c == 'E';
}

/* Behind the object or array at @p: only its brackets are counted. NULL: it is cut
 * off, perhaps before an event. */
static char *skip_inside(char *p, const char *end)
{
	const char last = *p == '{' ? '}' : ']';
	unsigned int open = 0;

	for (; p && p < end; p++) {
		if (*p == '"') {
			p = find_quote(p + 1, end);
			if (!p)
				break;
		} else if (*p == '{' || *p == '[') {
			open++;
			if (reel_json_has_phase(p + 1, end))
				break;
		} else if ((*p == '}' || *p == ']') && !--open) {
			return *p == last ? p + 1 : NULL;
		}
	}
	return NULL;
}

/* Behind one of the words of JSON at @p. */
static char *skip_word(char *p, const char *end)
{
	static const char *const words[] = {"true", "false", "null"};

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - p) > n && !memcmp(p, words[i], n))
			return p + n;
	}
	return NULL;
}

/* Read the string whose quote is at @p. Behind it, or NULL. */
static char *read_string(char *p, const char *end, struct trace_text *text)
{
	char *quote = find_quote(p + 1, end);

	if (!quote)
		return NULL;
	text->s = p + 1;
	text->len = (size_t)(quote - p - 1);
	return quote + 1;
}

/* Read a number or string. Behind it; NULL: it is none. */
static char *read_scalar(char *p, const char *end, struct trace_text *text)
{
	char *from = p;

	if (*p == '"')
		return read_string(p, end, text);
	if (*p == '-')
		p++;
	if (p == end || !in_number(*p) || (p == from && (*p < '0' || *p > '9')))
		return NULL;
	while (p < end && in_number(*p))
		p++;
	text->s = from;
	text->len = (size_t)(p - from);
	return p;
}

/* To the next key, whose value begins at c->at then. 1, 0 at the end of the object,
 * or -1. @first: of its object. */
static int read_key(struct cursor *c, bool first, struct trace_text *key)
{
	char *p = skip_spaces(c->at, c->end);

	if (p < c->end && *p == '}') {
		c->at = p + 1;
		return 0;
	}
	if (!first) {
		if (p == c->end || *p != ',')
			return -1;
		p = skip_spaces(p + 1, c->end);
	}
	if (p == c->end || *p != '"' || !(p = read_string(p, c->end, key)))
		return -1;
	p = skip_spaces(p, c->end);
	if (p == c->end || *p != ':')
		return -1;
	c->at = skip_spaces(p + 1, c->end);
	return c->at < c->end ? 1 : -1;
}

/* Read the value at c->at, of which objects and arrays are skipped. */
static bool read_value(struct cursor *c, struct value *v)
{
	char *p = c->at;

	v->scalar = *p == '"' || *p == '-' || (*p >= '0' && *p <= '9');
	v->object = *p == '{';
	c->at = v->scalar		 ? read_scalar(p, c->end, &v->text)
		: *p == '{' || *p == '[' ? skip_inside(p, c->end)
					 : skip_word(p, c->end);
	return c->at;
}

static bool read_args(struct cursor *c, struct trace_event *ev)
{
	struct trace_text key;
	struct value v;
	int more;

	c->at++;
	for (bool first = true; (more = read_key(c, first, &key)) > 0;
	     first = false) {
		if (!read_value(c, &v))
			return false;
		if (!v.scalar || ev->args == TRACE_ARGS_MOST)
			continue;
		ev->arg[ev->args].key = key;
		ev->arg[ev->args++].value = v.text;
	}
	return !more;
}

bool trace_object_time(const char *text, size_t len, struct trace_rules *rules,
		       int64_t *ns)
{
	struct reel_json_token t = {
		.type = REEL_JSON_NUMBER, .text = text, .len = len};
	int64_t v = 0;

	if (rules->time_digits == 3 && len && len <= 16) { /* no overflow */
		size_t i = 0;

		while (i < len && text[i] >= '0' && text[i] <= '9')
			v = 10 * v + (text[i++] - '0');
		if (i == len && v < INT64_MAX / 4 / 1000) {
			*ns = 1000 * v;
			return true;
		}
	}
	if (reel_json_decimal(&t, rules->time_digits, ns) &&
	    *ns > -(INT64_MAX / 4) && *ns < INT64_MAX / 4)
		return true;
	rules->bad++;
	return false;
}

static bool is_key(const struct trace_text *key, const char *word)
{
	return !memcmp(key->s, word, key->len);
}

/* The text of @ev that @key names, NULL: none. */
static struct trace_text *text_of(struct trace_event *ev,
				  const struct trace_text *key)
{
	switch (key->len) {
	case 2:
		return is_key(key, "id") ? &ev->id : NULL;
	case 3:
		return is_key(key, "cat")   ? &ev->category
		       : is_key(key, "pid") ? &ev->pid
		       : is_key(key, "tid") ? &ev->tid
					    : NULL;
	case 4:
		return is_key(key, "name") ? &ev->name : NULL;
	}
	return NULL;
}

static void set_field(struct trace_event *ev, const struct trace_text *key,
		      const struct trace_text *v, struct trace_rules *rules)
{
	struct trace_text *text = text_of(ev, key);

	if (text) {
		*text = *v;
	} else if (key->len == 2 && is_key(key, "ph")) {
		if (v->len)
			ev->phase = v->s[0];
	} else if (key->len == 2 && is_key(key, "ts")) {
		ev->has_ts = trace_object_time(v->s, v->len, rules, &ev->ts_ns);
	} else if (key->len == 3 && is_key(key, "dur")) {
		ev->has_dur =
			trace_object_time(v->s, v->len, rules, &ev->dur_ns);
	}
}

/* The fields of an event, up to behind its end. */
static bool read_fields(struct cursor *c, struct trace_rules *rules,
			struct trace_event *ev)
{
	struct trace_text key;
	struct value v;
	int more;

	for (bool first = true; (more = read_key(c, first, &key)) > 0;
	     first = false) {
		if (!rules->without_args && *c->at == '{' && key.len == 4 &&
		    is_key(&key, "args")) {
			if (!read_args(c, ev))
				return false;
			continue;
		}
		if (*c->at == '{' && key.len == 3 && is_key(&key, "id2"))
			return false;
		if (!read_value(c, &v))
			return false;
		if (v.scalar)
			set_field(ev, &key, &v.text, rules);
		else if ((key.len == 2 && is_key(&key, "ts")) ||
			 (key.len == 3 && is_key(&key, "dur")))
			rules->bad++; /* "null" */
	}
	return !more;
}

/* The byte behind a text was parsed: it becomes the NUL that ends the text. */
static void end_text(struct trace_text *text)
{
	if (text->s)
		((char *)(uintptr_t)text->s)[text->len] = '\0';
	else
		text->s = "";
}

size_t trace_object_parse(char *p, size_t n, struct trace_rules *rules,
			  struct trace_event *ev)
{
	struct cursor c = {p, p + n};
	uint64_t bad = rules->bad;

	while (c.at < c.end && (is_space(*c.at) || *c.at == ','))
		c.at++;
	if (c.at == c.end || *c.at++ != '{')
		return 0;
	memset(ev, 0, offsetof(struct trace_event, arg));
	ev->args = 0;
	if (!read_fields(&c, rules, ev)) {
		rules->bad = bad;
		return 0;
	}
	end_text(&ev->name);
	end_text(&ev->category);
	end_text(&ev->pid);
	end_text(&ev->tid);
	end_text(&ev->id);
	for (unsigned int i = 0; i < ev->args; i++) {
		end_text(&ev->arg[i].key);
		end_text(&ev->arg[i].value);
	}
	return (size_t)(c.at - p);
}
