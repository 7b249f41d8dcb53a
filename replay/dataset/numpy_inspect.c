/* SPDX-License-Identifier: MIT */
/*
 * The rows of an npy file that anyone made: its first dimension, from the header.
 *
 * Source: numpy.lib.format's description of versions 1 to 3 of the format.
 */
#include "replay/dataset/numpy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"

#define START_BYTES 12 /* magic, version, length of the header */
#define HEADER_MOST 1024
#define ROWS_MOST (1 << 24)

/* The first dimension of @header's shape; 0: it has none, or an absurd one. */
static int64_t first_dimension(const char *header)
{
	const char *shape = strstr(header, "'shape': (");
	char *end;
	long long rows;

	if (!shape)
		return 0;
	errno = 0;
	rows = strtoll(shape + strlen("'shape': ("), &end, 10);
	return !errno && *end == ',' && rows > 0 && rows <= ROWS_MOST ? rows
								      : 0;
}

/* The rows of file @fd, and the bytes of all of them into *@bytes. 0: unknown. */
static int64_t find_rows(int fd, int64_t *bytes)
{
	uint8_t start[START_BYTES];
	char header[HEADER_MOST + 1];
	struct stat st;
	size_t at, length;

	if (fstat(fd, &st) ||
	    pread(fd, start, sizeof(start), 0) != (ssize_t)sizeof(start) ||
	    memcmp(start, "\x93NUMPY", 6) || start[6] < 1 || start[6] > 3)
		return 0;
	at = start[6] == 1 ? 10 : START_BYTES;
	length = start[8] | (size_t)start[9] << 8;
	if (start[6] > 1 && (start[10] || start[11]))
		return 0;
	if (length > HEADER_MOST ||
	    pread(fd, header, length, (off_t)at) != (ssize_t)length)
		return 0;
	header[length] = 0;
	*bytes = st.st_size - (off_t)(at + length);
	return *bytes > 0 ? first_dimension(header) : 0;
}

int npy_inspect(const char *path, int64_t **sizes, uint32_t *n, uint32_t *room,
		struct reel_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int64_t bytes = 0, rows = fd < 0 ? 0 : find_rows(fd, &bytes);
	int rc = 0;

	if (fd >= 0)
		close(fd);
	if (rows > ROWS_MOST - (int64_t)*n)
		rows = 0;
	for (int64_t i = 0; !rc && i < rows; i++) {
		rc = reel_array_reach(sizes, room, *n, sizeof(**sizes), err);
		if (!rc)
			(*sizes)[(*n)++] = bytes / rows;
	}
	return rc;
}
