/* SPDX-License-Identifier: MIT */
/*
 * Darshan's logs: the header, the job, the names, and records of counters.
 *
 * A region is one or more compressed streams back to back, one for each rank that
 * wrote it. Numbers have the byte order of the machine that ran the job.
 */
#include "analyzer/import/darshan/darshan_log.h"

#include <errno.h>
#include <bzlib.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/darshan/darshan_region.h"

#define MAGIC 6567223
#define OLD_MODULES 16
#define NAMES_MOST (1u << 30)
#define JOB_MOST 65536

struct span {
	uint64_t offset, bytes;
};

struct darshan_log {
	struct darshan_file file;
	struct darshan_job job;
	struct span names, module[DARSHAN_MODULES_MOST];
	uint32_t version[DARSHAN_MODULES_MOST];
	uint64_t partial;
	size_t header_bytes;
	struct reel_buf job_text, name_text;
	struct reel_intmap ids; /* id of a record to an index of path */
	size_t *path;		/* offsets in name_text */
	uint32_t paths;
};

static uint32_t number32(const struct darshan_file *f, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return f->swapped ? __builtin_bswap32(v) : v;
}

uint64_t darshan_number(const struct darshan_file *f, const void *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return f->swapped ? __builtin_bswap64(v) : v;
}

double darshan_real(const struct darshan_file *f, const void *p)
{
	uint64_t v = darshan_number(f, p);
	double d;

	memcpy(&d, &v, 8);
	return d;
}

bool darshan_log_detect(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t magic;

	if (n < 16 || p[0] != '3' || p[1] != '.')
		return false;
	memcpy(&magic, p + 8, 8);
	return magic == MAGIC || __builtin_bswap64(magic) == MAGIC;
}

static int bad(const struct darshan_log *log, uint64_t offset, const char *why,
	       struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s", log->file.path,
			 (unsigned long long)offset, why);
}

static int read_span(const struct darshan_log *log, size_t at,
		     struct span *span, struct reel_error *err)
{
	const uint8_t *p = log->file.data + at;

	span->offset = darshan_number(&log->file, p);
	span->bytes = darshan_number(&log->file, p + 8);
	if (span->offset > log->file.bytes ||
	    span->bytes > log->file.bytes - span->offset)
		return bad(log, at, "a region ends past the end of the file",
			   err);
	return 0;
}

/* Logs before 3.20 had no H5D, those before 3.41 no PNETCDF_VAR: modules behind
 * it had a number less. */
static unsigned int module_of(unsigned int number, double version)
{
	if (number >= DARSHAN_H5D && version < 3.195)
		number++;
	if (number >= DARSHAN_PNETCDF_VAR && version < 3.405)
		number++;
	return number;
}

static int read_header(struct darshan_log *log, struct reel_error *err)
{
	const uint8_t *p = log->file.data;
	double version;
	unsigned int modules;
	size_t at;

	if (log->file.bytes < 16 || !darshan_log_detect(p, log->file.bytes))
		return bad(log, 0, "not the header of a Darshan log", err);
	log->file.swapped = darshan_number(&log->file, p + 8) != MAGIC;
	memcpy(log->job.version, p, 8);
	version = strtod(log->job.version, NULL);
	if (version < 2.995 || version > 3.415)
		return reel_fail(err, REEL_E_VERSION,
				 "'%s' has Darshan's log format %s; formats "
				 "3.00 to 3.41 can be read",
				 log->file.path, log->job.version);
	log->job.whole_seconds = version < 3.405;
	modules = log->job.whole_seconds ? OLD_MODULES : DARSHAN_MODULES_MOST;
	at = log->job.whole_seconds ? 24 : 32;
	log->header_bytes = at + 16 * (1 + modules) + 4 * modules;
	if (log->file.bytes < log->header_bytes)
		return bad(log, log->file.bytes, "the header is cut off", err);
	log->file.method = p[16];
	if (log->file.method > DARSHAN_NONE)
		return bad(log, 16, "an unknown compression", err);
	log->partial = log->job.whole_seconds
			       ? number32(&log->file, p + 20)
			       : darshan_number(&log->file, p + 24);
	if (read_span(log, at, &log->names, err))
		return -1;
	for (unsigned int i = 0; i < modules; i++) {
		unsigned int to = module_of(i, version);

		if (to >= DARSHAN_MODULES_MOST)
			break;
		if (read_span(log, at + 16 * (1 + i), &log->module[to], err))
			return -1;
		log->version[to] = number32(
			&log->file, p + at + 16 * (1 + modules) + 4 * i);
	}
	if (log->job.whole_seconds) { /* the flags have the old numbers */
		uint64_t old = log->partial;

		log->partial = 0;
		for (unsigned int i = 0; i < modules; i++)
			if (old >> i & 1)
				log->partial |= 1ull << module_of(i, version);
	}
	return 0;
}

