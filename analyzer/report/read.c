/* SPDX-License-Identifier: MIT */
/* Fill struct report from the views of a store. */
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"

#define INT(name) reel_view_int(v, name)
#define KNOWN(name) reel_view_known(v, name)
#define REAL(name) reel_view_real(v, name)

typedef int row_fn(struct report *r, struct reel_view *v);

/* Call @fn for each row of @sql. */
static int each_row(struct report *r, const char *sql, row_fn *fn,
		    struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, r->st, sql, err);
	while (reel_view_next(&v))
		if (fn(r, &v))
			v.failed = true;
	return reel_view_close(&v);
}

/* 0: reads, 1: writes, -1: neither. */
static int direction(struct reel_view *v)
{
	const char *op = reel_view_text(v, "op");

	return !strcmp(op, "read") ? 0 : !strcmp(op, "write") ? 1 : -1;
}

/* Copy a text; NULL when it is empty. */
static int copy_text(char **out, struct reel_view *v, const char *column)
{
	const char *text = reel_view_text(v, column);

	if (!*text || *out)
		return 0;
	*out = reel_strdup(text, v->err);
	return *out ? 0 : -1;
}

static int fill_run(struct report *r, struct reel_view *v)
{
	r->ranks_declared = KNOWN("ranks");
	r->processes = KNOWN("processes");
	r->threads = KNOWN("threads");
	r->start_real_ns = KNOWN("start_real_ns");
	if (r->start_real_ns != REPORT_NONE) /* a date is not clamped */
		r->start_real_ns = reel_view_exact(v, "start_real_ns");
	r->wall_ns = KNOWN("wall_ns");
	r->span_ns = KNOWN("span_ns");
	r->exit_status = KNOWN("exit_status");
	r->exit_signal = KNOWN("exit_signal");
	return copy_text(&r->name, v, "name") ||
	       copy_text(&r->framework, v, "framework") ||
	       copy_text(&r->host, v, "hosts");
}

/* "processes" or "inside": a profile names the loader, but not its workers. */
static int fill_loader(struct report *r, struct reel_view *v)
{
	r->cycles = INT("cycles");
	return copy_text(&r->loader, v, "loader");
}

static int fill_scope(struct report *r, struct reel_view *v)
{
	r->hosts = INT("hosts");
	r->call_sites = INT("call_sites");
	r->summed_steps = INT("summed_steps");
	return 0;
}

static int fill_summary(struct report *r, struct reel_view *v)
{
	r->events = KNOWN("events");
	r->calls = KNOWN("calls");
	r->messages = KNOWN("messages");
	r->message_bytes = KNOWN("message_bytes");
	r->io_ns = KNOWN("io_ns");
	r->clock_error_ns = KNOWN("clock_error_ns");
	r->code_opens = KNOWN("code_opens");
	r->code_calls = KNOWN("code_calls");
	r->code_read_bytes = KNOWN("code_read_bytes");
	r->mapped_bytes = KNOWN("mapped_bytes");
	return 0;
}

static int fill_measured(struct report *r, struct reel_view *v)
{
	r->io_is_bound = !INT("whole");
	r->recorded = INT("recorded");
	r->metadata = INT("metadata");
	r->mpiio_only = INT("mpiio");
	if (r->mpiio_only) /* no rule may take them for calls on files */
		r->calls = 0;
	return 0;
}

static int fill_rank_io(struct report *r, struct reel_view *v)
{
	r->rank_io.ranks = INT("ranks");
	r->rank_io.mean_ns = INT("mean_ns");
	r->rank_io.max_ns = INT("max_ns");
	r->rank_io.sum_ns = INT("sum_ns");
	return 0;
}

static int fill_group(struct report *r, struct reel_view *v)
{
	const char *name = reel_view_text(v, "call_group");

	for (int g = 0; g < REEL_GROUPS; g++) {
		if (strcmp(reel_group_name(g), name))
			continue;
		r->group[g].calls = INT("calls");
		r->group[g].bytes = INT("bytes");
		r->group[g].sizeless = KNOWN("bytes") == REPORT_NONE;
		r->group[g].dur_ns = INT("dur_ns");
		r->group[g].errors = INT("errors");
		r->group_sum_ns += r->group[g].dur_ns;
	}
	return 0;
}

