/* SPDX-License-Identifier: MIT */
/*
 * The decoder of records: every field alone and all together with extreme
 * values; and invalid bytes, which must be refused as a whole.
 */
#include "lib/error.h"
#include "lib/trace/internal.h"
#include "tests/lib/tap.h"
#include "tests/data/trace_writer.h"

static uint8_t data[REEL_SLOT_BYTES + TRACE_SLACK];
static struct trace_decoder d;
static struct reel_error failure;

/* Give the decoder exactly @n bytes of @data, the rest zero. */
static void set_input(size_t n)
{
	memset(data + n, 0, sizeof(data) - n);
	d.p = data;
	d.end = data + n;
	trace_decoder_begin(&d, 1000);
}

static size_t encode(const struct reel_record *r, int n)
{
	struct tw_block b = {0};
	uint8_t *p = data;

	tw_begin(&b, 0, 1000);
	for (int i = 0; i < n; i++)
		p = tw_record(&b, p, &r[i]);
	return (size_t)(p - data);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_record(const struct reel_record *a,
			const struct reel_record *b)
{
	return a->end_ticks == b->end_ticks && a->dur_ticks == b->dur_ticks &&
	       a->call == b->call && a->has_offset == b->has_offset &&
	       a->has_size == b->has_size && a->has_pos == b->has_pos &&
	       a->has_arg == b->has_arg && a->has_arg2 == b->has_arg2 &&
	       a->desc == b->desc && a->newdesc == b->newdesc &&
	       a->newfd == b->newfd && a->at == b->at && a->at2 == b->at2 &&
	       a->err == b->err && a->offset == b->offset &&
	       a->size == b->size && a->result == b->result &&
	       a->arg == b->arg && a->arg2 == b->arg2 && a->pos == b->pos &&
	       a->count == b->count && same_text(a->path, b->path) &&
	       same_text(a->path2, b->path2);
}

static char longest[REEL_PATH_BYTES];
static struct reel_record edge[] = {
	{.call = 1, .count = 1, .end_ticks = 1000},
	{.call = 239, .count = 1, .end_ticks = 1000},
	{.call = 240, .count = 1, .end_ticks = 1001, .desc = 7},
	{.call = 1023,
	 .count = 1,
	 .end_ticks = 1128,
	 .desc = 7,
	 .dur_ticks = 1128},
	{.call = 25,
	 .count = 1,
	 .end_ticks = 17000,
	 .has_size = true,
	 .size = 4096,
	 .result = 4096,
	 .has_offset = true,
	 .offset = 1ll << 40},
	{.call = 25,
	 .count = 1,
	 .end_ticks = 1ull << 40,
	 .has_size = true,
	 .size = 4096,
	 .result = 0,
	 .has_offset = true,
	 .offset = -5},
	{.call = 25,
	 .count = 1,
	 .end_ticks = 1ull << 40,
	 .has_size = true,
	 .size = 4095,
	 .result = -1,
	 .err = 9,
	 .has_offset = true,
	 .offset = INT64_MAX},
	{.call = 25,
	 .count = 1,
	 .end_ticks = 1ull << 40,
	 .has_size = true,
	 .size = 1,
	 .result = INT64_MIN,
	 .has_offset = true,
	 .offset = INT64_MIN + 1},
	{.call = 66,
	 .count = UINT32_MAX,
	 .end_ticks = UINT64_MAX,
	 .desc = UINT32_MAX,
	 .newdesc = UINT32_MAX,
	 .newfd = -1,
	 .has_arg = true,
	 .arg = INT64_MIN,
	 .has_arg2 = true,
	 .arg2 = INT64_MAX,
	 .has_pos = true,
	 .pos = INT64_MAX,
	 .path = "/a/b",
	 .path_len = 4,
	 .at = 3,
	 .path2 = "",
	 .at2 = UINT32_MAX},
	{.call = 66,
	 .count = 2,
	 .end_ticks = UINT64_MAX,
	 .path = "/a/c/d",
	 .path_len = 6,
	 .result = 3},
	{.call = 66,
	 .count = 1,
	 .end_ticks = UINT64_MAX,
	 .path = longest,
	 .path_len = sizeof(longest) - 1},
	{.call = 66,
	 .count = 1,
	 .end_ticks = UINT64_MAX,
	 .path = "",
	 .path_len = 0,
	 .path2 = longest,
	 .path2_len = sizeof(longest) - 1},
};

static void extreme_values(void)
{
	int n = (int)(sizeof(edge) / sizeof(*edge)), bad = 0;
	struct reel_record got;

	memset(longest, 'x', sizeof(longest) - 1);
	set_input(encode(edge, n));
	for (int i = 0; i < n; i++)
		if (trace_decode(&d, &got, &failure) != 1 ||
		    !same_record(&got, &edge[i])) {
			printf("# record %d\n", i);
			bad++;
		}
	is(bad, 0, "extreme values of all fields are read as written");
	is(trace_decode(&d, &got, &failure), 0, "and then the end");
}

/* A record cut at any byte is invalid, and the decoder stays before it. */
static void cut_records(void)
{
	struct reel_record got, r = {
					.call = 300,
					.count = 70000,
					.end_ticks = 1ull << 60,
					.dur_ticks = 1ull << 50,
					.desc = 1 << 30,
					.newdesc = 1 << 30,
					.newfd = 3,
					.has_arg = true,
					.arg = -1,
					.has_arg2 = true,
					.has_pos = true,
					.pos = 1 << 20,
					.path = "/data/set/one",
					.path_len = 13,
					.at = 5,
					.path2 = "two",
					.path2_len = 3,
					.has_size = true,
					.size = 1 << 30,
					.has_offset = true,
					.offset = 1 << 20,
					.result = 77,
					.at2 = 1 << 20,
				};
	size_t n = encode(&r, 1);
	int bad = 0;

	for (size_t k = 1; k < n; k++) {
		encode(&r, 1);
		set_input(k);
		bad += trace_decode(&d, &got, &failure) != -1 || d.p != data;
	}
	is(bad, 0, "a record cut at any of its %zu bytes is refused", n);
	encode(&r, 1);
	set_input(n);
	ok(trace_decode(&d, &got, &failure) == 1 && same_record(&got, &r),
	   "the whole record is read");
}

static void refused_bytes(const char *what, const char *bytes, size_t n)
{
	struct reel_record got;

	memcpy(data, bytes, n);
	set_input(n);
	is(trace_decode(&d, &got, &failure), -1, "%s", what);
}

int main(void)
{
	struct reel_record got;

	extreme_values();
	cut_records();
#define REFUSE(what, bytes) refused_bytes(what, bytes, sizeof(bytes) - 1)
	REFUSE("a varint of eleven bytes",
	       "\x18\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01\x00");
	REFUSE("time that runs over",
	       "\x18\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00");
	REFUSE("a call that began before the clock",
	       "\x18\x00\x00\xff\xff\x7f");
	REFUSE("the same descriptor as none", "\x18\x02\x00\x00");
	REFUSE("the same size as none", "\x18\x10\x00\x00");
	REFUSE("a new and the same descriptor", "\x18\x03\x00\x00\x01");
	REFUSE("a new and the same size", "\x18\x18\x00\x00\x01");
	REFUSE("a prefix of no path", "\x2c\x80\x20\x00\x00\x01\x01x");
	REFUSE("a path with a NUL in it", "\x2c\x80\x20\x00\x00\x00\x03x\0y");
	REFUSE("a path longer than paths are",
	       "\x2c\x80\x20\x00\x00\x00\x81\x20x");
	REFUSE("a length that wraps", "\x2c\x80\x20\x00\x00\x00\xff\xff\xff\xff"
				      "\xff\xff\xff\xff\xff\x01");
	REFUSE("a record of no call", "\x18\x80\x10\x00\x00\x00");
	REFUSE("something behind the end", "\x00\x00\x01");
	memset(data, 0, 8);
	set_input(8);
	is(trace_decode(&d, &got, &failure), 0, "zeros end the block");
	is(failure.code, REEL_OK, "no memory error");
	trace_decoder_fini(&d);
	return done();
}
