/* SPDX-License-Identifier: MIT */
/*
 * Pack the logs of ended processes into one file. Each of thousands of small
 * files would cost a disk block and an inode.
 *
 * A kill at any moment loses nothing: a log is removed after it was copied, and
 * the reader skips a copy whose log still exists.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

#define LOGS_LEFT_ALONE 256 /* so many are not packed: easier to inspect */
#define LOG_BYTES_MAX (256 << 10)
#define BATCH_BYTES (4 << 20)

struct pack {
	const char *dir;
	bool ended; /* the job has ended: a log without a window is complete */
	char boot_id[40];
	int fd; /* of the packed file; -1: not yet opened */
	struct reel_buf batch;
	uint64_t text_uid; /* process of the last text in the batch */
	size_t text_at, text_bytes;
	char **name; /* of the logs in the batch */
	uint32_t names, room;
	int packed;
};

/* True for the log of one process, "PID.log" or "PID.n.log". */
static bool is_process_log(const char *name, size_t *stem)
{
	size_t n = strlen(name);

	if (n < 5 || strcmp(name + n - 4, ".log") || *name < '0' || *name > '9')
		return false;
	*stem = n - 4;
	return true;
}

/*
 * Open PACK-BOOT.log of this machine; each machine of a job has its own. The
 * holder of the lock appends.
 */
static int open_pack(struct pack *p, struct reel_error *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/PACK-%.8s.log", p->dir,
		     p->boot_id) >= PATH_MAX)
		return reel_fail_io(err, "create", path, ENAMETOOLONG);
	p->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		     0600);
	if (p->fd < 0)
		return reel_fail_io(err, "create", path, errno);
	flock(p->fd, LOCK_EX);
	return 0;
}

/* Pad the file to 8 bytes, as a full disk or a kill may have cut it. */
static int align_end(struct pack *p, struct reel_error *err)
{
	struct stat st;
	size_t odd;

	if (fstat(p->fd, &st))
		return 0;
	odd = (size_t)st.st_size % 8;
	if (odd &&
	    write(p->fd, "\0\0\0\0\0\0\0", 8 - odd) != (ssize_t)(8 - odd))
		return reel_fail_io(err, "write to", p->dir, errno);
	return 0;
}

/* Write the batch to disk and remove its logs. */
static int flush_batch(struct pack *p, struct reel_error *err)
{
	off_t before;
	ssize_t n = 0;
	size_t i;
	int rc = 0;

	if (p->names && ((p->fd < 0 && open_pack(p, err)) || align_end(p, err)))
		rc = -1;
	before = p->fd < 0 ? 0 : lseek(p->fd, 0, SEEK_END);
	for (size_t at = 0; !rc && at < p->batch.len; at += (size_t)n) {
		n = write(p->fd, p->batch.data + at, p->batch.len - at);
		if (n <= 0) {
			rc = reel_fail_io(err, "write to", p->dir, errno);
			n = 0;
			if (ftruncate(p->fd, before))
				break;
		}
	}
	for (i = 0; i < p->names; i++) {
		if (!rc)
			unlink(p->name[i]);
		free(p->name[i]);
	}
	if (!rc)
		p->packed += (int)p->names;
	p->names = 0;
	p->text_uid = 0;
	reel_buf_reset(&p->batch);
	return rc;
}

/* True if @h is the head of a log that no process writes to any more. */
static bool is_final(const struct pack *p, const struct reel_head *h)
{
	return h->magic == REEL_HEAD_MAGIC && h->major == REEL_TRACE_MAJOR &&
	       !h->log_bytes && h->head_bytes >= sizeof(*h) &&
	       !strncmp(h->boot_id, p->boot_id, sizeof(p->boot_id)) &&
	       (p->ended || h->end != REEL_END_UNKNOWN);
}

static int add_log(struct pack *p, const char *path, const char *bytes,
		   size_t n, struct reel_error *err)
{
	struct reel_head h;
	size_t padded = (n + 7) & ~(size_t)7, text;

	memcpy(&h, bytes, sizeof(h));
	if (h.head_bytes > n)
		return 0;
	text = h.head_bytes - sizeof(h);
	/* Thousands of processes mostly run one program: share their text. */
	if (p->text_uid && text == p->text_bytes &&
	    !memcmp(bytes + sizeof(h), p->batch.data + p->text_at, text)) {
		h.text_uid = p->text_uid;
		h.text_bytes = 0;
		h.head_bytes = sizeof(h);
		padded -= text;
	} else {
		p->text_uid = h.uid;
		p->text_at = p->batch.len + sizeof(h);
		p->text_bytes = text;
		text = 0;
	}
	h.log_bytes = padded;
	if (reel_array_reach(&p->name, &p->room, p->names, sizeof(*p->name),
			     err))
		return -1;
	p->name[p->names] = reel_strdup(path, err);
	if (!p->name[p->names] || reel_buf_add(&p->batch, &h, sizeof(h), err) ||
	    reel_buf_add(&p->batch, bytes + sizeof(h) + text,
			 n - sizeof(h) - text, err) ||
	    reel_buf_add(&p->batch, "\0\0\0\0\0\0\0", -n & 7, err))
		return -1;
	p->names++;
	return p->batch.len >= BATCH_BYTES ? flush_batch(p, err) : 0;
}

static int pack_log(struct pack *p, const char *name, size_t stem,
		    struct reel_error *err)
{
	char path[PATH_MAX], window[PATH_MAX];
	struct reel_head h;
	struct stat st;
	char *bytes = NULL;
	int fd, rc = 0;

	if (snprintf(window, sizeof(window), "%s/windows/%.*s.win", p->dir,
		     (int)stem, name) >= PATH_MAX ||
	    snprintf(path, sizeof(path), "%s/%s", p->dir, name) >= PATH_MAX ||
	    !access(window, F_OK))
		return 0;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if ((flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) ||
	    fstat(fd, &st) || !st.st_nlink || !S_ISREG(st.st_mode) ||
	    st.st_size > LOG_BYTES_MAX ||
	    pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) ||
	    !is_final(p, &h))
		goto out;
	bytes = reel_alloc(1, (size_t)st.st_size, err);
	if (!bytes)
		rc = -1;
	else if (pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size)
		rc = add_log(p, path, bytes, (size_t)st.st_size, err);
out:
	free(bytes);
	close(fd);
	return rc;
}

int record_pack(const char *dir, bool ended, struct reel_error *err)
{
	struct pack p = {.dir = dir, .ended = ended, .fd = -1};
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t stem, logs = 0;
	bool packed = false;
	int rc = 0;

	record_boot_id(p.boot_id);
	while (d && (e = readdir(d))) {
		logs += is_process_log(e->d_name, &stem);
		packed |= !strncmp(e->d_name, "PACK-", 5);
	}
	if (d && logs > (ended && packed ? 0 : LOGS_LEFT_ALONE)) {
		rewinddir(d);
		while (!rc && (e = readdir(d)))
			if (is_process_log(e->d_name, &stem))
				rc = pack_log(&p, e->d_name, stem, err);
		if (flush_batch(&p, err))
			rc = -1;
	}
	if (d)
		closedir(d);
	if (p.fd >= 0 && close(p.fd) && !rc)
		rc = reel_fail_io(err, "write to", dir, errno);
	reel_buf_fini(&p.batch);
	free(p.name);
	return rc ? -1 : p.packed;
}
