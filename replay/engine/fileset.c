/* SPDX-License-Identifier: MIT */
/*
 * Rebuilds the data of a job that nobody has: sizes and names are real, bytes
 * are not.
 *
 * Every path is opened with RESOLVE_BENEATH from the sandbox's root, so that
 * the kernel itself refuses what would lead outside.
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

#include "replay/engine/external_changes.h"
#include "replay/engine/interrupt.h"
#include "replay/engine/player.h"
#include "replay/engine/sandbox.h"
#include "replay/model/plan.h"

#define CHUNK_BYTES (1 << 20)
#define ENTRY_BYTES 64 /* of a directory, for a short name */

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

static int failed(struct builder *b, const char *what, const char *name)
{
	return reel_fail(b->err, REEL_E_IO, "cannot %s '%s%s': %s", what,
			 b->sb->root, name, strerror(errno));
}

/* @name without its slash in front; "." for the root itself. */
static const char *below(const char *name)
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
		fd = (int)syscall(SYS_openat2, b->root, below(name), &how,
				  sizeof(how));
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
		b->plain_openat = true;
	}
	return openat(b->root, below(name), flags | O_CLOEXEC, 0600);
}

enum made { MADE_DIR, MADE_FIFO, MADE_LINK };

/*
 * Make @name by a call that follows no link at its end, in its directory, which
 * is opened beneath the root: as mkdirat() and its like.
 */
static int make_entry(struct builder *b, const char *name, enum made made,
		      const char *target)
{
	const char *slash = strrchr(below(name), '/');
	const char *last = slash ? slash + 1 : below(name);
	int n = slash ? (int)(slash - below(name)) : 1, dir, rc, why;
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "/%.*s", n, slash ? below(name) : ".");
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

/* Every directory above @name, and @name itself when @last. */
static int make_dirs(struct builder *b, const char *name, bool last)
{
	char path[PATH_MAX];
	size_t n = strlen(below(name));

	if (n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return failed(b, "make", name);
	}
	memcpy(path, below(name), n + 1);
	for (char *p = path;; p++) {
		char keep = *p;

		if (keep != '/' && keep)
			continue;
		if (!keep && !last)
			return 0;
		*p = '\0';
		if (make_entry(b, path, MADE_DIR, NULL) && errno != EEXIST)
			return failed(b, "make", name);
		*p = keep;
		if (!keep)
			return 0;
	}
}

/* Open it; the directories above are made only when they are missing. */
static int open_made(struct builder *b, const char *name, int flags)
{
	int fd = open_below(b, name, flags);

	if (fd < 0 && errno == ENOENT) {
		if (make_dirs(b, name, false))
			return -1;
		fd = open_below(b, name, flags);
	}
	if (fd < 0)
		failed(b, "make", name);
	return fd;
}

/* splitmix64: good enough not to compress, and 8 bytes per nanosecond. */
static void fill(uint8_t *to, size_t bytes, uint64_t seed, bool lines)
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

/* Newlines where the job's reads of lines ended; they are in order. */
static void put_lines(const struct plan *p, const struct plan_file *f,
		      uint8_t *to, int64_t at, size_t bytes)
{
	const int64_t *line = p->line + f->line;
	uint32_t i = plan_line_from(line, f->lines, at);

	for (; i < f->lines && line[i] < at + (int64_t)bytes; i++)
		if (line[i] >= at)
			to[line[i] - at] = '\n';
}

/* What is written at once is one piece in the page cache, and leaves it whole. */
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
 * The first two reads of a page from the cache cost a tenth more than all that
 * follow: Linux marks it as used, then as used often. A job's data was read
 * before. Each reading has its own descriptor, as what one reads again at the
 * same place is not marked again.
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

/* What was read is what was written: the chunk stays as it is. */
static void warm(const struct warmer *w, struct builder *b, int64_t at,
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

/* [@at, @end) of it. */
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
		fill(b->chunk, n, seed + (uint64_t)at, f->lines > 0);
		put_lines(b->plan, f, b->chunk, at, n);
		if (write_all(fd, b->chunk, n, at, piece_of(f)))
			return failed(b, "write", name);
		warm(w, b, at, n);
		b->done_bytes += n;
		reel_progress_at(&b->progress, b->done_bytes);
	}
	return 0;
}

/* All of it, but for its holes. */
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
		return failed(b, "make", plan_name(b->plan, f->name));
	return 0;
}

static int make_file(struct builder *b, const struct plan_file *f,
		     const char *name)
{
	int fd = open_made(b, name, O_WRONLY | O_CREAT);
	struct warmer w;
	int rc;

	if (fd < 0)
		return -1;
	warm_begin(&w, b, f, name);
	rc = fill_file(b, fd, f, &w);
	warm_end(&w);
	if (!rc && (f->denied || f->exec) && fchmod(fd, f->denied ? 0 : 0700))
		rc = failed(b, "chmod", name);
	close(fd);
	return rc;
}