/* All of the region at @span, at most @most bytes, into @out. */
static int read_whole(struct darshan_log *log, const struct span *span,
		      size_t most, struct reel_buf *out, struct reel_error *err)
{
	struct darshan_region *r;
	uint8_t piece[16384];
	int64_t n = -1;

	if (darshan_region_open(&r, &log->file, span->offset, span->bytes, err))
		return -1;
	while (out->len <= most &&
	       (n = darshan_region_read(r, piece, sizeof(piece), err)) > 0)
		if (reel_buf_add(out, piece, (size_t)n, err)) {
			n = -1;
			break;
		}
	darshan_region_close(r);
	if (n > 0)
		return bad(log, span->offset, "a region is too large", err);
	return n < 0 ? -1 : 0;
}

static int read_job(struct darshan_log *log, struct reel_error *err)
{
	struct span span = {log->header_bytes, 0};
	struct darshan_job *j = &log->job;
	size_t fixed = j->whole_seconds ? 40 : 56, n;
	const uint8_t *p;
	char *end;

	/* The job lies in front of the first region. */
	span.bytes = log->file.bytes - span.offset;
	if (log->names.bytes && log->names.offset >= span.offset)
		span.bytes = log->names.offset - span.offset;
	for (unsigned int i = 0; i < DARSHAN_MODULES_MOST && !log->names.bytes;
	     i++)
		if (log->module[i].bytes &&
		    log->module[i].offset >= span.offset &&
		    log->module[i].offset - span.offset < span.bytes)
			span.bytes = log->module[i].offset - span.offset;
	if (read_whole(log, &span, JOB_MOST, &log->job_text, err))
		return -1;
	if (log->job_text.len < fixed + 1024)
		return bad(log, span.offset, "the job is cut off", err);
	p = (const uint8_t *)log->job_text.data;
	n = 0;
	j->uid = (int64_t)darshan_number(&log->file, p);
	j->start_ns = (int64_t)darshan_number(&log->file, p + (n += 8));
	if (j->start_ns < 0 || j->start_ns > INT64_MAX / 2000000000)
		return bad(log, span.offset, "the time of its start", err);
	j->start_ns *= 1000000000;
	if (!j->whole_seconds)
		j->start_ns +=
			(int64_t)darshan_number(&log->file, p + (n += 8)) %
			1000000000;
	j->end_ns = (int64_t)darshan_number(&log->file, p + (n += 8));
	if (j->end_ns < 0 || j->end_ns > INT64_MAX / 2000000000)
		return bad(log, span.offset, "the time of its end", err);
	/* A whole second ends where the next one begins. */
	j->end_ns = (j->end_ns + j->whole_seconds) * 1000000000;
	if (!j->whole_seconds)
		j->end_ns += (int64_t)darshan_number(&log->file, p + (n += 8)) %
			     1000000000;
	j->nprocs = (int64_t)darshan_number(&log->file, p + (n += 8));
	j->job_id = (int64_t)darshan_number(&log->file, p + n + 8);
	log->job_text.data[fixed + 1023] = '\0';
	j->metadata = log->job_text.data + fixed;
	j->exe = log->job_text.data + fixed + 1024;
	end = strchr(log->job_text.data + fixed + 1024, '\n');
	if (end) /* mounts come next */
		*end = '\0';
	return 0;
}

