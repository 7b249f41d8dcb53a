/* SPDX-License-Identifier: MIT */
/* A struct workload as workload.json, by the table of keys. */
#include <stdlib.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/internal.h"
#include "replay/workload/keys.h"
#include "replay/workload/workload.h"

static json_t *write_group(const struct workload_key *keys, const void *from);

static json_t *write_integers(const int64_t *v, uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < n; i++)
		json_array_append_new(list, json_integer(v[i]));
	return list;
}

static json_t *write_reals(const double *v, uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < n; i++)
		json_array_append_new(list, json_real(v[i]));
	return list;
}

static json_t *write_list(const struct workload_key *k, const char *field,
			  uint32_t n)
{
	json_t *list = json_array();

	for (uint32_t i = 0; list && i < n; i++)
		json_array_append_new(
			list,
			write_group(k->keys, *(char **)field + i * k->bytes));
	return list;
}

static json_t *write_quantiles(const struct quantiles *q)
{
	json_t *table;

	if (q->n == 1)
		return json_integer(q->value[0]);
	table = json_object();
	json_object_set_new(table, "quantiles", write_integers(q->value, q->n));
	return table;
}

/* NULL: out of memory. */
static json_t *write_value(const struct workload_key *k, char *field)
{
	uint32_t n;

	switch (k->type) {
	case KEY_INTEGER:
		return json_integer(*(int64_t *)field);
	case KEY_REAL:
		return json_real(*(double *)field);
	case KEY_BOOL:
		return json_boolean(*(bool *)field);
	case KEY_WORD:
		return json_string(k->words[*(int *)field]);
	case KEY_NAME:
	case KEY_TEXT:
		return json_string(field);
	case KEY_GROUP:
		return write_group(k->keys, field);
	default:
		break;
	}
	n = *workload_list_count(k, field);
	return k->type == KEY_LIST	  ? write_list(k, field, n)
	       : k->type == KEY_QUANTILES ? write_quantiles((void *)field)
	       : k->type == KEY_INTEGERS ? write_integers(*(int64_t **)field, n)
					 : write_reals(*(double **)field, n);
}

static json_t *write_group(const struct workload_key *keys, const void *from)
{
	json_t *object = json_object();

	for (const struct workload_key *k = keys; object && k->name; k++) {
		char *field = (char *)from + k->offset;

		if (k->type == KEY_QUANTILES && !*workload_list_count(k, field))
			continue; /* not given */
		if (json_object_set_new(object, k->name,
					write_value(k, field))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

int workload_write(const struct workload *w, struct reel_buf *out,
		   struct reel_error *err)
{
	json_t *doc = write_group(workload_keys, w);
	char *text =
		doc ? json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12))
		    : NULL;
	int rc = -1;

	if (!text)
		reel_fail(err, REEL_E_MEMORY, "out of memory");
	else if (!reel_buf_puts(out, text, err))
		rc = reel_buf_puts(out, "\n", err);
	free(text);
	json_decref(doc);
	return rc;
}
