/* SPDX-License-Identifier: MIT */
/* Plans: a written plan reads back, a damaged one is refused. */
#include "replay/model/plan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "replay/plan/write.h"
#include "tests/lib/random.h"
#include "tests/lib/tap.h"

#define RECORDS 1000

static struct plan_more blank_more(void)
{
	struct plan_more m = PLAN_MORE_NONE;

	return m;
}

static int write_streams(struct plan_writer *w, uint32_t name, uint32_t edge,
			 struct reel_error *err)
{
	for (uint32_t s = 0; s < 2; s++) {
		struct plan_stream stream = {.thread_id = s + 1};
		struct plan_more m = blank_more();
		struct plan_record open = {.op = REEL_CALL_OPEN,
					   .size = PLAN_NO_SIZE,
					   .fd = -1,
					   .flags = PLAN_F_MORE};

		if (plan_writer_stream(w, &stream, err))
			return -1;
		m.name = name;
		m.fd2 = 3;
		m.object = 0;
		m.edge = edge;
		m.edges = s;
		if (plan_writer_record(w, &open, &m, err))
			return -1;
		for (int i = 0; i < RECORDS; i++) {
			struct plan_record r = {.op = REEL_CALL_READ,
						.gap_ns = 1000u + s,
						.size = 100 + i,
						.fd = 3,
						.flags = PLAN_F_FULL};

			if (plan_writer_record(w, &r, NULL, err))
				return -1;
		}
	}
	return 0;
}

static int write_plan(const char *path, struct reel_error *err)
{
	struct plan_process process = {
		.process_id = 7, .parent = PLAN_NONE, .streams = 2, .fds = 4};
	struct plan_object object = {.kind = PLAN_OBJECT_PIPE_READ,
				     .name = PLAN_NONE};
	struct plan_pipe pipe_of_job = {.most = 10};
	struct plan_edge wait = {.stream = 0, .calls = 5};
	struct plan_file file = {.kind = PLAN_FILE_REGULAR,
				 .size_bytes = 1234,
				 .entries = -1,
				 .lines = 2};
	const int64_t lines[] = {10, 20};
	struct plan_head head = {.calls = 2 * (RECORDS + 1), .fds = 4};
	struct plan_writer *w = NULL;
	uint32_t name, edge;
	int rc = -1;

	if (plan_writer_new(&w, path, err) ||
	    plan_writer_name(w, "/data/file", 10, &name, err) ||
	    plan_writer_edge(w, &wait, &edge, err) ||
	    write_streams(w, name, edge, err))
		goto out;
	file.name = name;
	if (plan_writer_file(w, &file, lines, err) ||
	    plan_writer_objects(w, &object, 1, &pipe_of_job, 1, err) ||
	    plan_writer_process(w, &process, err))
		goto out;
	rc = plan_writer_finish(w, &head, err);
out:
	plan_writer_free(w);
	return rc;
}

static void test_round_trip(const char *path)
{
	struct reel_error err = {0};
	struct plan *p = NULL;
	const struct plan_record *r;

	ok(!write_plan(path, &err), "a plan is written: %s", err.text);
	if (!ok(!plan_open(&p, path, &err), "and opened: %s", err.text))
		return;
	is(p->head->streams, 2, "streams");
	is(p->stream[1].records, RECORDS + 1, "records");
	is(p->stream[1].mores, 1, "one of them has a more");
	is(p->stream[1].calls, RECORDS + 1, "calls are counted");
	is(p->stream[0].most_read, 100 + RECORDS - 1, "the buffer it needs");
	is(p->stream[0].most_written, 0, "no buffer for writes");
	r = (const struct plan_record *)(p->map + p->stream[1].records_at);
	is(r[500].size, 599, "a record of the second stream");
	is(r[500].gap_ns, 1001, "with its gap");
	ok(!strcmp(plan_name(p, 0), "/data/file"), "the name");
	is(p->edge[0].calls, 5, "the edge");
	is(p->line[1], 20, "the ends of lines");
	is(p->head->file_total_bytes, 1234, "bytes to rebuild");
	plan_close(p);
}

