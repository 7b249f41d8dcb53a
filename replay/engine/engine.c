/* SPDX-License-Identifier: MIT */
/*
 * The processes of a replay. The engine's own process replays nothing: it forks
 * the processes that have no parent in the job, reaps all that end, and makes
 * sure that a replay cannot hang.
 */
#include "replay/engine/engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/ioreel.h"
#include "schemas/syscall.h"
#include "schemas/trace_format.h"

#include "lib/clock.h"
#include "lib/error.h"

#include "replay/engine/beneath.h"
#include "replay/engine/buffers.h"
#include "replay/engine/calls.h"
#include "replay/comm/comm.h"
#include "replay/engine/fdtable.h"
#include "schemas/syscall.h"

#define STACK_BYTES (512 << 10)
#define THREADS_AT_ONCE 256
#define START_EARLY_NS 5000000
#define WATCH_NS 100000000
#define STUCK_LOOKS 20 /* looks without progress before waits are released */

static struct result_head *volatile stop_here; /* for the signal handler */

static void store_stop(int sig)
{
	if (stop_here)
		__atomic_store_n(&stop_here->stop, (uint32_t)sig,
				 __ATOMIC_RELAXED);
}

/* --- a process ----------------------------------------------------------- */

static struct player *player_new(struct player_process *q, uint32_t stream)
{
	const struct engine *e = q->engine;
	struct player *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->process = q;
	p->engine = e;
	p->index = stream;
	p->stream = &e->plan->stream[stream];
	p->result = &e->result.stream[stream];
	p->at_ns = q->base_ns;
	p->spawned = -1;
	return p;
}

/* A stream that cannot be played: release its waiters. */
static void give_up_stream(const struct engine *e, uint32_t stream)
{
	struct result_stream *s = &e->result.stream[stream];

	if (s->state == STREAM_DONE)
		return;
	s->state = STREAM_DONE;
	wait_post(s, UINT32_MAX);
}

static void give_up_streams(const struct engine *e,
			    const struct plan_process *pp)
{
	for (uint32_t i = 0; i < pp->streams; i++)
		give_up_stream(e, pp->stream + i);
}

/* A thread or a process could not be started. */
static void count_failure(const struct engine *e)
{
	__atomic_fetch_add(&e->result.head->failed, 1, __ATOMIC_RELAXED);
}

/*
 * A thread that has played its stream stays until the process ends: at the end
 * of a thread the shim would write, and use a descriptor number meanwhile.
 */
static uint32_t threads_ready; /* threads that have called player_begin() */
static uint32_t threads_go;    /* all have: they may play */

static void *thread_main(void *arg)
{
	struct player *p = arg;

	player_begin(p);
	__atomic_fetch_add(&threads_ready, 1, __ATOMIC_RELEASE);
	wait_gate(&threads_go);
	player_run(p);
	buffers_free(p);
	for (;;)
		pause();
	return NULL;
}

static bool start_thread(struct player_process *q, uint32_t stream)
{
	struct player *p = player_new(q, stream);
	pthread_attr_t attr;
	pthread_t thread;
	bool good;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	good = p && buffers_init(p) &&
	       !pthread_create(&thread, &attr, thread_main, p);
	pthread_attr_destroy(&attr);
	if (good)
		return true;
	if (p)
		buffers_free(p);
	free(p);
	count_failure(q->engine);
	give_up_stream(q->engine, stream);
	return false;
}

/* Start the threads that the job started later, shortly before their time. */
static void *starter_main(void *arg)
{
	struct player_process *q = arg;
	const struct engine *e = q->engine;
	const struct plan_process *pp = &e->plan->process[q->index];

	wait_begin();
	for (uint32_t i = THREADS_AT_ONCE; i < pp->streams; i++) {
		const struct plan_stream *s = &e->plan->stream[pp->stream + i];

		if (e->mode != REPLAY_AFAP)
			wait_until(&e->clock, &e->result,
				   q->base_ns + s->start_ns - START_EARLY_NS);
		start_thread(q, pp->stream + i);
	}
	return NULL;
}

