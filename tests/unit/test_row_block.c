/* SPDX-License-Identifier: MIT */
/* Row blocks: rows are read as written, and hostile blobs only fail. */
#include <stdlib.h>
#include <string.h>

#include "lib/store/row_block.h"
#include "tests/lib/random.h"
#include "tests/lib/tap.h"

/* Files of a data set in random order; some with equal suffixes, some
 * unusual. */
static size_t path_of(uint32_t i, char *out, size_t room)
{
	switch (chance() % 8) {
	case 0:
		out[0] = (char)chance();
		return chance() % 2;
	case 1:
		memset(out, 'a', room);
		return chance() % room;
	default:
		return (size_t)snprintf(out, room, "/data/set/%u/image_%05u.%s",
					(unsigned)(chance() % 10),
					(unsigned)(chance() % 100000),
					i % 2 ? "png" : "json");
	}
}

struct paths {
	char text[2000][300];
	size_t len[2000];
};

static void fill_rows(struct reel_rows *r, const struct reel_row_kind *kind,
		      uint32_t n, struct paths *p)
{
	if (reel_rows_begin(r, kind, n))
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		for (int col = 0; col < kind->columns; col++)
			r->v[col][i] = chance() >> chance() % 64;
		r->id[i] = i ? r->id[i - 1] + 1 + (int64_t)(chance() % 3) : 7;
		if (kind->text) {
			p->len[i] = path_of(i, p->text[i], sizeof(p->text[i]));
			if (reel_rows_text_add(r, i ? p->text[i - 1] : "",
					       i ? p->len[i - 1] : 0,
					       p->text[i], p->len[i]))
				exit(1);
		}
		r->n++;
	}
}

static int same_columns(const struct reel_rows *a, const struct reel_rows *b,
			uint32_t mask)
{
	if (a->n != b->n || memcmp(a->id, b->id, a->n * sizeof(*a->id)))
		return 0;
	for (int col = 0; col < a->kind->columns; col++)
		if ((mask >> col & 1) &&
		    memcmp(a->v[col], b->v[col], a->n * sizeof(*a->v[col])))
			return 0;
	return 1;
}

static int same_texts(const struct reel_rows *r, const struct paths *p)
{
	struct reel_row_text t = {0};
	const char *why;
	int same = 1;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t at = i < r->n / 2 ? i : (uint32_t)(chance() % r->n);

		same = same && !reel_rows_text(r, at, &t, &why) &&
		       t.len == p->len[at] &&
		       !memcmp(t.text, p->text[at], t.len);
	}
	reel_row_text_fini(&t);
	return same;
}

static void test_round_trips(struct reel_codec *k, struct paths *p)
{
	static const struct reel_row_kind *const kinds[] = {
		&reel_row_file,
		&reel_row_file_io,
		&reel_row_span,
	};
	static const uint32_t sizes[] = {1, 15, 16, 17, 1024, 2000};
	struct reel_rows in = {0}, out = {0};
	const char *why = "";
	const void *blob;
	size_t len;

	for (size_t i = 0; i < 18; i++) {
		const struct reel_row_kind *kind = kinds[i % 3];
		uint32_t all = (1u << kind->columns) - 1;
		int rc;

		fill_rows(&in, kind, sizes[i / 3], p);
		reel_codec_tight(k, i % 2);
		rc = reel_rows_encode(k, &in, &blob, &len) ||
		     reel_rows_decode(k, blob, len, kind, all, &out, &why);
		ok(!rc && same_columns(&in, &out, all),
		   "%u rows of kind %zu %s", in.n, i % 3, why);
		if (kind->text)
			ok(same_texts(&out, p), "their texts, in any order");
		rc = reel_rows_encode(k, &in, &blob, &len) ||
		     reel_rows_decode(k, blob, len, kind, 0x30, &out, &why);
		ok(!rc && same_columns(&in, &out, 0x30), "two columns alone");
	}
	reel_rows_fini(&in);
	reel_rows_fini(&out);
}

