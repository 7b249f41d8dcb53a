/* SPDX-License-Identifier: MIT */
/* The page cache before a run. */
#include "replay/pipeline/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/dataset/dataset.h"
#include "replay/workload/workload.h"

#define PIECE (1u << 20)

/* Pages that are not written yet cannot be dropped: they are written first. */
static int prepare_file(const char *path, int cache, void *piece,
			struct reel_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		return reel_fail(err, REEL_E_IO, "cannot open '%s': %s", path,
				 strerror(errno));
	if (cache == WORKLOAD_COLD) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	while (cache == WORKLOAD_WARM && n > 0)
		n = read(fd, piece, PIECE);
	close(fd);
	return n < 0 ? reel_fail(err, REEL_E_IO, "cannot read '%s': %s", path,
				 strerror(errno))
		     : 0;
}

static int prepare_part(const struct workload *w, enum dataset_part part,
			const char *folder, const struct comm *comm,
			void *piece, struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct dataset d;
	int rc = 0;

	dataset_init(&d, w, part);
	/* Each host has a page cache, and may read any file. */
	for (uint64_t i = (uint64_t)comm->host_rank; !rc && i < d.files;
	     i += (uint64_t)comm->host_size) {
		reel_buf_reset(&path);
		rc = reel_buf_printf(&path, err, "%s/", folder) ||
		     dataset_path(&d, i, &path, err) ||
		     prepare_file(reel_buf_text(&path), w->cache, piece, err);
	}
	reel_buf_fini(&path);
	return rc ? -1 : 0;
}

int cache_prepare(const struct workload *w, const char *folder,
		  const struct comm *comm, struct reel_error *err)
{
	void *piece;
	int rc;

	if (w->cache == WORKLOAD_AS_IS)
		return 0;
	piece = reel_alloc(PIECE, 1, err);
	rc = !piece ||
	     prepare_part(w, DATASET_TRAIN, folder, comm, piece, err) ||
	     prepare_part(w, DATASET_EVALUATION, folder, comm, piece, err);
	free(piece);
	return comm_agree(comm, rc, err);
}