/* The main stream is first, others are in the order of their start. */
static void start_threads(struct player_process *q)
{
	const struct plan_process *pp = &q->engine->plan->process[q->index];
	uint32_t started = 0;
	pthread_t starter;

	threads_ready = threads_go = 0;
	for (uint32_t i = 1; i < pp->streams && i < THREADS_AT_ONCE; i++)
		started += start_thread(q, pp->stream + i);
	/* The shim uses descriptor numbers for a moment in a new thread. */
	while (__atomic_load_n(&threads_ready, __ATOMIC_ACQUIRE) < started)
		usleep(20);
	wait_open_gate(&threads_go);
	if (pp->streams <= THREADS_AT_ONCE)
		return;
	if (pthread_create(&starter, NULL, starter_main, q))
		for (uint32_t i = THREADS_AT_ONCE; i < pp->streams; i++)
			give_up_stream(q->engine, pp->stream + i);
	else
		pthread_detach(starter);
}

void engine_join(struct player *p)
{
	const struct plan_process *pp =
		&p->engine->plan->process[p->process->index];
	const struct result *res = &p->engine->result;

	for (uint32_t i = 1; i < pp->streams; i++) {
		struct result_stream *s = &res->stream[pp->stream + i];

		while (!wait_for(res, s, p->result, UINT32_MAX) &&
		       !__atomic_load_n(&res->head->stop, __ATOMIC_RELAXED))
			usleep(1000); /* waits have been released: poll */
	}
}

static void note_process(const struct engine *e, uint32_t index)
{
	char id[16];

	if (!ioreel_note)
		return;
	snprintf(id, sizeof(id), "%u", e->plan->process[index].process_id);
	ioreel_note("replay.process", id);
}

/* A replayed process from start to end. */
static __attribute__((noreturn)) void process_main(struct player_process *q)
{
	const struct engine *e = q->engine;
	const struct plan_process *pp = &e->plan->process[q->index];
	struct player *p;

	e->result.pid[q->index] = (uint32_t)getpid();
	q->lock = 0;
	q->many_makers = pp->makers > 1;
	q->elsewhere = pp->moves;
	note_process(e, q->index);
	start_threads(q);
	p = player_new(q, pp->stream);
	if (p && buffers_init(p)) {
		player_begin(p);
		player_run(p);
	} else {
		count_failure(e);
		give_up_stream(e, pp->stream);
	}
	if (p)
		engine_join(p);
	if (pp->exits)
		call_stdio_exit(q);
	/* Not exit(): it would flush copies of other processes' streams. */
	_exit(0);
}

static void process_not_started(const struct engine *e, uint32_t process)
{
	count_failure(e);
	give_up_streams(e, &e->plan->process[process]);
}

void engine_fork(struct player *p, uint32_t child, int64_t at_ns)
{
	const struct plan_process *pp = &p->engine->plan->process[child];
	struct player_process *q = p->process;
	pid_t pid;

	/* No other thread may be changing the tables during a fork. */
	wait_lock(&q->lock);
	pid = fork();
	if (pid) {
		wait_unlock(&q->lock);
		if (pid < 0)
			process_not_started(p->engine, child);
		else
			p->engine->result.pid[child] = (uint32_t)pid;
		wait_post_fork(&p->engine->result.stream[pp->stream]);
		return;
	}
	q->index = child;
	q->base_ns = at_ns;
	fdtable_inherited(q);
	process_main(q);
}

/* --- the root ------------------------------------------------------------ */

/* A process issues no call of the job before it is confined. */
static void confine_player(struct player_process *q)
{
	struct result_head *h = q->engine->result.head;
	enum confinement way =
		confine_process(&q->engine->sandbox, q->engine->confine);

	q->root_fd = -1;
	if (way == CONFINE_OPENAT2 && beneath_begin(q))
		way = CONFINE_NONE;
	/* The change of credentials has cleared it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!way) {
		__atomic_fetch_add(&h->unconfined, 1, __ATOMIC_RELAXED);
		_exit(1);
	}
	if (way > h->confined)
		h->confined = way;
}

static void start_process(const struct engine *e, uint32_t index,
			  const sigset_t *mask)
{
	struct player_process *q;
	struct reel_error err = {0};
	pid_t pid = fork();

	if (pid < 0)
		process_not_started(e, index);
	else if (pid)
		e->result.pid[index] = (uint32_t)pid;
	if (pid)
		return;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	q = calloc(1, sizeof(*q));
	if (!q)
		_exit(1);
	q->engine = e;
	q->index = index;
	q->base_ns =
		e->result.head->origin_ns + e->plan->process[index].start_ns;
	if (raw(SYS_chdir, e->sandbox.root) || fdtable_init(q, &err))
		_exit(1);
	confine_player(q);
	process_main(q);
}

/*
 * Which processes belong to this rank: its share, with all that they fork. This
 * process can have other children, which are not waited for: an MPI library
 * starts helpers, and exec() keeps the children of a shell.
 */
enum owner { SHARE_NONE, SHARE_OURS, SHARE_ENDED };

/* Reap processes that have ended, and release their waiters. */
static void reap_children(const struct engine *e, uint8_t *share)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		for (uint32_t i = 0; i < e->plan->head->processes; i++) {
			if (share[i] != SHARE_OURS ||
			    e->result.pid[i] != (uint32_t)pid)
				continue;
			share[i] = SHARE_ENDED;
			give_up_streams(e, &e->plan->process[i]);
		}
	}
}

