/* SPDX-License-Identifier: MIT */
/*
 * The table of descriptors, the working directory, and the records of calls on
 * paths: paths of code and system files are counted, not recorded. The table is
 * a cache of the kernel's table, and a fork copies both.
 */
#include <string.h>

#include "schemas/replay_open.h"
#include "schemas/syscall.h"

#include "preload/core/block_io.h"
#include "preload/core/counters.h"
#include "preload/core/encode.h"
#include "preload/core/dir.h"
#include "preload/core/features.h"
#include "preload/core/memory.h"
#include "preload/core/path_filter.h"
#include "preload/core/path_record.h"
#include "preload/core/symbols.h"
#include "preload/core/tmp_rename.h"
#include "preload/core/window.h"
#include "preload/core/wrap.h"

void shim_fd_set(int fd, uint32_t entry)
{
	if ((unsigned int)fd >= SHIM_FDS)
		return;
	shim_fd_enter(fd, entry);
}

uint32_t shim_fd_take(int fd)
{
	uint32_t entry;

	if ((unsigned int)fd >= SHIM_FDS)
		return SHIM_FD_IGNORE;
	/* Not atomic: two threads that close one number at the same time are a
	 * bug of the program. */
	entry = __atomic_load_n(&shim_hot.fd[fd], __ATOMIC_RELAXED);
	if (unlikely(entry == SHIM_FD_PARENTS))
		entry = shim_fd(fd);
	shim_fd_leave(fd);
	return entry;
}

void shim_fd_name(unsigned int first, unsigned int last)
{
	for (unsigned int fd = first; fd <= last && fd <= shim_hot.fd_high;
	     fd++)
		if (shim_fd_entry((int)fd) == SHIM_FD_PARENTS)
			shim_fd((int)fd);
}

#define IDS 64 /* a thread takes so many at a time */

uint32_t shim_desc_new(int fd)
{
	struct shim_thread *t = shim_self();
	uint32_t id = 0, n = t->block ? IDS : 1;

	if (likely(t->block))
		id = shim_next_id(t);
	if (unlikely(id >= t->desc_end || !id)) {
		/* A forked child must store its first_desc first. */
		if (!shim_process_ready())
			return 0;
		id = __atomic_fetch_add(&shim.next_desc, n, __ATOMIC_RELAXED);
		if (n > 1) {
			t->desc_next = id + 1;
			shim_barrier(); /* a handler takes ids of its own */
			t->desc_end = id + n;
		}
	}
	shim_fd_set(fd, id);
	return id;
}

void shim_cwd_changed(void)
{
	long n = raw(SYS_getcwd, shim.cwd, sizeof(shim.cwd));

	if (n > 0)
		return;
	shim.cwd[0] = '\0';
	if (n == -ERANGE || n == -ENAMETOOLONG)
		shim_count(REEL_LOST_LIMIT, 1);
}

/* The length of the directory of @path, with the last "/". */
static size_t dir_bytes(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len;
}

/* Decide by the user's patterns, which match whole paths. */
static __attribute__((noinline)) bool is_excluded(const char *path, size_t len,
						  bool reading)
{
	char room[REEL_PATH_BYTES];
	const char *full = shim_dir_path(AT_FDCWD, path, room);

	if (full && full != path) {
		path = full;
		len = strlen(full);
	}
	if (shim.include && match_globs(shim.include, path, len))
		return false;
	if (shim.exclude && match_globs(shim.exclude, path, len))
		return true;
	return !shim.all && match_path(path, len, dir_bytes(path, len),
				       reading) == MATCH_CODE;
}

/* match_path(), after the trace directory and the user's patterns. */
static enum match classify_path(const char *path, size_t len, size_t dir,
				bool reading)
{
	if (shim_is_own_trace(path, len))
		return MATCH_CODE;
	if (unlikely(shim.globs))
		return is_excluded(path, len, reading) ? MATCH_CODE
						       : MATCH_DATA;
	return shim.all ? MATCH_DATA : match_path(path, len, dir, reading);
}

bool shim_is_code(const char *path, size_t len, bool reading)
{
	return classify_path(path, len, dir_bytes(path, len), reading) ==
	       MATCH_CODE;
}

