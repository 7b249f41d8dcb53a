/* SPDX-License-Identifier: MIT */
/*
 * The index of a checkpoint of TensorFlow: a sorted table (tsl/lib/io/table) of
 * protocol buffers, and the graph of its variables.
 */
#include <stdio.h>
#include <string.h>

#include "lib/error.h"

#include "replay/dataset/file_out.h"
#include "replay/pipeline/checkpoint_index.h"
#include "replay/pipeline/checkpoint_layout.h"

#define RESTART_EVERY 16
#define TABLE_MAGIC 0xdb4775248b80fb57ull

enum { TYPE_UINT8 = 4, TYPE_STRING = 7, TYPE_INT64 = 9 };

static uint32_t masked(uint32_t crc)
{
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static uint32_t piece_crc(struct checkpoint_source *s, int64_t n)
{
	if (s->crc32c_bytes == n)
		return s->crc32c;
	s->crc32c_bytes = n;
	s->crc32c = 0;
	while (n) {
		int64_t len = n < CHECKPOINT_PIECE ? n : CHECKPOINT_PIECE;

		s->crc32c = crc32c(s->crc32c, s->piece, (size_t)len);
		n -= len;
	}
	return s->crc32c;
}

/* --- protocol buffers ----------------------------------------------------- */

static void add(struct index_text *t, const void *bytes, size_t n)
{
	if (!t->rc)
		t->rc = reel_buf_add(&t->b, bytes, n, t->err);
}

static void add_varint(struct index_text *t, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	for (; v > 127; v >>= 7)
		b[n++] = (uint8_t)(v | 128);
	b[n++] = (uint8_t)v;
	add(t, b, n);
}

static void add_u32(struct index_text *t, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
			(uint8_t)(v >> 24)};

	add(t, b, sizeof(b));
}

/* Field @tag of bytes. */
static void add_field(struct index_text *t, uint8_t tag, const void *bytes,
		      size_t n)
{
	add(t, &tag, 1);
	add_varint(t, n);
	add(t, bytes, n);
}

static void add_number(struct index_text *t, uint8_t tag, uint64_t v)
{
	if (!v)
		return;
	add(t, &tag, 1);
	add_varint(t, v);
}

static void variable_name(int64_t i, int64_t n, char out[32])
{
	if (i == n)
		snprintf(out, 32, "save_counter");
	else
		snprintf(out, 32, "t%06lld", (long long)i);
}

#define SUFFIX "/.ATTRIBUTES/VARIABLE_VALUE"

/* The node of a variable in the graph. */
static void add_node(struct index_text *t, const char *name, bool counter)
{
	struct index_text node = {.err = t->err}, attribute = {.err = t->err};
	const char *full = counter ? name : "Variable";
	char key[64];
	int len = snprintf(key, sizeof(key), "%s" SUFFIX, name);

	add_field(&attribute, 0x0a, "VARIABLE_VALUE", 14);
	add_field(&attribute, 0x12, full, strlen(full));
	add_field(&attribute, 0x1a, key, (size_t)len);
	add_field(&node, 0x12, reel_buf_text(&attribute.b), attribute.b.len);
	add_field(&node, 0x2a, "\x08\1", 2);
	add_field(t, 0x0a, reel_buf_text(&node.b), node.b.len);
	t->rc |= node.rc | attribute.rc;
	reel_buf_fini(&attribute.b);
	reel_buf_fini(&node.b);
}

void tensorflow_graph(struct index_text *t, int64_t n)
{
	struct index_text root = {.err = t->err}, child = {.err = t->err};
	char name[32];

	for (int64_t i = 0; i <= n; i++) {
		variable_name(i, n, name);
		child.b.len = 0;
		add_number(&child, 0x08, (uint64_t)i + 1);
		add_field(&child, 0x12, name, strlen(name));
		add_field(&root, 0x0a, reel_buf_text(&child.b), child.b.len);
	}
	add_field(&root, 0x2a, "\x08\1", 2);
	add_field(t, 0x0a, reel_buf_text(&root.b), root.b.len);
	for (int64_t i = 0; i <= n; i++) {
		variable_name(i, n, name);
		add_node(t, name, i == n);
	}
	t->rc |= root.rc | child.rc;
	reel_buf_fini(&child.b);
	reel_buf_fini(&root.b);
}

/* A tensor of one string: lengths, their checksum, the string. */
uint32_t tensorflow_string(struct index_text *t, const struct index_text *graph)
{
	uint32_t len = (uint32_t)graph->b.len, crc, check;

	add_varint(t, len);
	crc = crc32c(0, &len, sizeof(len));
	check = masked(crc);
	add_u32(t, check);
	crc = crc32c(crc, &check, sizeof(check));
	add(t, reel_buf_text(&graph->b), graph->b.len);
	return crc32c(crc, reel_buf_text(&graph->b), graph->b.len);
}

/* --- the index ------------------------------------------------------------ */

/* A block of a table: each key without the part that it shares with the last. */
struct block {
	struct index_text text, restarts;
	uint32_t entries, restarts_n;
	char last[64];
};

