/* SPDX-License-Identifier: MIT */
/* Directory streams: recorded by their descriptor, as dirfd() makes no system
 * call. */
#include <string.h>

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

EXPORT DIR *opendir(const char *path)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_OPENDIR};
	uint64_t start, end;
	DIR *dir;

	PASS_WHEN(!shim_hot.on || shim_vfork_child(), opendir, (path));
	TIMED(dir = real.opendir(path));
	ev.path = path;
	ev.arg = O_RDONLY | O_DIRECTORY;
	shim_opened(&ev, start, end, dir ? dirfd(dir) : -1);
	return dir;
}

EXPORT DIR *fdopendir(int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_FDOPENDIR};
	uint64_t start, end;
	DIR *dir;

	PASS_WHEN(!shim_hot.on, fdopendir, (fd));
	ev.desc = shim_fd(fd);
	if (!shim_is_desc(ev.desc))
		return real.fdopendir(fd);
	TIMED(dir = real.fdopendir(fd));
	shim_record_full(&ev, start, end, dir ? 0 : -1, dir ? 0 : errno);
	return dir;
}

/* The end of the directory and an error differ in errno only, so both are
 * recorded as the end. */
#define READDIR(ret, fn, params, args, result, err)                            \
	EXPORT ret fn params                                                   \
	{                                                                      \
		uint64_t start, end;                                           \
		uint32_t entry;                                                \
		ret r;                                                         \
                                                                               \
		PASS_WHEN(!shim_hot.on, fn, args);                             \
		entry = shim_fd(dirfd(dir));                                   \
		if (!shim_is_desc(entry))                                      \
			return real.fn args;                                   \
		TIMED(r = real.fn args);                                       \
		shim_record_io(CALL_READDIR, entry, NONE, NONE, start, end,    \
			       result, err);                                   \
		return r;                                                      \
	}
READDIR(struct dirent *, readdir, (DIR * dir), (dir), r != NULL, 0)
READDIR(struct dirent64 *, readdir64, (DIR * dir), (dir), r != NULL, 0)
#define READDIR_R(fn, type)                                                    \
	READDIR(int, fn, (DIR * dir, type * buf, type * *to), (dir, buf, to),  \
		r ? -1 : *to != NULL, r)
READDIR_R(readdir_r, struct dirent)
READDIR_R(readdir64_r, struct dirent64)

EXPORT void rewinddir(DIR *dir)
{
	uint64_t start;
	uint32_t entry;

	NEED(rewinddir);
	entry = shim_hot.on ? shim_fd(dirfd(dir)) : SHIM_FD_IGNORE;
	start = shim_clock();
	real.rewinddir(dir);
	if (shim_is_desc(entry))
		shim_record_io(CALL_REWINDDIR, entry, NONE, NONE, start,
			       shim_clock(), 0, 0);
}

EXPORT int closedir(DIR *dir)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_CLOSEDIR};
	uint64_t start, end;
	int r;

	PASS_WHEN(!shim_hot.on || shim_null(dir) || shim_vfork_child(),
		  closedir, (dir));
	ev.desc = shim_fd_take(dirfd(dir));
	if (!shim_is_desc(ev.desc)) {
		if (shim_is_counted(ev.desc))
			shim_count(REEL_CODE_CALLS, 1);
		return real.closedir(dir);
	}
	TIMED(r = real.closedir(dir));
	shim_record_full(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}