/* is_filtered() if the thread's previous path does not help. */
static __attribute__((noinline)) bool is_filtered_slow(struct shim_event *ev,
						       bool reading)
{
	size_t len = strlen(ev->path), dir = dir_bytes(ev->path, len);
	enum match match = classify_path(ev->path, len, dir, reading);

	ev->path_len = (uint32_t)len;
	if (match == MATCH_DATA_DIR && !shim.strict && dir <= REEL_PATH_SHARED)
		ev->data_dir = (uint32_t)dir + 1;
	return match == MATCH_CODE;
}

/* Is the path of @ev code, whose calls are only counted? */
static bool is_filtered(struct shim_event *ev, bool reading)
{
	struct shim_thread *t = shim_self();
	struct shim_name name;

	if (unlikely(!shim_name_look(t, ev->path, &name)))
		return is_filtered_slow(ev, reading);
	ev->path_len = (uint32_t)name.len;
	ev->data_dir = name.data_dir;
	return false;
}

static enum reel_kind kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return REEL_KIND_FILE;
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

bool shim_fd_path(int fd, char *out, size_t room)
{
	static const char fds[] = "/proc/self/fd/";
	char link[sizeof(fds) + SHIM_DECIMAL_BYTES];
	long n;

	memcpy(link, fds, sizeof(fds));
	link[sizeof(fds) - 1 +
	     shim_put_decimal(link + sizeof(fds) - 1, (unsigned int)fd)] = '\0';
	n = raw(SYS_readlinkat, AT_FDCWD, link, out, room - 1);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The name of the open file @fd as in /proc/self/fd, into @out. */
static void fd_name(int fd, enum reel_kind kind, const struct stat *st,
		    long flags, char *out, size_t room)
{
	static const char socket[] = "socket:[";
	size_t n = sizeof(socket) - 1;

	if (kind != REEL_KIND_SOCKET || flags < 0 || flags & O_PATH) {
		shim_fd_path(fd, out, room);
		return;
	}
	/* Some jobs open a socket for each batch, and /proc takes 15 us. */
	memcpy(out, socket, n);
	n += shim_put_decimal(out + n, st->st_ino);
	memcpy(out + n, "]", 2);
}

/*
 * The device of /dev/shm, after the first file of a library there; 0: none yet.
 * A DataLoader worker passes an unlinked file for each batch. Any unlinked file
 * on this device is taken for one of them, because to ask /proc for its name
 * takes 20 us.
 */
static uint64_t library_shm_dev;

static bool is_library_shm(const struct stat *st)
{
	return S_ISREG(st->st_mode) && !st->st_nlink &&
	       st->st_dev ==
		       __atomic_load_n(&library_shm_dev, __ATOMIC_RELAXED);
}

/* Remember the device if @path, which counts as code, is a library's memory.
 * The user's patterns may call any file code, so they prove nothing. */
static void remember_library_shm(const struct stat *st, const char *path)
{
	if (!shim.globs && !st->st_nlink && !strncmp(path, "/dev/shm/", 9))
		__atomic_store_n(&library_shm_dev, st->st_dev,
				 __ATOMIC_RELAXED);
}

static uint32_t enter_fd(int fd, uint32_t entry)
{
	shim_fd_set(fd, entry);
	return entry;
}

/* Ask the kernel for an unknown descriptor, announce it by a DESC mark if it is
 * to be recorded, and return its new entry. */
static uint32_t identify_fd(int fd)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = MARK_DESC};
	char path[REEL_PATH_BYTES];
	struct stat st;
	enum reel_kind kind;
	uint64_t start, now;
	long flags;

	if (shim_tls.vforked == SHIM_CLONED && shim_vfork_child())
		return SHIM_FD_IGNORE; /* the table is the parent's */
	if (!shim_hot.on || fd < 0 || raw(SYS_fstat, fd, &st) != 0)
		return SHIM_FD_IGNORE; /* closed: the call will fail by EBADF */
	kind = kind_of(st.st_mode);
	if (kind == REEL_KIND_DEVICE || kind == REEL_KIND_OTHER)
		return enter_fd(fd, SHIM_FD_IGNORE);
	if (is_library_shm(&st))
		return enter_fd(fd, SHIM_FD_CODE);
	flags = raw(SYS_fcntl, fd, F_GETFL);
	fd_name(fd, kind, &st, flags, path, sizeof(path));
	if (kind == REEL_KIND_FILE && !strncmp(path, "/memfd:", 7))
		kind = REEL_KIND_MEMORY;
	if ((kind == REEL_KIND_FILE || kind == REEL_KIND_DIR) &&
	    shim_is_code(path, strlen(path), (flags & O_ACCMODE) == O_RDONLY)) {
		remember_library_shm(&st, path);
		enter_fd(fd, SHIM_FD_CODE);
		if (kind == REEL_KIND_DIR)
			shim_dir_opened(fd, SHIM_FD_CODE, path, O_DIRECTORY);
		return shim_fd_entry(fd);
	}
	ev.newdesc = shim_desc_new(fd);
	if (!ev.newdesc)
		return SHIM_FD_IGNORE;
	if (kind == REEL_KIND_PIPE || kind == REEL_KIND_SOCKET)
		shim_block_io_exclude(ev.newdesc);
	ev.newfd = fd;
	ev.path = path;
	ev.arg = kind;
	ev.arg2 = flags;
	start = shim_clock();
	if (kind == REEL_KIND_FILE) {
		long pos = raw(SYS_lseek, fd, 0, SEEK_CUR);

		if (pos >= 0)
			ev.pos = pos;
	}
	now = shim_clock();
	shim_record_full(&ev, start, now, 0, 0);
	/* In counting mode a file with a known name has an id already. */
	if (shim_is_desc(shim_fd_entry(fd)))
		ev.newdesc = shim_fd_entry(fd);
	if (shim_dir_whole() && kind == REEL_KIND_DIR)
		shim_dir_opened(fd, ev.newdesc, path, O_DIRECTORY);
	return ev.newdesc;
}

