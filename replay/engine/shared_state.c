/* SPDX-License-Identifier: MIT */
/* Makes and maps the file that the processes of a replay share. */
#include "replay/engine/shared_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/error.h"

#include "replay/model/plan.h"

static uint64_t bytes_for(const struct plan_head *h)
{
	return 4096 + (uint64_t)h->streams * sizeof(struct result_stream) +
	       4 * ((uint64_t)h->processes + h->pipes);
}

_Static_assert(sizeof(struct result_head) <= 4096, "a page");

int result_make(const char *path, const struct plan *p, struct reel_error *err)
{
	struct result_head head = {.magic = RESULT_MAGIC,
				   .bytes = bytes_for(p->head),
				   .streams = p->head->streams,
				   .processes = p->head->processes,
				   .pipes = p->head->pipes};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = 0;

	if (fd < 0 || posix_fallocate(fd, 0, (off_t)head.bytes) ||
	    pwrite(fd, &head, sizeof(head), 0) != sizeof(head))
		rc = reel_fail_io(err, "make", path, errno);
	if (fd >= 0)
		close(fd);
	return rc;
}

int result_open(struct result *res, const char *path, const struct plan *p,
		struct reel_error *err)
{
	uint64_t bytes = bytes_for(p->head);
	struct stat st;
	long fd = raw(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0), map;

	if (fd < 0)
		return reel_fail_io(err, "open", path, (int)-fd);
	if (raw(SYS_fstat, fd, &st) || (uint64_t)st.st_size != bytes) {
		raw(SYS_close, fd);
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' belongs to another plan", path);
	}
	map = raw(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  0);
	raw(SYS_close, fd);
	if (map < 0 && map > -4096)
		return reel_fail_io(err, "map", path, (int)-map);
	res->head = (struct result_head *)map;
	res->stream = (struct result_stream *)(map + 4096);
	res->pid = (uint32_t *)(res->stream + p->head->streams);
	res->lock = res->pid + p->head->processes;
	if (res->head->magic != RESULT_MAGIC || res->head->bytes != bytes) {
		result_close(res);
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' belongs to another plan", path);
	}
	return 0;
}

void result_close(struct result *res)
{
	if (res->head)
		raw(SYS_munmap, res->head, res->head->bytes);
	memset(res, 0, sizeof(*res));
}

void result_sum(const struct result *res, struct result_total *out)
{
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < res->head->streams; i++) {
		const struct result_stream *s = &res->stream[i];

		out->same += s->same;
		out->differ += s->differ;
		out->late += s->late;
		out->skipped += s->skipped;
		out->waited_ns += s->waited_ns;
		out->job_waited_ns += s->job_waited_ns;
		if (s->late_most_ns > out->late_most_ns)
			out->late_most_ns = s->late_most_ns;
		out->unfinished += s->state != STREAM_DONE;
	}
}
