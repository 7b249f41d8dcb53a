/* SPDX-License-Identifier: MIT */
/* Files of MPI-IO: each call is one of MPI's. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "lib/error.h"

#include "replay/comm/comm_mpi.h"

static int failed(const char *call, int code, struct reel_error *err)
{
	char words[MPI_MAX_ERROR_STRING];
	int n = 0;

	if (MPI_Error_string(code, words, &n))
		n = 0;
	return reel_fail(err, REEL_E_IO, "%s: %.*s", call, n, words);
}

static void *file_open(const char *path, bool together, struct reel_error *err)
{
	MPI_File *f = reel_alloc(1, sizeof(*f), err);
	int code;

	if (!f)
		return NULL;
	code = MPI_File_open(together ? MPI_COMM_WORLD : MPI_COMM_SELF, path,
			     MPI_MODE_RDONLY, MPI_INFO_NULL, f);
	if (!code)
		return f;
	free(f);
	if (err) {
		char what[PATH_MAX + 32];

		snprintf(what, sizeof(what), "cannot open '%s'", path);
		failed(what, code, err);
	}
	return NULL;
}

static ssize_t file_read(void *file, uint64_t offset, void *to, size_t n,
			 bool together, struct reel_error *err)
{
	MPI_File *f = file;
	MPI_Status status;
	int code, got = 0;

	code = together ? MPI_File_read_at_all(*f, (MPI_Offset)offset, to,
					       (int)n, MPI_BYTE, &status)
			: MPI_File_read_at(*f, (MPI_Offset)offset, to, (int)n,
					   MPI_BYTE, &status);
	if (!code)
		code = MPI_Get_count(&status, MPI_BYTE, &got);
	return code ? failed("cannot read a file of the data set", code, err)
		    : got;
}

static uint64_t file_size(void *file)
{
	MPI_File *f = file;
	MPI_Offset size = 0;

	return MPI_File_get_size(*f, &size) ? 0 : (uint64_t)size;
}

static int file_close(void *file, struct reel_error *err)
{
	int code = MPI_File_close(file);

	free(file);
	return code ? failed("cannot close a file of the data set", code, err)
		    : 0;
}

const struct comm_files *comm_mpi_files(bool threads, int ranks)
{
	static struct comm_files files = {.open = file_open,
					  .read = file_read,
					  .size = file_size,
					  .close = file_close,
					  .watch = comm_mpi_watch,
					  .open_mode = MPI_MODE_RDONLY};

	files.threads = threads;
	files.ranks = ranks;
	return &files;
}