COLD uint32_t shim_fd_slow(int fd, uint32_t e)
{
	if (e != SHIM_FD_UNKNOWN && e != SHIM_FD_PARENTS)
		return e;
	return (unsigned int)fd < SHIM_FDS ? identify_fd(fd) : SHIM_FD_IGNORE;
}

/* Is it a name of an open file: /dev/fd/N, /dev/stdin, /proc/self/fd/N? */
static bool is_fd_link(const char *path)
{
	if (!strncmp(path, "/dev/", 5))
		return !strncmp(path + 5, "fd/", 3) ||
		       !strncmp(path + 5, "std", 3);
	return !strncmp(path, "/proc/", 6) && strstr(path, "/fd/");
}

/*
 * The size of a file after an open with O_APPEND, and the times of the query.
 * In functions of their own: a handler's stack may be small.
 */
struct size {
	int64_t bytes;
	uint64_t start, end;
};

COLD static void read_size(int fd, struct size *size)
{
	struct stat st;

	size->start = shim_clock();
	if (raw(SYS_fstat, fd, &st) == 0)
		size->bytes = st.st_size;
	size->end = shim_clock();
}

static _Thread_local struct {
	const char *given[2], *name[2];
} names_as __attribute__((tls_model("initial-exec")));

EXPORT void ioreel_names_as(const char *const given[2],
			    const char *const name[2])
{
	for (int i = 0; i < 2; i++) {
		names_as.given[i] = given ? given[i] : NULL;
		names_as.name[i] = given ? name[i] : NULL;
	}
}

void shim_name_as(struct shim_event *ev)
{
	if (likely(!names_as.given[0]))
		return;
	if (ev->path == names_as.given[0])
		ev->path = names_as.name[0];
	if (ev->path2 && ev->path2 == names_as.given[1])
		ev->path2 = names_as.name[1];
}

COLD static void record_size(const struct size *size, uint32_t desc)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = MARK_SIZE};

	ev.desc = desc;
	ev.pos = size->bytes;
	shim_record_full(&ev, size->start, size->end, 0, 0);
}

/* Keep the name of an opened directory for paths relative to it. */
static void note_dir(const struct shim_event *ev, int fd)
{
	if (fd >= 0 && ev->path && (ev->at == AT_FDCWD || *ev->path == '/'))
		shim_dir_opened(fd, shim_fd_entry(fd), ev->path, ev->arg);
}

