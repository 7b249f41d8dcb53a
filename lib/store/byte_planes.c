/* SPDX-License-Identifier: MIT */
/*
 * Byte planes: the codec that all blocks share.
 *
 * A plane holds one byte of each value: similar bytes suit an entropy coder,
 * and a reader that needs two columns decodes two. The directory is built after
 * the planes and copied in front of them, because its length is not known
 * before.
 *
 * A column that is mostly 0 has planes of its other numbers alone, after bits that
 * tell where they stand.
 */
#include "lib/store/byte_planes.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#define RAW_BELOW 48  /* shorter planes are not worth a frame */
#define MAGIC_BYTES 4 /* of a frame: always the same, not stored */
#define LEVELS 2      /* tried in addition for a small store */
/* Level 1 takes matches of 5 or 6 bytes too. In planes most of them are by chance, and
 * cost more than their bytes, in space and in time to expand. */
#define MIN_MATCH 7
#define SPARSE 16 /* added to the number of planes of a column: it has bits */
#define SPARSE_FROM 256 /* rows */
#define COLUMN_PLANES 9 /* the most of a column, with its bits */
/* Each column: the lengths of its planes and bits, or a constant. */
#define DIRECTORY_MAX (REEL_PLANES_COLUMNS * (1 + COLUMN_PLANES * 5 + 10))
#define FRONT (REEL_PLANES_HEAD + DIRECTORY_MAX)

#define PLANES (REEL_PLANES_COLUMNS * COLUMN_PLANES)

/* Expanded planes that a reader keeps: those of a column and, before them, as many
 * to look for an equal one. */
#define KEPT 16
#define LOOK_BACK (KEPT - COLUMN_PLANES)
#define JOIN_ROWS 256 /* at once, in the nearest cache */

/* A plane of the block that is being written, and its place in the output. */
struct packed {
	uint32_t n;
	size_t at;
	uint64_t word;
};

/* The frame of a plane that the reader has expanded. */
struct expanded {
	const uint8_t *src;
	size_t len;
};

struct reel_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	uint64_t value[REEL_PLANES_PART]; /* of a column that is written */
	struct {
		uint32_t rows;
		uint32_t held;	/* numbers in its planes */
		int planes;	/* that hold them */
		uint64_t first; /* number */
		bool varies;
		bool sparse;
	} column;	/* that is written */
	uint8_t *plane; /* all of a block for writing, KEPT for reading */
	uint32_t room;	/* bytes of each plane */
	struct packed packed[PLANES];
	int planes;			/* of the block so far */
	struct expanded expanded[KEPT]; /* a ring */
	unsigned expansions;		/* of the block so far */
	uint8_t *frame; /* with its magic number; or a second try */
	size_t frame_room;
	uint8_t *out; /* FRONT bytes, then the planes */
	size_t out_room, used;
	uint8_t dir[DIRECTORY_MAX];
	size_t dir_len;
	bool tight;
};

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
	free(k->plane);
	free(k->frame);
	free(k->out);
	free(k);
}

static int reserve_rows(struct reel_codec *k, uint32_t n)
{
	uint8_t *plane;

	if (n <= k->room)
		return 0;
	plane = realloc(k->plane, (size_t)n * PLANES);
	if (!plane)
		return -1;
	k->plane = plane;
	k->room = n;
	return 0;
}

static int grow_buffer(uint8_t **p, size_t *room, size_t bytes)
{
	uint8_t *q;

	if (bytes <= *room)
		return 0;
	q = realloc(*p, bytes);
	if (!q)
		return -1;
	*p = q;
	*room = bytes;
	return 0;
}

void reel_codec_tight(struct reel_codec *k, bool tight)
{
	k->tight = tight;
}

