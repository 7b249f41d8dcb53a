/* SPDX-License-Identifier: MIT */
/*
 * Merge the windows that ended processes left behind into their logs.
 *
 * A window is untrusted input like any other file: it may be damaged or forged.
 * A window that fails to merge stays; the trace reader reads windows too, so no
 * event is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/trace/reader.h"

#include "record/internal.h"

#define SUFFIX ".win"
#define SLOTS_MOST (1u << 20)

/* A process image that has a window in this directory. */
struct image {
	uint32_t pid;
	uint64_t start_boot_ns;
};

/* This machine as windows identify it, and the images in the directory. */
struct here {
	char host[65];
	char boot_id[40];
	struct image *image;
	uint32_t images, room;
	struct record_alive alive;
	uint32_t *living; /* living processes that have a window here */
	uint32_t livings, living_room;
	bool running; /* the job runs: an empty window is a new one */
};

static void here_init(struct here *h)
{
	struct utsname u = {0};

	memset(h, 0, sizeof(*h));
	uname(&u);
	snprintf(h->host, sizeof(h->host), "%.64s", u.nodename);
	record_boot_id(h->boot_id);
}

/* The value of @key in the head's text, or NULL. */
static const char *head_text(const struct record_window *w, const char *key)
{
	size_t n = strlen(key), at = sizeof(struct reel_head);

	while (at < w->head.head_bytes) {
		const char *s = w->page + at;
		size_t len = strnlen(s, w->head.head_bytes - at);

		if (at + len >= w->head.head_bytes)
			return NULL; /* no NUL at its end */
		if (len > n && !memcmp(s, key, n) && s[n] == '=')
			return s + n + 1;
		at += len + 1;
	}
	return NULL;
}

/* True if the process called exec since: the image ended, the pid lives on. */
static bool was_replaced(const struct reel_head *head, const struct here *h)
{
	size_t i;

	for (i = 0; i < h->images; i++)
		if (h->image[i].pid == head->pid &&
		    h->image[i].start_boot_ns > head->start_boot_ns)
			return true;
	return false;
}

static enum record_owner owner_of(const struct record_window *w, struct here *h)
{
	const char *host = head_text(w, "host");
	enum record_owner owner;

	if (strncmp(w->head.boot_id, h->boot_id, sizeof(h->boot_id))) {
		/* Another machine: it may live. This one: another boot. */
		return host && strcmp(host, h->host) ? RECORD_ELSEWHERE
						     : RECORD_ENDED;
	}
	owner = record_alive(&h->alive, w->head.pid, w->head.start_boot_ns);
	if (owner == RECORD_ALIVE && was_replaced(&w->head, h))
		return RECORD_ENDED;
	return owner;
}

/*
 * The same for a window without a head: its process has just started, or was
 * killed at that moment. The name of the window contains the process id.
 */
static enum record_owner empty_owner(struct record_window *w,
				     const struct stat *st, struct here *h)
{
	w->head.pid = (uint32_t)strtoul(strrchr(w->path, '/') + 1, NULL, 10);
	if (h->running)
		return RECORD_ELSEWHERE;
	return record_alive(&h->alive, w->head.pid, record_file_boot_ns(st));
}

static int add_living(struct here *h, uint32_t pid, struct reel_error *err)
{
	size_t i;

	for (i = 0; i < h->livings; i++)
		if (h->living[i] == pid)
			return 0;
	if (reel_array_reach(&h->living, &h->living_room, h->livings,
			     sizeof(*h->living), err))
		return -1;
	h->living[h->livings++] = pid;
	return 0;
}

/* 0; 1: the head is not written yet; -1: not a window. */
static int read_head(struct record_window *w)
{
	struct reel_head *h = &w->head;
	ssize_t n = pread(w->fd, w->page, sizeof(w->page), 0);

	if (n < 0)
		return -1;
	if (n < (ssize_t)sizeof(*h))
		return n == 0 ? 1 : -1;
	memset(w->page + n, 0, sizeof(w->page) - (size_t)n);
	memcpy(h, w->page, sizeof(*h));
	if (!h->magic || !h->head_bytes) { /* head_bytes is stored last */
		h->magic = 0;
		return 1;
	}
	if (h->magic != REEL_HEAD_MAGIC || h->major != REEL_TRACE_MAJOR ||
	    h->head_bytes < sizeof(*h) ||
	    h->head_bytes > REEL_WINDOW_HEAD_BYTES || h->head_bytes % 8)
		return -1;
	return 0;
}