static int add_name(struct darshan_log *log, uint64_t id, size_t at,
		    uint32_t *room, struct reel_error *err)
{
	uint32_t i = reel_intmap_get(&log->ids, id, err);

	if (i == REEL_NO_INDEX)
		return -1;
	if (i < log->paths)
		return 0; /* the first name stays */
	if (log->paths == *room) {
		*room = *room ? 2 * *room : 256;
		if (reel_grow(&log->path, *room, sizeof(*log->path), err))
			return -1;
	}
	log->path[log->paths++] = at;
	return 0;
}

/* {id, path, NUL} each; in format 3.00 {id, u32 length, path without NUL}. */
static int read_names(struct darshan_log *log, struct reel_error *err)
{
	bool lengths = !strncmp(log->job.version, "3.00", 4);
	struct reel_buf raw = REEL_BUF_INIT, *to = &log->name_text;
	size_t at = 0, n;
	uint32_t room = 0;
	int rc = -1;

	if (!log->names.bytes)
		return 0;
	if (read_whole(log, &log->names, NAMES_MOST, &raw, err))
		goto out;
	while (raw.len - at > 8) {
		const uint8_t *p = (const uint8_t *)raw.data + at;
		size_t left = raw.len - at - 8, head = 8;

		if (lengths) {
			if (left < 4)
				break;
			n = number32(&log->file, p + 8);
			head += 4;
			left -= 4;
		} else {
			n = strnlen((const char *)p + 8, left);
		}
		if (n >= left + lengths) {
			bad(log, log->names.offset, "a name is cut off", err);
			goto out;
		}
		if (add_name(log, darshan_number(&log->file, p), to->len, &room,
			     err) ||
		    reel_buf_add(to, p + head, n, err) ||
		    reel_buf_add(to, "", 1, err))
			goto out;
		at += head + n + !lengths;
	}
	rc = 0;
out:
	reel_buf_fini(&raw);
	return rc;
}

static int map_file(struct darshan_file *f, const char *path,
		    struct reel_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st)) {
		reel_fail_io(err, "open", path, errno);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	f->bytes = (size_t)st.st_size;
	p = f->bytes ? mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0)
		     : NULL;
	close(fd);
	if (p == MAP_FAILED)
		return reel_fail_io(err, "map", path, errno);
	f->data = p;
	f->path = reel_strdup(path, err);
	return f->path ? 0 : -1;
}

int darshan_log_open(struct darshan_log **out, const char *path,
		     struct reel_error *err)
{
	struct darshan_log *log = reel_alloc(1, sizeof(*log), err);

	if (!log || map_file(&log->file, path, err) || read_header(log, err) ||
	    read_job(log, err) || read_names(log, err)) {
		darshan_log_close(log);
		return -1;
	}
	*out = log;
	return 0;
}

void darshan_log_close(struct darshan_log *log)
{
	if (!log)
		return;
	if (log->file.data)
		munmap((void *)(uintptr_t)log->file.data, log->file.bytes);
	free(log->file.path);
	reel_buf_fini(&log->job_text);
	reel_buf_fini(&log->name_text);
	reel_intmap_fini(&log->ids);
	free(log->path);
	free(log);
}

const struct darshan_job *darshan_log_job(const struct darshan_log *log)
{
	return &log->job;
}

const char *darshan_log_path(const struct darshan_log *log, uint64_t record)
{
	uint32_t i = reel_intmap_find(&log->ids, record);

	return i == REEL_NO_INDEX ? NULL : log->name_text.data + log->path[i];
}

bool darshan_log_has(const struct darshan_log *log, unsigned int module,
		     unsigned int *version)
{
	*version = log->version[module];
	return log->module[module].bytes != 0;
}

bool darshan_log_partial(const struct darshan_log *log, unsigned int module)
{
	return log->partial >> module & 1;
}

int darshan_log_region(struct darshan_log *log, unsigned int module,
		       struct darshan_region **out, struct reel_error *err)
{
	return darshan_region_open(out, &log->file, log->module[module].offset,
				   log->module[module].bytes, err);
}

const struct darshan_file *darshan_log_file(const struct darshan_log *log)
{
	return &log->file;
}
