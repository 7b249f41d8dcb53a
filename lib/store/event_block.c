/* SPDX-License-Identifier: MIT */
/*
 * Event blocks: the codec of their columns.
 *
 * Each column is transformed to small unsigned numbers, which byte_planes.c
 * packs. Arithmetic is modulo 2^64, so any blob decodes without undefined
 * behaviour; users check the ids in it.
 */
#include "lib/store/event_block.h"

#include <stdlib.h>
#include <string.h>

#include "lib/store/byte_planes.h"
#include "lib/store/event.h"

#define BLOCK_VERSION 2
#define BLOCK_NESTED 1
#define ZSTD_LEVEL 1
#define PREDICTORS 256 /* entries of the table */
/* Long columns start some cache lines apart, else all map to one cache set. */
#define COLUMN_PAD 24
#define COLUMN_PAD_FROM 512
#define WHY_MEMORY "out of memory"
#define WHY_DAMAGED "an event block is damaged"

/* The last value of each key. */
struct predictor {
	int64_t key[PREDICTORS];
	uint64_t value[PREDICTORS];
};

int reel_event_columns_grow(struct reel_event_columns *c, uint32_t room)
{
	size_t stride =
		(size_t)room + (room < COLUMN_PAD_FROM ? 0 : COLUMN_PAD);
	int64_t *mem;

	if (room <= c->room)
		return 0;
	mem = malloc(stride * REEL_COLUMNS * sizeof(*mem));
	if (!mem)
		return -1;
	for (int i = 0; i < REEL_COLUMNS; i++)
		if (c->n)
			memcpy(mem + i * stride, c->v[i],
			       reel_event_columns_set(c, i) * sizeof(*mem));
	free(c->v[0]);
	for (int i = 0; i < REEL_COLUMNS; i++)
		c->v[i] = mem + i * stride;
	c->room = room;
	return 0;
}

void reel_event_columns_fini(struct reel_event_columns *c)
{
	free(c->v[0]);
	memset(c, 0, sizeof(*c));
}

static void predictor_init(struct predictor *p)
{
	for (int i = 0; i < PREDICTORS; i++) {
		p->key[i] = INT64_MIN;
		p->value[i] = 0;
	}
}

static inline uint64_t predicted_value(const struct predictor *p, int64_t key)
{
	uint32_t i = (uint64_t)key % PREDICTORS;

	return p->key[i] == key ? p->value[i] : 0;
}

static inline void remember_value(struct predictor *p, int64_t key,
				  uint64_t value)
{
	uint32_t i = (uint64_t)key % PREDICTORS;

	p->key[i] = key;
	p->value[i] = value;
}

/* The end offset of the access of row @i. */
static inline uint64_t access_end(const struct reel_event_columns *c,
				  uint32_t i)
{
	int64_t result = c->v[REEL_COL_RESULT][i];

	return (uint64_t)c->v[REEL_COL_OFFSET][i] +
	       (c->v[REEL_COL_ASKED][i] >= 0 && result > 0 ? (uint64_t)result
							   : 0);
}

/* A part of the rows of a column on its way to numbers. */
struct encoder {
	const struct reel_event_columns *c;
	uint32_t at, n; /* the part */
	uint64_t prev;
	struct predictor p;
};

/* Offsets, relative to the end of the previous access of the open file. */
static void encode_offsets(struct encoder *e, uint64_t *t)
{
	const int64_t *offset = e->c->v[REEL_COL_OFFSET] + e->at;
	const int64_t *open = e->c->v[REEL_COL_OPEN] + e->at;

	for (uint32_t i = 0; i < e->n; i++) {
		if (offset[i] == REEL_NO_OFFSET) {
			t[i] = 0;
			continue;
		}
		t[i] = reel_zigzag((uint64_t)offset[i] -
				   predicted_value(&e->p, open[i])) +
		       1;
		remember_value(&e->p, open[i], access_end(e->c, e->at + i));
	}
}

static void decode_offsets(const struct reel_event_columns *c)
{
	uint64_t *offset = (uint64_t *)c->v[REEL_COL_OFFSET];
	const int64_t *open = c->v[REEL_COL_OPEN];
	struct predictor p;

	predictor_init(&p);
	for (uint32_t i = 0; i < c->n; i++) {
		if (!offset[i]) {
			offset[i] = (uint64_t)REEL_NO_OFFSET;
			continue;
		}
		offset[i] = predicted_value(&p, open[i]) +
			    reel_unzigzag(offset[i] - 1);
		remember_value(&p, open[i], access_end(c, i));
	}
}

