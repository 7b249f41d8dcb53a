/* SPDX-License-Identifier: MIT */
/*
 * A workload as a command line of IOR: all ranks read one shared file by MPI-IO.
 * A segment is a batch of all ranks.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/export.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"

#define TRANSFER 1048576.0 /* of a checkpoint */

/* Files of their own for each rank and checkpoint, of the mean of the ranks. */
static int put_checkpoints(const struct workload *w, struct reel_buf *out,
			   struct reel_error *err)
{
	const struct workload_checkpoint *c = &w->checkpoint;
	int64_t ranks = w->ranks ? w->ranks : 1;
	double bytes =
		ceil(checkpoint_bytes(c, ranks) / (double)ranks / TRANSFER) *
		TRANSFER;
	const char *pause = c->pause_ns ? " -d " : "";
	char seconds[32] = "";

	if (c->pause_ns)
		snprintf(seconds, sizeof(seconds), "%.0f",
			 ceil((double)c->pause_ns / 1e9));
	for (int reads = 0; reads <= (c->reads > 0); reads++)
		if (reel_buf_printf(out, err,
				    "mpirun -n %" PRId64
				    " ior -a POSIX %s -F -m -k -t %.0f -b %.0f "
				    "-i %" PRId64 "%s%s -o DIR/%s.ckpt\n",
				    ranks, reads ? "-r" : "-w -e", TRANSFER,
				    bytes, reads ? c->reads : c->writes, pause,
				    seconds, w->name))
			return -1;
	return 0;
}

int export_ior(const struct workload *w, struct reel_buf *out,
	       struct reel_error *err)
{
	const struct workload_dataset *d = &w->dataset;
	double samples = (double)d->files * (double)d->samples_per_file;
	int64_t ranks = w->ranks ? w->ranks : 1;
	int64_t batch = w->pipeline.batch, transfer, segments;
	double sample = quantiles_mean(&d->sample_bytes);

	if (!w->epochs && w->checkpoint.writes)
		return reel_buf_printf(out, err,
				       "# %s, for IOR: checkpoints of equal "
				       "ranks, in one file each.\n",
				       w->name) ||
				       put_checkpoints(w, out, err)
			       ? -1
			       : 0;
	if (!w->epochs || !(sample >= 1))
		return reel_fail(err, REEL_E_USAGE,
				 "the workload reads no data set: nothing to "
				 "export for IOR");
	transfer = w->access.transfer_bytes ? w->access.transfer_bytes
					    : (int64_t)round(sample);
	/* A block is a whole number of transfers. */
	sample = fmax(1, round(sample * (double)batch / (double)transfer)) *
		 (double)transfer;
	segments = (int64_t)(samples / (double)batch / (double)ranks);
	return reel_buf_printf(
		out, err,
		"# %s, for IOR: the mean size of its samples, in one shared "
		"file.\n"
		"# IOR cannot hold several sizes, computation, formats and "
		"epochs in another order.\n"
		"# -w -k once writes the file; then:\n"
		"mpirun -n %" PRId64 " ior -a %s%s -r -k -E -C -e "
		"-t %" PRId64 " -b %.0f -s %" PRId64 " -i %" PRId64 "%s "
		"-o DIR/%s.dat\n",
		w->name, ranks,
		w->access.api == WORKLOAD_MPIIO	 ? "MPIIO"
		: w->access.api == WORKLOAD_MMAP ? "MMAP"
						 : "POSIX",
		w->access.collective ? " -c" : "", transfer, sample,
		segments > 0 ? segments : 1,
		w->pipeline.in_memory ? 1 : w->epochs * w->pipeline.repeats,
		w->pipeline.order == WORKLOAD_SEQUENTIAL ? "" : " -z", w->name);
}
