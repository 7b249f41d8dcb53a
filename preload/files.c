/* SPDX-License-Identifier: MIT */
/*
 * What the shim knows of files: the table of descriptors, the working
 * directory, and which paths are code or system files, that are counted and
 * not recorded. The kernel has the truth; the table is a cache of it that a
 * fork copies together with the descriptors.
 */
#include "preload/real.h"
#include "preload/window.h"

#include <string.h>

#include "preload/match.h"
#include "preload/raw.h"

void shim_fd_set(int fd, uint32_t entry)
{
	if ((unsigned int)fd >= SHIM_FDS)
		return;
	if ((uint32_t)fd > shim.fd_high)
		shim.fd_high = (uint32_t)fd;
	__atomic_store_n(&shim_hot.fd[fd], entry, __ATOMIC_RELEASE);
}

uint32_t shim_fd_take(int fd)
{
	if ((unsigned int)fd >= SHIM_FDS)
		return SHIM_FD_IGNORE;
	if (!__atomic_load_n(&shim_hot.fd[fd], __ATOMIC_RELAXED))
		return SHIM_FD_UNKNOWN;
	return __atomic_exchange_n(&shim_hot.fd[fd], SHIM_FD_UNKNOWN,
				   __ATOMIC_ACQ_REL);
}

uint32_t shim_desc_new(int fd)
{
	uint32_t id;

	/* A forked child must note its first_desc before it gives one out. */
	if (!shim_process_ready())
		return 0;
	id = __atomic_fetch_add(&shim.next_desc, 1, __ATOMIC_RELAXED);
	shim_fd_set(fd, id);
	return id;
}

void shim_cwd_changed(void)
{
	if (raw2(SYS_getcwd, shim.cwd, sizeof(shim.cwd)) <= 0)
		shim.cwd[0] = '\0';
}

bool shim_is_code(const char *path, size_t len, bool reading)
{
	char abs[2 * REEL_PATH_BYTES];
	size_t n;

	if (len >= shim.dir_len && !memcmp(path, shim.dir, shim.dir_len) &&
	    (path[shim.dir_len] == '/' || !path[shim.dir_len]))
		return true; /* our own trace */
	if (likely(!shim.globs))
		return !shim.all && match_code(path, len, reading);
	if (path[0] != '/' && len < REEL_PATH_BYTES) {
		n = strlen(shim.cwd);
		memcpy(abs, shim.cwd, n);
		abs[n++] = '/';
		memcpy(abs + n, path, len + 1);
		path = abs;
		len += n;
	}
	if (shim.include && match_globs(shim.include, path, len))
		return false;
	if (shim.exclude && match_globs(shim.exclude, path, len))
		return true;
	return !shim.all && match_code(path, len, reading);
}

static enum reel_kind kind_of(mode_t mode, const char *path)
{
	if (S_ISREG(mode))
		return !strncmp(path, "/memfd:", 7) ? REEL_KIND_MEMORY :
						      REEL_KIND_FILE;
	if (S_ISDIR(mode))
		return REEL_KIND_DIR;
	if (S_ISFIFO(mode))
		return REEL_KIND_PIPE;
	if (S_ISSOCK(mode))
		return REEL_KIND_SOCKET;
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return REEL_KIND_DEVICE;
	return REEL_KIND_OTHER;
}

/* Where the link /proc/self/fd/N leads; "" when it cannot be said. */
static void fd_path(int fd, char *out, size_t room)
{
	char link[32] = "/proc/self/fd/";
	char digits[12];
	int k = 0, at = 14;
	long n;

	do
		digits[k++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (k)
		link[at++] = digits[--k];
	link[at] = '\0';
	n = raw4(SYS_readlinkat, AT_FDCWD, link, out, room - 1);
	out[n > 0 ? n : 0] = '\0';
}

static uint32_t learn(int fd)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = MARK_DESC };
	char path[REEL_PATH_BYTES];
	struct stat st;
	enum reel_kind kind;
	uint64_t now;
	long flags;

	if (!shim_hot.on || fd < 0 || raw2(SYS_fstat, fd, &st) != 0)
		return SHIM_FD_IGNORE; /* closed: the call will say EBADF */
	fd_path(fd, path, sizeof(path));
	kind = kind_of(st.st_mode, path);
	if (kind == REEL_KIND_DEVICE || kind == REEL_KIND_OTHER) {
		shim_fd_set(fd, SHIM_FD_IGNORE);
		return SHIM_FD_IGNORE;
	}
	flags = raw2(SYS_fcntl, fd, F_GETFL);
	if ((kind == REEL_KIND_FILE || kind == REEL_KIND_DIR) &&
	    shim_is_code(path, strlen(path), (flags & O_ACCMODE) == O_RDONLY)) {
		shim_fd_set(fd, SHIM_FD_CODE);
		return SHIM_FD_CODE;
	}
	ev.newdesc = shim_desc_new(fd);
	if (!ev.newdesc)
		return SHIM_FD_IGNORE;
	ev.newfd = fd;
	ev.path = path;
	ev.arg = kind;
	ev.arg2 = flags;
	if (kind == REEL_KIND_FILE) {
		long pos = raw3(SYS_lseek, fd, 0, SEEK_CUR);

		if (pos >= 0)
			ev.pos = pos;
	}
	now = shim_clock();
	shim_record_full(&ev, now, now, 0, 0);
	return ev.newdesc;
}

COLD uint32_t shim_fd_slow(int fd, uint32_t e)
{
	if (e != SHIM_FD_UNKNOWN)
		return e;
	return (unsigned int)fd < SHIM_FDS ? learn(fd) : SHIM_FD_IGNORE;
}