/*
 * Ids: 0 if the id equals the last one with its key, else the difference to the
 * last id that was encoded so.
 */
static void encode_ids(struct encoder *e, int col, int key, uint64_t *t)
{
	const uint64_t *v = (const uint64_t *)e->c->v[col] + e->at;
	const int64_t *k = e->c->v[key] + e->at;

	for (uint32_t i = 0; i < e->n; i++) {
		t[i] = 0;
		/* mostly as in the previous row: no lookup needed */
		if ((e->at + i && k[i] == k[i - 1l] && v[i] == v[i - 1l]) ||
		    v[i] == predicted_value(&e->p, k[i]))
			continue;
		t[i] = reel_zigzag(v[i] - e->prev) + 1;
		e->prev = v[i];
		remember_value(&e->p, k[i], v[i]);
	}
}

static void decode_ids(const struct reel_event_columns *c, int col, int key)
{
	uint64_t *v = (uint64_t *)c->v[col], prev = 0;
	const int64_t *k = c->v[key];
	struct predictor p;

	predictor_init(&p);
	for (uint32_t i = 0; i < c->n; i++) {
		if (!v[i]) {
			v[i] = predicted_value(&p, k[i]);
			continue;
		}
		v[i] = prev += reel_unzigzag(v[i] - 1);
		remember_value(&p, k[i], v[i]);
	}
}

/* Transform the part to unsigned numbers that are small for regular I/O. */
static void encode_part(struct encoder *e, int col, uint64_t *t)
{
	const uint64_t *v = (const uint64_t *)e->c->v[col] + e->at;
	const uint64_t *dur = (const uint64_t *)e->c->v[REEL_COL_DUR] + e->at;
	const int64_t *asked = e->c->v[REEL_COL_ASKED] + e->at;
	uint32_t n = e->n;

	switch (col) {
	case REEL_COL_START:
		if (!e->at)
			e->prev = v[0];
		for (uint32_t i = 0; i < n; i++) {
			t[i] = reel_zigzag(v[i] - e->prev);
			e->prev = v[i] + dur[i];
		}
		break;
	case REEL_COL_FILE:
		encode_ids(e, col, REEL_COL_OPEN, t);
		break;
	case REEL_COL_OPEN:
		encode_ids(e, col, REEL_COL_FD, t);
		break;
	case REEL_COL_FILE2:
		for (uint32_t i = 0; i < n; i++) {
			t[i] = reel_zigzag(v[i] - e->prev);
			e->prev = v[i];
		}
		break;
	case REEL_COL_FD:
	case REEL_COL_FD2:
	case REEL_COL_ASKED:
		for (uint32_t i = 0; i < n; i++)
			t[i] = v[i] + 1;
		break;
	case REEL_COL_OFFSET:
		encode_offsets(e, t);
		break;
	case REEL_COL_RESULT:
		for (uint32_t i = 0; i < n; i++)
			t[i] = reel_zigzag(asked[i] >= 0
						   ? (uint64_t)asked[i] - v[i]
						   : v[i]);
		break;
	case REEL_COL_POS:
		/* reel_zigzag(REEL_NO_OFFSET) is 2^64 - 1: becomes 0 */
		for (uint32_t i = 0; i < n; i++)
			t[i] = reel_zigzag(v[i]) + 1;
		break;
	case REEL_COL_ERR:
	case REEL_COL_ARG:
	case REEL_COL_ARG2:
		for (uint32_t i = 0; i < n; i++)
			t[i] = reel_zigzag(v[i]);
		break;
	default: /* DUR, CALL, COUNT */
		memcpy(t, v, n * sizeof(*t));
	}
}

/* Add the first @n rows of the column to the block; @t is the codec's buffer. */
static void encode_column(struct reel_codec *k,
			  const struct reel_event_columns *c, int col,
			  uint32_t n, uint64_t *t)
{
	struct encoder e;

	e.c = c;
	e.prev = 0;
	if (col == REEL_COL_FILE || col == REEL_COL_OPEN ||
	    col == REEL_COL_OFFSET)
		predictor_init(&e.p);
	for (e.at = 0; e.at < n; e.at += e.n) {
		e.n = reel_byte_planes_part(n, e.at);
		encode_part(&e, col, t);
		reel_byte_planes_add(k, e.n);
	}
	reel_byte_planes_put(k);
}

