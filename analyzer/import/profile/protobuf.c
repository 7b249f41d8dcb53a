/* SPDX-License-Identifier: MIT */
/* The wire format of protobuf, field by field. */
#include "analyzer/import/profile/protobuf.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/source.h"

#define BUFFER_BYTES (256u << 10)

struct protobuf {
	struct reel_source *source;
	uint8_t *buf;
	size_t at, n;
	uint64_t offset; /* of buf[0] in the document */
};

int protobuf_open(struct protobuf **out, const char *path,
		  struct reel_error *err)
{
	struct protobuf *pb = reel_alloc(1, sizeof(*pb), err);

	if (!pb)
		return -1;
	pb->buf = reel_alloc(BUFFER_BYTES, 1, err);
	if (!pb->buf || reel_source_open(&pb->source, path, err)) {
		protobuf_close(pb);
		return -1;
	}
	*out = pb;
	return 0;
}

void protobuf_close(struct protobuf *pb)
{
	if (!pb)
		return;
	reel_source_close(pb->source);
	free(pb->buf);
	free(pb);
}

int protobuf_bad(const struct protobuf *pb, const char *why,
		 struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s",
			 reel_source_path(pb->source),
			 (unsigned long long)(pb->offset + pb->at), why);
}

/* Another piece, when all of the buffer is used. 1, 0 at the end, or -1. */
static int fill(struct protobuf *pb, struct reel_error *err)
{
	int64_t got;

	if (pb->at < pb->n)
		return 1;
	pb->offset += pb->n;
	pb->at = pb->n = 0;
	got = reel_source_read(pb->source, pb->buf, BUFFER_BYTES, err);
	if (got < 0)
		return -1;
	pb->n = (size_t)got;
	return got > 0;
}

static int cut_off(const struct protobuf *pb, struct reel_error *err)
{
	return protobuf_bad(pb, "a message is cut off", err);
}

static int read_byte(struct protobuf *pb, uint64_t end, uint8_t *byte,
		     struct reel_error *err)
{
	int rc = fill(pb, err);

	if (rc < 0)
		return -1;
	if (!rc || pb->offset + pb->at >= end)
		return cut_off(pb, err);
	*byte = pb->buf[pb->at++];
	return 0;
}

static int read_varint(struct protobuf *pb, uint64_t end, uint64_t *value,
		       struct reel_error *err)
{
	uint8_t byte = 0x80;

	*value = 0;
	for (unsigned int shift = 0; byte & 0x80; shift += 7) {
		if (shift > 63)
			return protobuf_bad(pb, "a number without end", err);
		if (read_byte(pb, end, &byte, err))
			return -1;
		*value |= (uint64_t)(byte & 0x7f) << shift;
	}
	return 0;
}

static int read_fixed(struct protobuf *pb, uint64_t end, unsigned int bytes,
		      uint64_t *value, struct reel_error *err)
{
	uint8_t byte = 0;

	*value = 0;
	for (unsigned int i = 0; i < bytes; i++) {
		if (read_byte(pb, end, &byte, err))
			return -1;
		*value |= (uint64_t)byte << 8 * i;
	}
	return 0;
}

/* The length of bytes, which end in the message around them. */
static int read_length(struct protobuf *pb, uint64_t end,
		       struct protobuf_field *f, struct reel_error *err)
{
	uint64_t at;

	if (read_varint(pb, end, &f->value, err))
		return -1;
	at = pb->offset + pb->at;
	if (f->value > end - at || f->value > INT64_MAX)
		return protobuf_bad(pb, "a length past the end", err);
	f->end = at + f->value;
	return 0;
}

int protobuf_next(struct protobuf *pb, uint64_t end, struct protobuf_field *f,
		  struct reel_error *err)
{
	uint64_t tag;
	int rc;

	if (pb->offset + pb->at == end)
		return 0;
	rc = fill(pb, err);
	if (rc < 0 || (!rc && end == PROTOBUF_DOCUMENT))
		return rc;
	if (read_varint(pb, end, &tag, err))
		return -1;
	if (tag < 8 || tag > UINT32_MAX)
		return protobuf_bad(pb, "no field of a message", err);
	f->number = (uint32_t)tag >> 3;
	f->type = tag & 7;
	switch (f->type) {
	case PROTOBUF_VARINT:
		rc = read_varint(pb, end, &f->value, err);
		break;
	case PROTOBUF_FIXED64:
		rc = read_fixed(pb, end, 8, &f->value, err);
		break;
	case PROTOBUF_FIXED32:
		rc = read_fixed(pb, end, 4, &f->value, err);
		break;
	case PROTOBUF_BYTES:
		rc = read_length(pb, end, f, err);
		break;
	default:
		rc = protobuf_bad(pb, "a field of an unknown type", err);
	}
	return rc ? -1 : 1;
}

/* Up to @n bytes of the buffer that are before @end; 0: the file has no
 * more. */
static int64_t take(struct protobuf *pb, uint64_t end, struct reel_error *err)
{
	uint64_t left = end - (pb->offset + pb->at);
	int rc = fill(pb, err);

	if (rc < 0)
		return -1;
	if (!rc)
		return cut_off(pb, err);
	return (int64_t)(left < pb->n - pb->at ? left : pb->n - pb->at);
}

int protobuf_skip(struct protobuf *pb, const struct protobuf_field *f,
		  struct reel_error *err)
{
	while (f->type == PROTOBUF_BYTES && pb->offset + pb->at < f->end) {
		int64_t n = take(pb, f->end, err);

		if (n < 0)
			return -1;
		pb->at += (size_t)n;
	}
	return 0;
}

int protobuf_text(struct protobuf *pb, const struct protobuf_field *f, char *to,
		  size_t room, struct reel_error *err)
{
	size_t done = 0;

	if (f->type != PROTOBUF_BYTES)
		return protobuf_bad(pb, "a text that is none", err);
	while (pb->offset + pb->at < f->end && done < room - 1) {
		int64_t n = take(pb, f->end, err);

		if (n < 0)
			return -1;
		if ((size_t)n > room - 1 - done)
			n = (int64_t)(room - 1 - done);
		memcpy(to + done, pb->buf + pb->at, (size_t)n);
		pb->at += (size_t)n;
		done += (size_t)n;
	}
	to[done] = '\0';
	return protobuf_skip(pb, f, err) ? -1 : (int)done;
}