static enum report_meta meta_row(int64_t call)
{
	switch (call) {
	case REEL_CALL_UNLINK:
	case REEL_CALL_UNLINKAT:
	case REEL_CALL_REMOVE:
	case REEL_CALL_SHM_UNLINK:
	case REEL_CALL_RENAME:
	case REEL_CALL_RENAMEAT:
	case REEL_CALL_RENAMEAT2:
	case REEL_CALL_LINK:
	case REEL_CALL_LINKAT:
	case REEL_CALL_SYMLINK:
	case REEL_CALL_SYMLINKAT:
		return REPORT_META_NAMES;
	case REEL_CALL_POSIX_FADVISE:
	case REEL_CALL_READAHEAD:
		return REPORT_META_ADVICE;
	}
	return REPORT_META_FILES;
}

static int fill_call(struct report *r, struct reel_view *v)
{
	struct report_group *g = &r->meta[meta_row(INT("call_id"))];
	enum reel_group of =
		reel_group_of_name(reel_view_text(v, "call_group"));

	if (!INT("message") && !INT("higher_layer") && !INT("dur_ns") &&
	    (of == REEL_GROUP_READ || of == REEL_GROUP_WRITE) &&
	    strcmp(reel_view_text(v, "layer"), "MMAP"))
		r->group[of].untimed += INT("calls");
	if (!strcmp(reel_view_text(v, "layer"), "ASYNC"))
		*(of == REEL_GROUP_QUEUE ? &r->async.call_ns
					 : &r->async.flight_ns) +=
			INT("dur_ns");
	if (INT("message") || strcmp(reel_view_text(v, "call_group"), "meta") ||
	    !strcmp(reel_view_text(v, "layer"), "MPIIO"))
		return 0;
	g->calls += INT("calls");
	g->dur_ns += INT("dur_ns");
	return 0;
}

static int fill_mapped(struct report *r, struct reel_view *v)
{
	r->untimed_bytes = KNOWN("untimed_bytes");
	r->unknown_bytes = KNOWN("unknown_bytes");
	r->map_read_bytes = INT("read_bytes");
	r->map_write_bytes = INT("write_bytes");
	return 0;
}

static int fill_unseen(struct report *r, struct reel_view *v)
{
	r->unseen.uring_operations = INT("uring_operations");
	r->unseen.page_faults = INT("page_faults");
	r->unseen.fault_processes = INT("fault_processes");
	return 0;
}

static int fill_locks(struct report *r, struct reel_view *v)
{
	r->lock_ns = INT("dur_ns");
	return 0;
}

static int fill_flushes(struct report *r, struct reel_view *v)
{
	r->flushes = INT("calls");
	r->flush_ns = INT("dur_ns");
	return 0;
}

static int fill_uses(struct report *r, struct reel_view *v)
{
	r->uses.python = INT("python");
	r->uses.pytorch = INT("pytorch");
	r->uses.tensorflow = INT("tensorflow");
	r->uses.grain = INT("grain");
	r->uses.prefetch = INT("prefetch");
	r->uses.parallel = INT("parallel");
	r->uses.cache = INT("cache");
	r->uses.generator = INT("generator");
	r->uses.own_loop = !strcmp(reel_view_text(v, "steps"), "optimizer");
	return copy_text(&r->noted_loader, v, "loader");
}

static int fill_storage(struct report *r, struct reel_view *v)
{
	r->storage.reads = INT("reads");
	r->storage.read_bytes = INT("read_bytes");
	r->storage.bytes = INT("fetched_bytes");
	r->storage.ns = INT("dur_ns");
	r->storage.waits = INT("waits");
	r->storage.wait_ns = INT("wait_ns");
	return 0;
}

static int fill_storage_wait(struct report *r, struct reel_view *v)
{
	r->storage_wait.exposed_ns = INT("exposed_ns");
	r->storage_wait.reads = INT("reads");
	r->storage_wait.bytes = INT("bytes");
	r->storage_wait.read_ns = INT("read_ns");
	return 0;
}

