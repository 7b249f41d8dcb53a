/* SPDX-License-Identifier: MIT */
/*
 * Rebuilds the files of a job whose data is not available: with the recorded
 * names and sizes, and pseudo-random bytes.
 *
 * Every path is opened with RESOLVE_BENEATH from the sandbox's root, so that
 * the kernel refuses paths that lead out of it.
 */
#include "replay/engine/fileset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/error.h"
#include "lib/progress.h"

#include "replay/engine/calls.h"
#include "replay/engine/interrupt.h"
#include "replay/engine/player.h"
#include "replay/sandbox/sandbox.h"
#include "replay/model/plan.h"

#define CHUNK_BYTES (1 << 20)
#define ENTRY_BYTES 64 /* of disk space for an entry with a short name */

struct builder {
	const struct plan *plan;
	const struct sandbox *sb;
	struct reel_error *err;
	struct reel_progress progress;
	int root;
	bool plain_openat; /* the kernel is older than openat2 */
	enum fileset_cache cache;
	uint64_t done_bytes;
	uint8_t *chunk;
};

static int fail_path(struct builder *b, const char *what, const char *name)
{
	return reel_fail(b->err, REEL_E_IO, "cannot %s '%s%s': %s", what,
			 b->sb->root, name, strerror(errno));
}

/* @name relative to the root; "." for the root itself. */
static const char *below_root(const char *name)
{
	name += name[0] == '/';
	return name[0] ? name : ".";
}

static int open_below(struct builder *b, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? 0600 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd;

	if (!b->plain_openat) {
		fd = (int)syscall(SYS_openat2, b->root, below_root(name), &how,
				  sizeof(how));
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
		b->plain_openat = true;
	}
	return openat(b->root, below_root(name), flags | O_CLOEXEC, 0600);
}

enum made { MADE_DIR, MADE_FIFO, MADE_LINK };

/*
 * Make the entry @name by mkdirat() or the like, which follow no link at the
 * end of the path. Its directory is opened beneath the root.
 */
static int make_entry(struct builder *b, const char *name, enum made made,
		      const char *target)
{
	const char *slash = strrchr(below_root(name), '/');
	const char *last = slash ? slash + 1 : below_root(name);
	int n = slash ? (int)(slash - below_root(name)) : 1, dir, rc, why;
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "/%.*s", n,
		 slash ? below_root(name) : ".");
	dir = open_below(b, above, O_PATH | O_DIRECTORY);
	if (dir < 0)
		return -1;
	rc = made == MADE_DIR	 ? mkdirat(dir, last, 0700)
	     : made == MADE_FIFO ? mkfifoat(dir, last, 0600)
				 : symlinkat(target, dir, last);
	why = errno;
	close(dir);
	errno = why;
	return rc;
}

/* Make the parents of @name, and with @last the directory @name itself. */
static int make_dirs(struct builder *b, const char *name, bool last)
{
	char path[PATH_MAX];
	size_t n = strlen(below_root(name));

	if (n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return fail_path(b, "make", name);
	}
	memcpy(path, below_root(name), n + 1);
	for (char *p = path;; p++) {
		char keep = *p;

		if (keep != '/' && keep)
			continue;
		if (!keep && !last)
			return 0;
		*p = '\0';
		if (make_entry(b, path, MADE_DIR, NULL) && errno != EEXIST)
			return fail_path(b, "make", name);
		*p = keep;
		if (!keep)
			return 0;
	}
}

/* Open @name; its parents are made only when they are missing. */
static int open_with_parents(struct builder *b, const char *name, int flags)
{
	int fd = open_below(b, name, flags);

	if (fd < 0 && errno == ENOENT) {
		if (make_dirs(b, name, false))
			return -1;
		fd = open_below(b, name, flags);
	}
	if (fd < 0)
		fail_path(b, "make", name);
	return fd;
}

/* splitmix64: its output does not compress, and it makes 8 bytes per ns. */
static void fill_chunk(uint8_t *to, size_t bytes, uint64_t seed, bool lines)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15ull);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
		z ^= z >> 31;
		if (lines) /* printable: no newline, no NUL */
			z = (z & 0x1f1f1f1f1f1f1f1full) | 0x4040404040404040ull;
		memcpy(to + i, &z, 8);
	}
}

/* Put newlines at the ends of line reads; the plan has them in order. */
static void put_newlines(const struct plan *p, const struct plan_file *f,
			 uint8_t *to, int64_t at, size_t bytes)
{
	const int64_t *line = p->line + f->line;
	uint32_t i = plan_line_from(line, f->lines, at);

	for (; i < f->lines && line[i] < at + (int64_t)bytes; i++)
		if (line[i] >= at)
			to[line[i] - at] = '\n';
}