/* Record an open: of a data file, of code (counted), or a failure. */
static void record_open(struct shim_event *ev, uint64_t start, uint64_t end,
			int fd)
{
	struct size size = {.bytes = NONE};
	int err = fd < 0 ? errno : 0;
	bool reading = (ev->arg & O_ACCMODE) == O_RDONLY;

	if (unlikely(err) && !shim_readable_path(ev->path, err)) {
		ev->path = NULL;
	} else if (ev->path && is_filtered(ev, reading)) {
		shim_count(REEL_CODE_OPENS, 1);
		shim_fd_set(fd, SHIM_FD_CODE);
		note_dir(ev, fd);
		return;
	}
	if (fd >= 0) {
		ev->newdesc = shim_desc_new(fd);
		ev->newfd = fd;
		if (!ev->newdesc)
			return;
		if ((ev->call == CALL_OPEN || ev->call == CALL_OPENAT) &&
		    ev->arg & O_EXCL && ev->path)
			shim_tmp_made(fd, ev->newdesc, ev->path);
		if (ev->arg & O_APPEND) {
			read_size(fd, &size);
			ev->pos = size.bytes;
		}
	}
	shim_record_full(ev, start, end, fd, err);
	if (size.bytes != NONE && !shim_counting)
		record_size(&size, ev->newdesc);
	if (unlikely(shim_dir_whole()))
		note_dir(ev, fd);
}

/* Record an open by a name of an open file, with the file's own name. A pipe
 * has none: it is identified when it is used. */
COLD static void record_fd_link_open(struct shim_event *ev, uint64_t start,
				     uint64_t end, int fd)
{
	char path[REEL_PATH_BYTES];

	if (shim_fd_path(fd, path, sizeof(path))) {
		if (path[0] != '/') {
			shim_fd_set(fd, SHIM_FD_UNKNOWN);
			return;
		}
		ev->path = path;
		ev->at = AT_FDCWD;
	}
	record_open(ev, start, end, fd);
}

/* Record an open below a directory, with the whole path. */
COLD static void record_open_below(struct shim_event *ev, uint64_t start,
				   uint64_t end, int fd)
{
	char path[REEL_PATH_BYTES];

	shim_dir_put(&ev->at, &ev->path, path);
	record_open(ev, start, end, fd);
}

void shim_opened(struct shim_event *ev, uint64_t start, uint64_t end, int fd)
{
	shim_name_as(ev);
	if (fd >= 0 && ev->path && unlikely(is_fd_link(ev->path)))
		record_fd_link_open(ev, start, end, fd);
	else if (unlikely(ev->at != AT_FDCWD) &&
		 shim_readable_path(ev->path, fd < 0 ? errno : 0) &&
		 shim_dir_below(ev->at, ev->path))
		record_open_below(ev, start, end, fd);
	else
		record_open(ev, start, end, fd);
}

COLD const char *shim_keep_path(const char *path, char kept[SHIM_KEPT])
{
	struct iovec to = {kept, SHIM_KEPT};
	struct iovec from = {(void *)(uintptr_t)path, SHIM_KEPT};
	long n = raw(SYS_process_vm_readv, raw(SYS_getpid), (long)&to, 1,
		     (long)&from, 1, 0);

	return n > 0 && memchr(kept, 0, (size_t)n) ? kept : NULL;
}

/* Is the text readable up to its NUL, and does it fit into a record? */
COLD static bool is_readable_text(const char *s)
{
	const char *end = s + REEL_PATH_BYTES;

	while (s < end) {
		const char *page = (const char *)(((uintptr_t)s | 4095) + 1);

		if (page > end)
			page = end;
		if (!shim_readable(s, 1))
			return false;
		if (memchr(s, 0, (size_t)(page - s)))
			return true;
		s = page;
	}
	return false;
}

bool shim_readable_path(const char *path, int err)
{
	switch (path ? err : 0) {
	case 0:
	case ENOENT: /* the kernel has read the path */
	case ENOTDIR:
	case EISDIR:
	case EEXIST:
	case ELOOP:
	case EACCES:
		return true;
	case ENAMETOOLONG:
		return strnlen(path, REEL_PATH_BYTES) < REEL_PATH_BYTES;
	}
	return is_readable_text(path);
}

