/* SPDX-License-Identifier: MIT */
/*
 * A job by hand, for the unit tests of replay/: paths, processes, threads and
 * open file descriptions first, then job_ready(), then events.
 */
#ifndef TESTS_LIB_REPLAY_JOB_H
#define TESTS_LIB_REPLAY_JOB_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"
#include "lib/error.h"
#include "lib/store/event.h"
#include "replay/model/annotations.h"
#include "replay/model/recorded_job.h"

#define HAND_MOST 64
#define DUR_NS 10

static struct job_process job_processes[HAND_MOST];
static struct job_stream job_streams[HAND_MOST];
static struct job_file job_files[HAND_MOST];
static struct job_open job_opens[HAND_MOST];
static struct job job;
static struct annotations annotations;
static struct reel_error err;
static int64_t clock_ns; /* the start of the next event */
static uint32_t job_calls[HAND_MOST];

__attribute__((unused)) static void job_begin(void)
{
	memset(job_processes, 0, sizeof(job_processes));
	memset(job_streams, 0, sizeof(job_streams));
	memset(job_files, 0, sizeof(job_files));
	memset(job_opens, 0, sizeof(job_opens));
	memset(job_calls, 0, sizeof(job_calls));
	memset(&err, 0, sizeof(err));
	job = (struct job){.process = job_processes,
			   .stream = job_streams,
			   .file = job_files,
			   .files = 1,
			   .open = job_opens,
			   .opens = 1};
	clock_ns = 1000;
}

/* A process with @threads threads, forked by the stream @fork_stream at
 * @start_ns; JOB_NONE: by the root. Returns its first stream. */
__attribute__((unused)) static uint32_t
job_add_process(uint32_t threads, uint32_t fork_stream, int64_t start_ns)
{
	struct job_process *p = &job.process[job.processes];

	*p = (struct job_process){.id = job.processes + 1,
				  .parent = JOB_NONE,
				  .fork_stream = fork_stream,
				  .start_ns = start_ns,
				  .stream = job.streams,
				  .streams = threads};
	if (fork_stream != JOB_NONE)
		p->parent = job.stream[fork_stream].process;
	for (uint32_t i = 0; i < threads; i++)
		job.stream[job.streams++].process = job.processes;
	job.processes++;
	return p->stream;
}

__attribute__((unused)) static uint32_t job_add_file(const char *path)
{
	job.file[job.files].path = (char *)path;
	job.file[job.files].kind = REEL_KIND_FILE;
	job.file[job.files].size_bytes = -1;
	return job.files++;
}

__attribute__((unused)) static uint32_t job_add_open(uint32_t file, int flags)
{
	job.open[job.opens] = (struct job_open){.file = file, .flags = flags};
	return job.opens++;
}

__attribute__((unused)) static void job_ready(void)
{
	if (job_index_paths(&job, &err))
		abort();
}

__attribute__((unused)) static void job_end(void)
{
	free(job.path_slot);
	annotations_fini(&annotations);
}

/* --- events: each DUR_NS long, one after the other ----------------------- */

__attribute__((unused)) static struct reel_event event_of(uint16_t call)
{
	const struct reel_call_info *info = reel_call_info(call);
	struct reel_event ev = {.start_ns = clock_ns,
				.dur_ns = DUR_NS,
				.call = call,
				.layer = (uint8_t)info->layer,
				.group = (uint8_t)info->group,
				.kind = REEL_KIND_FILE,
				.fd = -1,
				.fd2 = -1,
				.count = 1,
				.offset = REEL_NO_OFFSET,
				.asked = REEL_NO_SIZE,
				.arg = REEL_NO_OFFSET,
				.arg2 = REEL_NO_OFFSET,
				.pos = REEL_NO_OFFSET};

	clock_ns += 2 * DUR_NS;
	return ev;
}

/* A call by path; @error: errno, or 0. */
__attribute__((unused)) static struct reel_event
path_event(uint16_t call, uint32_t file, int error)
{
	struct reel_event ev = event_of(call);

	ev.file = file;
	ev.err = error;
	ev.result = error ? -1 : 0;
	return ev;
}

__attribute__((unused)) static struct reel_event stat_event(uint32_t file,
							    int64_t size_bytes)
{
	struct reel_event ev = path_event(REEL_CALL_STAT, file, 0);

	ev.pos = size_bytes;
	return ev;
}

__attribute__((unused)) static struct reel_event
two_path_event(uint16_t call, uint32_t file, uint32_t file2, int error)
{
	struct reel_event ev = path_event(call, file, error);

	ev.file2 = file2;
	return ev;
}

__attribute__((unused)) static struct reel_event open_event(uint32_t open,
							    int fd, int flags)
{
	struct reel_event ev =
		path_event(REEL_CALL_OPEN, job.open[open].file, 0);

	ev.open = open;
	ev.fd = fd;
	ev.arg = flags;
	ev.result = fd;
	return ev;
}

/* A call on a descriptor. */
__attribute__((unused)) static struct reel_event fd_event(uint16_t call,
							  uint32_t open, int fd)
{
	struct reel_event ev = path_event(call, job.open[open].file, 0);

	ev.open = open;
	ev.fd = fd;
	return ev;
}

__attribute__((unused)) static struct reel_event
io_event(uint16_t call, uint32_t open, int fd, int64_t offset, int64_t asked,
	 int64_t result)
{
	struct reel_event ev = fd_event(call, open, fd);

	ev.offset = offset;
	ev.asked = asked;
	ev.result = result;
	return ev;
}

/* @ev with other times. */
__attribute__((unused)) static struct reel_event
timed(struct reel_event ev, int64_t start_ns, int64_t end_ns)
{
	ev.start_ns = start_ns;
	ev.dur_ns = end_ns - start_ns;
	if (clock_ns < end_ns + DUR_NS)
		clock_ns = end_ns + DUR_NS;
	return ev;
}

/* The next call of @stream, which is @ev. */
__attribute__((unused)) static struct call_ref
next_call(uint32_t stream, const struct reel_event *ev)
{
	return (struct call_ref){.stream = stream,
				 .index = job_calls[stream]++,
				 .end_ns = ev->start_ns + ev->dur_ns};
}

/* Is there a wait of the call @call of @stream for the call @of of @on? */
__attribute__((unused)) static bool waits(uint32_t stream, uint32_t call,
					  uint32_t on, uint32_t of)
{
	for (size_t i = 0; i < annotations.n; i++) {
		const struct annotation *a = &annotations.list[i];

		if (a->kind == ANNOTATION_WAIT && a->stream == stream &&
		    a->call == call && a->wait.stream == on &&
		    a->wait.calls == of + 1)
			return true;
	}
	return false;
}

#endif
