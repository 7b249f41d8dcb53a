/* SPDX-License-Identifier: MIT */
/* Files into blocks, in the order of file_id. */
#include "lib/error.h"

#include "analyzer/write/internal.h"

int writer_files_flush(struct reel_writer *w, struct reel_error *err)
{
	return reel_insert_block(&w->insert[INSERT_FILES], w->codec[0],
				 &w->files, err);
}

int reel_writer_file(struct reel_writer *w, const struct reel_file_row *row,
		     struct reel_error *err)
{
	struct reel_rows *r = &w->files;

	if ((!r->room && reel_rows_begin(r, &reel_row_file, REEL_ROW_BLOCK)) ||
	    reel_rows_text_add(r, w->last_file.path, w->last_file.path_len,
			       row->path, row->path_len))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	r->id[r->n] = row->file_id;
	r->v[REEL_FILE_KIND][r->n] = row->kind;
	r->v[REEL_FILE_CLASS][r->n] = row->class_;
	r->v[REEL_FILE_SIZE][r->n] =
		row->size_bytes < 0 ? 0 : (uint64_t)row->size_bytes + 1;
	r->n++;
	w->last_file = *row;
	return reel_rows_full(r) ? writer_files_flush(w, err) : 0;
}