size_t reel_varint_put(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	while (v >= 0x80) {
		p[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	p[n++] = (uint8_t)v;
	return n;
}

int reel_varint_get(const uint8_t **p, const uint8_t *end, uint64_t *v)
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

/* --- writing -------------------------------------------------------------- */

uint64_t *reel_byte_planes_begin(struct reel_codec *k, uint32_t n, int level)
{
	if (reserve_rows(k, n) ||
	    (!k->cctx && !(k->cctx = ZSTD_createCCtx())) ||
	    grow_buffer(&k->frame, &k->frame_room, ZSTD_compressBound(n)) ||
	    grow_buffer(&k->out, &k->out_room,
			FRONT + (size_t)PLANES * ZSTD_compressBound(n)))
		return NULL;
	k->used = k->dir_len = 0;
	k->planes = 0;
	k->column.rows = 0;
	k->expansions = 0;
	ZSTD_CCtx_setParameter(k->cctx, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(k->cctx, ZSTD_c_minMatch,
			       level == 1 ? MIN_MATCH : 0);
	return k->value;
}

/* Write the smallest frame to @out; k->frame is scratch. Its length, or 0. */
static size_t make_frame(struct reel_codec *k, uint8_t *out, const void *bytes,
			 size_t n)
{
	static const int levels[LEVELS] = {3, 9};
	size_t room = ZSTD_compressBound(n), len, best;

	best = ZSTD_compress2(k->cctx, out, room, bytes, n);
	if (ZSTD_isError(best))
		return 0;
	for (int i = 0; k->tight && i < LEVELS; i++) {
		len = ZSTD_compressCCtx(k->cctx, k->frame, k->frame_room, bytes,
					n, levels[i]);
		if (ZSTD_isError(len) || len >= best)
			continue;
		memcpy(out, k->frame, len);
		best = len;
	}
	return best;
}

/* Add @n bytes, compressed if that is shorter. Returns length << 1 | packed. */
static uint64_t pack_bytes(struct reel_codec *k, const void *bytes, size_t n)
{
	uint8_t *out = k->out + FRONT + k->used;
	size_t len = n < RAW_BELOW ? 0 : make_frame(k, out, bytes, n);
	bool packed = len > MAGIC_BYTES && len - MAGIC_BYTES < n;

	if (packed) {
		len -= MAGIC_BYTES;
		memmove(out, out + MAGIC_BYTES, len);
	} else {
		len = n;
		if (n)
			memcpy(out, bytes, n);
	}
	k->used += len;
	return (uint64_t)len << 1 | packed;
}

/* Extract byte @p of each value. */
static void take_plane(uint8_t *restrict plane, const uint64_t *restrict value,
		       uint32_t n, int p)
{
	for (uint32_t i = 0; i < n; i++)
		plane[i] = (uint8_t)(value[i] >> (8 * p));
}

/*
 * Add a plane to the block. Related columns often have equal planes: the output
 * of an equal plane is copied.
 */
static uint64_t put_plane(struct reel_codec *k, uint32_t n)
{
	uint8_t *plane = k->plane + (size_t)k->planes * k->room;
	struct packed *new = &k->packed[k->planes++];

	*new = (struct packed){.n = n, .at = k->used};
	for (const struct packed *p = k->packed; p < new; p++) {
		const uint8_t *have =
			k->plane + (size_t)(p - k->packed) * k->room;

		if (p->n != n || memcmp(have, plane, n))
			continue;
		new->word = p->word;
		memcpy(k->out + FRONT + k->used, k->out + FRONT + p->at,
		       p->word >> 1);
		k->used += p->word >> 1;
		return new->word;
	}
	return new->word = pack_bytes(k, plane, n);
}

/* Plane @p of the column; -1 with sparse ones: its bits. */
static uint8_t *column_plane(const struct reel_codec *k, int p)
{
	return k->plane + (size_t)(k->planes + k->column.sparse + p) * k->room;
}

/* Planes for numbers up to @all; the rows so far have 0 in new ones. */
static void widen_column(struct reel_codec *k, uint64_t all)
{
	int planes = 1;

	while (planes < 8 && all >> (8 * planes))
		planes++;
	if (!k->column.rows)
		k->column.planes = 0;
	for (; k->column.planes < planes; k->column.planes++)
		memset(column_plane(k, k->column.planes), 0, k->column.held);
}

/* Are most of the @n numbers 0? The first ones of a column stand for it. */
static bool is_sparse(const uint64_t *v, uint32_t n)
{
	uint32_t zeros = 0;

	for (uint32_t i = 0; i < n; i++)
		zeros += !v[i];
	return n >= SPARSE_FROM && zeros > n / 2;
}

/*
 * Write bits of the @n numbers that are not 0 to @bits, and move these to the front.
 * Returns how many. @v has room for the next multiple of 8 numbers.
 */
static uint32_t take_bits(uint8_t *restrict bits, uint64_t *restrict v,
			  uint32_t n)
{
	uint32_t held = 0;

	for (uint32_t i = n; i % 8; i++)
		v[i] = 0;
	for (uint32_t at = 0; at < n; at += 8) {
		uint32_t byte = 0;

		for (uint32_t i = 0; i < 8; i++) {
			uint64_t number = v[at + i];
			uint32_t has = number != 0;

			byte |= has << i;
			v[held] = number;
			held += has;
		}
		bits[at / 8] = (uint8_t)byte;
	}
	return held;
}

void reel_byte_planes_add(struct reel_codec *k, uint32_t n)
{
	uint64_t *v = k->value;
	uint64_t all = 0, other = 0;
	uint32_t held = n;

	if (!k->column.rows) {
		k->column.first = v[0];
		k->column.varies = false;
		k->column.sparse = is_sparse(v, n);
		k->column.held = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		all |= v[i];
		other |= v[i] ^ k->column.first;
	}
	k->column.varies |= other != 0;
	if (k->column.sparse)
		held = take_bits(column_plane(k, -1) + k->column.rows / 8, v,
				 n);
	widen_column(k, all);
	for (int p = 0; p < k->column.planes; p++)
		take_plane(column_plane(k, p) + k->column.held, v, held, p);
	k->column.rows += n;
	k->column.held += held;
}

static uint32_t bits_bytes(uint32_t rows)
{
	return (rows + 7) / 8;
}

void reel_byte_planes_put(struct reel_codec *k)
{
	int planes = k->column.varies ? k->column.planes : 0;
	bool sparse = planes && k->column.sparse;

	k->dir[k->dir_len++] = (uint8_t)(planes + (sparse ? SPARSE : 0));
	if (!planes)
		k->dir_len +=
			reel_varint_put(k->dir + k->dir_len, k->column.first);
	if (sparse)
		k->dir_len += reel_varint_put(
			k->dir + k->dir_len,
			put_plane(k, bits_bytes(k->column.rows)));
	for (int p = 0; p < planes; p++)
		k->dir_len += reel_varint_put(k->dir + k->dir_len,
					      put_plane(k, k->column.held));
	k->column.rows = 0;
}

int reel_byte_planes_text(struct reel_codec *k, const char *text, size_t len)
{
	/* reserve the longest length word in front */
	uint8_t word[10];
	size_t at = k->used, n, bound = ZSTD_compressBound(len);

	if (grow_buffer(&k->frame, &k->frame_room, bound) ||
	    grow_buffer(&k->out, &k->out_room,
			FRONT + at + sizeof(word) + bound))
		return -1;
	k->used += sizeof(word);
	n = reel_varint_put(word, pack_bytes(k, text, len));
	memmove(k->out + FRONT + at + n, k->out + FRONT + at + sizeof(word),
		k->used - at - sizeof(word));
	memcpy(k->out + FRONT + at, word, n);
	k->used -= sizeof(word) - n;
	return 0;
}

void reel_byte_planes_end(struct reel_codec *k, const uint8_t *head, size_t len,
			  const void **blob, size_t *blob_len)
{
	uint8_t *data = k->out + FRONT;

	memcpy(data - k->dir_len, k->dir, k->dir_len);
	memcpy(data - k->dir_len - len, head, len);
	*blob = data - k->dir_len - len;
	*blob_len = len + k->dir_len + k->used;
}

/* --- reading -------------------------------------------------------------- */

/* Read the word of a plane, whose end *@at moves to. 0, or -1: damaged. */
static int get_word(const uint8_t **p, const uint8_t *end, uint64_t *word,
		    size_t *at)
{
	if (reel_varint_get(p, end, word) || *word >> 1 > UINT32_MAX)
		return -1;
	*at += *word >> 1;
	return 0;
}

int reel_byte_planes_open(struct reel_byte_planes *d, uint32_t n, int columns,
			  const uint8_t *p, const uint8_t *end)
{
	size_t at = 0;
	bool sparse;

	if (!n || n > REEL_PLANES_ROWS_MAX)
		return -1;
	d->n = n;
	for (int i = 0; i < columns; i++) {
		if (p >= end)
			return -1;
		sparse = *p & SPARSE;
		d->column[i].planes = *p++ & ~SPARSE;
		d->column[i].at = at;
		d->column[i].bits = 0;
		if (d->column[i].planes > 8 ||
		    (sparse && (!d->column[i].planes ||
				get_word(&p, end, &d->column[i].bits, &at))))
			return -1;
		if (!d->column[i].planes &&
		    reel_varint_get(&p, end, &d->column[i].constant))
			return -1;
		for (int k = 0; k < d->column[i].planes; k++)
			if (get_word(&p, end, &d->column[i].plane[k], &at))
				return -1;
	}
	if (at > (size_t)(end - p))
		return -1;
	d->data = p;
	d->text = p + at;
	d->end = end;
	return 0;
}

int reel_byte_planes_ready(struct reel_codec *k,
			   const struct reel_byte_planes *d)
{
	k->expansions = 0;
	if (reserve_rows(k, d->n))
		return -1;
	if (!k->dctx)
		k->dctx = ZSTD_createDCtx();
	return k->dctx ? 0 : -1;
}

/* Expand the frame of @len bytes at @src to exactly @n bytes at @out. */
static int expand_frame(struct reel_codec *k, const uint8_t *src, size_t len,
			void *out, size_t n)
{
	static const uint8_t magic[MAGIC_BYTES] = {0x28, 0xb5, 0x2f, 0xfd};

	if (grow_buffer(&k->frame, &k->frame_room, len + MAGIC_BYTES))
		return -1;
	memcpy(k->frame, magic, MAGIC_BYTES);
	memcpy(k->frame + MAGIC_BYTES, src, len);
	return ZSTD_decompressDCtx(k->dctx, out, n, k->frame,
				   len + MAGIC_BYTES) == n
		       ? 0
		       : -1;
}

/* The plane of the frame @src, if it equals one of the last ones. */
static const uint8_t *find_expanded(const struct reel_codec *k,
				    const uint8_t *src, size_t len)
{
	for (unsigned i = 1; i <= LOOK_BACK && i <= k->expansions; i++) {
		unsigned at = (k->expansions - i) % KEPT;

		if (k->expanded[at].len == len &&
		    !memcmp(k->expanded[at].src, src, len))
			return k->plane + (size_t)at * k->room;
	}
	return NULL;
}

/*
 * The @n bytes of a plane, in @k or at @src; NULL: damaged. They stay until
 * COLUMN_PLANES - 1 more planes are expanded.
 */
static const uint8_t *unpack_plane(struct reel_codec *k, const uint8_t *src,
				   uint64_t word, uint32_t n)
{
	unsigned at = k->expansions % KEPT;
	size_t len = word >> 1;
	const uint8_t *have;
	uint8_t *plane;

	if (!(word & 1))
		return len == n ? src : NULL;
	have = find_expanded(k, src, len);
	if (have)
		return have;
	plane = k->plane + (size_t)at * k->room;
	k->expanded[at].len =
		SIZE_MAX; /* of no frame, if this one is damaged */
	if (expand_frame(k, src, len, plane, n))
		return NULL;
	k->expanded[at] = (struct expanded){src, len};
	k->expansions++;
	return plane;
}

/* Join up to 4 planes, from byte @at on. */
static void join_low(uint32_t *restrict out, const uint8_t *const *plane,
		     int planes, uint32_t at, uint32_t n)
{
	const uint8_t *a = plane[0] + at;
	const uint8_t *b = planes > 1 ? plane[1] + at : NULL;
	const uint8_t *c = planes > 2 ? plane[2] + at : NULL;
	const uint8_t *d = planes > 3 ? plane[3] + at : NULL;

	if (planes == 1)
		for (uint32_t i = 0; i < n; i++)
			out[i] = a[i];
	else if (planes == 2)
		for (uint32_t i = 0; i < n; i++)
			out[i] = a[i] | (uint32_t)b[i] << 8;
	else if (planes == 3)
		for (uint32_t i = 0; i < n; i++)
			out[i] = a[i] | (uint32_t)b[i] << 8 |
				 (uint32_t)c[i] << 16;
	else
		for (uint32_t i = 0; i < n; i++)
			out[i] = a[i] | (uint32_t)b[i] << 8 |
				 (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24;
}

/* Join the bytes of @n values, some rows at a time. */
static void join_planes(uint64_t *restrict out, const uint8_t *const *plane,
			int planes, uint32_t n)
{
	uint32_t low[JOIN_ROWS], high[JOIN_ROWS];

	for (uint32_t at = 0; at < n; at += JOIN_ROWS, out += JOIN_ROWS) {
		uint32_t rows = n - at < JOIN_ROWS ? n - at : JOIN_ROWS;

		join_low(low, plane, planes < 4 ? planes : 4, at, rows);
		for (uint32_t i = 0; i < rows; i++)
			out[i] = low[i];
		if (planes <= 4)
			continue;
		join_low(high, plane + 4, planes - 4, at, rows);
		for (uint32_t i = 0; i < rows; i++)
			out[i] |= (uint64_t)high[i] << 32;
	}
}

/* The numbers that @bits of @n rows tell of; UINT32_MAX: bits behind the rows. */
static uint32_t count_bits(const uint8_t *bits, uint32_t n)
{
	uint32_t count = 0;

	if (n % 8 && bits[n / 8] >> (n % 8))
		return UINT32_MAX;
	for (uint32_t i = 0; i < bits_bytes(n); i++)
		count += (uint32_t)__builtin_popcount(bits[i]);
	return count;
}

/* Move the @held numbers at the front of @out to where @bits tells, backwards: each
 * to its place or behind it. */
static void spread_numbers(uint64_t *out, uint32_t n, const uint8_t *bits,
			   uint32_t held)
{
	for (uint32_t i = n; i--;) {
		uint32_t bit = bits[i / 8] >> (i % 8) & 1;

		held -= bit;
		out[i] = out[held] & -(uint64_t)bit;
	}
}

int reel_byte_planes_get(struct reel_codec *k, const struct reel_byte_planes *d,
			 int column, uint64_t *out)
{
	const uint8_t *data = d->data + d->column[column].at, *plane[8];
	const uint8_t *bits = NULL;
	uint64_t word = d->column[column].bits;
	int planes = d->column[column].planes;
	uint32_t n = d->n;

	if (planes < 1) {
		for (uint32_t i = 0; i < d->n; i++)
			out[i] = d->column[column].constant;
		return 0;
	}
	if (word) {
		bits = unpack_plane(k, data, word, bits_bytes(n));
		if (!bits)
			return -1;
		n = count_bits(bits, n);
		if (n > d->n)
			return -1;
		data += word >> 1;
	}
	for (int p = 0; p < planes; p++) {
		word = d->column[column].plane[p];
		plane[p] = unpack_plane(k, data, word, n);
		if (!plane[p])
			return -1;
		data += word >> 1;
	}
	join_planes(out, plane, planes, n);
	if (bits)
		spread_numbers(out, d->n, bits, n);
	return 0;
}

int reel_byte_planes_text_get(struct reel_codec *k,
			      const struct reel_byte_planes *d, char *out,
			      size_t len)
{
	const uint8_t *p = d->text;
	uint64_t word;

	if (reel_varint_get(&p, d->end, &word) ||
	    word >> 1 != (uint64_t)(d->end - p))
		return -1;
	if (word & 1)
		return expand_frame(k, p, word >> 1, out, len);
	if (word >> 1 != len)
		return -1;
	if (len)
		memcpy(out, p, len);
	return 0;
}