static int fill_error(struct report *r, struct reel_view *v)
{
	int i = 0;

	while (i < REPORT_ERRORS && r->error[i].calls)
		i++;
	if (i == REPORT_ERRORS)
		return 0;
	strncpy(r->error[i].call, reel_view_text(v, "call"),
		sizeof(r->error[i].call) - 1);
	r->error[i].number = (int)INT("errno");
	r->error[i].calls = INT("calls");
	return 0;
}

static int fill_mpiio(struct report *r, struct reel_view *v)
{
	struct report_mpiio *m = &r->mpiio[direction(v) == 1];

	m->calls = INT("calls");
	m->collective = KNOWN("collective_calls");
	m->bytes = INT("bytes");
	m->posix_calls = KNOWN("posix_calls");
	m->posix_bytes = KNOWN("posix_bytes");
	return 0;
}

static int fill_transfer_size(struct report *r, struct reel_view *v)
{
	struct report_transfer *t = &r->transfer[direction(v) == 1];

	if (direction(v) < 0)
		return 0;
	t->calls = INT("calls");
	t->bytes = INT("bytes");
	t->min_bytes = KNOWN("min_bytes");
	t->median_bytes = KNOWN("median_bytes");
	t->max_bytes = KNOWN("max_bytes");
	return 0;
}

static int fill_bandwidth(struct report *r, struct reel_view *v)
{
	if (direction(v) >= 0)
		r->transfer[direction(v)].busy_bytes_per_s =
			REAL("busy_bytes_per_s");
	return 0;
}

static int fill_sequence(struct report *r, struct reel_view *v)
{
	struct report_transfer *t = &r->transfer[direction(v) == 1];

	if (direction(v) < 0)
		return 0;
	t->in_order_share = REAL("in_order_share");
	t->random_share = REAL("random_share");
	t->random = INT("random");
	return 0;
}

static int fill_size_bin(struct report *r, struct reel_view *v)
{
	struct report_sizes *s = &r->sizes[direction(v) == 1];
	struct report_size_bin *bin = &s->bin[s->bins];

	if (s->bins == REPORT_SIZE_BINS)
		return 0;
	s->bins++;
	bin->low_bytes = INT("low_bytes");
	bin->calls = INT("calls");
	bin->bytes = INT("bytes");
	bin->dur_ns = INT("dur_ns");
	s->sum.calls += bin->calls;
	s->sum.bytes += bin->bytes;
	s->sum.dur_ns += bin->dur_ns;
	if (bin->calls > s->most_calls)
		s->most_calls = bin->calls;
	return 0;
}

static int fill_files(struct report *r, struct reel_view *v)
{
	r->transfer[0].files = INT("read_files");
	r->transfer[1].files = INT("write_files");
	r->data_files = INT("data_files");
	r->data_opens = INT("data_opens");
	r->data_read_bytes = INT("data_read_bytes");
	r->transfer[0].opens_read = INT("read_opens");
	r->median_file_bytes = KNOWN("median_data_bytes");
	return 0;
}

static int fill_small(struct report *r, struct reel_view *v)
{
	int op = direction(v) == 1;

	r->small[op].calls = INT("calls");
	r->small[op].ns = INT("dur_ns");
	return 0;
}

static int fill_checkpoints(struct report *r, struct reel_view *v)
{
	int64_t process = INT("process_id"), i;

	if (INT("wait_ns") > r->checkpoint_ns) {
		r->checkpoints = INT("checkpoints");
		r->checkpoint_ns = INT("wait_ns");
		r->unfinished_ns = INT("unfinished_ns");
	}
	/* I/O of the steps is what is no checkpoint's. */
	for (i = 0; i < r->ranks; i++)
		if (r->rank[i].process_id == process &&
		    r->rank[i].own_io_ns > 0)
			r->rank[i].own_io_ns -= INT("later_ns");
	return 0;
}

