/* SPDX-License-Identifier: MIT */
/*
 * The decoder of records: the grammar of schemas/trace_format.h, "RECORD".
 *
 * It is the hottest loop of load, so it checks the end of its bytes once per
 * record, not once per byte: zero bytes follow the block, and a varint ends at
 * a zero byte. A record that runs into them is rejected when it is complete.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/trace/internal.h"

/*
 * The position within a record. @bad is set by any wrong field, so that a
 * record is judged once, at its end, and only a valid one changes the decoder.
 */
struct cursor {
	const uint8_t *p;
	bool bad;
};

/* A varint of nine or ten bytes: its value, and the tenth byte, or 0. */
struct long_varint {
	uint64_t value, tenth;
};

/* It takes no cursor: one whose address is taken stays in memory. */
static __attribute__((noinline)) struct long_varint
decode_long(const uint8_t *p)
{
	uint64_t v = 0;

	for (int i = 0; i < 9; i++)
		v |= (uint64_t)(p[i] & 0x7f) << 7 * i;
	if (!(p[8] & 0x80))
		return (struct long_varint){v, 0};
	return (struct long_varint){v | (uint64_t)p[9] << 63, p[9]};
}

static inline uint64_t long_varint(struct cursor *c)
{
	const struct long_varint v = decode_long(c->p);

	c->bad |= v.tenth > 1; /* it has one bit left */
	c->p += c->p[8] & 0x80 ? 10 : 9;
	return v.value;
}

/*
 * A varint of any length, without branches on it, which are mispredicted for
 * times, sizes and offsets. Joins the 7 bits of up to 8 bytes in pairs.
 */
static inline uint64_t any_varint(struct cursor *c)
{
	uint64_t v, ends;

	memcpy(&v, c->p, sizeof(v)); /* the slack is readable */
	v = le64toh(v);
	ends = ~v & 0x8080808080808080;
	if (!ends)
		return long_varint(c);
	c->p += (__builtin_ctzll(ends) >> 3) + 1;
	v &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
}

/* The time since the record before, and the duration. The shim writes short ones in
 * two bytes each, which most are. */
static inline void decode_times(struct cursor *c, uint64_t *since,
				uint64_t *dur)
{
	uint32_t both;

	memcpy(&both, c->p, sizeof(both));
	both = le32toh(both);
	if ((both & 0x80808080) != 0x00800080) {
		*since = any_varint(c);
		*dur = any_varint(c);
		return;
	}
	both = (both & 0x007f007f) | (both & 0x7f007f00) >> 1;
	*since = both & 0xffff;
	*dur = both >> 16;
	c->p += sizeof(both);
}

static inline uint64_t varint(struct cursor *c)
{
	uint64_t a = c->p[0], b;

	if (a < 0x80) {
		c->p++;
		return a;
	}
	b = c->p[1];
	if (b < 0x80) {
		c->p += 2;
		return (a & 0x7f) | b << 7;
	}
	return any_varint(c);
}