/* Two names are both checked, as the kernel may have failed at the first
 * one. */
static bool are_names_readable(const struct shim_event *ev, int err)
{
	const char *second = ev->path2 ? ev->path2 : ev->text;

	if (!second)
		return shim_readable_path(ev->path, err);
	return is_readable_text(second) && ev->path &&
	       is_readable_text(ev->path);
}

static void record_names(struct shim_event *ev, uint64_t start, uint64_t end,
			 int64_t result, int err)
{
	bool both = ev->path && ev->path2 && !err;

	if (unlikely(both) && ev->call >= CALL_RENAME &&
	    ev->call <= CALL_RENAMEAT2)
		shim_dir_renamed(ev->at2, ev->path2);
	if (ev->path && !*ev->path && ev->at != AT_FDCWD) { /* the descriptor */
		if (!shim_is_desc(shim_fd(ev->at))) {
			shim_unrecorded(ev->at, shim_fd(ev->at), ev->call,
					result);
			return;
		}
	} else if (ev->path && is_filtered(ev, true) &&
		   (!ev->path2 ||
		    shim_is_code(ev->path2, strlen(ev->path2), true))) {
		shim_count(REEL_CODE_CALLS, 1);
		return;
	}
	if (unlikely(shim_hot.tmp_files && both)) {
		shim_tmp_renamed(ev->path);
		shim_tmp_renamed(ev->path2); /* RENAME_EXCHANGE */
	}
	shim_record_full(ev, start, end, result, err);
}

/* Record whole names instead of names below directories. */
COLD static void record_below(struct shim_event *ev, uint64_t start,
			      uint64_t end, int64_t result, int err)
{
	char path[REEL_PATH_BYTES], path2[REEL_PATH_BYTES];

	if (shim_dir_below(ev->at, ev->path))
		shim_dir_put(&ev->at, &ev->path, path);
	if (shim_dir_below(ev->at2, ev->path2))
		shim_dir_put(&ev->at2, &ev->path2, path2);
	record_names(ev, start, end, result, err);
}

/* "/ioreel/begin/NAME" or "/ioreel/end/NAME": a span marker and no file. */
static bool is_marker(const char *path)
{
	size_t len = strlen(path);

	return unlikely(len > 8 && !memcmp(path, "/ioreel/", 8)) &&
	       shim_features_marker(path, len);
}

void shim_record_path(struct shim_event *ev, uint64_t start, uint64_t end,
		      int64_t result, int err)
{
	shim_name_as(ev);
	if (unlikely(err) && !are_names_readable(ev, err))
		ev->path = ev->path2 = ev->text =
			NULL; /* it may be unreadable */
	else if (ev->path && is_marker(ev->path))
		return;
	else if (unlikely(shim_dir_below(ev->at, ev->path) ||
			  shim_dir_below(ev->at2, ev->path2))) {
		record_below(ev, start, end, result, err);
		return;
	}
	record_names(ev, start, end, result, err);
}

/* Record that the program used a descriptor that is not open. */
static void record_bad_fd(int fd, uint32_t call)
{
	struct shim_event ev = {SHIM_EVENT_NONE};
	uint64_t now = shim_clock();

	ev.call = call;
	ev.bad_fd = true;
	ev.newfd = fd;
	shim_record_full(&ev, now, now, -1, EBADF);
}

COLD void shim_unrecorded(int fd, uint32_t entry, uint32_t call, int64_t result)
{
	if (unlikely(result == -1 && errno == EBADF && shim_hot.on))
		record_bad_fd(fd, call);
	if (!shim_is_counted(entry))
		return;
	shim_count(REEL_CODE_CALLS, 1);
	if (result > 0 && call >= CALL_READ && call <= CALL_PREADV2)
		shim_count(REEL_CODE_READ_BYTES, (uint64_t)result);
	if (result > 0 && call >= CALL_WRITE && call <= CALL_PWRITEV2)
		shim_count(REEL_CODE_WRITE_BYTES, (uint64_t)result);
}

int64_t shim_iov_bytes(const struct iovec *iov, int n)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += (int64_t)iov[i].iov_len;
	return sum;
}
