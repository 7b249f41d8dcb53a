/* SPDX-License-Identifier: MIT */
/*
 * Is a SQLite file an export of Nsight Systems? Only its tables tell: the exporter
 * sets no application id.
 *
 * The names of tables are in the pages of the schema: page 1, or, in a large schema,
 * the pages that page 1 points to. The file is read up to the last of them, and is not
 * opened by SQLite, as it may be compressed.
 *
 * Source: "Database File Format" (sqlite.org), 1.3 and 1.6.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/source.h"

#include "analyzer/import/profile/nsys_db.h"

#define HEAD_BYTES 100 /* of the file, before the first page's own */
#define PAGE_LEAST 512
#define PAGE_MOST 65536
#define CHILDREN_MOST (PAGE_MOST / 4)
#define INTERIOR 5
#define LEAF 13

struct schema_pages {
	struct reel_source *source;
	uint8_t *page;
	size_t bytes;
	uint32_t number; /* of the page in @page */
	uint32_t *child; /* ascending */
	uint32_t children;
};

static uint32_t big_endian(const uint8_t *at, int bytes)
{
	uint32_t n = 0;

	while (bytes--)
		n = n << 8 | *at++;
	return n;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Read all of the next @n bytes to @to. */
static bool read_all(struct reel_source *source, uint8_t *to, size_t n)
{
	struct reel_error err = {0};
	int64_t got = 1;

	for (; n && got > 0; to += got, n -= (size_t)got) {
		got = reel_source_read(source, to, n, &err);
		if (got < 0)
			got = 0;
	}
	return !n;
}

static bool read_first(struct schema_pages *p)
{
	if (!read_all(p->source, p->page, HEAD_BYTES))
		return false;
	p->bytes = big_endian(p->page + 16, 2);
	if (p->bytes == 1)
		p->bytes = PAGE_MOST;
	if (p->bytes < PAGE_LEAST || p->bytes & (p->bytes - 1))
		return false;
	p->number = 1;
	return read_all(p->source, p->page + HEAD_BYTES, p->bytes - HEAD_BYTES);
}

/* The pages that page 1 points to, if it has no tables itself. */
static void list_children(struct schema_pages *p)
{
	const uint8_t *head = p->page + HEAD_BYTES;
	uint32_t cells = big_endian(head + 3, 2);

	if (head[0] != INTERIOR)
		return;
	p->child[p->children++] = big_endian(head + 8, 4);
	for (uint32_t i = 0; i < cells && p->children < CHILDREN_MOST &&
			     HEAD_BYTES + 14 + 2 * i <= p->bytes;
	     i++) {
		uint32_t at = big_endian(head + 12 + 2 * (size_t)i, 2);

		if (at + 4 <= p->bytes)
			p->child[p->children++] = big_endian(p->page + at, 4);
	}
	qsort(p->child, p->children, sizeof(*p->child), by_number);
}

static bool has_tables(const struct schema_pages *p)
{
	static const char *const table[] = {"StringIds", "TARGET_INFO_",
					    "CUPTI_ACTIVITY_KIND_",
					    "NVTX_EVENTS", "OSRT_API"};

	if (p->page[p->number == 1 ? HEAD_BYTES : 0] != LEAF)
		return false;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (memmem(p->page, p->bytes, table[i], strlen(table[i])))
			return true;
	return false;
}

static bool find_tables(struct schema_pages *p)
{
	if (!read_first(p))
		return false;
	list_children(p);
	if (has_tables(p))
		return true;
	for (uint32_t i = 0; i < p->children; i++) {
		while (p->number < p->child[i]) {
			if (!read_all(p->source, p->page, p->bytes))
				return false;
			p->number++;
		}
		if (p->number == p->child[i] && has_tables(p))
			return true;
	}
	return false;
}

bool nsys_db_is_export(const char *path)
{
	struct reel_error err = {0};
	struct schema_pages p = {
		.page = reel_alloc(PAGE_MOST, 1, &err),
		.child = reel_alloc(CHILDREN_MOST, sizeof(*p.child), &err)};
	bool is = p.page && p.child &&
		  !reel_source_open(&p.source, path, &err) && find_tables(&p);

	reel_source_close(p.source);
	free(p.page);
	free(p.child);
	return is;
}