/* Count the bytes of whole records in a slot whose block is incomplete. */
static int slot_bytes(const struct record_window *w, int64_t at, int64_t there,
		      uint32_t *used, struct reel_error *err)
{
	const size_t most = REEL_SLOT_BYTES - sizeof(struct reel_block_head);
	uint8_t *bytes = reel_alloc(1, most + 256, err);
	ssize_t n;

	if (!bytes)
		return -1;
	n = pread(w->fd, bytes, there > (int64_t)most ? most : (size_t)there,
		  at + (int64_t)sizeof(struct reel_block_head));
	*used = n > 0 ? reel_records_bytes(bytes, (uint32_t)n) : 0;
	free(bytes);
	return 0;
}

/* Read the incomplete blocks of @w, a file of @bytes. */
static int read_slots(struct record_window *w, int64_t bytes,
		      struct reel_error *err)
{
	uint32_t i, room = 0;

	for (i = 0; i < SLOTS_MOST; i++) {
		int64_t at =
			REEL_WINDOW_HEAD_BYTES + (int64_t)i * REEL_SLOT_BYTES;
		struct reel_block_head b;
		int64_t there = bytes - at - (int64_t)sizeof(b);

		if (there < 0)
			break;
		if (pread(w->fd, &b, sizeof(b), at) != (ssize_t)sizeof(b))
			return reel_fail_io(err, "read", w->path, errno);
		if (b.magic != REEL_BLOCK_MAGIC || !b.tid ||
		    b.used > REEL_SLOT_BYTES - sizeof(b))
			continue;
		if (!b.used && slot_bytes(w, at, there, &b.used, err))
			return -1;
		if (!b.used && !b.lost)
			continue;
		if (b.used > there)
			b.used = (uint32_t)there;
		if (reel_array_reach(&w->block, &room, w->blocks,
				     sizeof(*w->block), err))
			return -1;
		w->block[w->blocks++] =
			(struct record_block){.head = b, .at = at};
	}
	return 0;
}

/*
 * Open the window @path and lock it. 0; 1: there is nothing to do; -1 with @err
 * filled.
 */
