/* SPDX-License-Identifier: MIT */
/*
 * The descriptor tables of a job: a descriptor that no recorded call of its
 * process made needs an object, any other one must not get one.
 */
#include "replay/fsstate/fd_objects.h"

#include <errno.h>

#include "tests/lib/replay_job.h"
#include "tests/lib/tap.h"

static struct fd_objects *objects;
static uint32_t file, tmp, pipe_file, ofd, ofd2, ofd_tmp, ofd_pipe;

/* Stream 0 is a process, stream 1 the process that it forks at 5000. */
static void begin(void)
{
	job_begin();
	job_add_process(1, JOB_NONE, 0);
	job_add_process(1, 0, 5000);
	file = job_add_file("/d/file");
	tmp = job_add_file("/d/#tmp");
	pipe_file = job_add_file("pipe:[1]");
	ofd = job_add_open(file, O_RDWR | O_CREAT);
	ofd2 = job_add_open(file, O_RDONLY);
	ofd_tmp = job_add_open(tmp, O_RDWR | O_TMPFILE);
	ofd_pipe = job_add_open(pipe_file, O_RDONLY);
	job_ready();
	if (fd_objects_new(&objects, &job, &annotations, &err))
		abort();
}

static void end(void)
{
	fd_objects_free(objects);
	job_end();
}

/* The object that @ev needs, or NULL. */
static const struct plan_object *play(uint32_t stream, struct reel_event ev)
{
	size_t before = annotations.n;
	struct call_ref call = next_call(stream, &ev);
	const struct annotation *a;
	uint32_t n;

	if (fd_objects_event(objects, &ev, stream, call.index, &err))
		abort();
	if (annotations.n == before)
		return NULL;
	a = &annotations.list[before];
	if (a->kind != ANNOTATION_OBJECT || a->stream != stream ||
	    a->call != call.index || a->object.fd != (uint32_t)ev.fd)
		abort();
	return &fd_objects_table(objects, &n)[a->object.index];
}

#define READ(open, fd, offset)                                                 \
	io_event(REEL_CALL_READ, open, fd, offset, 100, 100)

static void test_files(void)
{
	const struct plan_object *o;
	struct reel_event ev;

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	ok(!play(0, READ(ofd, 3, 0)), "an opened descriptor needs no object");
	ev = fd_event(REEL_CALL_DUP2, ofd, 3);
	ev.fd2 = 9;
	play(0, ev);
	ok(!play(0, READ(ofd, 9, 0)), "nor does its copy");
	is(fd_objects_fds(objects, 0), 10, "the table reaches to the copy");
	play(0, fd_event(REEL_CALL_CLOSE, ofd, 3));
	ok(!play(0, READ(ofd, 9, 0)), "which survives the close()");
	o = play(0, READ(ofd, 3, 0));
	ok(o && o->dup_of == 9, "a use after the close(): a copy of it again");
	end();

	begin();
	o = play(0, READ(ofd, 0, 40));
	ok(o && o->kind == PLAN_OBJECT_FILE && o->name == file && o->pos == 40,
	   "an inherited file is opened, at its position");
	ok(!(o->flags & O_CREAT) && (o->flags & O_ACCMODE) == O_RDWR,
	   "with its flags, but never created");
	ok(o->dup_of < 0 && fd_objects_needs_path(objects, file),
	   "by its path");
	ok(!play(0, READ(ofd, 0, 140)), "once");
	ok(play(0, READ(ofd2, 0, 0)) != NULL, "another file there is another");
	is(fd_objects_fds(objects, 0), 3, "three descriptors at least");
	end();

	begin();
	job.open[ofd].flags = -1;
	ev = io_event(REEL_CALL_WRITE, ofd, 1, 0, 10, 10);
	o = play(0, ev);
	ok(o && o->flags == O_RDWR, "unknown flags: later uses may differ");
	job.file[file].size_bytes = 77;
	ev.kind = REEL_KIND_MEMORY;
	ev.fd = 5;
	o = play(0, ev);
	ok(o && o->kind == PLAN_OBJECT_MEMORY && o->pos == 77,
	   "a memory file, as large as it was");
	ev.kind = REEL_KIND_DEVICE;
	ev.fd = 6;
	o = play(0, ev);
	ok(o && o->kind == PLAN_OBJECT_NULL, "a device: /dev/null");
	end();

	begin();
	play(0, open_event(ofd_tmp, 3, O_RDWR | O_TMPFILE));
	play(0, READ(ofd_tmp, 3, 0));
	ok(!fd_objects_needs_path(objects, tmp),
	   "a file of O_TMPFILE needs no path in its process");
	end();
}

