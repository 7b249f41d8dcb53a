/* SPDX-License-Identifier: MIT */
/*
 * Event blocks: the codec of their columns.
 *
 * A column's values are turned into small unsigned numbers (transform), these
 * are cut into byte planes, and each plane is compressed alone: a plane has one
 * kind of byte, which suits an entropy coder, and a reader that wants two
 * columns decodes two. Arithmetic is modulo 2^64, so any blob decodes without
 * undefined behaviour; ids in it are checked by whoever uses them.
 */
#include "analyzer/event_block.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "analyzer/event.h"

#define BLOCK_VERSION 1
#define BLOCK_NESTED 1
#define ZSTD_LEVEL 1
#define RAW_BELOW 48   /* shorter planes are not worth a frame */
#define PREDICTORS 256 /* open files whose end is remembered */
/* Long columns start a few cache lines apart, or all meet in one set. */
#define COLUMN_PAD 24
#define COLUMN_PAD_FROM 512
#define WHY_MEMORY "out of memory"

struct reel_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	uint64_t *value; /* one column, transformed */
	uint8_t *plane;
	uint8_t *out;
	size_t out_room;
	uint32_t room; /* events */
};

struct predictor {
	int64_t open[PREDICTORS];
	uint64_t end[PREDICTORS];
};

int reel_columns_grow(struct reel_columns *c, uint32_t room)
{
	size_t stride = (size_t)room + (room < COLUMN_PAD_FROM ? 0 : COLUMN_PAD);
	int64_t *mem;

	if (room <= c->room)
		return 0;
	mem = malloc(stride * REEL_COLUMNS * sizeof(*mem));
	if (!mem)
		return -1;
	for (int i = 0; i < REEL_COLUMNS; i++)
		if (c->n)
			memcpy(mem + i * stride, c->v[i], c->n * sizeof(*mem));
	free(c->v[0]);
	for (int i = 0; i < REEL_COLUMNS; i++)
		c->v[i] = mem + i * stride;
	c->room = room;
	return 0;
}

void reel_columns_fini(struct reel_columns *c)
{
	free(c->v[0]);
	memset(c, 0, sizeof(*c));
}

struct reel_codec *reel_codec_new(void)
{
	return calloc(1, sizeof(struct reel_codec));
}

void reel_codec_free(struct reel_codec *k)
{
	if (!k)
		return;
	ZSTD_freeCCtx(k->cctx);
	ZSTD_freeDCtx(k->dctx);
	free(k->value);
	free(k->plane);
	free(k->out);
	free(k);
}

static int codec_room(struct reel_codec *k, uint32_t n)
{
	uint64_t *value;
	uint8_t *plane;

	if (n <= k->room)
		return 0;
	value = realloc(k->value, (size_t)n * sizeof(*value));
	if (!value)
		return -1;
	k->value = value;
	plane = realloc(k->plane, n);
	if (!plane)
		return -1;
	k->plane = plane;
	k->room = n;
	return 0;
}

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Where the next access of this open file is expected. */
static inline uint64_t predict(const struct predictor *p, int64_t open)
{
	uint32_t i = (uint64_t)open % PREDICTORS;

	return p->open[i] == open ? p->end[i] : 0;
}

static inline void learn(struct predictor *p, int64_t open, uint64_t offset,
			 int64_t asked, int64_t result)
{
	uint32_t i = (uint64_t)open % PREDICTORS;

	p->open[i] = open;
	p->end[i] = offset + (asked >= 0 && result > 0 ? (uint64_t)result : 0);
}

static void predictor_init(struct predictor *p)
{
	for (int i = 0; i < PREDICTORS; i++) {
		p->open[i] = -1;
		p->end[i] = 0;
	}
}

static void offsets_out(const struct reel_columns *c, uint64_t *t)
{
	const int64_t *offset = c->v[REEL_COL_OFFSET];
	const int64_t *open = c->v[REEL_COL_OPEN];
	struct predictor p;

	predictor_init(&p);
	for (uint32_t i = 0; i < c->n; i++) {
		if (offset[i] == REEL_NO_OFFSET) {
			t[i] = 0;
			continue;
		}
		t[i] = zigzag((uint64_t)offset[i] - predict(&p, open[i])) + 1;
		learn(&p, open[i], (uint64_t)offset[i],
		      c->v[REEL_COL_ASKED][i], c->v[REEL_COL_RESULT][i]);
	}
}