/* Offsets have any length, results other than the size are rare. */
static inline int64_t signed_varint(struct cursor *c)
{
	uint64_t v = any_varint(c);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

/* A varint that must fit 32 bits. */
static inline uint32_t varint_u32(struct cursor *c)
{
	uint64_t v = varint(c);

	c->bad |= v > UINT32_MAX;
	return (uint32_t)v;
}

/* Make room for a string of @len bytes and its NUL in *@s. */
static int reserve_text(char **s, uint32_t *room, size_t len,
			struct reel_error *err)
{
	size_t want = len < 256 ? 256 : REEL_PATH_BYTES + 1;

	if (*room > len)
		return 0;
	if (reel_grow(s, want, 1, err) < 0)
		return -1;
	*room = (uint32_t)want;
	return 0;
}

/*
 * Copy the @len bytes at @c after the first @keep bytes of *@s. A NUL in the
 * text is damage: it would split the name.
 */
static int decode_text(struct cursor *c, const uint8_t *end, char **s,
		       uint32_t *room, uint64_t keep, uint64_t len,
		       struct reel_error *err)
{
	if (c->bad || c->p > end || len > (uint64_t)(end - c->p) ||
	    keep + len > REEL_PATH_BYTES || memchr(c->p, 0, len)) {
		c->bad = true;
		return 0;
	}
	if (reserve_text(s, room, keep + len, err) < 0)
		return -1;
	memcpy(*s + keep, c->p, len);
	(*s)[keep + len] = '\0';
	c->p += len;
	return 0;
}

static int decode_path(struct trace_decoder *d, struct trace_previous *was,
		       struct cursor *c, struct reel_record *rec,
		       struct reel_error *err)
{
	uint64_t kept = varint(c);
	uint64_t more = varint(c);

	if (kept > was->path_len || kept > REEL_PATH_SHARED ||
	    more > REEL_PATH_BYTES) {
		c->bad = true;
		return 0;
	}
	if (decode_text(c, d->end, &d->path, &d->path_room, kept, more, err) <
	    0)
		return -1;
	if (c->bad)
		return 0;
	was->path_len = (uint32_t)(kept + more);
	rec->path = d->path;
	rec->path_len = was->path_len;
	return 0;
}

static int decode_path2(struct trace_decoder *d, struct cursor *c,
			struct reel_record *rec, struct reel_error *err)
{
	uint64_t len = varint(c);

	if (len > REEL_PATH_BYTES) {
		c->bad = true;
		return 0;
	}
	if (decode_text(c, d->end, &d->path2, &d->path2_room, 0, len, err) < 0)
		return -1;
	rec->path2 = d->path2;
	rec->path2_len = (uint32_t)len;
	rec->at2 = varint_u32(c);
	return 0;
}

static int decode_more(struct trace_decoder *d, struct trace_previous *was,
		       struct cursor *c, unsigned int more,
		       struct reel_record *rec, struct reel_error *err)
{
	if (more & REEL_M_NEWDESC) {
		rec->newdesc = varint_u32(c);
		rec->newfd = (int32_t)varint_u32(c);
		if (rec->newdesc && !d->first_format) {
			was->desc = rec->newdesc;
			was->has_desc = true;
		}
	}
	if (more & REEL_M_ARG) {
		rec->has_arg = true;
		rec->arg = signed_varint(c);
	}
	if (more & REEL_M_ARG2) {
		rec->has_arg2 = true;
		rec->arg2 = signed_varint(c);
	}
	if (more & REEL_M_POS) {
		rec->pos = (int64_t)varint(c);
		rec->has_pos = rec->pos >= 0;
	}
	if (more & REEL_M_COUNT) {
		rec->count = varint(c);
		c->bad |= rec->count > UINT32_MAX ||
			  (!rec->count && rec->call != REEL_MARK_COUNTED);
		rec->counted = rec->has_arg2 && rec->arg2 == REEL_COUNTED;
	}
	if (more & REEL_M_PATH && decode_path(d, was, c, rec, err) < 0)
		return -1;
	if (more & REEL_M_AT)
		rec->at = varint_u32(c);
	if (more & REEL_M_PATH2 && decode_path2(d, c, rec, err) < 0)
		return -1;
	return 0;
}

static inline void decode_desc(struct trace_previous *was, struct cursor *c,
			       unsigned int flags, struct reel_record *rec)
{
	switch (flags & (REEL_F_DESC_NEW | REEL_F_DESC_SAME)) {
	case REEL_F_DESC_NEW:
		rec->desc = was->desc = varint_u32(c);
		was->has_desc = true;
		break;
	case REEL_F_DESC_SAME:
		rec->desc = was->desc;
		c->bad |= !was->has_desc;
		break;
	case REEL_F_DESC_NEW | REEL_F_DESC_SAME:
		c->bad = true;
		break;
	}
}

/* read(fd, buf, SIZE_MAX) is a valid call: no size is refused. */
static inline void decode_size(struct trace_previous *was, struct cursor *c,
			       unsigned int flags, struct reel_record *rec)
{
	switch (flags & (REEL_F_SIZE_NEW | REEL_F_SIZE_SAME)) {
	case 0:
		return;
	case REEL_F_SIZE_NEW:
		was->size = varint(c);
		was->has_size = true;
		break;
	case REEL_F_SIZE_SAME:
		c->bad |= !was->has_size;
		break;
	default:
		c->bad = true;
	}
	rec->has_size = true;
	rec->size = was->size > INT64_MAX ? INT64_MAX : (int64_t)was->size;
	if (flags & REEL_F_OFFSET)
		was->offset_end += was->size;
}

static inline void decode_result(struct cursor *c, unsigned int flags,
				 struct reel_record *rec)
{
	switch (flags & REEL_F_RES) {
	case REEL_F_RES_EXPECTED:
		rec->result = rec->size;
		break;
	case REEL_F_RES_OTHER:
		rec->result = signed_varint(c);
		break;
	case REEL_F_RES_ERROR:
		rec->result = -1;
		rec->err = (int32_t)varint_u32(c);
		break;
	case REEL_F_RES_ZERO:
		break;
	}
}

/* The 0 that ends a block: only padding may follow. */
static int block_end(struct trace_decoder *d)
{
	const uint8_t *p;

	for (p = d->p; p < d->end; p++)
		if (*p)
			return -1;
	d->p = d->end;
	return 0;
}

/* Copied, not cleared: gcc clears a struct of this size with "rep stos", which
 * takes as long as the whole rest. */
static const struct reel_record empty_record = {.count = 1};

int trace_decode(struct trace_decoder *d, struct reel_record *rec,
		 struct reel_error *err)
{
	struct trace_previous was = d->was;
	struct cursor c = {.p = d->p};
	unsigned int call, flags, more = 0;
	uint64_t since;

	if (d->p >= d->end)
		return 0;
	call = *c.p++;
	if (call == 0)
		return block_end(d);
	if (call >= REEL_CALL_WIDE)
		call = REEL_CALL_WIDE + ((call - REEL_CALL_WIDE) << 8 | *c.p++);
	flags = *c.p++;
	if (flags & REEL_F_MORE)
		more = *c.p++;
	memcpy(rec, &empty_record, sizeof(empty_record));
	rec->call = (uint16_t)call;
	decode_times(&c, &since, &rec->dur_ticks);
	c.bad |= __builtin_add_overflow(was.ticks, since, &was.ticks);
	rec->end_ticks = was.ticks;
	c.bad |= rec->dur_ticks > was.ticks;
	decode_desc(&was, &c, flags, rec);
	if (flags & REEL_F_OFFSET) {
		rec->has_offset = true;
		was.offset_end += (uint64_t)signed_varint(&c);
		rec->offset = (int64_t)was.offset_end;
	}
	decode_size(&was, &c, flags, rec);
	decode_result(&c, flags, rec);
	if (more) {
		/* Copies, so that the others stay in registers. */
		struct trace_previous was_more = was;
		struct cursor c_more = c;

		if (decode_more(d, &was_more, &c_more, more, rec, err) < 0)
			return -1;
		was = was_more;
		c = c_more;
	}
	if (c.bad || c.p > d->end)
		return -1;
	d->was = was;
	d->p = c.p;
	return 1;
}

uint32_t reel_records_bytes(const uint8_t *records, uint32_t room)
{
	struct trace_decoder d = {.p = records, .end = records + room};
	struct reel_record rec;
	uint32_t bytes;

	/* A late base: no duration reaches before the start of the clock. */
	trace_decoder_begin(&d, 1ull << 62);
	while (d.p < d.end && *d.p && trace_decode(&d, &rec, NULL) == 1)
		;
	bytes = (uint32_t)(d.p - records);
	trace_decoder_fini(&d);
	return bytes;
}

void trace_decoder_begin(struct trace_decoder *d, uint64_t base_ticks)
{
	d->was = (struct trace_previous){.ticks = base_ticks};
}

void trace_decoder_fini(struct trace_decoder *d)
{
	free(d->path);
	free(d->path2);
	d->path = NULL;
	d->path2 = NULL;
	d->path_room = 0;
	d->path2_room = 0;
}
