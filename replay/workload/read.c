/* SPDX-License-Identifier: MIT */
/* workload.json into a struct workload, by the table of keys. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/text.h"

#include "replay/workload/internal.h"
#include "replay/workload/keys.h"
#include "replay/workload/workload.h"

#define FILE_MOST (64u << 20)

/* --- faults --------------------------------------------------------------- */

void workload_fault(struct workload_faults *f, const char *fmt, ...)
{
	char why[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	if (!f->count++)
		snprintf(f->first, sizeof(f->first), "%s", why);
	if (f->all && f->count <= FAULTS_MOST)
		reel_buf_printf(f->all, NULL, "%s\n", why);
}

int workload_faults_end(const struct workload_faults *f, const char *what,
			struct reel_error *err)
{
	if (!f->count)
		return 0;
	if (f->count == 1)
		return reel_fail(err, REEL_E_FORMAT, "%s: %s", what, f->first);
	return reel_fail(err, REEL_E_FORMAT, "%s: %s (and %u more)", what,
			 f->first, f->count - 1);
}

/* --- values --------------------------------------------------------------- */

/* The path of a key: the parents from the outermost, and its name. */
struct place {
	const struct place *in;
	const char *name; /* NULL: element @index of a list */
	size_t index;
};

static const char *path_of(const struct place *p, char *out, size_t room)
{
	size_t len;

	out[0] = '\0';
	if (!p)
		return out;
	path_of(p->in, out, room);
	len = strlen(out);
	if (p->name)
		snprintf(out + len, room - len, "%s%s", len ? "." : "",
			 p->name);
	else
		snprintf(out + len, room - len, "[%zu]", p->index);
	return out;
}

struct reading {
	struct workload_faults *faults;
	struct reel_error *err; /* out of memory only */
};

static void fault_at(struct reading *r, const struct place *p, const char *why)
{
	char path[512];

	workload_fault(r->faults, "%s: %s",
		       p ? path_of(p, path, sizeof(path)) : "the document",
		       why);
}

/* 1 when @v is a number in the range of @k, else a fault. */
static bool number(struct reading *r, const struct place *p,
		   const struct workload_key *k, const json_t *v, bool whole,
		   double *out)
{
	char why[160];
	double x = json_number_value(v);

	/* 1e9 is an integer too, as in JSON Schema. */
	if (!json_is_number(v) ||
	    (whole && !json_is_integer(v) && x != floor(x))) {
		fault_at(r, p, whole ? "not an integer" : "not a number");
		return false;
	}
	if (!(x >= k->least) || !(x <= k->most)) {
		int digits = whole ? 17 : 15;

		if (x < k->least)
			snprintf(why, sizeof(why), "%.*g is less than %.*g",
				 digits, x, digits, k->least);
		else
			snprintf(why, sizeof(why), "%.*g is more than %.*g",
				 digits, x, digits, k->most);
		fault_at(r, p, why);
		return false;
	}
	*out = x;
	return true;
}

static void word(struct reading *r, const struct place *p,
		 const struct workload_key *k, const json_t *v, int *out)
{
	const char *text = json_string_value(v);
	char why[256] = "not one of";
	size_t len = strlen(why);

	for (int i = 0; k->words[i]; i++) {
		if (text && !strcmp(text, k->words[i])) {
			*out = i;
			return;
		}
		len += (size_t)snprintf(why + len, sizeof(why) - len, "%s %s",
					i ? "," : "", k->words[i]);
	}
	fault_at(r, p, why);
}

/* A name becomes part of file names: no folder, no way up. */
static bool is_name(const char *s)
{
	if (*s == '.')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("-_.", *s))
			return false;
	return true;
}