static int fill_step_write(struct report *r, struct reel_view *v)
{
	r->step_write.rank = INT("rank");
	r->step_write.ns = INT("write_ns");
	r->step_write.loop_ns = INT("loop_ns");
	return 0;
}

static int fill_epochs(struct report *r, struct reel_view *v)
{
	r->epochs = INT("epochs");
	r->epoch_start_ns = INT("wait_ns");
	return 0;
}

static void add_rank_workers(struct report *r, const struct report_rank *k)
{
	if (k->workers > r->workers)
		r->workers = k->workers;
	if (k->min_workers > 0 &&
	    (!r->min_workers || k->min_workers < r->min_workers))
		r->min_workers = k->min_workers;
}

static void get_rank(struct report_rank *k, struct reel_view *v)
{
	strncpy(k->compute_source, reel_view_text(v, "compute_source"),
		sizeof(k->compute_source) - 1);
	k->rank = KNOWN("rank");
	k->process_id = KNOWN("process_id");
	k->steps = KNOWN("steps");
	k->unknown_steps = KNOWN("unknown_steps");
	k->steady_steps = KNOWN("steady_steps");
	k->epochs = KNOWN("epochs");
	k->loop_ns = KNOWN("loop_ns");
	k->loop_wait_ns = KNOWN("loop_wait_ns");
	k->own_io_ns = KNOWN("own_io_ns");
	k->steady_ns = KNOWN("steady_ns");
	k->steady_fetch_ns = KNOWN("steady_fetch_ns");
	k->steady_compute_ns = KNOWN("steady_compute_ns");
	k->steady_own_io_ns = KNOWN("steady_own_io_ns");
	k->median_step_ns = KNOWN("median_step_ns");
	k->median_fetch_ns = KNOWN("median_fetch_ns");
	k->median_compute_ns = KNOWN("median_compute_ns");
	k->median_own_io_ns = KNOWN("median_own_io_ns");
	k->median_other_ns = KNOWN("median_other_ns");
	k->io_ns = KNOWN("io_ns");
	k->hidden_ns = KNOWN("hidden_ns");
	k->exposed_ns = KNOWN("exposed_ns");
	k->fetch_ns = KNOWN("fetch_ns");
	k->workers = KNOWN("workers");
	k->min_workers = KNOWN("min_workers");
	k->worker_restarts = KNOWN("worker_restarts");
	k->hidden_share = REAL("hidden_share");
	k->computing_share = REAL("computing_share");
	k->stall_share = REAL("stall_share");
	k->wait_share = REAL("wait_share");
	k->exposed_wait_share = REAL("exposed_wait_share");
	k->wait_most_share = REAL("wait_most_share");
	k->worker_busy_share = REAL("worker_busy_share");
	k->worker_io_share = REAL("worker_io_share");
	k->worker_call_share = REAL("worker_call_share");
	k->worker_mapped_share = REAL("worker_mapped_share");
	k->own_batch_ns = KNOWN("own_batch_ns");
	k->busy_wait_ns = KNOWN("busy_wait_ns");
	k->between_wait_ns = KNOWN("between_wait_ns");
	k->headroom = REAL("headroom");
	k->evaluations = KNOWN("evaluations");
	k->evaluation_ns = KNOWN("evaluation_ns");
	k->evaluation_wait_ns = KNOWN("evaluation_wait_ns");
	k->evaluation_loop_wait_ns = KNOWN("evaluation_loop_wait_ns");
	k->epoch_first_wait_ns = KNOWN("epoch_first_wait_ns");
	k->evaluation_first_wait_ns = KNOWN("evaluation_first_wait_ns");
}

static int fill_rank(struct report *r, struct reel_view *v)
{
	struct report_rank *k;

	if (reel_grow(&r->rank, (size_t)r->ranks + 1, sizeof(*k), v->err))
		return -1;
	k = &r->rank[r->ranks++];
	memset(k, 0, sizeof(*k));
	get_rank(k, v);
	if (r->ranks == 1) /* the epochs of this rank are looked at */
		r->worker_restarts = k->worker_restarts;
	add_rank_workers(r, k);
	return 0;
}

