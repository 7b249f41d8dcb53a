/* SPDX-License-Identifier: MIT */
/*
 * The rows of a Parquet file that anyone made, from its footer.
 *
 * Source: Apache Parquet's format specification, FileMetaData.
 */
#include "replay/dataset/parquet.h"

#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/error.h"

#include "replay/dataset/codec/thrift.h"
#include "replay/dataset/format.h"

#define ROWS_MOST (1u << 24)

/* A row group: its rows, with their share of its bytes. */
static int inspect_group(struct thrift_in *in, int64_t **sizes, uint32_t *n,
			 uint32_t *room, struct reel_error *err)
{
	int64_t bytes = 0, rows = 0;
	unsigned int field = 0;
	int type, rc = 0;

	while ((type = thrift_next(in, &field)) && !in->bad) {
		if (field == 2 && type == THRIFT_I64)
			bytes = thrift_get_int(in);
		else if (field == 3 && type == THRIFT_I64)
			rows = thrift_get_int(in);
		else
			thrift_skip(in, type);
	}
	if (bytes < 0 || rows < 0 || rows > (int64_t)(ROWS_MOST - *n))
		in->bad = true;
	for (int64_t i = 0; !rc && !in->bad && i < rows; i++) {
		rc = reel_array_reach(sizes, room, *n, sizeof(**sizes), err);
		if (!rc)
			(*sizes)[(*n)++] = bytes / rows;
	}
	return rc;
}

static int inspect_footer(struct thrift_in *in, int64_t **sizes, uint32_t *n,
			  uint32_t *room, int64_t *group_rows,
			  struct reel_error *err)
{
	uint32_t n_before = *n;
	unsigned int field = 0;
	int type, element, rc = 0;

	while (!rc && (type = thrift_next(in, &field)) && !in->bad) {
		uint64_t groups = 0;

		if (field == 4 && type == THRIFT_LIST)
			groups = thrift_get_list(in, &element);
		else
			thrift_skip(in, type);
		while (!rc && !in->bad && groups--) {
			rc = inspect_group(in, sizes, n, room, err);
			if (!*group_rows)
				*group_rows = *n - n_before;
		}
	}
	if (in->bad)
		*n = n_before;
	return rc;
}

/* As parquet_inspect(), with the rows of the first row group, into *@group_rows. */
static int inspect_file(const char *path, int64_t **sizes, uint32_t *n,
			uint32_t *room, int64_t *group_rows,
			struct reel_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	struct thrift_in in = {.bad = false};
	uint8_t tail[PARQUET_TAIL], *footer = NULL;
	struct stat st;
	uint32_t bytes;

	if (fd < 0 || fstat(fd, &st) || st.st_size < PARQUET_TAIL ||
	    pread(fd, tail, PARQUET_TAIL, st.st_size - PARQUET_TAIL) !=
		    PARQUET_TAIL ||
	    memcmp(tail + 4, PARQUET_MAGIC, 4))
		goto out;
	memcpy(&bytes, tail, sizeof(bytes));
	bytes = le32toh(bytes);
	if (!bytes || bytes > (uint64_t)st.st_size - PARQUET_TAIL)
		goto out;
	footer = reel_alloc(bytes, 1, err);
	if (!footer)
		rc = -1;
	else if (pread(fd, footer, bytes, st.st_size - PARQUET_TAIL - bytes) ==
		 (ssize_t)bytes) {
		in.at = footer;
		in.end = footer + bytes;
		rc = inspect_footer(&in, sizes, n, room, group_rows, err);
	}
out:
	free(footer);
	if (fd >= 0)
		close(fd);
	return rc;
}

int parquet_inspect(const char *path, int64_t **sizes, uint32_t *n,
		    uint32_t *room, struct reel_error *err)
{
	int64_t group_rows = 0;

	return inspect_file(path, sizes, n, room, &group_rows, err);
}

int parquet_storage(const char *path, struct format_storage *out)
{
	int64_t *sizes = NULL;
	uint32_t n = 0, room = 0;

	memset(out, 0, sizeof(*out));
	inspect_file(path, &sizes, &n, &room, &out->row_group_rows, NULL);
	free(sizes);
	return n > 0;
}