/*
 * A single write becomes one folio of the page cache, which is evicted as a
 * whole: pieces are as large as the evictions of the plan need.
 */
static size_t piece_of(const struct plan_file *f)
{
	return f->piece_bytes && f->piece_bytes < CHUNK_BYTES ? f->piece_bytes
							      : CHUNK_BYTES;
}

static int write_all(int fd, const uint8_t *from, size_t bytes, int64_t at,
		     size_t piece)
{
	while (bytes) {
		ssize_t n = pwrite(fd, from, bytes < piece ? bytes : piece, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		from += n;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

/*
 * Reads each file twice. The first two reads of a cached page cost a tenth more
 * than later ones, because Linux marks the page referenced, then active; the
 * job's data had been read before. Each pass has its own descriptor: a repeated
 * read at one offset of a descriptor does not mark the page again.
 */
struct warmer {
	int fd[2];
};

static void warm_begin(struct warmer *w, struct builder *b,
		       const struct plan_file *f, const char *name)
{
	bool cold = fileset_cold(f, b->cache);

	for (int i = 0; i < 2; i++)
		w->fd[i] = cold ? -1 : open_below(b, name, O_RDONLY);
}

/* The reads return the written bytes: the chunk does not change. */
static void warm_chunk(const struct warmer *w, struct builder *b, int64_t at,
		       size_t bytes)
{
	for (int i = 0; i < 2; i++) {
		size_t done = 0;
		ssize_t n = 1;

		while (w->fd[i] >= 0 && done < bytes && n > 0) {
			n = pread(w->fd[i], b->chunk + done, bytes - done,
				  at + (int64_t)done);
			done += n > 0 ? (size_t)n : 0;
		}
	}
}

static void warm_end(const struct warmer *w)
{
	for (int i = 0; i < 2; i++)
		if (w->fd[i] >= 0)
			close(w->fd[i]);
}

int64_t fileset_filled_bytes(const struct plan *p, const struct plan_file *f)
{
	int64_t bytes = f->size_bytes;

	for (uint32_t i = 0; i < f->holes; i++)
		bytes -= p->hole[f->hole + i].bytes;
	return bytes;
}

bool fileset_cold(const struct plan_file *f, enum fileset_cache cache)
{
	return f->kind == PLAN_FILE_REGULAR && f->size_bytes &&
	       (cache == FILESET_COLD ||
		(cache == FILESET_AS_RECORDED && f->cold));
}

/* Fill the bytes [@at, @end) of the file. */
static int fill_part(struct builder *b, int fd, const struct plan_file *f,
		     const struct warmer *w, int64_t at, int64_t end)
{
	const char *name = plan_name(b->plan, f->name);
	uint64_t seed = (uint64_t)f->name * 0x2545f4914f6cdd1dull;

	for (; at < end; at += CHUNK_BYTES) {
		int64_t left = end - at;
		size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;

		if (interrupt_check(b->err))
			return -1;
		fill_chunk(b->chunk, n, seed + (uint64_t)at, f->lines > 0);
		put_newlines(b->plan, f, b->chunk, at, n);
		if (write_all(fd, b->chunk, n, at, piece_of(f)))
			return fail_path(b, "write", name);
		warm_chunk(w, b, at, n);
		b->done_bytes += n;
		reel_progress_at(&b->progress, b->done_bytes);
	}
	return 0;
}

/* Fill the file except for its holes. */
static int fill_file(struct builder *b, int fd, const struct plan_file *f,
		     const struct warmer *w)
{
	const struct plan_hole *hole = b->plan->hole + f->hole;
	int64_t at = 0;

	for (uint32_t i = 0; i < f->holes; i++) {
		if (fill_part(b, fd, f, w, at, hole[i].at))
			return -1;
		at = hole[i].at + hole[i].bytes;
	}
	if (fill_part(b, fd, f, w, at, f->size_bytes))
		return -1;
	if (f->holes && ftruncate(fd, f->size_bytes))
		return fail_path(b, "make", plan_name(b->plan, f->name));
	return 0;
}

static int make_file(struct builder *b, const struct plan_file *f,
		     const char *name)
{
	int fd = open_with_parents(b, name, O_WRONLY | O_CREAT);
	struct warmer w;
	int rc;

	if (fd < 0)
		return -1;
	warm_begin(&w, b, f, name);
	rc = fill_file(b, fd, f, &w);
	warm_end(&w);
	if (!rc && (f->denied || f->exec) && fchmod(fd, f->denied ? 0 : 0700))
		rc = fail_path(b, "chmod", name);
	close(fd);
	return rc;
}

/* The path of @target, a name in the directory of the link @name. */
static bool path_beside(const char *name, const char *target,
			char out[static PATH_MAX])
{
	const char *slash = strrchr(below_root(name), '/');
	int dir = slash ? (int)(slash - below_root(name)) + 1 : 0;

	return snprintf(out, PATH_MAX, "%.*s%s", dir, below_root(name),
			target) < PATH_MAX;
}

/*
 * Find a target of @n bytes for the link @name, in its directory. It must not
 * exist, or links could form a loop, or two of them lead to one file.
 */
static bool name_target(struct builder *b, const char *name, size_t n,
			char target[static NAME_MAX + 1])
{
	char path[PATH_MAX];

	memset(target, 'l', n);
	target[n] = '\0';
	for (unsigned int k = 0; k < 26 * 26 * 26; k++) {
		unsigned int left = k;

		for (size_t i = 1; i <= 3 && i <= n; i++, left /= 26)
			target[n - i] = (char)('a' + (left + 'l' - 'a') % 26);
		if (!path_beside(name, target, path))
			return false;
		if (strcmp(path, below_root(name)) &&
		    faccessat(b->root, path, F_OK, AT_SYMLINK_NOFOLLOW) &&
		    errno == ENOENT)
			return true;
	}
	return false;
}

/* The link's own name as its target, padded to @n bytes if that is longer. */
static void set_loop_target(const char *name, size_t n,
			    char target[static NAME_MAX + 1])
{
	const char *slash = strrchr(below_root(name), '/');
	const char *last = slash ? slash + 1 : below_root(name);
	size_t own = strnlen(last, NAME_MAX);
	size_t ahead = n >= own + strlen("./") ? n - own : 0;

	memset(target, '/', ahead);
	if (ahead)
		target[0] = '.';
	memcpy(target + ahead, last, own);
	target[ahead + own] = '\0';
}

/* Make the target now: a name that exists is not chosen for another link. */
static int make_target(struct builder *b, const struct plan_file *behind,
		       const char *name, const char *target)
{
	char path[PATH_MAX];
	int fd = -1;

	if (!path_beside(name, target, path) ||
	    (behind->kind == PLAN_FILE_DIR &&
	     make_entry(b, path, MADE_DIR, NULL)) ||
	    (behind->kind == PLAN_FILE_REGULAR &&
	     (fd = open_below(b, path,
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)) < 0))
		return fail_path(b, "make", name);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* The file behind the link @f is next in the plan; NULL: there is none. */
static const struct plan_file *behind_link(const struct plan *p,
					   const struct plan_file *f)
{
	const struct plan_file *next = f + 1;

	return next < p->file + p->head->files && next->name == f->name ? next
									: NULL;
}

/* Make a link to a name in its directory, of as many bytes as the job read. */
static int make_link(struct builder *b, const struct plan_file *f,
		     const char *name)
{
	const struct plan_file *behind = behind_link(b->plan, f);
	char target[NAME_MAX + 1];
	int64_t n = f->size_bytes;

	if (n < 1 || n > NAME_MAX)
		n = 8;
	if (make_dirs(b, name, false))
		return -1;
	memset(target, '~', (size_t)n); /* never a name of name_target() */
	target[n] = '\0';
	if (f->kind == PLAN_FILE_LOOP)
		set_loop_target(name, (size_t)n, target);
	else if (behind && !name_target(b, name, (size_t)n, target))
		return fail_path(b, "link", name);
	if (make_entry(b, name, MADE_LINK, target))
		return errno == EEXIST ? 0 : fail_path(b, "link", name);
	return behind ? make_target(b, behind, name, target) : 0;
}

/* Make the directory behind a link of make_link(). */
static int make_link_dir(struct builder *b, const char *name)
{
	char path[PATH_MAX], target[NAME_MAX + 1];
	ssize_t n = readlinkat(b->root, below_root(name), target, NAME_MAX);

	if (n <= 0)
		return 0; /* not a link */
	target[n] = '\0';
	if (!path_beside(name, target, path))
		return 0;
	if (make_entry(b, path, MADE_DIR, NULL) && errno != EEXIST)
		return fail_path(b, "make", name);
	return 0;
}

static int make_fifo(struct builder *b, const char *name)
{
	if (make_dirs(b, name, false))
		return -1;
	return make_entry(b, name, MADE_FIFO, NULL) && errno != EEXIST
		       ? fail_path(b, "make", name)
		       : 0;
}

static int make_plan_file(struct builder *b, const struct plan_file *f)
{
	const char *name = plan_name(b->plan, f->name);
	char path[PATH_MAX];

	if (!sandbox_path(b->sb, name, path))
		return fail_path(b, "make", name);
	if (f->kind == PLAN_FILE_LINK || f->kind == PLAN_FILE_LOOP)
		return make_link(b, f, name);
	if (f->kind == PLAN_FILE_FIFO)
		return make_fifo(b, name);
	if (f->kind == PLAN_FILE_DIR)
		return make_link_dir(b, name) || make_dirs(b, name, true) ? -1
									  : 0;
	return make_file(b, f, name);
}

/*
 * Add entries to a directory that the job listed, up to the recorded number.
 * They stand for entries that the job never used.
 */
static int pad_dir(struct builder *b, const struct plan_file *f)
{
	const char *name = plan_name(b->plan, f->name);
	int fd = open_below(b, name, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	char pad[64];
	int64_t n = 0;
	int rc = 0;

	if (!dir) {
		rc = fail_path(b, "list", name);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (readdir(dir))
		n++;
	for (; n < f->entries && !rc && !interrupt_signal; n++) {
		snprintf(pad, sizeof(pad), STAND_IN "%lld", (long long)n);
		int made =
			openat(fd, pad, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (made < 0)
			rc = fail_path(b, "fill", name);
		else
			close(made);
	}
	closedir(dir);
	return rc;
}

static int check_room(struct builder *b)
{
	const struct plan_head *h = b->plan->head;
	struct statvfs fs;
	uint64_t need = 4096ull * h->files, entries = 0, free_bytes;

	/* plan_open() has checked that the sums do not overflow. */
	for (uint32_t i = 0; i < h->files; i++) {
		const struct plan_file *f = &b->plan->file[i];

		need += (uint64_t)fileset_filled_bytes(b->plan, f);
		if (f->entries > 0)
			entries += (uint64_t)f->entries;
	}
	/* Most listed entries are among the files; the others are empty. */
	need += entries * ENTRY_BYTES;
	if (entries < h->files)
		entries = h->files;
	need = h->room_bytes < UINT64_MAX - need ? need + h->room_bytes
						 : UINT64_MAX;
	if (fstatvfs(b->root, &fs))
		return fail_path(b, "look at", "");
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes < need)
		return reel_fail(b->err, REEL_E_IO,
				 "not enough room in '%s': the files of the "
				 "job need %llu MB, %llu MB are free",
				 b->sb->root,
				 (unsigned long long)need / 1000000,
				 (unsigned long long)free_bytes / 1000000);
	if (fs.f_files && fs.f_favail < entries)
		return reel_fail(b->err, REEL_E_IO,
				 "not enough inodes in '%s': the job has %llu "
				 "files, %llu inodes are free",
				 b->sb->root, (unsigned long long)entries,
				 (unsigned long long)fs.f_favail);
	return 0;
}

/* Links first: files are behind them. Padding of directories last. */
static int make_files(struct builder *b)
{
	const struct plan_head *h = b->plan->head;

	for (int pass = 0; pass < 3; pass++) {
		for (uint32_t i = 0; i < h->files; i++) {
			const struct plan_file *f = &b->plan->file[i];
			int when = f->kind == PLAN_FILE_LINK ||
						   f->kind == PLAN_FILE_LOOP
					   ? 0
				   : f->kind == PLAN_FILE_DIR ? 1
							      : 2;

			if ((when == pass && make_plan_file(b, f)) ||
			    interrupt_check(b->err))
				return -1;
		}
	}
	for (uint32_t i = 0; i < h->files; i++)
		if (b->plan->file[i].kind == PLAN_FILE_DIR &&
		    b->plan->file[i].entries > 0 &&
		    pad_dir(b, &b->plan->file[i]))
			return -1;
	return 0;
}

/* Clean pages leave the page cache on request; some file systems keep them. */
static void drop_pages(struct builder *b)
{
	for (uint32_t i = 0; i < b->plan->head->files; i++) {
		const struct plan_file *f = &b->plan->file[i];
		int fd;

		if (!fileset_cold(f, b->cache))
			continue;
		fd = open_below(b, plan_name(b->plan, f->name), O_RDONLY);
		if (fd < 0)
			continue;
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
}

int fileset_build(const struct plan *p, const struct sandbox *sb,
		  enum fileset_cache cache, struct reel_error *err)
{
	struct builder b = {
		.plan = p, .sb = sb, .cache = cache, .err = err, .root = -1};
	int rc = -1;

	b.chunk = reel_alloc(1, CHUNK_BYTES + 8, err);
	if (!b.chunk)
		goto out;
	b.root = open(sb->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b.root < 0) {
		fail_path(&b, "open", "");
		goto out;
	}
	if (check_room(&b))
		goto out;
	reel_progress_start(&b.progress, "rebuilding the files", "B",
			    p->head->file_total_bytes -
				    p->head->hole_total_bytes);
	rc = make_files(&b);
	/* Write back now, not during the replay. */
	if (!rc)
		syncfs(b.root);
	if (!rc)
		drop_pages(&b);
	reel_progress_stop(&b.progress);
out:
	if (b.root >= 0)
		close(b.root);
	free(b.chunk);
	return rc;
}
