/* SPDX-License-Identifier: MIT */
/* ioreel run: run a workload as a benchmark. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/num.h"
#include "lib/terminal.h"

#include "cmd/commands.h"
#include "cmd/ranks.h"
#include "cmd/run.h"
#include "cmd/run_store.h"
#include "replay/comm/comm.h"
#include "replay/generate/generate.h"
#include "replay/kvcache/kvcache.h"
#include "replay/pipeline/result.h"
#include "replay/pipeline/run.h"
#include "replay/pipeline/run_log.h"
#include "replay/pipeline/stop.h"
#include "replay/rules/rules.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_run = {
	.name = "run",
	.task = "run a workload as a benchmark",
	.usage = "[--data DIR | --null] [-o RUN.db] [--rules NAME] [--scale "
		 "1/N] "
		 "[--set KEY=VALUE] [--json] F.json",
	.examples = "ioreel run unet3d.json --data /scratch/unet3d\n"
		    "ioreel run unet3d.json --data /scratch/unet3d --rules "
		    "mlperf-3.0\n"
		    "mpirun -n 8 ioreel-mpi run unet3d.json --data "
		    "/scratch/unet3d --json\n",
	.about = "Reads the data set DIR, which ioreel gen made, as the job of "
		 "the workload F.json does: readers, order, batches, steps, "
		 "checkpoints. --null makes no call on storage: it shows the "
		 "cost of the benchmark itself.",
	.run = run,
};

struct run_command {
	const char *file;
	struct run_options options;
	double scale;
	const char **set; /* owned array of borrowed words */
	int sets;
	int rules; /* enum rules_version; -1: none */
	const char *results;
	int64_t memory_bytes; /* of a host; 0: as the kernel has it */
	bool json;
	struct reel_buf folder; /* the default of options.checkpoints */
	const char *output;	/* a store of all calls; NULL: none */
	struct reel_buf line;	/* the command line */
};

/* Rules that the runs cannot change: said before them, which may take a day. */
static void warn_before(const struct rules_case *series)
{
	struct rules_verdict verdict[RULES_MOST];
	int n = rules_judge(series, true, verdict);

	for (int i = 0; i < n; i++)
		if (verdict[i].outcome == RULES_FAIL)
			fprintf(stderr, "ioreel run: %s will fail: %s\n",
				verdict[i].rule, verdict[i].text);
}

/* The series of runs that the rules ask for; rank 0 prints. A rule that fails is
 * a failure of its own kind. */
static int by_rules(const struct comm *comm, const struct run_command *c,
		    const struct workload *w, struct reel_error *err)
{
	struct rules_verdict verdict[RULES_MOST];
	struct rules_case series = {.version = (enum rules_version)c->rules,
				    .scale = c->scale};
	int n, bad = 0, rc = 0;

	if (w->kvcache.users && series.version == RULES_MLPERF_2_0)
		return reel_fail(err, REEL_E_USAGE,
				 "%s has no key-value cache; give --rules %s",
				 rules_name(series.version),
				 rules_name(RULES_MLPERF_3_0));
	rules_begin(w, comm, c->memory_bytes, &series);
	if (comm->rank == 0 && !c->options.quiet)
		warn_before(&series);
	if (rules_run(w, &c->options, comm, c->results, &series, err)) {
		rules_fini(&series);
		return -1;
	}
	n = rules_judge(&series, false, verdict);
	for (int i = 0; i < n; i++)
		bad += verdict[i].outcome == RULES_FAIL;
	if (comm->rank == 0)
		rc = c->json ? rules_json(&series, verdict, n, err)
			     : rules_print(&series, verdict, n, err);
	rules_fini(&series);
	return !rc && bad && comm->rank == 0
		       ? reel_fail(err, REEL_E_LIMIT,
				   "%d of %d rules of %s fail", bad, n,
				   rules_name(series.version))
		       : rc;
}

/* A path that cannot be written fails before the run. */
static int begin_log(const struct comm *comm, const struct run_command *c,
		     struct run_log **log, struct reel_error *err)
{
	int rc = 0;

	if (!c->output)
		return 0;
	if (comm->rank == 0)
		rc = run_store_check(c->output, err);
	rc = comm_agree(comm, rc, err);
	return rc ? -1 : run_log_new(log, c->output, comm, err);
}