/* Does a process of the share live? */
static bool any_alive(const struct engine *e, const uint8_t *share)
{
	for (uint32_t i = 0; i < e->plan->head->processes; i++)
		if (share[i] == SHARE_OURS && e->result.pid[i])
			return true;
	return false;
}

/* The owner of each process; @order: a parent comes before its children. */
static uint8_t *share_of(const struct engine *e, const struct comm *comm,
			 const uint32_t *order, struct reel_error *err)
{
	uint32_t n = e->plan->head->processes;
	uint8_t *share = reel_alloc((size_t)n + 1, 1, err);

	for (uint32_t i = 0; share && i < n; i++) {
		uint32_t parent = e->plan->process[order[i]].parent;
		uint32_t rank = order[i] % (uint32_t)comm->size;

		share[order[i]] = parent != PLAN_NONE		 ? share[parent]
				  : rank == (uint32_t)comm->rank ? SHARE_OURS
								 : SHARE_NONE;
	}
	return share;
}

struct progress_check {
	uint64_t moved;
	int looks;
	bool released;
};

/*
 * Edges form a cycle only if clocks were wrong. But when all live streams wait,
 * and nothing has progressed for seconds, waits are released.
 */
static void check_progress(const struct engine *e, struct progress_check *w)
{
	uint64_t moved = 0, waiting = 0, running = 0;

	for (uint32_t i = 0; i < e->plan->head->streams; i++) {
		const struct result_stream *s = &e->result.stream[i];

		moved += s->calls;
		waiting += s->state == STREAM_WAITS;
		running += s->state == STREAM_RUNS;
	}
	w->looks = moved == w->moved && waiting && !running ? w->looks + 1 : 0;
	w->moved = moved;
	if (w->looks < STUCK_LOOKS || w->released)
		return;
	w->released = true;
	__atomic_store_n(&e->result.head->released, 1, __ATOMIC_RELAXED);
}

static void kill_processes(const struct engine *e)
{
	for (uint32_t i = 0; i < e->plan->head->processes; i++)
		if (e->result.pid[i])
			kill((pid_t)e->result.pid[i], SIGKILL);
}

/* The index in @order of the share's next process to start. */
static uint32_t next_root(const struct engine *e, const uint8_t *share,
			  const uint32_t *order, uint32_t i)
{
	uint32_t n = e->plan->head->processes;

	for (; i < n; i++) {
		const struct plan_process *pp = &e->plan->process[order[i]];

		if (pp->parent == PLAN_NONE && pp->streams &&
		    share[order[i]] == SHARE_OURS)
			break;
	}
	return i;
}

static void sleep_for_child(int64_t until_ns, const sigset_t *chld)
{
	int64_t left = until_ns - reel_now_ns();
	struct timespec ts = {0, 0};

	if (left > WATCH_NS)
		left = WATCH_NS;
	if (left > 0)
		ts = (struct timespec){0, left};
	sigtimedwait(chld, NULL, &ts);
}

static void supervise_processes(const struct engine *e, uint8_t *share,
				const uint32_t *order, const sigset_t *mask)
{
	struct result_head *h = e->result.head;
	uint32_t n = e->plan->head->processes;
	uint32_t i = next_root(e, share, order, 0);
	struct progress_check w = {0};
	int64_t watched = reel_now_ns();
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	while (!h->stop && (i < n || any_alive(e, share))) {
		int64_t now = reel_now_ns(), next = INT64_MAX;

		if (i < n) {
			next = h->origin_ns +
			       e->plan->process[order[i]].start_ns;
			if (e->mode == REPLAY_AFAP || next <= now) {
				start_process(e, order[i], mask);
				i = next_root(e, share, order, i + 1);
				continue;
			}
		}
		sleep_for_child(next, &chld);
		reap_children(e, share);
		if (now - watched >= WATCH_NS) {
			watched = now;
			check_progress(e, &w);
		}
	}
	if (h->stop)
		kill_processes(e);
	while (any_alive(e, share)) {
		sleep_for_child(INT64_MAX, &chld);
		reap_children(e, share);
	}
}