/* The path in the sandbox of what the link @name names beside itself. */
static bool beside(const char *name, const char *target,
		   char out[static PATH_MAX])
{
	const char *slash = strrchr(below(name), '/');
	int dir = slash ? (int)(slash - below(name)) + 1 : 0;

	return snprintf(out, PATH_MAX, "%.*s%s", dir, below(name), target) <
	       PATH_MAX;
}

/*
 * A name of @n bytes for the target of the link @name, beside it: of nothing
 * made so far, or links would lead in a circle, or two of them to one file.
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
		if (!beside(name, target, path))
			return false;
		if (strcmp(path, below(name)) &&
		    faccessat(b->root, path, F_OK, AT_SYMLINK_NOFOLLOW) &&
		    errno == ENOENT)
			return true;
	}
	return false;
}

/* Its own name, in @n bytes where so few will do. */
static void name_itself(const char *name, size_t n,
			char target[static NAME_MAX + 1])
{
	const char *slash = strrchr(below(name), '/');
	const char *last = slash ? slash + 1 : below(name);
	size_t own = strnlen(last, NAME_MAX);
	size_t ahead = n >= own + strlen("./") ? n - own : 0;

	memset(target, '/', ahead);
	if (ahead)
		target[0] = '.';
	memcpy(target + ahead, last, own);
	target[ahead + own] = '\0';
}

/* What is behind a link is there when the next one looks for a name. */
static int hold_target(struct builder *b, const struct plan_file *behind,
		       const char *name, const char *target)
{
	char path[PATH_MAX];
	int fd = -1;

	if (!beside(name, target, path) ||
	    (behind->kind == PLAN_FILE_DIR &&
	     make_entry(b, path, MADE_DIR, NULL)) ||
	    (behind->kind == PLAN_FILE_REGULAR &&
	     (fd = open_below(b, path,
			      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)) < 0))
		return failed(b, "make", name);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Of a link, what is behind it comes next; or nothing is. */
static const struct plan_file *behind_link(const struct plan *p,
					   const struct plan_file *f)
{
	const struct plan_file *next = f + 1;

	return next < p->file + p->head->files && next->name == f->name ? next
									: NULL;
}

/* A link beside its target: a name of as many bytes as the job read. */
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
	memset(target, '~', (size_t)n); /* no name that name_target() gives */
	target[n] = '\0';
	if (f->kind == PLAN_FILE_LOOP)
		name_itself(name, (size_t)n, target);
	else if (behind && !name_target(b, name, (size_t)n, target))
		return failed(b, "link", name);
	if (make_entry(b, name, MADE_LINK, target))
		return errno == EEXIST ? 0 : failed(b, "link", name);
	return behind ? hold_target(b, behind, name, target) : 0;
}

/* The directory behind a link that make_link() made. */
static int make_link_dir(struct builder *b, const char *name)
{
	char path[PATH_MAX], target[NAME_MAX + 1];
	const char *slash = strrchr(below(name), '/');
	ssize_t n = readlinkat(b->root, below(name), target, NAME_MAX);
	int dir = slash ? (int)(slash - below(name)) + 1 : 0;

	if (n <= 0)
		return 0; /* no link */
	target[n] = '\0';
	if (snprintf(path, sizeof(path), "%.*s%s", dir, below(name), target) >=
	    (int)sizeof(path))
		return 0;
	if (make_entry(b, path, MADE_DIR, NULL) && errno != EEXIST)
		return failed(b, "make", name);
	return 0;
}

static int make_fifo(struct builder *b, const char *name)
{
	if (make_dirs(b, name, false))
		return -1;
	return make_entry(b, name, MADE_FIFO, NULL) && errno != EEXIST
		       ? failed(b, "make", name)
		       : 0;
}

static int make_one(struct builder *b, const struct plan_file *f)
{
	const char *name = plan_name(b->plan, f->name);
	char path[PATH_MAX];

	if (!sandbox_path(b->sb, name, path))
		return failed(b, "make", name);
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
 * A directory that the job has listed must have as many entries as it had:
 * what the job never touched is made up.
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
		rc = failed(b, "list", name);
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
			rc = failed(b, "fill", name);
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
	/* Most of what is listed is among the files; the rest is empty. */
	need += entries * ENTRY_BYTES;
	if (entries < h->files)
		entries = h->files;
	need = h->room_bytes < UINT64_MAX - need ? need + h->room_bytes
						 : UINT64_MAX;
	if (fstatvfs(b->root, &fs))
		return failed(b, "look at", "");
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

/* Links first, as others stand behind them; listed directories last. */
static int make_all(struct builder *b)
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

			if ((when == pass && make_one(b, f)) ||
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

/* Clean pages go when they are asked to; some file systems keep theirs. */
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
		failed(&b, "open", "");
		goto out;
	}
	if (check_room(&b))
		goto out;
	reel_progress_start(&b.progress, "rebuilding the files", "B",
			    p->head->file_total_bytes -
				    p->head->hole_total_bytes);
	rc = make_all(&b);
	/* Written back now, not while the clock of the replay runs. */
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