static int write_store(const struct comm *comm, const struct run_command *c,
		       const struct workload *w, struct run_log *log,
		       int64_t wall_ns, struct reel_error *err)
{
	const struct workload_pipeline *p = &w->pipeline;
	const struct run_store of = {
		.log = log,
		.name = w->name,
		.command = reel_buf_text(&c->line),
		.wall_ns = wall_ns,
		.ranks = comm->size,
		.readers = p->unit == WORKLOAD_PROCESS ? p->readers : 0,
	};
	int rc = run_log_collect(log, err);

	if (!rc && comm->rank == 0) {
		rc = run_store_write(c->output, &of, c->options.quiet, err);
		if (!rc && !c->options.quiet)
			reel_terminal_next("report", c->output, NULL);
	}
	return rc;
}

static int once(const struct comm *comm, const struct run_command *c,
		const struct workload *w, struct reel_error *err)
{
	struct run_options options = c->options;
	struct run_result result = {0};
	int64_t wall_ns;
	int rc = begin_log(comm, c, &options.log, err);

	if (rc)
		return -1;
	/* After a failure here the other ranks may be anywhere: no more calls
	 * together. */
	rc = run_workload(w, &options, comm, &result, err);
	wall_ns = result.wall_ns;
	if (rc) {
		run_log_abandon(options.log);
		goto out;
	}
	rc = run_result_reduce(&result, comm, err);
	if (!rc && comm->rank == 0)
		rc = c->json ? run_result_json(w, &result, comm->size, err)
			     : run_result_print(w, &result, comm->size);
	if (options.log && !comm_agree(comm, rc, err))
		rc = write_store(comm, c, w, options.log, wall_ns, err);
out:
	run_log_free(options.log);
	run_result_fini(&result);
	return rc;
}

static int cache_once(const struct comm *comm, const struct run_command *c,
		      const struct workload *w, struct reel_error *err)
{
	struct run_options options = c->options;
	struct kvcache_result cache = {0};
	struct run_result result = {0};
	int64_t wall_ns;
	int rc = begin_log(comm, c, &options.log, err);

	if (rc)
		return -1;
	rc = kvcache_run(w, &options, comm, &result, &cache, err);
	wall_ns = result.wall_ns;
	if (!rc)
		rc = run_result_reduce(&result, comm, err);
	if (!rc)
		kvcache_reduce(&cache, comm);
	if (!rc && comm->rank == 0)
		rc = c->json ? kvcache_json(w, &result, &cache, comm->size, err)
			     : kvcache_print(w, &result, &cache, comm->size);
	if (options.log && !comm_agree(comm, rc, err))
		rc = write_store(comm, c, w, options.log, wall_ns, err);
	run_log_free(options.log);
	kvcache_result_fini(&cache);
	run_result_fini(&result);
	return rc;
}

static int benchmark(const struct comm *comm, const struct run_command *c,
		     struct reel_error *err)
{
	struct workload w;
	int rc = workload_read(&w, c->file, NULL, err);

	if (!rc)
		workload_scale(&w, c->scale);
	for (int i = 0; !rc && i < c->sets; i++)
		rc = workload_set(&w, c->set[i], err);
	if (!rc)
		rc = workload_check(&w, NULL, err);
	if (!rc && !c->options.null && w.epochs)
		rc = dataset_is_of(&w, c->options.data, err);
	rc = comm_agree(comm, rc, err);
	if (!rc) {
		stop_begin();
		rc = c->rules >= 0     ? by_rules(comm, c, &w, err)
		     : w.kvcache.users ? cache_once(comm, c, &w, err)
				       : once(comm, c, &w, err);
	}
	workload_fini(&w);
	return rc;
}