static void offsets_in(const struct reel_columns *c, const uint64_t *t)
{
	int64_t *offset = c->v[REEL_COL_OFFSET];
	const int64_t *open = c->v[REEL_COL_OPEN];
	struct predictor p;

	predictor_init(&p);
	for (uint32_t i = 0; i < c->n; i++) {
		if (!t[i]) {
			offset[i] = REEL_NO_OFFSET;
			continue;
		}
		offset[i] = (int64_t)(predict(&p, open[i]) + unzigzag(t[i] - 1));
		learn(&p, open[i], (uint64_t)offset[i],
		      c->v[REEL_COL_ASKED][i], c->v[REEL_COL_RESULT][i]);
	}
}

/* The column as unsigned numbers that are small where I/O is regular. */
static void transform_out(const struct reel_columns *c, int col, uint64_t *t)
{
	const uint64_t *v = (const uint64_t *)c->v[col];
	const uint64_t *dur = (const uint64_t *)c->v[REEL_COL_DUR];
	const int64_t *asked = c->v[REEL_COL_ASKED];
	uint64_t prev = 0;

	switch (col) {
	case REEL_COL_START:
		prev = v[0];
		for (uint32_t i = 0; i < c->n; i++) {
			t[i] = zigzag(v[i] - prev);
			prev = v[i] + dur[i];
		}
		break;
	case REEL_COL_FILE:
	case REEL_COL_FILE2:
	case REEL_COL_OPEN:
		for (uint32_t i = 0; i < c->n; i++) {
			t[i] = zigzag(v[i] - prev);
			prev = v[i];
		}
		break;
	case REEL_COL_FD:
	case REEL_COL_FD2:
	case REEL_COL_ASKED:
		for (uint32_t i = 0; i < c->n; i++)
			t[i] = v[i] + 1;
		break;
	case REEL_COL_OFFSET:
		offsets_out(c, t);
		break;
	case REEL_COL_RESULT:
		for (uint32_t i = 0; i < c->n; i++)
			t[i] = zigzag(asked[i] >= 0 ?
				      (uint64_t)asked[i] - v[i] : v[i]);
		break;
	case REEL_COL_POS:
		/* zigzag(REEL_NO_OFFSET) is 2^64 - 1: becomes 0 */
		for (uint32_t i = 0; i < c->n; i++)
			t[i] = zigzag(v[i]) + 1;
		break;
	case REEL_COL_ERR:
	case REEL_COL_ARG:
	case REEL_COL_ARG2:
		for (uint32_t i = 0; i < c->n; i++)
			t[i] = zigzag(v[i]);
		break;
	default: /* DUR, CALL, COUNT */
		memcpy(t, v, c->n * sizeof(*t));
	}
}

static void transform_in(const struct reel_columns *c, int col,
			 const uint64_t *t, uint64_t base)
{
	uint64_t *v = (uint64_t *)c->v[col];
	const uint64_t *dur = (const uint64_t *)c->v[REEL_COL_DUR];
	const int64_t *asked = c->v[REEL_COL_ASKED];
	uint64_t prev = 0;

	switch (col) {
	case REEL_COL_START:
		prev = base;
		for (uint32_t i = 0; i < c->n; i++) {
			v[i] = prev + unzigzag(t[i]);
			prev = v[i] + dur[i];
		}
		break;
	case REEL_COL_FILE:
	case REEL_COL_FILE2:
	case REEL_COL_OPEN:
		for (uint32_t i = 0; i < c->n; i++)
			prev = v[i] = prev + unzigzag(t[i]);
		break;
	case REEL_COL_FD:
	case REEL_COL_FD2:
	case REEL_COL_ASKED:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = t[i] - 1;
		break;
	case REEL_COL_OFFSET:
		offsets_in(c, t);
		break;
	case REEL_COL_RESULT:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = asked[i] >= 0 ?
			       (uint64_t)asked[i] - unzigzag(t[i]) :
			       unzigzag(t[i]);
		break;
	case REEL_COL_POS:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = unzigzag(t[i] - 1);
		break;
	case REEL_COL_ERR:
	case REEL_COL_ARG:
	case REEL_COL_ARG2:
		for (uint32_t i = 0; i < c->n; i++)
			v[i] = unzigzag(t[i]);
		break;
	default:
		memcpy(v, t, c->n * sizeof(*v));
	}
}

static size_t put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	return n;
}

/* 0, or -1: it does not end within @end or within ten bytes. */
static int get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	uint64_t r = 0;

	for (int shift = 0; shift < 70 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		r |= (uint64_t)(b & 0x7f) << (shift < 63 ? shift : 63);
		if (!(b & 0x80)) {
			*v = r;
			return 0;
		}
	}
	return -1;
}