/* Results, relative to the size that was asked for, if one was. SSE2 has no
 * comparison of 64 bits: the sign makes the mask, so that the loop is vectors. */
static void decode_results(uint64_t *restrict v, const int64_t *restrict asked,
			   uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t t = reel_unzigzag(v[i]), size = (uint64_t)asked[i];
		uint64_t has = (size >> 63) - 1; /* all bits, or none */

		v[i] = (size & has) + ((t ^ has) - has); /* size - t, or t */
	}
}

/* Turn the numbers of the column, which are in its place, into its values. */
static void decode_column(const struct reel_event_columns *c, int col,
			  uint64_t first_start)
{
	uint64_t *v = (uint64_t *)c->v[col];
	const uint64_t *dur = (const uint64_t *)c->v[REEL_COL_DUR];
	uint64_t prev = 0;

	switch (col) {
	case REEL_COL_START:
		prev = first_start;
		for (uint32_t i = 0; i < c->n; i++) {
			v[i] = prev + reel_unzigzag(v[i]);
			prev = v[i] + dur[i];
		}
		break;
	case REEL_COL_FILE:
		decode_ids(c, col, REEL_COL_OPEN);
		break;
	case REEL_COL_OPEN:
		decode_ids(c, col, REEL_COL_FD);
		break;
	case REEL_COL_FILE2:
		for (uint32_t i = 0; i < c->n; i++)
			prev = v[i] = prev + reel_unzigzag(v[i]);
		break;
	case REEL_COL_FD:
	case REEL_COL_FD2:
	case REEL_COL_ASKED:
		for (uint32_t i = 0; i < c->n; i++)
			v[i]--;
		break;
	case REEL_COL_OFFSET:
		decode_offsets(c);
		break;
	case REEL_COL_RESULT:
		decode_results(v, c->v[REEL_COL_ASKED], c->n);
		break;
	case REEL_COL_POS:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = reel_unzigzag(v[i] - 1);
		break;
	case REEL_COL_ERR:
	case REEL_COL_ARG:
	case REEL_COL_ARG2:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = reel_unzigzag(v[i]);
		break;
	default: /* DUR, CALL, COUNT: as they are */
		break;
	}
}

static bool starts_in_order(const struct reel_event_columns *c)
{
	const int64_t *start = c->v[REEL_COL_START];

	for (uint32_t i = 1; i < c->n; i++)
		if (start[i] < start[i - 1])
			return false;
	return true;
}

/*
 * True when the column is one value, before and after its transform. Half of
 * the columns are; the check mostly ends after a few bytes. Columns that may be
 * in @c->same are.
 */
static bool column_is_constant(const struct reel_event_columns *c, int col)
{
	const int64_t *v = c->v[col];
	uint32_t set = reel_event_columns_set(c, col);

	if (memcmp(v, v + 1, (set - 1) * sizeof(*v)))
		return false;
	switch (col) {
	case REEL_COL_START:
	case REEL_COL_OFFSET:
	case REEL_COL_RESULT:
		return false; /* encoded relative to other columns */
	case REEL_COL_FILE:
	case REEL_COL_FILE2:
	case REEL_COL_OPEN:
		return v[0] == 0;
	default:
		return true;
	}
}

int reel_event_block_encode(struct reel_codec *k,
			    const struct reel_event_columns *c,
			    const void **blob, size_t *len)
{
	uint64_t *value =
		c->n ? reel_byte_planes_begin(k, c->n, ZSTD_LEVEL) : NULL;
	uint8_t head[REEL_PLANES_HEAD] = {BLOCK_VERSION};
	size_t n = 8;

	if (!value)
		return -1;
	head[1] = starts_in_order(c) ? 0 : BLOCK_NESTED;
	head[2] = REEL_COLUMNS;
	for (int i = 0; i < 4; i++)
		head[4 + i] = (uint8_t)(c->n >> (8 * i));
	n += reel_varint_put(head + n,
			     reel_zigzag((uint64_t)c->v[REEL_COL_START][0]));
	for (int col = 0; col < REEL_COLUMNS; col++)
		encode_column(k, c, col, column_is_constant(c, col) ? 1 : c->n,
			      value);
	reel_byte_planes_end(k, head, n, blob, len);
	return 0;
}