static int open_window(struct record_window *w, const char *path,
		       struct stat *st, struct reel_error *err)
{
	*w = (struct record_window){.path = path};
	w->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (w->fd < 0) {
		if (errno == ENOENT) /* its process removed it meanwhile */
			return 1;
		return reel_fail_io(err, "open", path, errno);
	}
	if (fstat(w->fd, st) || !S_ISREG(st->st_mode))
		return reel_fail(err, REEL_E_FORMAT, "'%s' is no window", path);
	if (flock(w->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return 1; /* the recorder of another rank merges it */
	if (fstat(w->fd, st) || !st->st_nlink)
		return 1; /* and has merged it */
	return 0;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

static int remove_empty(const char *log, struct reel_error *err)
{
	struct stat st;

	if (lstat(log, &st) || !S_ISREG(st.st_mode) || st.st_size)
		return 0;
	if (unlink(log) && errno != ENOENT)
		return reel_fail_io(err, "remove", log, errno);
	return 0;
}

/* The process of @w has ended: merge the window into @log and remove it. */
static int merge_window(const char *dir, struct record_window *w,
			const struct stat *st, const char *log,
			struct reel_error *err)
{
	uint64_t before = file_bytes(log);
	int rc = 0;

	/* Without a head, the process was killed before its first record. */
	if (w->head.magic ? read_slots(w, st->st_size, err) ||
				    record_log_complete(w, log, err)
			  : remove_empty(log, err))
		rc = -1;
	else if (unlink(w->path) && errno != ENOENT)
		rc = reel_fail_io(err, "remove", w->path, errno);
	if (!rc)
		record_counts_merged(
			dir,
			(uint64_t)st->st_blocks * 512 + REEL_WINDOW_HEAD_BYTES,
			file_bytes(log) - before + w->head.head_bytes);
	free(w->block);
	return rc;
}

/* Merge the window @path into the log @log if its process has ended. */
static int collect_one(const char *dir, const char *path, const char *log,
		       struct here *h, struct record_collected *c,
		       struct reel_error *err)
{
	struct record_window w;
	enum record_owner owner;
	struct stat st = {0};
	int empty, rc = open_window(&w, path, &st, err);

	if (rc)
		goto out;
	empty = read_head(&w);
	if (empty < 0) {
		rc = reel_fail(err, REEL_E_FORMAT, "'%s' is no window", path);
		goto out;
	}
	owner = empty ? empty_owner(&w, &st, h) : owner_of(&w, h);
	if (owner == RECORD_ALIVE)
		rc = add_living(h, w.head.pid, err);
	if (owner == RECORD_ENDED) {
		rc = merge_window(dir, &w, &st, log, err);
		c->merged += !rc;
	}
out:
	if (w.fd >= 0)
		close(w.fd);
	return rc < 0 ? -1 : 0;
}

/* Add the image of the window @path to the list. */
static int add_image(struct here *h, const char *path, struct reel_error *err)
{
	struct reel_head head;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	if (n != (ssize_t)sizeof(head) || head.magic != REEL_HEAD_MAGIC)
		return 0;
	if (reel_array_reach(&h->image, &h->room, h->images, sizeof(*h->image),
			     err))
		return -1;
	h->image[h->images++] = (struct image){head.pid, head.start_boot_ns};
	return 0;
}

/* Make "DIR/windows/STEM.win" and "DIR/STEM.log" from the entry @name. */
static bool log_paths(const char *dir, const char *name,
		      char window[static PATH_MAX], char log[static PATH_MAX])
{
	size_t n = strlen(name), k = strlen(SUFFIX);

	return n > k && !strcmp(name + n - k, SUFFIX) &&
	       snprintf(window, PATH_MAX, "%s/windows/%s", dir, name) <
		       PATH_MAX &&
	       snprintf(log, PATH_MAX, "%s/%.*s.log", dir, (int)(n - k), name) <
		       PATH_MAX;
}

static int collect_in(const char *dir, bool running, struct record_collected *c,
		      struct reel_error *err)
{
	char windows[PATH_MAX], path[PATH_MAX], log[PATH_MAX];
	struct here h;
	struct dirent *e;
	DIR *d;

	memset(c, 0, sizeof(*c));
	if (snprintf(windows, sizeof(windows), "%s/windows", dir) >= PATH_MAX)
		return reel_fail_io(err, "open", dir, ENAMETOOLONG);
	d = opendir(windows);
	if (!d) {
		if (errno == ENOENT)
			return 0; /* collected before */
		return reel_fail_io(err, "open", windows, errno);
	}
	here_init(&h);
	h.running = running;
	while ((e = readdir(d)))
		if (log_paths(dir, e->d_name, path, log) &&
		    add_image(&h, path, err))
			c->left++;
	rewinddir(d);
	while ((e = readdir(d)))
		if (log_paths(dir, e->d_name, path, log) &&
		    collect_one(dir, path, log, &h, c, err))
			c->left++;
	closedir(d);
	if (!running)
		c->running = record_alive_count(dir, h.living, h.livings);
	record_alive_fini(&h.alive);
	free(h.living);
	free(h.image);
	return c->left ? -1 : 0;
}

int record_collect(const char *dir, struct record_collected *c,
		   struct reel_error *err)
{
	bool others = record_group_open(dir);
	int rc = collect_in(dir, others, c, err);

	if (!others)
		record_dir_close(dir);
	return rc;
}

int record_collect_now(const char *dir, struct record_collected *c,
		       struct reel_error *err)
{
	return collect_in(dir, true, c, err);
}
