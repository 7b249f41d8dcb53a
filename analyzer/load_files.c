/* SPDX-License-Identifier: MIT */
/* Files into blocks: what has a name, in the order of file_id. */
#include "lib/error.h"

#include "analyzer/load_internal.h"

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
	sqlite3_stmt *stmt = NULL;
	int rc = -1;

	if (reel_store_prepare(l->st, &stmt,
			       "INSERT INTO file_block (files, "
			       "min_file_id, max_file_id, data) "
			       "VALUES (?, ?, ?, ?)",
			       err))
		return -1;
	if (reel_rows_begin(&rows, &reel_row_file, REEL_ROW_BLOCK)) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		goto out;
	}
	for (uint32_t id = 1; id <= files; id++) {
		before = f;
		reel_resolve_file(l->resolver, id, &f);
		if (add(&rows, id, &f, &before)) {
			reel_fail(err, REEL_E_MEMORY, "out of memory");
			goto out;
		}
		if ((rows.n == REEL_ROW_BLOCK ||
		     rows.text_len >= REEL_ROW_TEXT) &&
		    load_rows_block(l, stmt, &rows, err))
			goto out;
	}
	rc = load_rows_block(l, stmt, &rows, err);
out:
	reel_rows_fini(&rows);
	sqlite3_finalize(stmt);
	return rc;
}
