/* SPDX-License-Identifier: MIT */
/*
 * Thrift's compact protocol, as far as Parquet's headers and footers use it.
 *
 * Source: "Thrift Compact protocol" of Apache Thrift's specifications.
 */
#ifndef REPLAY_DATASET_CODEC_THRIFT_H
#define REPLAY_DATASET_CODEC_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

#define THRIFT_OUT 512

/* A part of a message that is built in memory; names are short. */
struct thrift_out {
	uint8_t bytes[THRIFT_OUT];
	size_t n;
	unsigned int field; /* last one of the struct that is written */
};

/* Begin a struct anew (its field numbers), in the list or field before. */
void thrift_field(struct thrift_out *o, unsigned int field,
		  enum thrift_type type);
void thrift_int(struct thrift_out *o, unsigned int field, enum thrift_type type,
		int64_t v);
void thrift_string(struct thrift_out *o, unsigned int field, const char *s);
/* A list of @n elements of @type, which follow. */
void thrift_list(struct thrift_out *o, unsigned int field,
		 enum thrift_type type, uint64_t n);
/* An element of a list. */
void thrift_element_int(struct thrift_out *o, int64_t v);
void thrift_element_string(struct thrift_out *o, const char *s);
void thrift_end(struct thrift_out *o); /* of a struct */

/* Bytes of anyone; at the first fault bad is set and all that follows is 0. */
struct thrift_in {
	const uint8_t *at, *end;
	bool bad;
};

/* The next field of a struct: its type, 0 at the end; *@field is the one before,
 * 0 at first. */
int thrift_next(struct thrift_in *in, unsigned int *field);
int64_t thrift_get_int(struct thrift_in *in);
/* The number of elements of a list; never more than bytes are left. */
uint64_t thrift_get_list(struct thrift_in *in, int *type);
/* Pass a value of @type. */
void thrift_skip(struct thrift_in *in, int type);

#endif
