/* SPDX-License-Identifier: MIT */
/* Entries of a table of descriptors, and the texts that name descriptors. */
#include "analyzer/import/common/fd_entry.h"

#include <string.h>

#include "schemas/hash.h"

uint32_t fd_path_hash(const char *path, size_t len)
{
	uint64_t h = reel_fnv1a(REEL_FNV_SEED, path, len);

	return (uint32_t)(h ^ h >> 32);
}

static bool begins(const struct import_fd *fd, const char *with)
{
	return fd->path && fd->path_len >= strlen(with) &&
	       !memcmp(fd->path, with, strlen(with));
}

enum reel_kind fd_kind(const struct import_fd *fd)
{
	if (begins(fd, "pipe:"))
		return REEL_KIND_PIPE;
	if (begins(fd, "/memfd:"))
		return REEL_KIND_MEMORY;
	if (begins(fd, "/dev/") && !begins(fd, "/dev/shm/"))
		return REEL_KIND_DEVICE;
	if (begins(fd, "/"))
		return REEL_KIND_FILE;
	return begins(fd, "anon_inode:") || begins(fd, "pidfd:") ||
			       begins(fd, "net:")
		       ? REEL_KIND_OTHER
		       : REEL_KIND_SOCKET;
}

bool fd_kind_is_message(enum reel_kind kind)
{
	return kind == REEL_KIND_PIPE || kind == REEL_KIND_SOCKET;
}

bool fd_entry_is_reused(const struct fd_entry *e, const struct import_fd *fd)
{
	enum reel_kind kind = fd_kind(fd);

	if ((!e->desc && !e->silent) || begins(fd, "net:")) /* /proc/PID/ns */
		return false;
	if ((kind == REEL_KIND_OTHER) != e->silent)
		return true;
	return !e->silent && fd_kind_is_message(kind) != e->message;
}
