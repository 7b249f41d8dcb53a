/* SPDX-License-Identifier: MIT */
/* Chrome's trace event JSON, one event at a time. */
#include "analyzer/import/common/trace_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/json_stream.h"
#include "lib/source.h"

#include "analyzer/import/common/trace_object.h"

#define VALUES_MOST 256
#define VALUE_BYTES_MOST 4096

struct document_value {
	char *key, *value;
};

/* Texts are offsets while the buffer grows. */
struct trace_events {
	struct reel_source *source;
	struct reel_json_stream *js;
	struct reel_buf text;
	struct trace_rules rules;
	bool in_array, top_is_array, has_array;
	bool at_event; /* inside an event that was entered */
	bool lines;
	bool stopped;	    /* before damage */
	unsigned int depth; /* of the event that is read */
	struct document_value value[VALUES_MOST];
	unsigned int values;
};

int trace_events_open(struct trace_events **out, const char *path,
		      struct reel_error *err)
{
	struct trace_events *t = reel_alloc(1, sizeof(*t), err);
	struct reel_json_token token;

	if (!t)
		return -1;
	if (reel_source_open(&t->source, path, err) ||
	    reel_json_open(&t->js, t->source, err) ||
	    reel_json_next(t->js, &token, err))
		goto fail;
	if (token.type != REEL_JSON_OBJECT && token.type != REEL_JSON_ARRAY) {
		reel_json_bad(t->js, "neither an object nor an array", err);
		goto fail;
	}
	t->top_is_array = token.type == REEL_JSON_ARRAY;
	t->in_array = t->has_array = t->top_is_array;
	t->rules.time_digits = 3;
	if (reel_source_skips(NULL))
		reel_json_flat(t->js);
	*out = t;
	return 0;
fail:
	trace_events_close(t);
	return -1;
}

void trace_events_close(struct trace_events *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->values; i++) {
		free(t->value[i].key);
		free(t->value[i].value);
	}
	reel_json_close(t->js);
	reel_source_close(t->source);
	reel_buf_fini(&t->text);
	free(t);
}

/* Copy the token's text; *@out holds its offset until fix_texts(). */
static int keep(struct trace_events *t, const struct reel_json_token *token,
		struct trace_text *out, struct reel_error *err)
{
	size_t at = t->text.len;

	if (token->escaped
		    ? reel_json_unescape(token, &t->text, err)
		    : reel_buf_add(&t->text, token->text, token->len, err))
		return -1;
	out->len = t->text.len - at;
	out->s = (const char *)(uintptr_t)(at + 1);
	out->integer = false;
	return reel_buf_add(&t->text, "", 1, err);
}

static bool is_scalar(const struct reel_json_token *token)
{
	return token->type == REEL_JSON_STRING ||
	       token->type == REEL_JSON_NUMBER;
}

static int read_args(struct trace_events *t, struct trace_event *ev,
		     struct reel_error *err)
{
	struct reel_json_token token;

	for (;;) {
		struct trace_arg *arg = &ev->arg[ev->args];

		if (reel_json_next(t->js, &token, err))
			return -1;
		if (token.type == REEL_JSON_OBJECT_END)
			return 0;
		if (token.type != REEL_JSON_KEY)
			return reel_json_bad(t->js, "arguments are cut off",
					     err);
		if (ev->args == TRACE_ARGS_MOST) {
			if (reel_json_skip(t->js, &token, err))
				return -1;
			continue;
		}
		if (keep(t, &token, &arg->key, err) ||
		    reel_json_next(t->js, &token, err))
			return -1;
		if (!is_scalar(&token)) {
			if (reel_json_skip(t->js, &token, err))
				return -1;
			continue;
		}
		if (keep(t, &token, &arg->value, err))
			return -1;
		ev->args++;
	}
}

/* "id2": {"local": ID}, or {"global": ID}, which is as "id". */
static int read_id2(struct trace_events *t, struct trace_event *ev,
		    struct reel_error *err)
{
	struct reel_json_token token;

	for (;;) {
		bool local, id;

		if (reel_json_next(t->js, &token, err))
			return -1;
		if (token.type == REEL_JSON_OBJECT_END)
			return 0;
		if (token.type != REEL_JSON_KEY)
			return reel_json_bad(t->js, "an id is cut off", err);
		local = reel_json_is(&token, "local");
		id = local || reel_json_is(&token, "global");
		if (reel_json_next(t->js, &token, err))
			return -1;
		if (id && is_scalar(&token)) {
			ev->local_id = local;
			if (keep(t, &token, &ev->id, err))
				return -1;
		} else if (reel_json_skip(t->js, &token, err)) {
			return -1;
		}
	}
}

