/* SPDX-License-Identifier: MIT */
/*
 * A small cache of directory names, indexed by descriptor number. A name is
 * valid while the descriptor table has the entry that it was stored with: a
 * number that is closed and reused has another entry. SHIM_FD_DIR, the entry of
 * unrecorded directories, is entered only together with a name.
 *
 * A slot that is being written is skipped, and its reader asks the kernel.
 */
#include "preload/core/dir.h"

#include <string.h>
#include <sys/stat.h>

#include "schemas/path_clean.h"
#include "schemas/syscall.h"

#include "preload/core/wrap.h"

#define NAMES 256
#define NAME_BYTES 1004

struct name {
	uint32_t seq; /* odd: it is being written */
	int fd;
	uint32_t entry;
	uint32_t renames; /* when it was stored */
	uint32_t len;
	char text[NAME_BYTES];
};

static struct name names[NAMES];
static uint32_t renames; /* of directories */
static bool names_used;	 /* renames matter */

/* Resolve ".", ".." and "//" in the absolute path @p, as the reader does. A last
 * "/" stays: then a pattern for the content of a folder matches the folder too.
 */
static void clean_path(char *p)
{
	size_t len = strlen(p), out;
	bool is_folder = len && p[len - 1] == '/';

	out = reel_path_clean(p, len);
	if (is_folder && p[out - 1] != '/')
		p[out++] = '/';
	p[out] = '\0';
}

/* Copy the stored name of @fd to @out. Returns its length; 0: there is none. */
static size_t stored_name(int fd, uint32_t entry, char *out)
{
	struct name *k = &names[(uint32_t)fd % NAMES];
	uint32_t seq = __atomic_load_n(&k->seq, __ATOMIC_ACQUIRE);
	size_t len = k->len;

	if (seq & 1 || k->fd != fd || k->entry != entry ||
	    k->renames != __atomic_load_n(&renames, __ATOMIC_RELAXED) ||
	    len >= NAME_BYTES)
		return 0;
	memcpy(out, k->text, len + 1);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&k->seq, __ATOMIC_RELAXED) == seq ? len : 0;
}

static bool store_name(int fd, uint32_t entry, const char *text, size_t len)
{
	struct name *k = &names[(uint32_t)fd % NAMES];
	uint32_t seq = __atomic_load_n(&k->seq, __ATOMIC_RELAXED);

	while (len && text[len - 1] == '/')
		len--; /* a path below it brings its own */
	if (len >= NAME_BYTES || seq & 1 ||
	    !__atomic_compare_exchange_n(&k->seq, &seq, seq + 1, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	k->fd = fd;
	k->entry = entry == SHIM_FD_CODE ? SHIM_FD_DIR : entry;
	k->renames = __atomic_load_n(&renames, __ATOMIC_RELAXED);
	k->len = (uint32_t)len;
	memcpy(k->text, text, len);
	k->text[len] = '\0';
	__atomic_store_n(&k->seq, seq + 2, __ATOMIC_RELEASE);
	if (entry == SHIM_FD_CODE)
		shim_fd_set(fd, SHIM_FD_DIR);
	return true;
}

/* The name from the kernel. A removed directory has its last name with a
 * suffix. */
static size_t kernel_name(int fd, char *out)
{
	static const char lost[] = " (deleted)";
	const size_t tail = sizeof(lost) - 1;
	struct stat st;
	size_t n;

	if (!shim_fd_path(fd, out, REEL_PATH_BYTES) || *out != '/')
		return 0;
	n = strlen(out);
	if (n > tail && !memcmp(out + n - tail, lost, tail) &&
	    raw(SYS_fstat, fd, &st) == 0 && !st.st_nlink)
		out[n -= tail] = '\0';
	return n;
}

static size_t dir_name(int fd, char *out)
{
	uint32_t entry = shim_fd(fd);
	size_t n = stored_name(fd, entry, out);

	names_used = true;
	if (n)
		return n;
	n = kernel_name(fd, out);
	if (n && entry != SHIM_FD_IGNORE)
		store_name(fd, entry, out, n);
	return n;
}

void shim_dir_put(int *at, const char **path, char room[REEL_PATH_BYTES])
{
	const char *full = shim_dir_path(*at, *path, room);

	if (!full)
		return;
	*path = full;
	*at = AT_FDCWD;
}

const char *shim_dir_path(int at, const char *path, char out[REEL_PATH_BYTES])
{
	size_t n = 0, len = strlen(path);

	if (*path != '/') {
		if (at != AT_FDCWD)
			n = dir_name(at, out);
		else if ((n = strlen(shim.cwd)))
			memcpy(out, shim.cwd, n);
		if (!n)
			return NULL;
		out[n++] = '/';
	} else if (reel_path_is_clean(path, len)) {
		return path;
	}
	if (n + len >= REEL_PATH_BYTES)
		return NULL;
	memcpy(out + n, path, len + 1);
	if (!reel_path_is_clean(out, n + len))
		clean_path(out);
	return out;
}

/* False for ".." after a name, which may be a symbolic link that only the
 * kernel can follow. The working directory's name has no link. */
static bool is_plain_path(const char *path)
{
	while (*path == '.' || *path == '/')
		path++;
	return !strstr(path, "..");
}

void shim_dir_opened(int fd, uint32_t entry, const char *path, int64_t flags)
{
	char room[REEL_PATH_BYTES];
	const char *full;

	if (entry < SHIM_DESC_FIRST && entry != SHIM_FD_CODE)
		return;
	if (!(flags & (O_DIRECTORY | O_PATH)) &&
	    (!shim_dir_whole() || (flags & (O_ACCMODE | O_CREAT)) != O_RDONLY))
		return;
	full = is_plain_path(path) ? shim_dir_path(AT_FDCWD, path, room) : NULL;
	/* Even without a name: in counting mode another folder may share the
	 * entry. */
	store_name(fd, entry, full ? full : "", full ? strlen(full) : 0);
}

void shim_dir_dupped(int fd, uint32_t entry, int to)
{
	char name[NAME_BYTES];
	size_t n = stored_name(fd, entry, name);

	if (n)
		store_name(to, shim_fd_entry(to), name, n);
}

void shim_dir_renamed(int at, const char *path)
{
	struct stat st;

	if (names_used &&
	    raw(SYS_newfstatat, at, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode))
		__atomic_fetch_add(&renames, 1, __ATOMIC_RELAXED);
}
