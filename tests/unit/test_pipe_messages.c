/* SPDX-License-Identifier: MIT */
/*
 * Messages through pipes, and MPI collectives: the calls of other processes
 * that a call waits for.
 */
#include "replay/deps/deps.h"

#include "replay/fsstate/inodes.h"
#include "replay/model/classify.h"
#include "tests/lib/replay_job.h"
#include "tests/lib/tap.h"

static struct inodes inodes;
static struct deps *deps;
static struct messages *messages;
static struct collectives *collectives;
static uint32_t ofd;

/* Three processes of one thread each. */
static void begin(void)
{
	job_begin();
	for (int i = 0; i < 3; i++)
		job_add_process(1, JOB_NONE, 0);
	ofd = job_add_open(job_add_file("pipe:[1]"), O_RDONLY);
	job_ready();
	if (inodes_init(&inodes, &job, &err) ||
	    deps_new(&deps, &job, &annotations, &inodes, &err) ||
	    messages_new(&messages, &job, deps, &annotations, &err) ||
	    collectives_new(&collectives, deps, &annotations, &err))
		abort();
}

static void end(void)
{
	collectives_free(collectives);
	messages_free(messages);
	deps_free(deps);
	inodes_fini(&inodes);
	job_end();
}

static uint32_t message(uint32_t stream, uint16_t id, int64_t bytes,
			int64_t start_ns, int64_t end_ns)
{
	struct reel_event ev =
		timed(io_event(id, ofd, 3, REEL_NO_OFFSET, 100, bytes),
		      start_ns, end_ns);
	struct call_ref call = next_call(stream, &ev);

	ev.kind = REEL_KIND_PIPE;
	if (messages_event(messages, &ev, &call, 0, &err))
		abort();
	return call.index;
}

static const struct annotation *find(enum annotation_kind kind, uint32_t stream,
				     uint32_t call)
{
	for (size_t i = 0; i < annotations.n; i++) {
		const struct annotation *a = &annotations.list[i];

		if (a->kind == kind && a->stream == stream && a->call == call)
			return a;
	}
	return NULL;
}

static void test_messages(void)
{
	uint32_t w0, w1, r0, r1, r2;

	begin();
	w0 = message(0, REEL_CALL_WRITE, 10, 1000, 1010);
	w1 = message(0, REEL_CALL_WRITE, 10, 1020, 1030);
	r0 = message(1, REEL_CALL_READ, 10, 1015, 1040);
	r1 = message(2, REEL_CALL_READ, 5, 1045, 1050);
	messages_end(messages, &err);
	ok(waits(1, r0, 0, w0) && !waits(1, r0, 0, w1),
	   "a read waits for the write of its bytes, not for the next");
	ok(waits(2, r1, 0, w1), "the next bytes are those of the next write");
	ok(waits(2, r1, 1, r0), "reads of two processes keep their order");
	ok(find(ANNOTATION_DELAY, 1, r0) != NULL &&
		   find(ANNOTATION_DELAY, 1, r0)->ns == 5,
	   "a reader that was waiting has the rest of its gap");
	end();

	begin();
	w1 = message(1, REEL_CALL_WRITE, 10, 1020, 1025);
	w0 = message(0, REEL_CALL_WRITE, 10, 1000, 1030);
	r0 = message(2, REEL_CALL_READ, 10, 1040, 1050);
	r1 = message(2, REEL_CALL_READ, 10, 1060, 1070);
	messages_end(messages, &err);
	ok(waits(1, w1, 0, w0), "writes of two processes keep their order");
	ok(waits(2, r0, 0, w0) && waits(2, r1, 1, w1),
	   "which is that of their starts");
	end();

	begin();
	w0 = message(0, REEL_CALL_WRITE, 10, 1000, 1010);
	r0 = message(1, REEL_CALL_READ, 10, 3002000, 3002010);
	messages_end(messages, &err);
	ok(waits(1, r0, 0, w0) && !find(ANNOTATION_DELAY, 1, r0),
	   "a reader that came much later was not waiting");
	end();

	begin();
	r0 = message(1, REEL_CALL_READ, 10, 1000, 1090);
	w0 = message(0, REEL_CALL_WRITE, 10, 1050, 1100);
	messages_end(messages, &err);
	ok(waits(1, r0, 0, w0), "a write that returns after its read counts");
	end();

	begin();
	w0 = message(0, REEL_CALL_WRITE, 10, 1000, 1010);
	r0 = message(1, REEL_CALL_READ, 10, 1020, 1030);
	r1 = message(1, REEL_CALL_READ, 10, 1040, 1100);
	r2 = message(2, REEL_CALL_READ, 0, 1150, 1200);
	messages_end(messages, &err);
	ok(!find(ANNOTATION_EXTERNAL_WAIT, 1, r0) &&
		   find(ANNOTATION_EXTERNAL_WAIT, 1, r1) &&
		   find(ANNOTATION_EXTERNAL_WAIT, 1, r1)->ns == 60,
	   "bytes that no call wrote: the read is a wait");
	ok(waits(2, r2, 0, w0), "EOF waits for the last write");
	end();
}