static const struct plan_process *sorted_process;

static int by_start(const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int64_t x = sorted_process[i].start_ns, y = sorted_process[k].start_ns;

	return x != y ? (x < y ? -1 : 1) : i < k ? -1 : i > k;
}

/*
 * Process indices in the order of their start. plan_open() has checked that a
 * parent starts before its children.
 */
static uint32_t *start_order(const struct plan *plan, struct reel_error *err)
{
	uint32_t n = plan->head->processes;
	uint32_t *order = reel_alloc((size_t)n + 1, sizeof(*order), err);

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	sorted_process = plan->process;
	qsort(order, n, sizeof(*order), by_start);
	return order;
}

/*
 * Set the time 0 of the replay. The job's was the start of its command, so the
 * replay's is the start of the engine: its preparations fall into the time
 * before the job's first process, unless they take longer.
 */
static void set_origin(struct engine *e, const uint32_t *order,
		       int64_t entry_ns)
{
	struct result_head *h = e->result.head;
	int64_t now = reel_now_ns(), first = 0;

	if (e->plan->head->processes)
		first = e->plan->process[order[0]].start_ns;
	h->begin_ns = entry_ns;
	h->origin_ns = now > entry_ns + first ? now - first : entry_ns;
}

/* Writes come from memory that is filled before: the largest must fit. */
static int check_memory(const struct plan *plan, struct reel_error *err)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) *
		       (uint64_t)sysconf(_SC_PAGESIZE);

	for (uint32_t i = 0; i < plan->head->streams; i++)
		if (plan->stream[i].most_written > all)
			return reel_fail(
				err, REEL_E_LIMIT,
				"a write of the plan takes %llu bytes, more "
				"than this machine has memory",
				(unsigned long long)plan->stream[i]
					.most_written);
	return 0;
}

static int prepare_engine(struct engine *e, const struct engine_options *opt,
			  struct reel_error *err)
{
	struct plan *plan = NULL;

	if (plan_open(&plan, opt->plan, err))
		return -1;
	e->plan = plan;
	if (check_memory(plan, err))
		return -1;
	e->mode = opt->mode;
	e->warm = opt->warm;
	if (confine_wanted(&e->confine, err) ||
	    result_open(&e->result, opt->result, plan, err) ||
	    sandbox_use(&e->sandbox, opt->root, err) ||
	    fdtable_open_own(e, err))
		return -1;
	buffers_fill_text();
	wait_calibrate(&e->clock, opt->burn);
	return 0;
}

/* Wait as long as the job went on after its last process. */
static void wait_wall(const struct engine *e)
{
	int64_t last = 0;

	for (uint32_t i = 0; i < e->plan->head->processes; i++)
		if (e->plan->process[i].end_ns > last)
			last = e->plan->process[i].end_ns;
	if (e->mode != REPLAY_AFAP && last && !e->result.head->stop &&
	    e->plan->head->wall_ns > last)
		wait_until(&e->clock, &e->result,
			   reel_now_ns() + e->plan->head->wall_ns - last);
	e->result.head->end_ns = reel_now_ns();
}

int engine_run(const struct engine_options *opt, const struct comm *comm,
	       struct reel_error *err)
{
	int64_t entry_ns = reel_now_ns(), bad;
	struct engine e = {0};
	uint32_t *order = NULL;
	uint8_t *share = NULL;
	sigset_t mask, chld;

	bad = prepare_engine(&e, opt, err) ||
	      !(order = start_order(e.plan, err)) ||
	      !(share = share_of(&e, comm, order, err));
	comm->allreduce(&bad, 1, COMM_MAX);
	if (bad || !share) {
		free(order);
		free(share);
		plan_close((struct plan *)(uintptr_t)e.plan);
		return reel_fail(err, REEL_E_IO, "another rank failed");
	}
	stop_here = e.result.head;
	signal(SIGINT, store_stop);
	signal(SIGTERM, store_stop);
	signal(SIGHUP, store_stop);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &mask);
	if (comm->rank == 0)
		set_origin(&e, order, entry_ns);
	comm->barrier();
	supervise_processes(&e, share, order, &mask);
	comm->barrier();
	if (comm->rank == 0)
		wait_wall(&e);
	stop_here = NULL;
	result_close(&e.result);
	plan_close((struct plan *)(uintptr_t)e.plan);
	free(order);
	free(share);
	return 0;
}