/* Columns that others depend on come first. */
static const uint8_t decode_order[REEL_COLUMNS] = {
	REEL_COL_DUR,	REEL_COL_START, REEL_COL_ASKED,	 REEL_COL_RESULT,
	REEL_COL_FD,	REEL_COL_OPEN,	REEL_COL_OFFSET, REEL_COL_FILE,
	REEL_COL_FILE2, REEL_COL_CALL,	REEL_COL_FD2,	 REEL_COL_ERR,
	REEL_COL_ARG,	REEL_COL_ARG2,	REEL_COL_POS,	 REEL_COL_COUNT,
};

static uint32_t needed_columns(uint32_t mask)
{
	if (mask & 1u << REEL_COL_START)
		mask |= 1u << REEL_COL_DUR;
	if (mask & 1u << REEL_COL_OFFSET)
		mask |= 1u << REEL_COL_OPEN | 1u << REEL_COL_RESULT;
	if (mask & 1u << REEL_COL_RESULT)
		mask |= 1u << REEL_COL_ASKED;
	if (mask & 1u << REEL_COL_FILE)
		mask |= 1u << REEL_COL_OPEN;
	if (mask & 1u << REEL_COL_OPEN)
		mask |= 1u << REEL_COL_FD;
	return mask;
}

int reel_event_block_open(struct reel_codec *k, const void *blob, size_t len,
			  struct reel_event_block *b,
			  struct reel_event_columns *c, const char **why)
{
	const uint8_t *p = blob, *end = p + len;
	uint64_t base;
	uint32_t n;

	c->n = 0;
	*why = WHY_DAMAGED;
	if (len < 8 || p[2] != REEL_COLUMNS)
		return -1;
	if (p[0] != BLOCK_VERSION) {
		*why = "an event block is of another version";
		return -1;
	}
	b->nested = p[1] & BLOCK_NESTED;
	b->have = 0;
	n = p[4] | p[5] << 8 | p[6] << 16 | (uint32_t)p[7] << 24;
	p += 8;
	if (reel_varint_get(&p, end, &base) ||
	    reel_byte_planes_open(&b->planes, n, REEL_COLUMNS, p, end))
		return -1;
	b->first_start = reel_unzigzag(base);
	if (reel_byte_planes_ready(k, &b->planes) ||
	    reel_event_columns_grow(c, n)) {
		*why = WHY_MEMORY;
		return -1;
	}
	c->n = n;
	return 0;
}

/* Is a value of @col decoded without another row or column? */
static bool is_independent(int col)
{
	switch (col) {
	case REEL_COL_START:
	case REEL_COL_FILE:
	case REEL_COL_FILE2:
	case REEL_COL_OPEN:
	case REEL_COL_OFFSET:
	case REEL_COL_RESULT:
		return false;
	default:
		return true;
	}
}

/* Half of the columns are one value: decode it once. */
static void fill_constant(struct reel_event_columns *c, int col,
			  uint64_t constant)
{
	struct reel_event_columns first = *c;
	int64_t *v = c->v[col];

	first.n = 1;
	v[0] = (int64_t)constant;
	decode_column(&first, col, 0);
	for (uint32_t i = 1; i < c->n; i++)
		v[i] = v[0];
}

int reel_event_block_columns(struct reel_codec *k, struct reel_event_block *b,
			     uint32_t mask, struct reel_event_columns *c,
			     const char **why)
{
	mask = needed_columns(mask) & ~b->have;
	for (int i = 0; mask && i < REEL_COLUMNS; i++) {
		int col = decode_order[i];

		if (!(mask & 1u << col))
			continue;
		if (!b->planes.column[col].planes && is_independent(col)) {
			fill_constant(c, col, b->planes.column[col].constant);
			continue;
		}
		if (reel_byte_planes_get(k, &b->planes, col,
					 (uint64_t *)c->v[col])) {
			c->n = 0;
			*why = WHY_DAMAGED;
			return -1;
		}
		decode_column(c, col, b->first_start);
	}
	b->have |= mask;
	return 0;
}

int reel_event_block_decode(struct reel_codec *k, const void *blob, size_t len,
			    uint32_t mask, struct reel_event_columns *c,
			    bool *nested, const char **why)
{
	struct reel_event_block b;

	mask |= 1u << REEL_COL_START | 1u << REEL_COL_DUR;
	if (reel_event_block_open(k, blob, len, &b, c, why) ||
	    reel_event_block_columns(k, &b, mask, c, why))
		return -1;
	*nested = b.nested;
	return 0;
}