static uint8_t *read_all(const char *path, size_t *n)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	uint8_t *all;

	if (fd < 0 || fstat(fd, &st))
		abort();
	*n = (size_t)st.st_size;
	all = malloc(*n);
	if (!all || read(fd, all, *n) != (ssize_t)*n)
		abort();
	close(fd);
	return all;
}

static int try_open(const char *path, const uint8_t *data, size_t n,
		    enum reel_error_code *code)
{
	struct reel_error err = {0};
	struct plan *p = NULL;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), rc;

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	close(fd);
	rc = plan_open(&p, path, &err);
	*code = err.code;
	if (!rc)
		plan_close(p);
	return rc == 0;
}

/* Wrong numbers that would lead the engine out of the plan. */
static void test_wrong_offsets(const char *path, const uint8_t *data, size_t n)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *what;
	} wrong[] = {
		{offsetof(struct plan_head, streams), 3, "streams"},
		{offsetof(struct plan_head, names), 1 << 30, "names"},
		{offsetof(struct plan_head, edges), 1 << 28, "edges"},
		{offsetof(struct plan_head, stream_at), 1 << 20, "a section"},
		{offsetof(struct plan_head, fds), 1 << 30, "descriptors"},
		{offsetof(struct plan_head, text_bytes), 5, "the text"},
	};
	uint8_t *copy = malloc(n);
	enum reel_error_code code;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(copy, data, n);
		memcpy(copy + wrong[i].at, &wrong[i].value, 4);
		ok(!try_open(path, copy, n, &code) && code == REEL_E_FORMAT,
		   "a wrong value of %s is refused", wrong[i].what);
	}
	memcpy(copy, data, n);
	copy[offsetof(struct plan_head, version)]++;
	ok(!try_open(path, copy, n, &code) && code == REEL_E_VERSION,
	   "another version is refused");
	free(copy);
}

/* Parts of a plan in memory. */
struct parts {
	struct plan_head *head;
	struct plan_process *process;
	struct plan_stream *stream;
	struct plan_file *file;
	struct plan_record *record; /* of the first stream */
	struct plan_more *more;	    /* of its first record */
};

static struct parts parts_of(uint8_t *data)
{
	struct parts p = {.head = (struct plan_head *)data};

	p.process = (struct plan_process *)(data + p.head->process_at);
	p.stream = (struct plan_stream *)(data + p.head->stream_at);
	p.file = (struct plan_file *)(data + p.head->file_at);
	p.record = (struct plan_record *)(data + p.stream->records_at);
	p.more = (struct plan_more *)(data + p.stream->more_at);
	return p;
}

static void bad_sum(struct parts p)
{
	p.head->file_total_bytes = 1;
}

static void bad_size(struct parts p)
{
	p.file->size_bytes = INT64_MAX;
}

static void bad_both(struct parts p)
{
	p.file->size_bytes = -1;
	p.head->file_total_bytes = UINT64_MAX;
}

static void bad_holes(struct parts p)
{
	p.head->hole_total_bytes = 1 << 20;
}

static void bad_entries(struct parts p)
{
	p.file->kind = PLAN_FILE_DIR;
	p.file->entries = INT64_MAX;
}

static void bad_kind(struct parts p)
{
	p.file->kind = 77;
}

static void bad_parent(struct parts p)
{
	p.process->parent = 0;
}

static void bad_owner(struct parts p)
{
	p.process->streams = 1;
	p.process->stream = 1;
	p.stream[1].process = 1;
}

static void bad_fork(struct parts p)
{
	p.record->op = PLAN_OP_FORK;
	p.more->arg = 0;
	p.stream->calls--;
}

static void bad_start(struct parts p)
{
	p.process->start_ns = INT64_MAX;
}

