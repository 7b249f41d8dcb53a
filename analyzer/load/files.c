/* SPDX-License-Identifier: MIT */
/* Files into blocks: what has a name, in the order of file_id. */
#include "lib/error.h"

#include "analyzer/load/internal.h"

static int add(struct reel_rows *r, uint32_t id, const struct reel_file_row *f,
	       const struct reel_file_row *before)
{
	if (reel_rows_text_add(r, before->path, before->path_len, f->path,
			       f->path_len))
		return -1;
	r->id[r->n] = id;
	r->v[REEL_FILE_KIND][r->n] = f->kind;
	r->v[REEL_FILE_CLASS][r->n] = f->class_;
	r->v[REEL_FILE_SIZE][r->n] =
		f->size_bytes < 0 ? 0 : (uint64_t)f->size_bytes + 1;
	r->n++;
	return 0;
}

int load_files(struct load *l, struct reel_error *err)
{
	uint32_t files = reel_resolve_files(l->resolver);
	struct reel_file_row f = {0}, before;
	struct reel_rows rows = {0};
	struct reel_insert out;
	int rc = reel_insert_open(&out, l->st,
				  "INSERT INTO file_block (files, "
				  "min_file_id, max_file_id, data) "
				  "VALUES (?, ?, ?, ?)",
				  err);

	if (!rc && reel_rows_begin(&rows, &reel_row_file, REEL_ROW_BLOCK))
		rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	for (uint32_t id = 1; !rc && id <= files; id++) {
		before = f;
		reel_resolve_file(l->resolver, id, &f);
		if (add(&rows, id, &f, &before))
			rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
		else if (reel_rows_full(&rows))
			rc = reel_insert_block(&out, l->codec, &rows, err);
	}
	if (!rc)
		rc = reel_insert_block(&out, l->codec, &rows, err);
	reel_rows_fini(&rows);
	return reel_insert_close(&out, rc);
}
