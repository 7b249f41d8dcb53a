/* SPDX-License-Identifier: MIT */
/*
 * Row blocks: the codec, and the texts in them.
 *
 * A text is stored without the prefix and suffix that it shares with the
 * previous text. Every 8th text is complete, so that a lookup does not decode
 * all texts before it. No number in a blob is trusted.
 */
#include "lib/store/row_block.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_VERSION 1
#define ZSTD_LEVEL 3
#define WHOLE_EVERY 8
#define TEXT_MAX (64 << 20)
#define ONE_TEXT_MAX (1 << 20)
#define WHY_MEMORY "out of memory"
#define WHY_DAMAGED "a block of rows is damaged"

const struct reel_row_kind reel_row_file = {
	.columns = REEL_FILE_COLUMNS,
	.text = true,
};
const struct reel_row_kind reel_row_file_io = {
	.columns = REEL_FILE_IO_COLUMNS,
};
const struct reel_row_kind reel_row_span = {
	.columns = REEL_SPAN_COLUMNS,
	.text = true,
	.differs = 1u << REEL_SPAN_START_NS,
};

int reel_rows_begin(struct reel_rows *r, const struct reel_row_kind *kind,
		    uint32_t room)
{
	int columns = kind->columns;
	size_t stride = room;
	int64_t *mem;

	r->n = 0;
	r->text_len = 0;
	if (room <= r->room && kind == r->kind)
		return 0;
	mem = malloc(stride * (size_t)(columns + 1) * sizeof(*mem) +
		     (stride + 1) * sizeof(*r->text_at));
	if (!mem)
		return -1;
	free(r->id);
	r->id = mem;
	for (int i = 0; i < columns; i++)
		r->v[i] = (uint64_t *)mem + (size_t)(i + 1) * stride;
	r->text_at = (uint32_t *)(mem + (size_t)(columns + 1) * stride);
	r->room = room;
	r->kind = kind;
	return 0;
}

void reel_rows_fini(struct reel_rows *r)
{
	free(r->id);
	free(r->text);
	memset(r, 0, sizeof(*r));
}

size_t reel_rows_bytes(const struct reel_rows *r)
{
	size_t columns = r->kind ? (size_t)r->kind->columns + 1 : 0;

	return r->room * (columns * sizeof(*r->id) + sizeof(*r->text_at)) +
	       r->text_room;
}

static int reserve_text(struct reel_rows *r, size_t room)
{
	char *text;

	if (room <= r->text_room)
		return 0;
	text = room > UINT32_MAX ? NULL : realloc(r->text, room);
	if (!text)
		return -1;
	r->text = text;
	r->text_room = (uint32_t)room;
	return 0;
}

/* --- texts ---------------------------------------------------------------- */

int reel_rows_text_add(struct reel_rows *r, const char *before,
		       size_t before_len, const char *text, size_t len)
{
	size_t most = r->n % WHOLE_EVERY == 0 ? 0
		      : before_len < len      ? before_len
					      : len;
	size_t prefix = 0, tail = 0, middle;

	while (prefix < most && before[prefix] == text[prefix])
		prefix++;
	while (prefix + tail < most &&
	       before[before_len - tail - 1] == text[len - tail - 1])
		tail++;
	middle = len - prefix - tail;
	if (r->text_len + middle > r->text_room &&
	    reserve_text(r, 2 * (r->text_len + middle)))
		return -1;
	if (middle)
		memcpy(r->text + r->text_len, text + prefix, middle);
	r->text_len += (uint32_t)middle;
	r->v[REEL_TEXT_PREFIX][r->n] = prefix;
	r->v[REEL_TEXT_TAIL][r->n] = tail;
	r->v[REEL_TEXT_MIDDLE][r->n] = middle;
	return 0;
}

static int reserve_row_text(struct reel_row_text *p, size_t room)
{
	char *text;

	if (room <= p->room)
		return 0;
	text = realloc(p->text, 2 * room);
	if (!text)
		return -1;
	p->text = text;
	p->room = 2 * room;
	return 0;
}

/* Turn the text of row @i - 1 in @p into the text of row @i. */
static int next_text(const struct reel_rows *r, uint32_t i,
		     struct reel_row_text *p, const char **why)
{
	uint64_t prefix = r->v[REEL_TEXT_PREFIX][i];
	uint64_t tail = r->v[REEL_TEXT_TAIL][i];
	uint32_t middle = r->text_at[i + 1] - r->text_at[i];

	*why = WHY_DAMAGED;
	if (prefix > p->len || tail > p->len - prefix ||
	    prefix + middle + tail > ONE_TEXT_MAX)
		return -1;
	*why = WHY_MEMORY;
	if (reserve_row_text(p, prefix + middle + tail + 1))
		return -1;
	if (tail && prefix + middle + tail != p->len)
		memmove(p->text + prefix + middle, p->text + p->len - tail,
			tail);
	if (middle)
		memcpy(p->text + prefix, r->text + r->text_at[i], middle);
	p->len = prefix + middle + tail;
	return 0;
}

int reel_rows_text(const struct reel_rows *r, uint32_t at,
		   struct reel_row_text *p, const char **why)
{
	uint32_t i = at / WHOLE_EVERY * WHOLE_EVERY;

	if (p->of == r && p->at <= at && p->at >= i) {
		i = p->at + 1;
	} else {
		p->len = 0;
		if (reserve_row_text(p, 1)) {
			*why = WHY_MEMORY;
			return -1;
		}
	}
	p->of = NULL;
	for (; i <= at; i++)
		if (next_text(r, i, p, why))
			return -1;
	p->of = r;
	p->at = at;
	return 0;
}