static void bad_negative(struct parts p)
{
	p.process->start_ns = -1;
}

static void bad_wall(struct parts p)
{
	p.head->wall_ns = INT64_MAX;
}

static void bad_gap(struct parts p)
{
	p.more->gap_high = 1u << 20;
}

static void bad_dur(struct parts p)
{
	p.more->dur_high = UINT32_MAX;
}

static void bad_after(struct parts p)
{
	p.record->flags |= PLAN_F_WAIT_FIRST;
	p.more->after_ns = INT64_MAX;
}

static void bad_count(struct parts p)
{
	p.more->count = UINT32_MAX;
}

static void bad_read(struct parts p)
{
	p.stream->most_read = 1ull << 60;
}

static void bad_written(struct parts p)
{
	p.stream->most_written = 1ull << 40;
}

/* Numbers that stay inside the file and are impossible. */
static void test_impossible(const char *path, const uint8_t *data, size_t n)
{
	static const struct {
		void (*set)(struct parts p);
		const char *what;
	} wrong[] = {
		{bad_sum, "the sum of the sizes"},
		{bad_size, "a size"},
		{bad_both, "a size and the sum"},
		{bad_holes, "the holes"},
		{bad_entries, "entries"},
		{bad_kind, "a kind of file"},
		{bad_parent, "a process that creates itself"},
		{bad_owner, "the process of a stream"},
		{bad_fork, "a fork of the process itself"},
		{bad_start, "a start"},
		{bad_negative, "a start before the job"},
		{bad_wall, "the time of the job"},
		{bad_gap, "a gap"},
		{bad_dur, "a duration"},
		{bad_after, "the gap after a wait"},
		{bad_count, "a count of calls"},
		{bad_read, "a buffer to read into"},
		{bad_written, "a buffer to write from"},
	};
	uint8_t *copy = malloc(n);
	enum reel_error_code code;

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(copy, data, n);
		wrong[i].set(parts_of(copy));
		ok(!try_open(path, copy, n, &code) && code == REEL_E_FORMAT,
		   "a wrong value of %s is refused", wrong[i].what);
	}
	free(copy);
}

static void test_damage(const char *path)
{
	enum reel_error_code code;
	int short_opened = 0;
	uint8_t *data;
	size_t n;

	data = read_all(path, &n);
	for (size_t cut = 0; cut < n; cut += 1 + n / 200)
		short_opened += try_open(path, data, cut, &code);
	is(short_opened, 0, "no truncated plan opens");
	test_wrong_offsets(path, data, n);
	test_impossible(path, data, n);
	for (int i = 0; i < 2000; i++) {
		uint64_t z = chance();
		uint8_t old;
		size_t at;

		/* The tables more often than the records. */
		at = i % 2 ? z % n : n - 1 - z % 2000;
		old = data[at];
		data[at] ^= (uint8_t)(1 + (z >> 40) % 255);
		try_open(path, data, n, &code);
		data[at] = old;
	}
	ok(try_open(path, data, n, &code), "2,000 damaged plans do no harm");
	free(data);
}

static void test_unfinished(const char *path)
{
	struct reel_error err = {0};
	struct plan_writer *w = NULL;
	uint32_t name;
	char tmp[64];

	unlink(path);
	plan_writer_new(&w, path, &err);
	plan_writer_name(w, "/x", 2, &name, &err);
	plan_writer_free(w);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	ok(access(path, F_OK) && access(tmp, F_OK),
	   "a plan that is not finished leaves nothing");
	ok(plan_writer_new(&w, "/no/such/dir/plan", &err) &&
		   err.code == REEL_E_IO,
	   "a missing directory is an error");
}

int main(void)
{
	char dir[] = "/tmp/ioreel-test.XXXXXX", path[64];

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/plan", dir);
	test_round_trip(path);
	test_damage(path);
	test_unfinished(path);
	unlink(path);
	rmdir(dir);
	return done();
}