/* Bytes of the largest value; 0: all values are the same. */
static int planes_needed(const uint64_t *t, uint32_t n)
{
	uint64_t all = 0, differ = 0;
	int k = 1;

	for (uint32_t i = 0; i < n; i++) {
		all |= t[i];
		differ |= t[i] ^ t[0];
	}
	if (!differ)
		return 0;
	while (k < 8 && all >> (8 * k))
		k++;
	return k;
}

/* Compress plane @k of k->value to @out, of enough room. Gives its length. */
static size_t plane_out(struct reel_codec *k, uint32_t n, int plane,
			uint8_t *out, size_t room, bool *packed)
{
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		k->plane[i] = (uint8_t)(k->value[i] >> (8 * plane));
	if (n >= RAW_BELOW)
		len = ZSTD_compressCCtx(k->cctx, out, room, k->plane, n,
					ZSTD_LEVEL);
	*packed = n >= RAW_BELOW && !ZSTD_isError(len) && len < n;
	if (!*packed) {
		memcpy(out, k->plane, n);
		len = n;
	}
	return len;
}

static bool starts_in_order(const struct reel_columns *c)
{
	const int64_t *start = c->v[REEL_COL_START];

	for (uint32_t i = 1; i < c->n; i++)
		if (start[i] < start[i - 1])
			return false;
	return true;
}

/*
 * Is the column one value, and does it stay one through its transform? Half of
 * the columns are: told without touching more than their first bytes.
 */
static bool is_constant(const struct reel_columns *c, int col)
{
	const int64_t *v = c->v[col];

	if (memcmp(v, v + 1, (c->n - 1) * sizeof(*v)))
		return false;
	switch (col) {
	case REEL_COL_START:
	case REEL_COL_OFFSET:
	case REEL_COL_RESULT:
		return false; /* coded against other columns */
	case REEL_COL_FILE:
	case REEL_COL_FILE2:
	case REEL_COL_OPEN:
		return v[0] == 0;
	default:
		return true;
	}
}

/* The head and directory cannot be longer: 8 planes of 5 bytes, a constant. */
#define DIRECTORY_MAX (8 + 10 + REEL_COLUMNS * (1 + 8 * 5 + 10))

static int codec_begin(struct reel_codec *k, uint32_t n)
{
	size_t most = DIRECTORY_MAX +
		      (size_t)REEL_COLUMNS * 8 * ZSTD_compressBound(n);

	if (codec_room(k, n))
		return -1;
	if (!k->cctx && !(k->cctx = ZSTD_createCCtx()))
		return -1;
	if (most > k->out_room) {
		uint8_t *out = realloc(k->out, most);

		if (!out)
			return -1;
		k->out = out;
		k->out_room = most;
	}
	return 0;
}

int reel_block_encode(struct reel_codec *k, const struct reel_columns *c,
		      const void **blob, size_t *len)
{
	uint8_t dir[DIRECTORY_MAX], *data;
	size_t d = 8, used = 0;

	if (!c->n || codec_begin(k, c->n))
		return -1;
	dir[0] = BLOCK_VERSION;
	dir[1] = starts_in_order(c) ? 0 : BLOCK_NESTED;
	dir[2] = REEL_COLUMNS;
	dir[3] = 0;
	for (int i = 0; i < 4; i++)
		dir[4 + i] = (uint8_t)(c->n >> (8 * i));
	d += put_varint(dir + d, zigzag((uint64_t)c->v[REEL_COL_START][0]));
	data = k->out + DIRECTORY_MAX;
	for (int col = 0; col < REEL_COLUMNS; col++) {
		struct reel_columns part = *c;
		int planes;

		if (is_constant(c, col))
			part.n = 1;
		transform_out(&part, col, k->value);
		planes = planes_needed(k->value, part.n);
		dir[d++] = (uint8_t)planes;
		if (!planes)
			d += put_varint(dir + d, k->value[0]);
		for (int p = 0; p < planes; p++) {
			bool packed;
			size_t n = plane_out(k, c->n, p, data + used,
					     ZSTD_compressBound(c->n), &packed);

			d += put_varint(dir + d, n << 1 | packed);
			used += n;
		}
	}
	/* the directory goes right in front of the data */
	memcpy(data - d, dir, d);
	*blob = data - d;
	*len = d + used;
	return 0;
}

/* What the directory says of one column. */
struct column_dir {
	int planes;
	uint64_t constant;
	uint64_t plane[8]; /* length << 1 | packed */
	size_t at;         /* of its first plane, from the end of the directory */
};