static void text(struct reading *r, const struct place *p,
		 const struct workload_key *k, const json_t *v, char *out)
{
	const char *s = json_string_value(v);

	if (!s || strlen(s) != json_string_length(v))
		fault_at(r, p, "not a text");
	else if (strlen(s) >= k->bytes)
		fault_at(r, p, "too long");
	else if (k->type == KEY_NAME && !is_name(s))
		fault_at(r, p,
			 "not a name: letters, digits, - _ . and no dot "
			 "first");
	else
		memcpy(out, s, strlen(s) + 1);
}

/* The numbers of an array; @integers or @reals is filled. 0, or -1 (memory). */
static int numbers(struct reading *r, const struct place *p,
		   const struct workload_key *k, const json_t *v,
		   int64_t **integers, double **reals, uint32_t *count)
{
	size_t n = json_array_size(v);
	struct place at = {p, NULL, 0};
	void *memory;

	assert(count && (integers || reals));
	if (integers) {
		free(*integers);
		*integers = NULL;
	}
	if (reals) {
		free(*reals);
		*reals = NULL;
	}
	*count = 0;
	if (!json_is_array(v) || n > k->elements) {
		fault_at(r, p,
			 json_is_array(v) ? "too many values" : "not an array");
		return 0;
	}
	memory = n ? reel_alloc(n, sizeof(double), r->err) : NULL;
	if (n && !memory)
		return -1;
	if (integers)
		*integers = memory;
	else
		*reals = memory;
	*count = (uint32_t)n;
	for (; at.index < n; at.index++) {
		double x = 0;

		number(r, &at, k, json_array_get(v, at.index), integers, &x);
		if (integers)
			(*integers)[at.index] = (int64_t)x;
		else
			(*reals)[at.index] = x;
	}
	return 0;
}

static int one_value(struct quantiles *q, int64_t value, struct reel_error *err)
{
	free(q->value);
	q->n = 0;
	q->value = reel_alloc(1, sizeof(*q->value), err);
	if (!q->value)
		return -1;
	q->value[0] = value;
	q->n = 1;
	return 0;
}

static int quantiles(struct reading *r, const struct place *p,
		     const struct workload_key *k, const json_t *v,
		     struct quantiles *q)
{
	struct place at = {p, "quantiles", 0};
	const json_t *list = json_object_get(v, "quantiles");
	double x;

	if (json_is_object(v) && json_object_size(v) == 1 && list) {
		if (numbers(r, &at, k, list, &q->value, NULL, &q->n))
			return -1;
		for (uint32_t i = 1; i < q->n; i++)
			if (q->value[i] < q->value[i - 1]) {
				fault_at(r, &at, "not in ascending order");
				break;
			}
		return 0;
	}
	if (!json_is_number(v)) {
		fault_at(r, p, "neither a number nor {\"quantiles\": [...]}");
		return 0;
	}
	return number(r, p, k, v, true, &x) ? one_value(q, (int64_t)x, r->err)
					    : 0;
}

/* --- groups and lists ----------------------------------------------------- */

void workload_defaults(const struct workload_key *keys, void *to)
{
	for (const struct workload_key *k = keys; k->name; k++) {
		char *field = (char *)to + k->offset;

		if (k->type == KEY_INTEGER)
			*(int64_t *)field = (int64_t)k->initial;
		else if (k->type == KEY_REAL)
			*(double *)field = k->initial;
		else if (k->type == KEY_BOOL)
			*(bool *)field = k->initial != 0;
		else if (k->type == KEY_WORD)
			*(int *)field = (int)k->initial;
		else if (k->type == KEY_GROUP)
			workload_defaults(k->keys, field);
	}
}

uint32_t *workload_list_count(const struct workload_key *k, void *field)
{
	return (uint32_t *)((char *)field + sizeof(void *));
}