/* Read all of a hostile block. */
static int read_all(struct reel_codec *k, const uint8_t *blob, size_t len,
		    struct reel_rows *out)
{
	struct reel_row_text t = {0};
	const char *why = NULL;
	int rc =
		reel_rows_decode(k, blob, len, &reel_row_file, 0x3f, out, &why);

	for (uint32_t i = 0; !rc && i < out->n; i++)
		rc = reel_rows_text(out, i, &t, &why);
	reel_row_text_fini(&t);
	return rc && !why ? 1 : rc; /* 1: no reason was given */
}

/* Only a crash or an endless loop is a failure; ASan checks accesses. */
static void test_hostile(struct reel_codec *k, struct paths *p)
{
	struct reel_rows in = {0}, out = {0};
	int tried = 0, refused = 0, silent = 0;
	const void *blob;
	uint8_t *copy;
	size_t len;

	fill_rows(&in, &reel_row_file, 300, p);
	reel_rows_encode(k, &in, &blob, &len);
	copy = malloc(len);
	memcpy(copy, blob, len);
	for (size_t n = 0; n < len; n += 1 + n / 64, tried++) {
		uint8_t *part = malloc(n ? n : 1);

		memcpy(part, copy, n);
		refused += read_all(k, part, n, &out) == -1;
		free(part);
	}
	is(refused, tried, "every truncation is refused, with a reason");
	for (int i = 0; i < 20000; i++) {
		size_t at = chance() % (i % 2 ? len : 64);
		uint8_t was = copy[at];

		copy[at] ^= (uint8_t)(1 + chance() % 255);
		silent += read_all(k, copy, len, &out) == 1;
		copy[at] = was;
	}
	is(silent, 0, "20,000 changed bytes");
	free(copy);
	reel_rows_fini(&in);
	reel_rows_fini(&out);
}

/* A text that shares nothing with the previous one takes only its own bytes. */
static void test_wrong_texts(struct reel_codec *k)
{
	struct reel_rows in = {0}, out = {0};
	struct reel_row_text t = {0};
	const char *why = "";
	const void *blob;
	size_t len;

	reel_rows_begin(&in, &reel_row_file, 2);
	for (int i = 0; i < 2; i++) {
		for (int col = 0; col < REEL_FILE_COLUMNS; col++)
			in.v[col][i] = 0;
		in.id[i] = i + 1;
		reel_rows_text_add(&in, "", 0, "/a", 2);
		in.n++;
	}
	in.v[REEL_TEXT_PREFIX][1] = 3; /* of a text of 2 bytes */
	reel_rows_encode(k, &in, &blob, &len);
	ok(!reel_rows_decode(k, blob, len, &reel_row_file, REEL_TEXT_MASK, &out,
			     &why) &&
		   !reel_rows_text(&out, 0, &t, &why) &&
		   reel_rows_text(&out, 1, &t, &why),
	   "a wrong prefix: %s", why);
	in.v[REEL_TEXT_PREFIX][1] = 0;
	in.v[REEL_TEXT_MIDDLE][1] = UINT64_MAX - 1;
	reel_rows_encode(k, &in, &blob, &len);
	ok(reel_rows_decode(k, blob, len, &reel_row_file, REEL_TEXT_MASK, &out,
			    &why),
	   "and a wrong text: %s", why);
	ok(reel_rows_decode(k, blob, len, &reel_row_span, 0, &out, &why),
	   "rows of another table: %s", why);
	reel_row_text_fini(&t);
	reel_rows_fini(&in);
	reel_rows_fini(&out);
}

int main(void)
{
	struct reel_codec *k = reel_codec_new();
	struct paths *p = malloc(sizeof(*p));

	test_round_trips(k, p);
	test_hostile(k, p);
	test_wrong_texts(k);
	reel_codec_free(k);
	free(p);
	return done();
}