static int fill_phases(struct report *r, struct reel_view *v)
{
	r->read_phases = INT("spans");
	return 0;
}

static int fill_import(struct report *r, struct reel_view *v)
{
	r->sources = INT("sources");
	r->counters = INT("counters");
	r->spans = INT("spans");
	return 0;
}

static int fill_counters(struct report *r, struct reel_view *v)
{
	int64_t read_ns = INT("read_ns"), write_ns = INT("write_ns"),
		meta_ns = INT("meta_ns"), sum_ns, most_ns, looks;

	if (!strcmp(reel_view_text(v, "module"), "STDIO")) {
		r->stdio[0].calls = INT("reads");
		r->stdio[0].bytes = INT("read_bytes");
		r->stdio[1].calls = INT("writes");
		r->stdio[1].bytes = INT("write_bytes");
	}
	if (__builtin_add_overflow(read_ns, write_ns, &sum_ns) ||
	    __builtin_add_overflow(sum_ns, meta_ns, &sum_ns) ||
	    __builtin_add_overflow(INT("opens"), INT("stats"), &looks))
		return 0; /* no real log */
	most_ns = r->counted.read_ns + r->counted.write_ns + r->counted.meta_ns;
	if (sum_ns <= most_ns)
		return 0;
	strncpy(r->counted.module, reel_view_text(v, "module"),
		sizeof(r->counted.module) - 1);
	r->counted.read_ns = read_ns;
	r->counted.write_ns = write_ns;
	r->counted.meta_ns = meta_ns;
	r->counted.calls[0] = INT("reads");
	r->counted.calls[1] = INT("writes");
	r->counted.calls[2] = looks;
	r->counted.bytes[0] = INT("read_bytes");
	r->counted.bytes[1] = INT("write_bytes");
	return 0;
}

static int fill_readers(struct report *r, struct reel_view *v)
{
	r->other_readers = INT("readers");
	return 0;
}

static int fill_classes(struct report *r, struct reel_view *v)
{
	r->code_meta_share = REAL("code_meta_share");
	r->checkpoint_opens = INT("checkpoint_opens");
	r->checkpoint_meta_ns = INT("checkpoint_meta_ns");
	return 0;
}

static int fill_kernels(struct report *r, struct reel_view *v)
{
	r->kernels.processes = INT("processes");
	r->kernels.busy_ns = REAL("busy_ns");
	return 0;
}

static int fill_rank_numbers(struct report *r, struct reel_view *v)
{
	r->rank_numbers = INT("numbers") > 0;
	return 0;
}

static int fill_tracer(struct report *r, struct reel_view *v)
{
	r->tracer.call_ns = INT("call_ns");
	r->tracer.io_share = REAL("io_share");
	return 0;
}

