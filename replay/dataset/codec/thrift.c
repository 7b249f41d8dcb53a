/* SPDX-License-Identifier: MIT */
/* Thrift's compact protocol. */
#include "replay/dataset/codec/thrift.h"

#include <string.h>

#define LONG_LIST 15 /* elements, from which on their number stands alone */
#define DEEPEST 32

/* --- writing -------------------------------------------------------------- */

static void put_byte(struct thrift_out *o, unsigned int v)
{
	if (o->n < THRIFT_OUT)
		o->bytes[o->n++] = (uint8_t)v;
}

static void put_varint(struct thrift_out *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(o, (unsigned int)(v & 0x7f) | 0x80);
	put_byte(o, (unsigned int)v);
}

void thrift_field(struct thrift_out *o, unsigned int field,
		  enum thrift_type type)
{
	put_byte(o, (field - o->field) << 4 | type);
	o->field = field;
}

/* Zigzag: small numbers of either sign are short. */
void thrift_element_int(struct thrift_out *o, int64_t v)
{
	put_varint(o, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void thrift_int(struct thrift_out *o, unsigned int field, enum thrift_type type,
		int64_t v)
{
	thrift_field(o, field, type);
	thrift_element_int(o, v);
}

void thrift_element_string(struct thrift_out *o, const char *s)
{
	put_varint(o, strlen(s));
	while (*s)
		put_byte(o, (uint8_t)*s++);
}

void thrift_string(struct thrift_out *o, unsigned int field, const char *s)
{
	thrift_field(o, field, THRIFT_BINARY);
	thrift_element_string(o, s);
}

void thrift_list(struct thrift_out *o, unsigned int field,
		 enum thrift_type type, uint64_t n)
{
	thrift_field(o, field, THRIFT_LIST);
	put_byte(o, (n < LONG_LIST ? (unsigned int)n : LONG_LIST) << 4 | type);
	if (n >= LONG_LIST)
		put_varint(o, n);
}

void thrift_end(struct thrift_out *o)
{
	put_byte(o, 0);
}

/* --- reading -------------------------------------------------------------- */

static unsigned int get_byte(struct thrift_in *in)
{
	if (in->bad || in->at == in->end) {
		in->bad = true;
		return 0;
	}
	return *in->at++;
}

static uint64_t get_varint(struct thrift_in *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned int byte = get_byte(in);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	in->bad = true;
	return 0;
}

int64_t thrift_get_int(struct thrift_in *in)
{
	uint64_t v = get_varint(in);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

int thrift_next(struct thrift_in *in, unsigned int *field)
{
	unsigned int head = get_byte(in);

	if (!(head & 15))
		return 0;
	if (head >> 4)
		*field += head >> 4;
	else
		*field = (unsigned int)thrift_get_int(in);
	return (int)(head & 15);
}

uint64_t thrift_get_list(struct thrift_in *in, int *type)
{
	unsigned int head = get_byte(in);
	uint64_t n = head >> 4;

	*type = (int)(head & 15);
	if (n == LONG_LIST)
		n = get_varint(in);
	if (n > (uint64_t)(in->end - in->at)) {
		in->bad = true;
		return 0;
	}
	return n;
}

static void pass(struct thrift_in *in, uint64_t n)
{
	if (n > (uint64_t)(in->end - in->at))
		in->bad = true;
	else
		in->at += n;
}

static void skip(struct thrift_in *in, int type, bool element, int deep);

static void skip_list(struct thrift_in *in, int deep)
{
	int type;
	uint64_t n = thrift_get_list(in, &type);

	while (n-- && !in->bad)
		skip(in, type, true, deep);
}

static void skip_struct(struct thrift_in *in, int deep)
{
	unsigned int field = 0;
	int type;

	while ((type = thrift_next(in, &field)) && !in->bad)
		skip(in, type, false, deep);
}

/* A boolean field is in its head; as an element it is a byte. */
static void skip(struct thrift_in *in, int type, bool element, int deep)
{
	if (deep > DEEPEST)
		in->bad = true;
	if (in->bad)
		return;
	switch (type) {
	case 1:
	case 2:
		pass(in, element ? 1 : 0);
		break;
	case 3: /* a byte */
		pass(in, 1);
		break;
	case 4: /* 16 bits */
	case THRIFT_I32:
	case THRIFT_I64:
		get_varint(in);
		break;
	case 7: /* a double */
		pass(in, 8);
		break;
	case THRIFT_BINARY:
		pass(in, get_varint(in));
		break;
	case THRIFT_LIST:
	case 10: /* a set */
		skip_list(in, deep + 1);
		break;
	case THRIFT_STRUCT:
		skip_struct(in, deep + 1);
		break;
	default: /* a map, which Parquet has none of */
		in->bad = true;
	}
}

void thrift_skip(struct thrift_in *in, int type)
{
	skip(in, type, false, 0);
}
