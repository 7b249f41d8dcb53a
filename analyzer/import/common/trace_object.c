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

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lib/json_stream.h"

#include "analyzer/import/common/trace_events.h"

/* The bytes left. *end is a line end or NUL, as the caller promises, so that a loop which
 * stops at either needs no other bound. */
struct cursor {
	char *at;
	const char *end;
};

#define WORD_BYTES 16 /* of a vector */

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline char *skip_spaces(char *p, const char *end)
{
	if ((unsigned char)*p > ' ')
		return p;
	while (p < end && is_space(*p))
		p++;
	return p;
}

/* The index of the first quote or backslash in the sixteen bytes at @p; 16: none. */
static inline unsigned int find_mark(const char *p)
{
#ifdef __SSE2__
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i found = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
				     _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));

	return (unsigned int)__builtin_ctz(
		(unsigned int)_mm_movemask_epi8(found) | 1u << WORD_BYTES);
#else
	unsigned int i = 0;

	while (i < WORD_BYTES && p[i] != '"' && p[i] != '\\')
		i++;
	return i;
#endif
}

/* The quote that ends the string at @p, behind its first one; NULL: an escape comes
 * first, or the string is cut off. */
static inline char *find_quote(char *p, const char *end)
{
	const char *from = p;

	for (; p < end; p += WORD_BYTES) {
		unsigned int i = find_mark(p);

		if (i == WORD_BYTES)
			continue;
		p += i;
		if (p >= end || *p != '"')
			return NULL;
		return (p[-1] == '{' || is_space(p[-1])) &&
				       reel_json_cut(from, p, end)
			       ? NULL
			       : p;
	}
	return NULL;
}

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' ||
	       c == 'e' || c == 'E';
}

/* The decimal digits at @p, at most eight: their number, and *@v is their value. */
static inline unsigned int read_digits(const char *p, uint64_t *v)
{
	uint64_t w, other;
	unsigned int n;

	memcpy(&w, p, sizeof(w));
	w = le64toh(w) ^ 0x3030303030303030;
	/* The highest bit of each byte that is above 9, up to the first such one. */
	other = (w | (w + 0x7676767676767676)) & 0x8080808080808080;
	n = other ? (unsigned int)__builtin_ctzll(other) / 8 : 8;
	if (!n)
		return 0;
	w <<= 64 - 8 * n; /* zeros in front */
	w = (w * 10 + (w >> 8)) & 0x00ff00ff00ff00ff;
	w = (w * 100 + (w >> 16)) & 0x0000ffff0000ffff;
	*v = (uint32_t)(w * 10000 + (w >> 32));
	return n;
}