/* The value of @key of an event. */
static int read_field(struct trace_events *t, struct trace_event *ev,
		      char key[static 8], struct reel_error *err)
{
	struct reel_json_token v;
	struct trace_text *text = !strcmp(key, "name")	? &ev->name
				  : !strcmp(key, "cat") ? &ev->category
				  : !strcmp(key, "pid") ? &ev->pid
				  : !strcmp(key, "tid") ? &ev->tid
				  : !strcmp(key, "id")	? &ev->id
							: NULL;

	if (text == &ev->name ? reel_json_next_name(t->js, &v, err)
			      : reel_json_next(t->js, &v, err))
		return -1;
	if (!strcmp(key, "args") && v.type == REEL_JSON_OBJECT &&
	    !t->rules.without_args)
		return read_args(t, ev, err);
	if (!strcmp(key, "id2") && v.type == REEL_JSON_OBJECT)
		return read_id2(t, ev, err);
	if (!is_scalar(&v)) {
		t->rules.bad += !strcmp(key, "ts") || !strcmp(key, "dur");
		return reel_json_skip(t->js, &v, err);
	}
	if (text)
		return keep(t, &v, text, err);
	if (!strcmp(key, "ph") && v.len)
		ev->phase = v.text[0];
	else if (!strcmp(key, "ts"))
		ev->has_ts =
			trace_object_time(v.text, v.len, &t->rules, &ev->ts_ns);
	else if (!strcmp(key, "dur"))
		ev->has_dur = trace_object_time(v.text, v.len, &t->rules,
						&ev->dur_ns);
	return 0;
}

static void fix_text(const struct trace_events *t, struct trace_text *text)
{
	text->s = text->s ? t->text.data + (uintptr_t)text->s - 1 : "";
}

static int read_event(struct trace_events *t, struct trace_event *ev,
		      struct reel_error *err)
{
	struct reel_json_token token;

	memset(ev, 0, offsetof(struct trace_event, arg));
	ev->args = 0;
	reel_buf_reset(&t->text);
	for (;;) {
		char key[8] = "";

		if (reel_json_next(t->js, &token, err))
			return -1;
		if (token.type == REEL_JSON_OBJECT_END)
			break;
		if (token.type != REEL_JSON_KEY)
			return reel_json_bad(t->js, "an event is cut off", err);
		if (token.len >= sizeof(key)) {
			if (reel_json_skip(t->js, &token, err))
				return -1;
			continue;
		}
		memcpy(key, token.text, token.len);
		if (read_field(t, ev, key, err))
			return -1;
	}
	fix_text(t, &ev->name);
	fix_text(t, &ev->category);
	fix_text(t, &ev->pid);
	fix_text(t, &ev->tid);
	fix_text(t, &ev->id);
	for (unsigned int i = 0; i < ev->args; i++) {
		struct trace_arg *arg = &ev->arg[i];

		fix_text(t, &arg->key);
		fix_text(t, &arg->value);
		arg->word = trace_word_of(arg->key.s, arg->key.len);
	}
	return 1;
}

/* Keep the scalars of the document, those in objects as "outer.inner". */
static int read_value(struct trace_events *t, const char *outer,
		      struct reel_error *err)
{
	struct document_value *v = &t->value[t->values];
	struct reel_json_token token;
	struct reel_buf name = REEL_BUF_INIT;
	int rc = -1;

	if (reel_json_next(t->js, &token, err))
		return -1;
	if (token.type == REEL_JSON_OBJECT && !strchr(outer, '.')) {
		while (!(rc = reel_json_next(t->js, &token, err)) &&
		       token.type == REEL_JSON_KEY) {
			reel_buf_reset(&name);
			rc = reel_buf_printf(&name, err, "%s.", outer) ||
			     reel_json_unescape(&token, &name, err) ||
			     read_value(t, reel_buf_text(&name), err);
			if (rc)
				break;
		}
		reel_buf_fini(&name);
		return rc ? -1 : 0;
	}
	if (!is_scalar(&token) || t->values == VALUES_MOST ||
	    token.len > VALUE_BYTES_MOST)
		return reel_json_skip(t->js, &token, err);
	if (!reel_json_unescape(&token, &name, err)) {
		v->key = reel_strdup(outer, err);
		v->value = reel_strdup(reel_buf_text(&name), err);
		t->values++;
		rc = v->key && v->value ? 0 : -1;
	}
	reel_buf_fini(&name);
	return rc;
}