/* A collective of all three processes; call @id, arriving at @start_ns. */
static uint32_t join(uint32_t rank, uint16_t id, bool root, int64_t start_ns,
		     int64_t end_ns)
{
	struct reel_event ev = timed(event_of(id), start_ns, end_ns);
	struct call_ref call = next_call(rank, &ev), leave = call;

	job_calls[rank]++; /* arrival and leaving */
	ev.arg = 7;
	ev.arg2 = 0;
	ev.pos = 2 * 3 + root;
	ev.process = rank + 1;
	leave.index +=
		collective_phase(&ev) == (COLLECTIVE_ARRIVE | COLLECTIVE_LEAVE);
	if (collectives_event(collectives, &ev, &call, &leave, &err))
		abort();
	return call.index;
}

static void test_collectives(void)
{
	begin();
	join(0, REEL_CALL_MPI_BARRIER, false, 1000, 1100);
	join(1, REEL_CALL_MPI_BARRIER, false, 1010, 1101);
	is(collectives_complete(collectives), 0, "a rank is missing");
	join(2, REEL_CALL_MPI_BARRIER, false, 1090, 1102);
	is(collectives_complete(collectives), 1, "a barrier is complete");
	ok(waits(0, 1, 2, 0) && waits(1, 1, 2, 0),
	   "all leave after the last arrival");
	ok(waits(2, 0, 0, 0) && waits(2, 0, 1, 0),
	   "which comes after the others");
	ok(!waits(0, 1, 1, 0) && !waits(1, 1, 0, 0), "and after no other");
	ok(find(ANNOTATION_COLLECTIVE_WAIT, 0, 1) &&
		   find(ANNOTATION_COLLECTIVE_WAIT, 0, 1)->ns == 90,
	   "a rank's wait until then is no work");
	end();

	begin();
	join(0, REEL_CALL_MPI_BCAST, true, 1000, 1005);
	join(1, REEL_CALL_MPI_BCAST, false, 1010, 1101);
	join(2, REEL_CALL_MPI_BCAST, false, 1090, 1102);
	ok(waits(1, 1, 0, 0) && waits(2, 1, 0, 0),
	   "in a broadcast all wait for the root");
	ok(!waits(0, 1, 1, 0) && !waits(0, 1, 2, 0), "which waits for none");
	ok(!find(ANNOTATION_COLLECTIVE_WAIT, 2, 1),
	   "a rank that came after it did not wait in the job");
	end();

	begin();
	join(0, REEL_CALL_MPI_GATHER, true, 1000, 1200);
	join(1, REEL_CALL_MPI_GATHER, false, 1010, 1101);
	join(2, REEL_CALL_MPI_GATHER, false, 1090, 1102);
	ok(waits(0, 1, 1, 0) && waits(0, 1, 2, 0),
	   "in a gather the root waits for all");
	ok(find(ANNOTATION_COLLECTIVE_WAIT, 0, 1) &&
		   find(ANNOTATION_COLLECTIVE_WAIT, 0, 1)->ns == 90,
	   "from its arrival to the last");
	ok(!waits(1, 1, 0, 0) && !waits(2, 1, 0, 0), "and they wait for none");
	end();

	begin();
	for (uint32_t rank = 0; rank < 3; rank++)
		join(rank, REEL_CALL_MPI_IBARRIER, false, 1000 + rank,
		     1001 + rank);
	is(collectives_complete(collectives), 0, "MPI_Ibarrier() only arrives");
	for (uint32_t rank = 0; rank < 3; rank++)
		join(rank, REEL_CALL_MPI_COMPLETED, false, 1100, 1110);
	is(collectives_complete(collectives), 1, "MPI_Wait() completes it");
	ok(waits(0, 2, 2, 0) && waits(1, 2, 2, 0),
	   "and waits for the last arrival");
	end();

	begin();
	join(0, REEL_CALL_MPI_BARRIER, false, 1000, 1100);
	join(1, REEL_CALL_MPI_BCAST, false, 1000, 1100);
	join(2, REEL_CALL_MPI_BARRIER, false, 1000, 1100);
	ok(!collectives_complete(collectives) && !annotations.n,
	   "different calls are no collective");
	end();
}

int main(void)
{
	test_messages();
	test_collectives();
	return done();
}