static const struct {
	const char *sql;
	row_fn *fn;
} queries[] = {
	{"SELECT * FROM v_report_run", fill_run},
	{"SELECT * FROM v_report_scope", fill_scope},
	{"SELECT count(rank) AS numbers FROM process", fill_rank_numbers},
	{"SELECT * FROM v_summary", fill_summary},
	{"SELECT * FROM v_measured", fill_measured},
	{"SELECT * FROM v_rank_io_time", fill_rank_io},
	{"SELECT * FROM v_group", fill_group},
	{"SELECT sum(meta_ns) FILTER (WHERE class IN ('code', 'system')) * 1.0 "
	 "/ nullif(sum(meta_ns), 0) AS code_meta_share, "
	 "ifnull(sum(opens) FILTER (WHERE class = 'checkpoint'), 0) "
	 "AS checkpoint_opens, ifnull(sum(meta_ns) "
	 "FILTER (WHERE class = 'checkpoint'), 0) AS checkpoint_meta_ns "
	 "FROM v_class",
	 fill_classes},
	{"SELECT * FROM v_call", fill_call},
	{"SELECT * FROM v_tracer", fill_tracer},
	{"SELECT * FROM v_mapped", fill_mapped},
	{"SELECT * FROM v_unseen", fill_unseen},
	{"SELECT * FROM v_stream_flush", fill_flushes},
	{"SELECT * FROM v_lock", fill_locks},
	{"SELECT * FROM v_framework", fill_uses},
	{"SELECT count(*) AS readers FROM v_process WHERE reads > 0 "
	 "AND role <> 'worker' AND EXISTS (SELECT 1 FROM source) "
	 "AND process_id NOT IN (SELECT process_id FROM rank_time)",
	 fill_readers},
	{"SELECT json_extract(job_json, '$.loader') AS loader, "
	 "ifnull(json_extract(job_json, '$.cycles'), 1) AS cycles FROM run",
	 fill_loader},
	{"SELECT * FROM v_frequent_error LIMIT 3", fill_error},
	{"SELECT * FROM v_mpiio", fill_mpiio},
	{"SELECT * FROM transfer_size", fill_transfer_size},
	{"SELECT * FROM v_bandwidth", fill_bandwidth},
	{"SELECT * FROM v_sequence", fill_sequence},
	{"SELECT * FROM v_transfer_size ORDER BY low_bytes", fill_size_bin},
	{"SELECT * FROM v_file_count", fill_files},
	{"SELECT * FROM v_small_transfer", fill_small},
	{"SELECT * FROM v_epoch_start", fill_epochs},
	{"SELECT * FROM v_rank", fill_rank},
	{"SELECT * FROM v_checkpoint_wait", fill_checkpoints},
	{"SELECT o.rank, w.* FROM v_step_write w JOIN v_overlap o "
	 "USING (process_id) WHERE o.wait_share IS NULL "
	 "ORDER BY 1.0 * w.write_ns / w.loop_ns DESC LIMIT 1",
	 fill_step_write},
	{"SELECT * FROM v_storage_total", fill_storage},
	{"SELECT * FROM v_storage_wait", fill_storage_wait},
	{"SELECT * FROM v_report_import", fill_import},
	{"SELECT * FROM v_report_counters", fill_counters},
	{"SELECT * FROM v_report_kernels", fill_kernels},
	{"SELECT * FROM v_phase WHERE phase = 'read'", fill_phases},
};

static int fill_journals(struct report *r, struct reel_view *v)
{
	r->journal_ns = INT("meta_ns");
	return 0;
}

/* The view looks at each file name, so only where the job synced. */
static int read_journals(struct report *r, struct reel_error *err)
{
	if (r->group[REEL_GROUP_SYNC].calls <= r->flushes)
		return 0;
	return each_row(r, "SELECT * FROM v_sqlite_sync", fill_journals, err);
}

/* The kinds of calls that took most time in the process of the rank whose steps
 * do most I/O of their own. */
static int read_busiest(struct report *r, struct reel_error *err)
{
	double share;
	const struct report_rank *k = advice_own_io_rank(r, &share);
	struct reel_view v;
	int n = 0;

	if (!k)
		return 0;
	reel_view_open(&v, r->st,
		       "SELECT * FROM v_process_group WHERE process_id = ?1 "
		       "AND dur_ns > 0 LIMIT 3",
		       err);
	reel_view_bind(&v, 1, k->process_id);
	while (n < REPORT_BUSIEST && reel_view_next(&v)) {
		strncpy(r->busiest[n].group, reel_view_text(&v, "call_group"),
			sizeof(r->busiest[n].group) - 1);
		r->busiest[n++].dur_ns = reel_view_int(&v, "dur_ns");
	}
	return reel_view_close(&v);
}

static int read_loaders(struct report *r, const struct report_rank *k,
			struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, r->st,
		       "SELECT * FROM v_step_loaders WHERE process_id = ?1",
		       err);
	reel_view_bind(&v, 1, k->process_id);
	if (reel_view_next(&v)) {
		r->queue.several = reel_view_int(&v, "several");
		r->queue.first_ns = reel_view_int(&v, "first_wait_ns");
		r->queue.others_ns = reel_view_int(&v, "later_wait_ns");
	}
	return reel_view_close(&v);
}

/* The views pass over all spans, and sort all batches: only where the advice depends
 * on them. */