static int parse(const struct reel_command *cmd, int argc, char **argv,
		 struct run_command *c)
{
	struct reel_opt_list sets = {0};
	struct reel_error err = {0};
	const char *scale = "1";
	struct reel_opt opts[] = {
		{"data", 'd', REEL_OPT_TEXT, &c->options.data, "DIR",
		 "the data set that ioreel gen made", 0, 0},
		{"checkpoints", 0, REEL_OPT_TEXT, &c->options.checkpoints,
		 "DIR", "where checkpoints go (default: DATA/.checkpoints)", 0,
		 0},
		{"null", 0, REEL_OPT_FLAG, &c->options.null, NULL,
		 "storage that takes no time", 0, 0},
		{"output", 'o', REEL_OPT_TEXT, &c->output, "RUN.db",
		 "write a store of the calls, as ioreel record would", 0, 0},
		{"scale", 0, REEL_OPT_TEXT, &scale, "1/N",
		 "the same workload, smaller, as given to ioreel gen", 0, 0},
		{"set", 0, REEL_OPT_LIST, &sets, "KEY=VALUE",
		 "change a key of the workload; may be repeated", 0, 0},
		{"rules", 0, REEL_OPT_CHOICE, &c->rules, RULES_NAMES,
		 "run by the rules of a benchmark, and judge it by them", 0, 0},
		{"results", 0, REEL_OPT_TEXT, &c->results, "DIR",
		 "with --rules: where results are kept (default: here)", 0, 0},
		{"memory", 0, REEL_OPT_SIZE, &c->memory_bytes, "SIZE",
		 "with --rules: memory of a host, other than it has (256G)", 0,
		 0},
		{"json", 0, REEL_OPT_FLAG, &c->json, NULL,
		 "print the result as JSON", 0, 0},
		{"quiet", 'q', REEL_OPT_FLAG, &c->options.quiet, NULL,
		 "no progress line", 0, 0},
		{0},
	};
	int first = reel_cli_parse(cmd, opts, false, argc, argv);

	if (first < 0)
		return first;
	if (argc - first != 1) {
		reel_cli_usage(cmd, "a workload is needed");
		return -1;
	}
	if (!c->options.data == !c->options.null) {
		reel_cli_usage(cmd, c->options.null
					    ? "--data and --null exclude each "
					      "other"
					    : "--data DIR or --null is needed");
		return -1;
	}
	if (c->rules < 0 && (c->results || c->memory_bytes)) {
		reel_cli_usage(cmd, "--results and --memory need --rules");
		return -1;
	}
	if (c->rules >= 0 && c->options.null) {
		reel_cli_usage(cmd, "--rules needs storage, not --null");
		return -1;
	}
	if (c->rules >= 0 && c->output) {
		reel_cli_usage(cmd, "--rules makes several runs: no -o");
		return -1;
	}
	if (workload_scale_of(scale, &c->scale, &err)) {
		reel_cli_fail(cmd, &err);
		return -1;
	}
	if (!c->options.data)
		c->options.data = "";
	if (!c->results)
		c->results = ".";
	c->file = argv[first];
	c->set = sets.item;
	c->sets = sets.n;
	if (!c->options.checkpoints) {
		reel_buf_printf(&c->folder, NULL, "%s/.checkpoints",
				c->options.data);
		c->options.checkpoints = reel_buf_text(&c->folder);
	}
	return 0;
}

static void command_fini(struct run_command *c)
{
	free(c->set);
	reel_buf_fini(&c->folder);
	reel_buf_fini(&c->line);
}

static int keep_line(struct reel_buf *line, const struct reel_command *cmd,
		     int argc, char **argv)
{
	int rc = reel_buf_puts(line, cmd->program ? cmd->program : "ioreel",
			       NULL);

	for (int i = 0; !rc && i < argc; i++)
		rc = reel_buf_puts(line, " ", NULL) ||
		     reel_buf_quote(line, argv[i], NULL);
	return rc;
}

int run_main(const struct reel_command *cmd, struct comm (*ranks)(void),
	     int argc, char **argv)
{
	struct run_command c = {.rules = -1};
	struct reel_error err = {0};
	int rc = keep_line(&c.line, cmd, argc, argv);

	if (!rc)
		rc = parse(cmd, argc, argv, &c);

	if (rc) {
		rc = rc == -2 ? 0 : 2;
	} else if (cmd->program ||
		   !ranks_refuse(cmd, "start mpirun -n N ioreel-mpi run",
				 &rc)) {
		struct comm comm = ranks();

		rc = benchmark(&comm, &c, &err);
		if (rc)
			rc = comm_failed_elsewhere(&err)
				     ? reel_cli_status(&err)
				     : reel_cli_fail(cmd, &err);
		else if (stop_signal())
			rc = 128 + stop_signal();
	}
	command_fini(&c);
	return rc;
}

static struct comm one_rank(void)
{
	return comm_single;
}

static int run(int argc, char **argv)
{
	return run_main(&cmd_run, one_rank, argc, argv);
}