static int directory_in(const uint8_t **p, const uint8_t *end,
			struct column_dir dir[static REEL_COLUMNS])
{
	size_t at = 0;

	for (int col = 0; col < REEL_COLUMNS; col++) {
		struct column_dir *d = &dir[col];

		if (*p >= end)
			return -1;
		d->planes = *(*p)++;
		d->at = at;
		if (d->planes > 8)
			return -1;
		if (!d->planes && get_varint(p, end, &d->constant))
			return -1;
		for (int i = 0; i < d->planes; i++) {
			if (get_varint(p, end, &d->plane[i]) ||
			    d->plane[i] >> 1 > UINT32_MAX)
				return -1;
			at += d->plane[i] >> 1;
		}
	}
	return at <= (size_t)(end - *p) ? 0 : -1;
}

static int plane_in(struct reel_codec *k, const uint8_t *src, size_t len,
		    bool packed, uint32_t n, int plane)
{
	const uint8_t *bytes = src;

	if (packed) {
		if (ZSTD_decompressDCtx(k->dctx, k->plane, n, src, len) != n)
			return -1;
		bytes = k->plane;
	} else if (len != n) {
		return -1;
	}
	if (!plane)
		for (uint32_t i = 0; i < n; i++)
			k->value[i] = bytes[i];
	else
		for (uint32_t i = 0; i < n; i++)
			k->value[i] |= (uint64_t)bytes[i] << (8 * plane);
	return 0;
}

static int column_in(struct reel_codec *k, const struct column_dir *d,
		     const uint8_t *data, uint32_t n)
{
	if (!d->planes)
		for (uint32_t i = 0; i < n; i++)
			k->value[i] = d->constant;
	data += d->at;
	for (int i = 0; i < d->planes; i++) {
		size_t len = d->plane[i] >> 1;

		if (plane_in(k, data, len, d->plane[i] & 1, n, i))
			return -1;
		data += len;
	}
	return 0;
}

/* Columns that others are coded against come first, whoever asked. */
static const uint8_t decode_order[REEL_COLUMNS] = {
	REEL_COL_DUR,  REEL_COL_START, REEL_COL_ASKED,  REEL_COL_RESULT,
	REEL_COL_OPEN, REEL_COL_OFFSET, REEL_COL_CALL,  REEL_COL_FILE,
	REEL_COL_FILE2, REEL_COL_FD,   REEL_COL_FD2,    REEL_COL_ERR,
	REEL_COL_ARG,  REEL_COL_ARG2,  REEL_COL_POS,    REEL_COL_COUNT,
};

static uint32_t needed(uint32_t mask)
{
	mask |= 1u << REEL_COL_START | 1u << REEL_COL_DUR;
	if (mask & 1u << REEL_COL_OFFSET)
		mask |= 1u << REEL_COL_OPEN | 1u << REEL_COL_RESULT;
	if (mask & 1u << REEL_COL_RESULT)
		mask |= 1u << REEL_COL_ASKED;
	return mask;
}

int reel_block_decode(struct reel_codec *k, const void *blob, size_t len,
		      uint32_t mask, struct reel_columns *c, bool *nested,
		      const char **why)
{
	const uint8_t *p = blob, *end = p + len;
	struct column_dir dir[REEL_COLUMNS];
	uint64_t base;
	uint32_t n;

	*why = "an event block is damaged";
	if (len < 8 || p[2] != REEL_COLUMNS)
		return -1;
	if (p[0] != BLOCK_VERSION) {
		*why = "an event block is of a newer version";
		return -1;
	}
	*nested = p[1] & BLOCK_NESTED;
	n = p[4] | p[5] << 8 | p[6] << 16 | (uint32_t)p[7] << 24;
	p += 8;
	if (!n || n > REEL_BLOCK_EVENTS_MAX || get_varint(&p, end, &base) ||
	    directory_in(&p, end, dir))
		return -1;
	c->n = 0;
	if (codec_room(k, n) || reel_columns_grow(c, n) ||
	    (!k->dctx && !(k->dctx = ZSTD_createDCtx()))) {
		*why = WHY_MEMORY;
		return -1;
	}
	c->n = n;
	mask = needed(mask);
	for (int i = 0; i < REEL_COLUMNS; i++) {
		int col = decode_order[i];

		if (!(mask & 1u << col))
			continue;
		if (column_in(k, &dir[col], p, n)) {
			c->n = 0;
			return -1;
		}
		transform_in(c, col, k->value, unzigzag(base));
	}
	return 0;
}
