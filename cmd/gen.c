/* SPDX-License-Identifier: MIT */
/* ioreel gen: write the data set of a workload. */
#include <stdio.h>
#include <string.h>

#include "lib/cli.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/terminal.h"

#include "cmd/commands.h"
#include "cmd/gen.h"
#include "cmd/ranks.h"
#include "replay/comm/comm.h"
#include "replay/generate/generate.h"
#include "replay/pipeline/stop.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_gen = {
	.name = "gen",
	.task = "write the data set of a workload",
	.usage = "[--scale 1/N] [-j N] [-q] F.json DIR",
	.examples = "ioreel gen unet3d.json /scratch/unet3d\n"
		    "ioreel gen --scale 1/100 unet3d.json /scratch/small\n"
		    "mpirun -n 8 ioreel-mpi gen unet3d.json /scratch/unet3d\n",
	.about = "Writes the files of the workload F.json into the folder DIR, "
		 "which is empty, missing, or holds a part of them: then the "
		 "missing ones are made, and again those of another size. The "
		 "files are the same for any number "
		 "of threads and ranks.",
	.run = run,
};

static bool stopped(void)
{
	return stop_signal() != 0;
}

/* @sum: files, bytes, files that were there, files made again. */
static void print_made(const char *dir, const int64_t *sum, double s)
{
	char files[REEL_NUM], bytes[REEL_NUM], rate[REEL_NUM];

	printf("%s: %s files, %s, in %.1f s (%s); %lld were there", dir,
	       reel_num_count(files, sum[0]),
	       reel_num_bytes(bytes, (double)sum[1]), s,
	       reel_num_rate(rate, (double)sum[1] / s), (long long)sum[2]);
	if (sum[3])
		printf("; made again, as their size was another: %lld",
		       (long long)sum[3]);
	putchar('\n');
}

/* Rank 0 prints the closing line. */
static int generate(const struct comm *comm, const char *file,
		    const struct generate_options *options, double scale,
		    bool quiet, struct reel_error *err)
{
	int64_t start_ns = reel_now_ns();
	struct generate_result made;
	char files[REEL_NUM], bytes[REEL_NUM];
	struct workload w;
	int64_t all;
	int rc = workload_read(&w, file, NULL, err);

	if (!rc && w.kvcache.users)
		rc = reel_fail(err, REEL_E_USAGE,
			       "'%s' has no data set: ioreel run makes the "
			       "objects of a key-value cache itself",
			       file);
	workload_scale(&w, scale);
	all = w.dataset.files +
	      (w.evaluation.every_epochs ? w.evaluation.files : 0);
	stop_begin();
	if (!rc)
		rc = dataset_generate(&w, options, comm, &made, err);
	workload_fini(&w);
	if (!rc) {
		int64_t sum[] = {(int64_t)made.files, (int64_t)made.bytes,
				 (int64_t)made.kept, (int64_t)made.again};
		double s = (double)(reel_now_ns() - start_ns) / 1e9;

		comm->allreduce(sum, 4, COMM_SUM);
		if (!quiet && comm->rank == 0 && stop_signal())
			fprintf(stderr,
				"ioreel gen: stopped by a signal after %s of "
				"%s files; the same command makes the others\n",
				reel_num_count(files, sum[0] + sum[2]),
				reel_num_count(bytes, all));
		else if (!quiet && comm->rank == 0)
			print_made(options->dir, sum, s);
	}
	return rc;
}

int gen_main(const struct reel_command *cmd, struct comm (*ranks)(void),
	     int argc, char **argv)
{
	struct generate_options options = {0};
	struct reel_error err = {0};
	const char *scale_text = "1";
	bool quiet = false;
	double scale;
	struct reel_opt opts[] = {
		{"scale", 0, REEL_OPT_TEXT, &scale_text, "1/N",
		 "the same workload, smaller", 0, 0},
		{"jobs", 'j', REEL_OPT_INT, &options.threads, "N",
		 "threads (default: one for each processor)", 1, 256},
		{"quiet", 'q', REEL_OPT_FLAG, &quiet, NULL, "no closing line",
		 0, 0},
		{0},
	};
	int first = reel_cli_parse(cmd, opts, false, argc, argv);
	struct comm comm;
	int status;

	if (first < 0)
		return first == -2 ? 0 : 2;
	if (argc - first != 2)
		return reel_cli_usage(cmd,
				      "a workload and a folder are needed");
	if (workload_scale_of(scale_text, &scale, &err))
		return reel_cli_fail(cmd, &err);
	if (!cmd->program &&
	    ranks_refuse(cmd, "start mpirun -n N ioreel-mpi gen", &status))
		return status;
	options.dir = argv[first + 1];
	options.stopped = stopped;
	comm = ranks();
	if (!generate(&comm, argv[first], &options, scale, quiet, &err))
		return stop_signal() ? 128 + stop_signal() : 0;
	return comm_failed_elsewhere(&err) ? reel_cli_status(&err)
					   : reel_cli_fail(cmd, &err);
}

static struct comm one_rank(void)
{
	return comm_single;
}

static int run(int argc, char **argv)
{
	return gen_main(&cmd_gen, one_rank, argc, argv);
}
