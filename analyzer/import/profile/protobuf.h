/* SPDX-License-Identifier: MIT */
/*
 * Read the wire format of protobuf field by field in bounded memory. The reader
 * knows no schema: a message inside another is entered by its length, its
 * fields are read up to protobuf_end(), the rest is skipped.
 *
 * Source: "Encoding", protobuf.dev.
 */
#ifndef ANALYZER_IMPORT_PROTOBUF_H
#define ANALYZER_IMPORT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct protobuf;
struct reel_error;

enum protobuf_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* also texts and messages */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_type type;
	uint64_t value; /* of a number */
	uint64_t end;	/* of bytes: the offset behind them */
};

/* The whole document: an end that no length bounds. */
#define PROTOBUF_DOCUMENT UINT64_MAX

/* Open @path, compressed or not. Gives *@out for protobuf_close(). 0, or -1. */
int protobuf_open(struct protobuf **out, const char *path,
		  struct reel_error *err);
void protobuf_close(struct protobuf *pb); /* NULL too */

/*
 * The next field before @end, of the message that ends there. 1, 0 at its end,
 * or -1 with @err: REEL_E_FORMAT with file and offset. Bytes are not read:
 * enter them, or call protobuf_text() or protobuf_skip().
 */
int protobuf_next(struct protobuf *pb, uint64_t end, struct protobuf_field *f,
		  struct reel_error *err);
/* Skip what is left of the bytes of @f. 0, or -1. */
int protobuf_skip(struct protobuf *pb, const struct protobuf_field *f,
		  struct reel_error *err);
/*
 * Copy the bytes of @f to @to, at most @room - 1, ended by NUL; the rest is
 * skipped. The number copied, or -1.
 */
int protobuf_text(struct protobuf *pb, const struct protobuf_field *f, char *to,
		  size_t room, struct reel_error *err);
/* Fail at the present offset: "'FILE' is damaged at offset N: WHY". -1. */
int protobuf_bad(const struct protobuf *pb, const char *why,
		 struct reel_error *err);

#endif