void workload_free(const struct workload_key *keys, void *from)
{
	for (const struct workload_key *k = keys; k->name; k++) {
		char *field = (char *)from + k->offset;

		if (k->type == KEY_GROUP)
			workload_free(k->keys, field);
		if (k->type == KEY_LIST)
			for (uint32_t i = 0; i < *workload_list_count(k, field);
			     i++)
				workload_free(k->keys,
					      *(char **)field + i * k->bytes);
		if (k->type == KEY_LIST || k->type == KEY_QUANTILES ||
		    k->type == KEY_INTEGERS || k->type == KEY_REALS) {
			free(*(void **)field);
			*(void **)field = NULL;
			*workload_list_count(k, field) = 0;
		}
	}
}

static int group(struct reading *r, const struct place *p,
		 const struct workload_key *keys, const json_t *v, void *to);

static int list(struct reading *r, const struct place *p,
		const struct workload_key *k, const json_t *v, void *field)
{
	uint32_t *count = workload_list_count(k, field);
	size_t n = json_array_size(v);
	struct place at = {p, NULL, 0};

	for (uint32_t i = 0; i < *count; i++)
		workload_free(k->keys, *(char **)field + i * k->bytes);
	free(*(void **)field);
	*(void **)field = NULL;
	*count = 0;
	if (!json_is_array(v) || n > k->elements) {
		fault_at(r, p,
			 json_is_array(v) ? "too many elements"
					  : "not an array");
		return 0;
	}
	if (!n)
		return 0;
	*(void **)field = reel_alloc(n, k->bytes, r->err);
	if (!*(void **)field)
		return -1;
	*count = (uint32_t)n;
	for (; at.index < n; at.index++) {
		char *element = *(char **)field + at.index * k->bytes;

		workload_defaults(k->keys, element);
		if (group(r, &at, k->keys, json_array_get(v, at.index),
			  element))
			return -1;
	}
	return 0;
}

static int value(struct reading *r, const struct place *p,
		 const struct workload_key *k, const json_t *v, void *field)
{
	uint32_t *count = workload_list_count(k, field);
	double x;

	switch (k->type) {
	case KEY_INTEGER:
		if (number(r, p, k, v, true, &x))
			*(int64_t *)field = (int64_t)x;
		return 0;
	case KEY_REAL:
		if (number(r, p, k, v, false, &x))
			*(double *)field = x;
		return 0;
	case KEY_BOOL:
		if (json_is_boolean(v))
			*(bool *)field = json_is_true(v);
		else
			fault_at(r, p, "neither true nor false");
		return 0;
	case KEY_WORD:
		word(r, p, k, v, field);
		return 0;
	case KEY_NAME:
	case KEY_TEXT:
		text(r, p, k, v, field);
		return 0;
	case KEY_QUANTILES:
		return quantiles(r, p, k, v, field);
	case KEY_INTEGERS:
		return numbers(r, p, k, v, field, NULL, count);
	case KEY_REALS:
		return numbers(r, p, k, v, NULL, field, count);
	case KEY_GROUP:
		return group(r, p, k->keys, v, field);
	case KEY_LIST:
		return list(r, p, k, v, field);
	}
	return 0;
}

static const struct workload_key *find(const struct workload_key *keys,
				       const char *name, size_t len)
{
	for (; keys->name; keys++)
		if (strlen(keys->name) == len && !memcmp(keys->name, name, len))
			return keys;
	return NULL;
}

static int group(struct reading *r, const struct place *p,
		 const struct workload_key *keys, const json_t *v, void *to)
{
	const char *name;
	json_t *member;

	if (!json_is_object(v)) {
		fault_at(r, p, "not an object");
		return 0;
	}
	json_object_foreach((json_t *)v, name, member)
	{
		const struct workload_key *k = find(keys, name, strlen(name));
		char shown[80];
		struct place at = {p, shown, 0};

		reel_text_escape(shown, sizeof(shown), name, strlen(name));
		if (!k)
			fault_at(r, &at, "no such key");
		else if (value(r, &at, k, member, (char *)to + k->offset))
			return -1;
	}
	return 0;
}

/* --- documents ------------------------------------------------------------ */