void reel_row_text_fini(struct reel_row_text *p)
{
	free(p->text);
	memset(p, 0, sizeof(*p));
}

/* --- the block ------------------------------------------------------------ */

static bool is_delta_column(const struct reel_rows *r, int col)
{
	return r->kind->differs >> col & 1;
}

/* The differences of the ids to the ones before, less 1. */
static void put_ids(struct reel_codec *k, const struct reel_rows *r,
		    uint64_t *value)
{
	uint64_t before = (uint64_t)r->id[0] - 1;

	for (uint32_t at = 0, n; at < r->n; at += n) {
		n = reel_byte_planes_part(r->n, at);
		for (uint32_t i = 0; i < n; i++) {
			value[i] = (uint64_t)r->id[at + i] - before - 1;
			before = (uint64_t)r->id[at + i];
		}
		reel_byte_planes_add(k, n);
	}
	reel_byte_planes_put(k);
}

static void put_column(struct reel_codec *k, const struct reel_rows *r, int col,
		       uint64_t *value)
{
	uint64_t before = 0;

	for (uint32_t at = 0, n; at < r->n; at += n) {
		const uint64_t *v = r->v[col] + at;

		n = reel_byte_planes_part(r->n, at);
		memcpy(value, v, n * sizeof(*value));
		for (uint32_t i = 0; is_delta_column(r, col) && i < n; i++) {
			value[i] = reel_zigzag(v[i] - before);
			before = v[i];
		}
		reel_byte_planes_add(k, n);
	}
	reel_byte_planes_put(k);
}

int reel_rows_encode(struct reel_codec *k, const struct reel_rows *r,
		     const void **blob, size_t *len)
{
	uint64_t *value =
		r->n ? reel_byte_planes_begin(k, r->n, ZSTD_LEVEL) : NULL;
	uint8_t head[REEL_PLANES_HEAD] = {BLOCK_VERSION, 0,
					  (uint8_t)(r->kind->columns + 1)};
	size_t n = 8;

	if (!value)
		return -1;
	for (int i = 0; i < 4; i++)
		head[4 + i] = (uint8_t)(r->n >> (8 * i));
	n += reel_varint_put(head + n, (uint64_t)r->id[0]);
	put_ids(k, r, value);
	for (int col = 0; col < r->kind->columns; col++)
		put_column(k, r, col, value);
	if (r->text_len && reel_byte_planes_text(k, r->text, r->text_len))
		return -1;
	reel_byte_planes_end(k, head, n, blob, len);
	return 0;
}

static bool wants_text(const struct reel_rows *r, uint32_t mask)
{
	return r->kind->text && (mask & REEL_TEXT_MASK);
}

/* Decode the text of the block; its length is the sum of the middles. */
static int decode_texts(struct reel_codec *k,
			const struct reel_byte_planes *planes,
			struct reel_rows *r, const char **why)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		r->text_at[i] = (uint32_t)at;
		if (r->v[REEL_TEXT_MIDDLE][i] > TEXT_MAX - at)
			return -1;
		at += r->v[REEL_TEXT_MIDDLE][i];
	}
	r->text_at[r->n] = (uint32_t)at;
	if (!at)
		return 0;
	if (reserve_text(r, at)) {
		*why = WHY_MEMORY;
		return -1;
	}
	r->text_len = (uint32_t)at;
	return reel_byte_planes_text_get(k, planes, r->text, at);
}

static int decode_columns(struct reel_codec *k,
			  const struct reel_byte_planes *planes, uint64_t first,
			  uint32_t mask, struct reel_rows *r)
{
	uint64_t *id = (uint64_t *)r->id;

	if (reel_byte_planes_get(k, planes, 0, id))
		return -1;
	id[0] = first;
	for (uint32_t i = 1; i < r->n; i++)
		id[i] = id[i - 1] + id[i] + 1;
	for (int col = 0; col < r->kind->columns; col++) {
		uint64_t before = 0, *v = r->v[col];

		if (!(mask & 1u << col))
			continue;
		if (reel_byte_planes_get(k, planes, col + 1, v))
			return -1;
		for (uint32_t i = 0; is_delta_column(r, col) && i < r->n; i++)
			before = v[i] = before + reel_unzigzag(v[i]);
	}
	return 0;
}

int reel_rows_decode(struct reel_codec *k, const void *blob, size_t len,
		     const struct reel_row_kind *kind, uint32_t mask,
		     struct reel_rows *r, const char **why)
{
	const uint8_t *p = blob, *end = p + len;
	struct reel_byte_planes planes;
	uint64_t first;
	uint32_t n;

	r->n = 0;
	*why = WHY_DAMAGED;
	if (len < 8 || p[2] != kind->columns + 1)
		return -1;
	if (p[0] != BLOCK_VERSION) {
		*why = "a block of rows is of another version";
		return -1;
	}
	n = p[4] | p[5] << 8 | p[6] << 16 | (uint32_t)p[7] << 24;
	p += 8;
	if (reel_varint_get(&p, end, &first) ||
	    reel_byte_planes_open(&planes, n, kind->columns + 1, p, end))
		return -1;
	if (reel_byte_planes_ready(k, &planes) || reel_rows_begin(r, kind, n)) {
		*why = WHY_MEMORY;
		return -1;
	}
	r->n = n;
	if (decode_columns(k, &planes, first, mask, r) ||
	    (wants_text(r, mask) && decode_texts(k, &planes, r, why))) {
		r->n = 0;
		return -1;
	}
	return 0;
}