/* Read the number whose first digit is at @p. Behind it. */
static inline char *read_number(char *p, const char *end,
				struct trace_text *text)
{
	static const uint64_t powers[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
	char *from = p;
	uint64_t v = 0, more = 0;
	unsigned int n = read_digits(p, &v);

	p += n;
	while (n == 8 && p - from < 24) {
		n = read_digits(p, &more);
		v = n ? v * powers[n] + more : v;
		p += n;
	}
	text->integer = p - from <= TRACE_DIGITS_MOST;
	text->number = (int64_t)v;
	if (*p != ',' && *p != '}' && in_number(*p)) {
		text->integer = false;
		while (p < end && in_number(*p))
			p++;
	}
	text->s = from;
	text->len = (size_t)(p - from);
	return p;
}

/* Read the number at @p, which begins with a minus. Behind it; NULL: it is none. */
static char *read_negative(char *p, const char *end, struct trace_text *text)
{
	text->s = p++;
	text->integer = false;
	if (!in_number(*p))
		return NULL;
	while (p < end && in_number(*p))
		p++;
	text->len = (size_t)(p - text->s);
	return p;
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
static inline char *read_string(char *p, const char *end,
				struct trace_text *text)
{
	char *quote = find_quote(p + 1, end);

	if (!quote)
		return NULL;
	text->s = p + 1;
	text->len = (size_t)(quote - p - 1);
	text->integer = false;
	return quote + 1;
}

/* Keys of events, as trace_word() has them. */
#define WORD2(a, b) ((uint64_t)(a) | (uint64_t)(b) << 8)
#define WORD3(a, b, c) (WORD2(a, b) | (uint64_t)(c) << 16)
#define WORD4(a, b, c, d) (WORD3(a, b, c) | (uint64_t)(d) << 24)

enum field {
	FIELD_OTHER,
	FIELD_ID,
	FIELD_NAME,
	FIELD_CATEGORY,
	FIELD_PID,
	FIELD_TID,
	FIELD_PHASE,
	FIELD_START,
	FIELD_DURATION,
	FIELD_ARGS,
	FIELD_ID2
};

static enum field field_of(const struct trace_arg *arg)
{
	static const uint8_t len[] = {
		[FIELD_ID] = 2,	   [FIELD_NAME] = 4,	 [FIELD_CATEGORY] = 3,
		[FIELD_PID] = 3,   [FIELD_TID] = 3,	 [FIELD_PHASE] = 2,
		[FIELD_START] = 2, [FIELD_DURATION] = 3, [FIELD_ARGS] = 4,
		[FIELD_ID2] = 3};
	enum field f;

	switch (arg->word) {
	case WORD2('i', 'd'):
		f = FIELD_ID;
		break;
	case WORD4('n', 'a', 'm', 'e'):
		f = FIELD_NAME;
		break;
	case WORD3('c', 'a', 't'):
		f = FIELD_CATEGORY;
		break;
	case WORD3('p', 'i', 'd'):
		f = FIELD_PID;
		break;
	case WORD3('t', 'i', 'd'):
		f = FIELD_TID;
		break;
	case WORD2('p', 'h'):
		f = FIELD_PHASE;
		break;
	case WORD2('t', 's'):
		f = FIELD_START;
		break;
	case WORD3('d', 'u', 'r'):
		f = FIELD_DURATION;
		break;
	case WORD4('a', 'r', 'g', 's'):
		f = FIELD_ARGS;
		break;
	case WORD3('i', 'd', '2'):
		f = FIELD_ID2;
		break;
	default:
		return FIELD_OTHER;
	}
	return arg->key.len == len[f] ? f : FIELD_OTHER;
}

/* The key at c->at, where @token guessed wrong: c->at moves to its value, and the guess
 * for the next event is this key. 1, 0 at the end of the object, or -1. */
static int find_key(struct cursor *c, struct trace_token *token, bool first,
		    struct trace_arg *arg, uint8_t *field)
{
	char *from = c->at, *p = skip_spaces(from, c->end);
	size_t n;

	if (*p == '}') {
		c->at = p + 1;
		return 0;
	}
	if (!first) {
		if (*p != ',')
			return -1;
		p = skip_spaces(p + 1, c->end);
	}
	if (*p != '"' || !(p = read_string(p, c->end, &arg->key)))
		return -1;
	p = skip_spaces(p, c->end);
	if (*p != ':')
		return -1;
	c->at = skip_spaces(p + 1, c->end);
	if (c->at >= c->end)
		return -1;
	arg->word = trace_word(&arg->key);
	*field = (uint8_t)field_of(arg);
	n = (size_t)(c->at - from);
	if (n > sizeof(token->text))
		return 1;
	*token = (struct trace_token){.word = arg->word,
				      .n = (uint8_t)n,
				      .key_at = (uint8_t)(arg->key.s - from),
				      .key_len = (uint8_t)arg->key.len,
				      .field = *field};
	memcpy(token->text, from, n);
	memset(token->mask, 0xff, n);
	return 1;
}

/* Are the bytes at @p, of which sixteen can be read, those of @token? */
static inline bool is_token(const char *p, const struct trace_token *token)
{
	uint64_t at[2];

	memcpy(at, p, sizeof(at));
	return !(((at[0] ^ token->text[0]) & token->mask[0]) |
		 ((at[1] ^ token->text[1]) & token->mask[1])) &&
	       token->n;
}

/* To the next key of the object, as find_key(). */
static inline int read_key(struct cursor *c, struct trace_token *token,
			   bool first, struct trace_arg *arg, uint8_t *field)
{
	char *p = c->at;

	if (*p == '}' || !is_token(p, token) || p + token->n >= c->end)
		return find_key(c, token, first, arg, field);
	c->at = p + token->n;
	arg->key.s = p + token->key_at;
	arg->key.len = token->key_len;
	arg->key.integer = false;
	arg->word = token->word;
	*field = token->field;
	return 1;
}

/* A value: the text of a string or a number is kept, objects and arrays are skipped. */
enum value { VALUE_BAD, VALUE_SCALAR, VALUE_OTHER };

static inline enum value read_value(struct cursor *c, struct trace_text *text)
{
	char *p = c->at;

	if (*p == '"') {
		c->at = read_string(p, c->end, text);
		return c->at ? VALUE_SCALAR : VALUE_BAD;
	}
	if (*p >= '0' && *p <= '9') {
		c->at = read_number(p, c->end, text);
		return VALUE_SCALAR;
	}
	if (*p == '-') {
		c->at = read_negative(p, c->end, text);
		return c->at ? VALUE_SCALAR : VALUE_BAD;
	}
	c->at = *p == '{' || *p == '[' ? skip_inside(p, c->end)
				       : skip_word(p, c->end);
	return c->at ? VALUE_OTHER : VALUE_BAD;
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

/* A time; a whole number of microseconds is the common case. */
static inline bool read_time(const struct trace_text *v,
			     struct trace_rules *rules, int64_t *ns)
{
	if (v->integer && rules->time_digits == 3 && v->number >= 0 &&
	    v->number < INT64_MAX / 4 / 1000) {
		*ns = 1000 * v->number;
		return true;
	}
	return trace_object_time(v->s, v->len, rules, ns);
}

static inline void set_field(struct trace_event *ev, enum field f,
			     const struct trace_text *v,
			     struct trace_rules *rules)
{
	switch (f) {
	case FIELD_ID:
		ev->id = *v;
		break;
	case FIELD_NAME:
		ev->name = *v;
		break;
	case FIELD_CATEGORY:
		ev->category = *v;
		break;
	case FIELD_PID:
		ev->pid = *v;
		break;
	case FIELD_TID:
		ev->tid = *v;
		break;
	case FIELD_PHASE:
		if (v->len)
			ev->phase = v->s[0];
		break;
	case FIELD_START:
		ev->has_ts = read_time(v, rules, &ev->ts_ns);
		break;
	case FIELD_DURATION:
		ev->has_dur = read_time(v, rules, &ev->dur_ns);
		break;
	default:
		break;
	}
}

/* The guesses for the keys behind the name of @ev. */
static inline struct trace_shape *shape_of(struct trace_rules *rules,
					   const struct trace_event *ev)
{
	uint64_t hash = trace_word(&ev->name) * 0x9e3779b97f4a7c15u;

	return &rules->shape[hash >> 32 & (TRACE_SHAPES - 1)];
}

/* The next argument of @ev, or @other, if it has as many as are kept. */
static inline struct trace_arg *arg_of(struct trace_event *ev,
				       struct trace_arg *other)
{
	return ev->args < TRACE_ARGS_MOST ? &ev->arg[ev->args] : other;
}

#define LAST_KEY (TRACE_KEYS - 1) /* and the guess for those behind it */

/*
 * The fields of an event and its arguments, up to behind its end. Events of one name
 * mostly have the same keys in the same order: each is compared with that of the event
 * before.
 */
static bool read_fields(struct cursor *c, struct trace_rules *rules,
			struct trace_event *ev)
{
	struct trace_shape *shape = &rules->shape[0];
	struct trace_token *token = shape->key, *last = token + LAST_KEY;
	struct trace_token *outside = NULL; /* while inside of the arguments */
	struct trace_arg other, *arg = &other;
	bool first = true;

	for (;;) {
		uint8_t field;
		enum value v;
		int more = read_key(c, token, first, arg, &field);

		token += token < last;
		first = false;
		if (more < 0 || (!more && !outside))
			return !more;
		if (!more) {
			token = outside;
			last = shape->key + LAST_KEY;
			outside = NULL;
			arg = &other;
			continue;
		}
		if (*c->at == '{' && !outside) {
			if (field == FIELD_ID2)
				return false;
			if (field == FIELD_ARGS && !rules->without_args) {
				c->at++;
				outside = token;
				token = shape->arg;
				last = token + LAST_KEY;
				first = true;
				arg = arg_of(ev, &other);
				continue;
			}
		}
		v = read_value(c, &arg->value);
		if (v == VALUE_BAD)
			return false;
		if (outside) {
			ev->args += arg != &other && v == VALUE_SCALAR;
			arg = arg_of(ev, &other);
			continue;
		}
		if (v == VALUE_SCALAR)
			set_field(ev, (enum field)field, &arg->value, rules);
		else /* "null" */
			rules->bad +=
				field == FIELD_START || field == FIELD_DURATION;
		if (field == FIELD_NAME && v == VALUE_SCALAR) {
			unsigned int i = (unsigned int)(token - shape->key);

			shape = shape_of(rules, ev);
			token = shape->key + i;
			last = shape->key + LAST_KEY;
		}
	}
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