void workload_init(struct workload *w)
{
	memset(w, 0, sizeof(*w));
	workload_defaults(workload_keys, w);
	memcpy(w->schema, WORKLOAD_SCHEMA, sizeof(WORKLOAD_SCHEMA));
	memcpy(w->dataset.prefix, "sample", sizeof("sample"));
}

void workload_fini(struct workload *w)
{
	workload_free(workload_keys, w);
}

static int read_document(struct workload *w, const char *path,
			 struct workload_faults *faults, struct reel_error *err)
{
	struct reading r = {faults, err};
	struct reel_buf text_of = REEL_BUF_INIT;
	json_error_t why;
	json_t *doc = NULL;
	int rc = -1;

	if (reel_buf_read_file(&text_of, path, FILE_MOST, err))
		goto out;
	doc = json_loadb(reel_buf_text(&text_of), text_of.len,
			 JSON_REJECT_DUPLICATES, &why);
	if (!doc) {
		reel_fail(err, REEL_E_FORMAT,
			  "'%s' is no JSON document: line %d, column %d: %s",
			  path, why.line, why.column, why.text);
		goto out;
	}
	if (!json_string_value(json_object_get(doc, "schema")) ||
	    strcmp(json_string_value(json_object_get(doc, "schema")),
		   WORKLOAD_SCHEMA))
		workload_fault(faults, "schema: not \"%s\"", WORKLOAD_SCHEMA);
	rc = group(&r, NULL, workload_keys, doc, w);
out:
	json_decref(doc);
	reel_buf_fini(&text_of);
	return rc;
}

/* Columns say the bytes of a sample, where the document does not. */
static int sample_of_columns(struct workload_dataset *d, struct reel_error *err)
{
	if (!d->columns_n || d->sample_bytes.n)
		return 0;
	return one_value(&d->sample_bytes, workload_column_bytes(d), err);
}

int workload_read(struct workload *w, const char *path, struct reel_buf *faults,
		  struct reel_error *err)
{
	struct workload_faults f = {.all = faults};

	workload_init(w);
	if (read_document(w, path, &f, err) ||
	    sample_of_columns(&w->dataset, err))
		return -1;
	if (!f.count)
		workload_check_values(w, &f);
	return workload_faults_end(&f, path, err);
}

/* The value behind "=": JSON, or a word that needs no quotes. */
static json_t *value_of(const char *given)
{
	json_t *v = json_loads(given, JSON_DECODE_ANY, NULL);

	return v ? v : json_string(given);
}

int workload_set(struct workload *w, const char *assignment,
		 struct reel_error *err)
{
	const struct workload_key *keys = workload_keys, *k = NULL;
	const char *name = assignment, *equals = strchr(assignment, '=');
	struct workload_faults f = {0};
	struct reading r = {&f, err};
	struct place at = {0};
	char *to = (char *)w, path[WORKLOAD_TEXT];
	json_t *v;
	int rc = 0;

	if (!equals || equals == assignment ||
	    (size_t)(equals - assignment) >= sizeof(path))
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' is not KEY=VALUE, for example "
				 "pipeline.batch=32",
				 assignment);
	snprintf(path, sizeof(path), "%.*s", (int)(equals - assignment),
		 assignment);
	while (keys && name < equals) {
		size_t len = strcspn(name, ".=");

		k = find(keys, name, len);
		if (!k)
			break;
		to += k->offset;
		keys = k->type == KEY_GROUP ? k->keys : NULL;
		name += len + 1;
	}
	if (!k || k->type == KEY_GROUP || name <= equals)
		return reel_fail(err, REEL_E_USAGE,
				 "a workload has no key '%s' (ioreel workload "
				 "keys shows them)",
				 path);
	at.name = path;
	v = value_of(equals + 1);
	if (!v)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	rc = value(&r, &at, k, v, to);
	json_decref(v);
	if (!rc && f.count)
		rc = reel_fail(err, REEL_E_USAGE, "%s", f.first);
	return rc;
}