static int read_queue(struct report *r, struct reel_error *err)
{
	const struct report_rank *k = report_slowest(r);
	struct reel_view v;

	r->queue.mean_depth = r->queue.empty_share = REPORT_NONE;
	r->queue.unready_share = REPORT_NONE;
	if (!k || k->workers <= 0 ||
	    k->exposed_wait_share < advice_threshold.wait_share)
		return 0;
	if (read_loaders(r, k, err))
		return -1;
	if (r->queue.several || !advice_workers_idle(k))
		return 0;
	reel_view_open(&v, r->st,
		       "SELECT mean_depth, empty_share, unready_share "
		       "FROM v_loader WHERE process_id = ?1",
		       err);
	reel_view_bind(&v, 1, k->process_id);
	if (reel_view_next(&v)) {
		r->queue.mean_depth = reel_view_real(&v, "mean_depth");
		r->queue.empty_share = reel_view_real(&v, "empty_share");
		r->queue.unready_share = reel_view_real(&v, "unready_share");
	}
	return reel_view_close(&v);
}

/* The view passes over the events of threads: only where their processes read most of
 * the data, and where fetches take less than a verdict of their own. */
static int read_steps(struct report *r, struct reel_error *err)
{
	const struct report_rank *k = report_slowest(r);
	struct reel_view v;

	if (!k || k->steps <= 0 || r->data_read_bytes <= 0 ||
	    k->wait_share == REPORT_NONE ||
	    k->wait_share >= advice_threshold.bound_share)
		return 0;
	reel_view_open(&v, r->st,
		       "SELECT (SELECT sum(outside_bytes) FROM v_step_read) "
		       "AS bytes WHERE (SELECT sum(p.read_bytes) "
		       "FROM v_process p JOIN rank_time USING (process_id)) "
		       ">= ?1",
		       err);
	reel_view_bind(&v, 1,
		       (int64_t)(advice_threshold.step_read_share *
				 (double)r->data_read_bytes));
	if (reel_view_next(&v))
		r->step_read_bytes = reel_view_int(&v, "bytes");
	return reel_view_close(&v);
}

static int read_epoch_waits(struct report *r, struct reel_error *err)
{
	const struct report_rank *k = report_slowest(r);
	struct reel_view v;

	r->first_epoch_wait = r->later_epochs_wait = REPORT_NONE;
	if (!k || k->epochs < 2)
		return 0;
	reel_view_open(&v, r->st,
		       "SELECT * FROM v_epoch_wait WHERE process_id = ?1", err);
	reel_view_bind(&v, 1, k->process_id);
	if (reel_view_next(&v)) {
		r->first_epoch_wait = reel_view_real(&v, "first_share");
		r->later_epochs_wait = reel_view_real(&v, "later_share");
	}
	return reel_view_close(&v);
}

int report_read(struct report *r, struct reel_store *st, struct reel_error *err)
{
	r->st = st;
	r->median_file_bytes = r->io_ns = r->wall_ns = REPORT_NONE;
	for (int op = 0; op < 2; op++) {
		struct report_transfer *t = &r->transfer[op];

		t->min_bytes = t->median_bytes = t->max_bytes = REPORT_NONE;
		t->busy_bytes_per_s = t->in_order_share = t->random_share =
			REPORT_NONE;
	}
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (each_row(r, queries[i].sql, queries[i].fn, err))
			return -1;
	reel_cpu_contention_read(&r->cpu_contention, st);
	if (report_completeness_read(&r->completeness, st, err))
		return -1;
	return read_journals(r, err) || read_busiest(r, err) ||
			       read_queue(r, err) || read_epoch_waits(r, err) ||
			       read_steps(r, err) ||
			       report_read_repeated(r, err) || advise(r, err)
		       ? -1
		       : 0;
}

void report_fini(struct report *r)
{
	report_completeness_fini(&r->completeness);
	free(r->name);
	free(r->framework);
	free(r->loader);
	free(r->noted_loader);
	free(r->host);
	free(r->rank);
	free(r->verdict);
	memset(r, 0, sizeof(*r));
}
