/* SPDX-License-Identifier: MIT */
/* Memory as large as an object. */
#include "replay/kvcache/room.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/workload/quantiles.h"

static int map_pieces(struct room *r, int fd, size_t piece)
{
	if (ftruncate(fd, (off_t)piece))
		return -1;
	for (size_t at = 0; at < r->bytes; at += piece) {
		size_t n = r->bytes - at < piece ? r->bytes - at : piece;

		if (mmap(r->at + at, n, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return -1;
	}
	return 0;
}

int room_map(struct room *r, size_t bytes, size_t piece, struct reel_error *err)
{
	int fd = memfd_create("ioreel", MFD_CLOEXEC), rc = -1;
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, bytes, PROT_NONE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
				 -1, 0);

	r->at = at == MAP_FAILED ? NULL : at;
	r->bytes = bytes;
	if (r->at)
		rc = map_pieces(r, fd, piece);
	if (rc)
		reel_fail(err, REEL_E_MEMORY,
			  "cannot map memory for an object of %zu bytes: %s",
			  bytes, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

void room_noise(struct room *r, size_t piece, uint64_t seed)
{
	size_t n = r->bytes < piece ? r->bytes : piece;

	for (size_t i = 0; i + sizeof(uint64_t) <= n; i += sizeof(uint64_t)) {
		uint64_t v = random_next(&seed);

		memcpy(r->at + i, &v, sizeof(v));
	}
}

void room_unmap(struct room *r)
{
	if (r->at)
		munmap(r->at, r->bytes);
	r->at = NULL;
}
