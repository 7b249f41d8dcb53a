/* SPDX-License-Identifier: MIT */
/* Files of several sources: one for each path. */
#include <string.h>

#include "schemas/hash.h"

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/file_class.h"

#include "analyzer/join/internal.h"

static uint32_t new_file(struct join *j, const char *path, size_t len,
			 struct reel_error *err)
{
	if (len > UINT32_MAX ||
	    JOIN_REACH(j->file, j->file_room, j->files, err))
		return 0;
	j->file[j->files] = (struct join_file){
		.path = j->paths.len, .len = (uint32_t)len, .size_bytes = -1};
	if (reel_buf_add(&j->paths, path, len, err))
		return 0;
	return ++j->files;
}

/* The id of @path, from 1; 0 with @err. */
static uint32_t file_of(struct join *j, const char *path, size_t len,
			struct reel_error *err)
{
	uint64_t key = reel_fnv1a(REEL_FNV_SEED, path, len);

	for (;; key++) {
		uint32_t i = reel_intmap_get(&j->by_path, key, err);

		if (i == REEL_NO_INDEX)
			return 0;
		if (i == j->files)
			return new_file(j, path, len, err);
		if (j->file[i].len == len &&
		    !memcmp(reel_buf_text(&j->paths) + j->file[i].path, path,
			    len))
			return i + 1;
	}
}

static int add_file(struct join *j, struct join_part *p, sqlite3_stmt *q,
		    struct reel_error *err)
{
	const char *path = (const char *)sqlite3_column_text(q, 1);
	const char *kind = (const char *)sqlite3_column_text(q, 2);
	const char *class_ = (const char *)sqlite3_column_text(q, 3);
	int64_t size_bytes = join_int(q, 4, -1);
	uint32_t before = j->files, id;
	size_t len;
	struct join_file *f;

	if (!path || !kind || !class_)
		return 0;
	len = (size_t)sqlite3_column_bytes(q, 1);
	/* Names of logs without real paths: //123. */
	while (j->patch && len > 1 && path[0] == '/' && path[1] == '/') {
		path++;
		len--;
	}
	id = file_of(j, path, len, err);
	if (!id)
		return -1;
	f = &j->file[id - 1];
	if (id > before) {
		f->kind = (uint8_t)reel_kind_of_name(kind);
		f->class_ = (uint8_t)reel_class_of_name(class_);
	}
	if (size_bytes > f->size_bytes)
		f->size_bytes = size_bytes;
	return join_ids_set(&p->file, sqlite3_column_int64(q, 0), id, err);
}

int join_files_read(struct join *j, struct join_part *p, struct reel_error *err)
{
	return join_each_row(j, p,
			     "SELECT file_id, path, kind, class, size_bytes "
			     "FROM file ORDER BY file_id",
			     add_file, err);
}