/* Up to the events. 1: in their array; 0: the document has ended. */
static int find_events(struct trace_events *t, struct reel_error *err)
{
	struct reel_json_token token;

	for (;;) {
		struct reel_buf key = REEL_BUF_INIT;
		int rc;

		if (reel_json_next(t->js, &token, err))
			return -1;
		if (token.type == REEL_JSON_END ||
		    token.type == REEL_JSON_OBJECT_END)
			return 0;
		if (token.type != REEL_JSON_KEY)
			return reel_json_bad(t->js, "no key", err);
		if (reel_json_is(&token, "traceEvents")) {
			if (reel_json_next(t->js, &token, err))
				return -1;
			if (token.type == REEL_JSON_ARRAY)
				return 1;
			return reel_json_bad(t->js, "events are no array", err);
		}
		rc = token.len > VALUE_BYTES_MOST
			     ? reel_json_skip(t->js, &token, err)
			     : reel_json_unescape(&token, &key, err) ||
				       read_value(t, reel_buf_text(&key), err);
		reel_buf_fini(&key);
		if (rc)
			return -1;
	}
}

void trace_events_without_args(struct trace_events *t)
{
	t->rules.without_args = true;
}

void trace_events_without_array(struct trace_events *t)
{
	t->at_event = !t->top_is_array;
	t->top_is_array = t->in_array = true;
}

void trace_events_time_digits(struct trace_events *t, int digits)
{
	t->rules.time_digits = digits;
}

void trace_events_lines(struct trace_events *t)
{
	t->lines = true;
	reel_json_lines(t->js);
}

/* The part of the @n bytes at @p up to the end of the line that has an object. */
static size_t line_at(const char *p, size_t n)
{
	const char *object = memchr(p, '{', n), *end = NULL;

	if (object)
		end = memchr(object, '\n', n - (size_t)(object - p));
	return end ? (size_t)(end - p) : n;
}

/* Parse the next event in place: most are whole in memory and simple. */
static bool parse_event(struct trace_events *t, struct trace_event *ev)
{
	size_t n;
	char *p = reel_json_peek(t->js, &n);

	if (t->lines)
		n = line_at(p, n);
	n = trace_object_parse(p, n, &t->rules, ev);
	reel_json_use(t->js, n);
	return n;
}

/* The next event, up to the end of the document or its damage. */
static int next_event(struct trace_events *t, struct trace_event *ev,
		      struct reel_error *err)
{
	struct reel_json_token token;

	reel_json_unmark(t->js);
	if (t->at_event) {
		t->at_event = false;
		return reel_json_mark(t->js, err) ? -1 : read_event(t, ev, err);
	}
	for (;;) {
		if (!t->in_array) {
			int rc = t->top_is_array ? 0 : find_events(t, err);

			if (rc <= 0)
				return rc;
			t->in_array = t->has_array = true;
		}
		if (parse_event(t, ev))
			return 1;
		t->depth = reel_json_depth(t->js);
		if (reel_json_mark(t->js, err) ||
		    reel_json_next(t->js, &token, err))
			return -1;
		switch (token.type) {
		case REEL_JSON_END:
			/* An array of a tool that may be killed has no end; in
			 * an object, all that follows is lost. */
			if (!t->top_is_array && !t->lines) {
				t->rules.bad++;
				reel_source_cut(t->source);
			}
			return 0;
		case REEL_JSON_ARRAY_END:
			t->in_array = t->lines;
			continue;
		case REEL_JSON_OBJECT:
			return read_event(t, ev, err);
		case REEL_JSON_ARRAY:
			if (t->lines) /* of the next log */
				continue;
			/* fall through */
		default:
			if (reel_json_skip(t->js, &token, err))
				return -1;
		}
	}
}

/* Go on at the next event behind the damage that @err is of. Did it? Then @err is
 * empty. Before the events, values of the document look like them. */
static bool skip_damage(struct trace_events *t, struct reel_error *err)
{
	struct reel_error other = {0};
	uint64_t from, to;

	if (!reel_source_skips(err) || (!t->has_array && !t->lines) ||
	    reel_json_resume(t->js, t->depth > 2 ? 1 : t->depth, &from, &to,
			     &other) <= 0)
		return false;
	reel_source_skipped(t->source, from, to - from);
	*err = other;
	t->in_array = true;
	return true;
}

int trace_events_next(struct trace_events *t, struct trace_event *ev,
		      struct reel_error *err)
{
	int rc;

	do {
		rc = t->stopped ? 0 : next_event(t, ev, err);
	} while (rc < 0 && skip_damage(t, err));
	if (rc >= 0)
		return rc;
	t->stopped = reel_source_stop(t->source, err);
	return t->stopped ? 0 : -1;
}

const char *trace_events_value(const struct trace_events *t, const char *key)
{
	for (unsigned int i = 0; i < t->values; i++)
		if (!strcmp(t->value[i].key, key))
			return t->value[i].value;
	return NULL;
}

bool trace_events_has_array(const struct trace_events *t)
{
	return t->has_array;
}

uint64_t trace_events_bad(const struct trace_events *t)
{
	return t->rules.bad;
}

bool trace_text_parse(const struct trace_text *text, int64_t *out)
{
	char *end;

	if (!text->len)
		return false;
	errno = 0;
	*out = strtoll(text->s, &end, 10);
	return !errno && !*end;
}
