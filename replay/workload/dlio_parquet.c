/* SPDX-License-Identifier: MIT */
/*
 * Parquet, which the DLIO of MLPerf Storage has: rows of a column of bytes, or of the
 * columns that a list gives. A sample is a row.
 */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/dlio_internal.h"
#include "replay/workload/workload.h"

#define ROW_GROUP 1024 /* rows, where no key says it */
#define TEXT_BYTES 12  /* of a value of strings: its generator writes numbers */

/* A column of the list, and how many alike follow each other. */
struct column {
	double bytes;
	bool read;
	unsigned int count;
};

/* The value of member @name of column @i, or @initial. */
static const char *word_of(struct dlio *d, unsigned int i, const char *name,
			   const char *initial)
{
	char key[80];

	snprintf(key, sizeof(key), "dataset.parquet.columns[%u].%s", i, name);
	return dlio_word(d, key, initial);
}

static double number_of(struct dlio *d, unsigned int i, const char *name,
			double initial)
{
	char key[80];

	snprintf(key, sizeof(key), "dataset.parquet.columns[%u].%s", i, name);
	return dlio_number(d, key, initial);
}

static bool has_column(const struct dlio *d, unsigned int i)
{
	char key[80];
	int n = snprintf(key, sizeof(key), "dataset.parquet.columns[%u]", i);

	for (uint32_t k = 0; k < d->yaml.n; k++)
		if (!strncmp(d->yaml.at[k].key, key, (size_t)n))
			return true;
	return false;
}

/* Bytes of a value, of which a row has `size`; an unknown type is float32 there. */
static double value_bytes(const char *type)
{
	if (!strcmp(type, "bool") || !strcmp(type, "binary") ||
	    !strcmp(type, "uint8") || !strcmp(type, "int8"))
		return 1;
	if (strstr(type, "16"))
		return 2;
	return strstr(type, "64") ? 8 : 4;
}

static struct column column_of(struct dlio *d, unsigned int i)
{
	const char *type = word_of(d, i, "dtype", "float32");
	double size = number_of(d, i, "size", 1);
	const char *read = word_of(d, i, "read", "true");
	struct column c = {.bytes = size * value_bytes(type), .count = 1};

	if (!strcmp(type, "string"))
		c.bytes = TEXT_BYTES;
	c.read = strcmp(read, "false") && strcmp(read, "False");
	return c;
}

static int put_column(struct reel_buf *b, const struct column *c,
		      struct reel_error *err)
{
	return reel_buf_printf(b, err, "%s{\"bytes\": %.0f, \"count\": %u%s}",
			       b->len > 1 ? ", " : "", c->bytes, c->count,
			       c->read ? "" : ", \"read\": false");
}

/* The list as columns of the workload, and the size of a row. */
static int set_columns(struct dlio *d)
{
	struct reel_buf list = REEL_BUF_INIT;
	struct column last = {0};
	double row = 0;
	int rc = reel_buf_puts(&list, "[", d->err);

	for (unsigned int i = 0; !rc && has_column(d, i); i++) {
		struct column c = column_of(d, i);

		row += c.bytes;
		if (last.count && last.bytes == c.bytes &&
		    last.read == c.read) {
			last.count++;
			continue;
		}
		if (last.count)
			rc = put_column(&list, &last, d->err);
		last = c;
	}
	if (!rc)
		rc = put_column(&list, &last, d->err) ||
		     reel_buf_puts(&list, "]", d->err) ||
		     dlio_set(d, "dataset.sample_bytes=%.0f", row) ||
		     dlio_set(d, "dataset.columns=%s", reel_buf_text(&list));
	reel_buf_fini(&list);
	return rc || d->failed ? -1 : 0;
}

int dlio_set_parquet(struct dlio *d)
{
	double rows =
		dlio_number(d, "dataset.parquet.row_group_size", ROW_GROUP);

	if (d->w->dataset.format != WORKLOAD_PARQUET)
		return 0;
	if (d->failed || dlio_set(d, "dataset.row_group_rows=%.16g", rows))
		return -1;
	return has_column(d, 0) ? set_columns(d) : 0;
}