static void test_forks(void)
{
	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	clock_ns = 6000;
	ok(!play(1, READ(ofd, 3, 0)), "a child inherits descriptors");
	play(1, fd_event(REEL_CALL_CLOSE, ofd, 3));
	ok(!play(0, READ(ofd, 3, 0)), "its close() leaves the parent's");
	play(0, open_event(ofd2, 4, O_RDONLY));
	ok(play(1, READ(ofd2, 4, 0)) != NULL,
	   "it does not inherit those that are opened later");
	end();

	begin();
	play(0, open_event(ofd, 3, O_RDWR));
	play(0, fd_event(REEL_CALL_CLOSE, ofd, 3));
	clock_ns = 6000;
	ok(play(1, READ(ofd, 3, 0)) != NULL, "nor those closed before");
	end();
}

static struct reel_event pipe_event(uint16_t call, int fd, int64_t result,
				    int error)
{
	struct reel_event ev =
		io_event(call, ofd_pipe, fd, REEL_NO_OFFSET, 100, result);

	ev.kind = REEL_KIND_PIPE;
	ev.err = error;
	return ev;
}

static uint32_t kind_of(struct reel_event ev)
{
	const struct plan_object *o = play(0, ev);

	return o ? o->kind : 0;
}

static void test_pipes(void)
{
	const struct plan_pipe *pipes;
	struct reel_event ev;
	uint32_t n;

	begin();
	is(kind_of(pipe_event(REEL_CALL_READ, 3, 30, 0)), PLAN_OBJECT_PIPE_READ,
	   "a read with bytes: the read end of a pipe");
	is(kind_of(pipe_event(REEL_CALL_WRITE, 4, 60, 0)),
	   PLAN_OBJECT_PIPE_WRITE, "a write: its write end");
	is(kind_of(pipe_event(REEL_CALL_READ, 3, 0, 0)), PLAN_OBJECT_EOF,
	   "a read of nothing: a pipe without a writer");
	is(kind_of(pipe_event(REEL_CALL_READ, 3, -1, EAGAIN)),
	   PLAN_OBJECT_EMPTY, "EAGAIN: an empty pipe");
	is(kind_of(pipe_event(REEL_CALL_WRITE, 4, -1, EPIPE)),
	   PLAN_OBJECT_BROKEN, "EPIPE: a pipe without a reader");
	pipes = fd_objects_pipes(objects, &n);
	ok(n == 1 && pipes[0].most == 60,
	   "they are ends of one pipe, for its largest message");
	ok(!pipes[0].socket, "which is no socket");
	play(0, pipe_event(REEL_CALL_READ, 3, 10, 0));
	fd_objects_table(objects, &n);
	is(n, 5, "an end that is needed again is no new object");
	end();

	begin();
	ev = pipe_event(REEL_CALL_READ, 3, 30, 0);
	ev.kind = REEL_KIND_SOCKET;
	is(kind_of(ev), PLAN_OBJECT_SOCKET, "a socket");
	pipes = fd_objects_pipes(objects, &n);
	ok(n == 1 && pipes[0].socket, "is one end of a pair");
	end();

	begin();
	job.open[ofd_pipe].flags = O_WRONLY;
	is(kind_of(pipe_event(REEL_CALL_FSTAT, 4, 0, 0)),
	   PLAN_OBJECT_PIPE_WRITE, "another call: the end by its flags");
	end();
}

static void test_ignored(void)
{
	struct reel_event ev;

	begin();
	ev = READ(ofd, 3, 0);
	ev.open = 0;
	ev.err = EBADF;
	ok(!play(0, ev), "EBADF needs no object");
	is(fd_objects_fds(objects, 0), 3, "and takes no number");
	ev = fd_event(REEL_CALL_MUNMAP, ofd, 5);
	ok(!play(0, ev), "munmap() uses an address, no descriptor");
	ev = open_event(ofd, 3, O_RDWR);
	ev.err = ENOENT;
	play(0, ev);
	ok(play(0, READ(ofd, 3, 0)) != NULL, "a failed open makes none");
	end();
}

int main(void)
{
	test_files();
	test_forks();
	test_pipes();
	test_ignored();
	return done();
}
