/* SPDX-License-Identifier: MIT */
/*
 * Reads of files that are open with O_DIRECT: offset, size and memory of each call
 * are multiples of a block. Programs that read so ask for 4 KiB, which suits
 * devices with sectors of 512 bytes, too.
 *
 * Source: open(2), "O_DIRECT".
 */
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/error.h"

#include "replay/io/io.h"

int io_direct_check(const char *root, struct reel_error *err)
{
	struct statfs fs;

	/* Linux 6.6 and later take the flag there, and copy from memory. */
	if (statfs(root, &fs) ||
	    (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC))
		return 0;
	return reel_fail(err, REEL_E_USAGE,
			 "access.direct: '%s' is on a file system without "
			 "O_DIRECT: its files are in memory",
			 root);
}

int io_room(struct io *io, size_t n, struct reel_error *err)
{
	if (n <= io->bounce_bytes)
		return 0;
	io_fini(io);
	if (posix_memalign(&io->bounce, IO_BLOCK, n)) {
		io->bounce = NULL;
		return reel_fail(err, REEL_E_MEMORY,
				 "out of memory for %zu bytes", n);
	}
	io->bounce_bytes = n;
	return 0;
}

ssize_t io_direct_pread(struct io *io, int fd, void *to, size_t n,
			uint64_t offset, struct reel_error *err)
{
	size_t skip = (size_t)(offset % IO_BLOCK);
	size_t most = (size_t)io->transfer_bytes;
	size_t want = (skip + n + IO_BLOCK - 1) / IO_BLOCK * IO_BLOCK;
	ssize_t got;

	/* It is a multiple of a block: the check of the workload sees to it. */
	if (most && want > most)
		want = most;
	if (io_room(io, want, err))
		return -1;
	got = io_pread(io, fd, io->bounce, want, offset - skip, err);
	if (got < 0)
		return -1;
	if ((size_t)got <= skip)
		return 0;
	got -= (ssize_t)skip;
	if ((size_t)got > n)
		got = (ssize_t)n;
	memcpy(to, (const uint8_t *)io->bounce + skip, (size_t)got);
	return got;
}

/* The kernel keeps the position, as copies of the descriptor share it. */
ssize_t io_direct_read(struct io *io, int fd, void *to, size_t n,
		       struct reel_error *err)
{
	int64_t at = io_tell(io, fd, err);
	ssize_t got;

	if (at < 0)
		return -1;
	got = io_direct_pread(io, fd, to, n, (uint64_t)at, err);
	if (got > 0 && io_seek(io, fd, at + got, SEEK_SET, err))
		return -1;
	return got;
}
