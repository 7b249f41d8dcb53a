/* SPDX-License-Identifier: MIT */
/*
 * Files that the caller does not open by a path: anonymous memory, shared
 * memory, file handles. Their names are those of /proc/self/fd.
 */
#include <limits.h>
#include <string.h>

#include "schemas/replay_open.h"

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/posix/calls.h"

#define SHM_DIR "/dev/shm/"

/* @dir and @name in @out. NULL: too long, for the kernel as well. */
static const char *join_path(char *out, size_t room, const char *dir,
			     const char *name)
{
	size_t n = strlen(dir), len = strlen(name);

	if (n + len >= room)
		return NULL;
	memcpy(out, dir, n);
	memcpy(out + n, name, len + 1);
	return out;
}

void shim_record_memfd(const char *name, unsigned int flags, uint64_t start,
		       uint64_t end, int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MEMFD_CREATE};
	char path[NAME_MAX + 16];
	int err = fd < 0 ? errno : 0;

	if (!err || shim_readable_path(name, err))
		ev.path = join_path(path, sizeof(path), "/memfd:", name);
	ev.arg = O_RDWR;
	ev.arg2 = flags;
	shim_opened(&ev, start, end, fd);
}

EXPORT int memfd_create(const char *name, unsigned int flags)
{
	uint64_t start, end;
	int fd;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), memfd_create,
		  (name, flags));
	TIMED(fd = real.memfd_create(name, flags));
	shim_record_memfd(name, flags, start, end, fd);
	return fd;
}

static const char *shm_path(char *out, size_t room, const char *name)
{
	while (*name == '/')
		name++;
	return join_path(out, room, SHM_DIR, name);
}

EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_SHM_OPEN};
	char path[NAME_MAX + 16];
	uint64_t start, end;
	int fd;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), shm_open,
		  (name, flags, mode));
	TIMED(fd = real.shm_open(name, flags, mode));
	ev.path = shm_path(path, sizeof(path), name);
	ev.arg = flags;
	if (flags & O_CREAT)
		ev.arg2 = mode;
	shim_opened(&ev, start, end, fd);
	return fd;
}

EXPORT int shm_unlink(const char *name)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_SHM_UNLINK};
	char path[NAME_MAX + 16];
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), shm_unlink, (name));
	TIMED(r = real.shm_unlink(name));
	ev.path = shm_path(path, sizeof(path), name);
	shim_record_path(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}

EXPORT int ioreel_unlink_as(uint32_t call, const char *path)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = call, .path = path};
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on, unlink, (path));
	TIMED(r = real.unlink(path));
	shim_record_path(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}

EXPORT int open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	struct shim_event ev = {SHIM_EVENT_NONE,
				.call = CALL_OPEN_BY_HANDLE_AT};
	char path[REEL_PATH_BYTES];
	uint64_t start, end;
	int fd;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), open_by_handle_at,
		  (mount, handle, flags));
	TIMED(fd = real.open_by_handle_at(mount, handle, flags));
	if (fd >= 0 && shim_fd_path(fd, path, sizeof(path)))
		ev.path = path;
	ev.arg = flags;
	shim_opened(&ev, start, end, fd);
	return fd;
}