static void add_key(struct block *b, const char *key,
		    const struct index_text *value)
{
	size_t shared = 0, len = strlen(key);

	if (b->entries++ % RESTART_EVERY == 0) {
		add_u32(&b->restarts, (uint32_t)b->text.b.len);
		b->restarts_n++;
	} else {
		while (shared < len && key[shared] == b->last[shared])
			shared++;
	}
	add_varint(&b->text, shared);
	add_varint(&b->text, len - shared);
	add_varint(&b->text, value->b.len);
	add(&b->text, key + shared, len - shared);
	add(&b->text, reel_buf_text(&value->b), value->b.len);
	snprintf(b->last, sizeof(b->last), "%s", key);
}

/* The entry of a tensor; @shape 0: it has none. */
static void add_entry(struct block *b, const char *key, int type,
		      uint64_t shape, uint64_t offset, uint64_t size,
		      uint32_t crc)
{
	struct index_text value = {.err = b->text.err}, dim = value,
			  dims = value;

	add_number(&value, 0x08, (uint64_t)type);
	if (shape) {
		add_number(&dim, 0x08, shape);
		add_field(&dims, 0x12, reel_buf_text(&dim.b), dim.b.len);
	}
	add_field(&value, 0x12, reel_buf_text(&dims.b), dims.b.len);
	add_number(&value, 0x20, offset);
	add_number(&value, 0x28, size);
	add(&value, "\x35", 1);
	add_u32(&value, masked(crc));
	add_key(b, key, &value);
	b->text.rc |= value.rc | dim.rc | dims.rc;
	reel_buf_fini(&value.b);
	reel_buf_fini(&dim.b);
	reel_buf_fini(&dims.b);
}

/* Append @b to @table: its entries, restarts, kind and checksum. Gives its size
 * without the last two. */
static uint64_t end_block(struct index_text *table, struct block *b)
{
	struct index_text *t = &b->text;
	uint64_t size;

	if (!b->restarts_n) {
		add_u32(&b->restarts, 0);
		b->restarts_n = 1;
	}
	add(t, reel_buf_text(&b->restarts.b), b->restarts.b.len);
	add_u32(t, b->restarts_n);
	size = t->b.len;
	add(t, "\0", 1);
	add_u32(t, masked(crc32c(0, reel_buf_text(&t->b), t->b.len)));
	add(table, reel_buf_text(&t->b), t->b.len);
	table->rc |= t->rc | b->restarts.rc;
	reel_buf_fini(&t->b);
	reel_buf_fini(&b->restarts.b);
	return size;
}

/* One block of entries, however many: TensorFlow makes another from 256 KiB on. */
static void end_index(struct tensorflow_index *x, struct block *entries)
{
	struct block meta = {.text.err = x->table.err,
			     .restarts.err = x->table.err};
	struct block middle = meta;
	struct index_text place = {.err = x->table.err}, foot = place;
	uint64_t meta_at, meta_bytes, middle_at;

	x->data = end_block(&x->table, entries);
	meta_at = x->table.b.len;
	meta_bytes = end_block(&x->table, &meta);
	middle_at = x->table.b.len;
	add_varint(&place, 0);
	add_varint(&place, x->data);
	add_key(&middle, "u", &place);
	x->middle = end_block(&x->table, &middle);
	add_varint(&foot, meta_at);
	add_varint(&foot, meta_bytes);
	add_varint(&foot, middle_at);
	add_varint(&foot, x->middle);
	while (foot.b.len < 40 && !foot.rc)
		add(&foot, "\0", 1);
	add_u32(&foot, (uint32_t)TABLE_MAGIC);
	add_u32(&foot, (uint32_t)(TABLE_MAGIC >> 32));
	add(&x->table, reel_buf_text(&foot.b), foot.b.len);
	x->table.rc |= foot.rc | place.rc;
	reel_buf_fini(&foot.b);
	reel_buf_fini(&place.b);
}

void tensorflow_index(struct tensorflow_index *x, struct checkpoint_source *s,
		      const int64_t *bytes, int64_t n, uint64_t graph_bytes,
		      uint32_t graph_crc)
{
	struct block b = {.text.err = x->table.err,
			  .restarts.err = x->table.err};
	struct index_text head = {.err = x->table.err};
	uint64_t at = 0, end = 0;
	char name[32], key[64];

	for (int64_t i = 0; i < n; i++)
		end += (uint64_t)bytes[i];
	add(&head, "\x08\1\x1a\2\x08\1", 6);
	add_key(&b, "", &head);
	add_entry(&b, "_CHECKPOINTABLE_OBJECT_GRAPH", TYPE_STRING, 0, end + 8,
		  graph_bytes, graph_crc);
	add_entry(&b, "save_counter" SUFFIX, TYPE_INT64, 0, end, 8,
		  crc32c(0, &s->saves, 8));
	for (int64_t i = 0; i < n; i++) {
		variable_name(i, n, name);
		snprintf(key, sizeof(key), "%s" SUFFIX, name);
		add_entry(&b, key, TYPE_UINT8, (uint64_t)bytes[i], at,
			  (uint64_t)bytes[i], piece_crc(s, bytes[i]));
		at += (uint64_t)bytes[i];
	}
	end_index(x, &b);
	x->table.rc |= head.rc;
	reel_buf_fini(&head.b);
}
