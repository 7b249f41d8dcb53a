/* SPDX-License-Identifier: MIT */
/*
 * Fuzz the decoders of a store's blocks: a libFuzzer target, or a program that
 * decodes the files in its arguments.
 *
 * The first byte selects the decoder: events, files, sums of files, spans.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/store/event_block.h"
#include "lib/store/row_block.h"

#include "tests/fuzz/alone.h"

static void decode_events(struct reel_codec *k, const uint8_t *blob,
			  size_t size)
{
	struct reel_event_columns c = {0};
	const char *why = NULL;
	bool nested;

	if (!reel_event_block_decode(k, blob, size, REEL_COL_ALL, &c, &nested,
				     &why)
		    ? c.n < 1
		    : !why)
		abort();
	reel_event_columns_fini(&c);
}

static void decode_rows(struct reel_codec *k, const uint8_t *blob, size_t size,
			const struct reel_row_kind *kind)
{
	struct reel_rows r = {0};
	struct reel_row_text t = {0};
	const char *why = NULL;
	int rc = reel_rows_decode(k, blob, size, kind,
				  (1u << kind->columns) - 1, &r, &why);

	if (rc ? !why : r.n < 1)
		abort();
	/* not all: 65,536 texts of a megabyte are legal */
	for (uint32_t i = 0; kind->text && !rc && i < r.n && i < 64; i++)
		rc = reel_rows_text(&r, i * 7 % r.n, &t, &why);
	if (rc && !why)
		abort();
	reel_row_text_fini(&t);
	reel_rows_fini(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct reel_row_kind *const kinds[] = {
		&reel_row_file,
		&reel_row_file_io,
		&reel_row_span,
	};
	struct reel_codec *k = reel_codec_new();
	uint8_t *copy = malloc(size + !size);

	if (k && copy && size) {
		memcpy(copy, data, size); /* of the exact size, for ASan */
		if (data[0] % 4 == 0)
			decode_events(k, copy + 1, size - 1);
		else
			decode_rows(k, copy + 1, size - 1,
				    kinds[data[0] % 4 - 1]);
	}
	free(copy);
	reel_codec_free(k);
	return 0;
}
