/* SPDX-License-Identifier: MIT */
/* Rules between the keys of a workload. */
#include <inttypes.h>
#include <math.h>

#include "lib/error.h"

#include "replay/workload/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define SAMPLES_MOST 1e15
#define DATASET_MOST 1e18 /* bytes */
#define COLUMNS_MOST 1e6

static void check_columns(const struct workload_dataset *d,
			  struct workload_faults *f)
{
	double samples = (double)d->files * (double)d->samples_per_file;
	double columns = 0, bytes = 0;

	for (uint32_t i = 0; i < d->columns_n; i++) {
		columns += (double)d->columns[i].count;
		bytes += (double)d->columns[i].count *
			 (double)d->columns[i].bytes;
	}
	if (columns > COLUMNS_MOST)
		workload_fault(f,
			       "dataset.columns: %.9g columns, more than %.9g",
			       columns, COLUMNS_MOST);
	if (samples * bytes > DATASET_MOST)
		workload_fault(f,
			       "dataset.columns: %.3g bytes in all, more than "
			       "%.3g",
			       samples * bytes, DATASET_MOST);
	if (d->columns_n && d->format != WORKLOAD_PARQUET)
		workload_fault(f, "dataset.columns: only of parquet");
}

static void check_dataset(const struct workload *w, struct workload_faults *f)
{
	const struct workload_dataset *d = &w->dataset;
	double samples = (double)d->files * (double)d->samples_per_file;

	if (d->files && !d->sample_bytes.n && !d->columns_n)
		workload_fault(f, "dataset.sample_bytes: missing");
	if (samples > SAMPLES_MOST)
		workload_fault(f,
			       "dataset.samples_per_file: %.3g samples in "
			       "all, more than %.3g",
			       samples, SAMPLES_MOST);
	else if (samples * quantiles_mean(&d->sample_bytes) > DATASET_MOST)
		workload_fault(f,
			       "dataset.sample_bytes: %.3g bytes in all, more "
			       "than %.3g",
			       samples * quantiles_mean(&d->sample_bytes),
			       DATASET_MOST);
	if (d->folders > d->files)
		workload_fault(f, "dataset.folders: more than files");
	check_columns(d, f);
	if (d->chunk_bytes && d->format != WORKLOAD_HDF5)
		workload_fault(f, "dataset.chunk_bytes: only of hdf5");
	/* No other format is compressed when it is made: never ignore it. */
	if (d->compression && d->format != WORKLOAD_HDF5)
		workload_fault(f, "dataset.compression: only of hdf5");
}

static void check_access(const struct workload *w, struct workload_faults *f)
{
	const struct workload_access *a = &w->access;

	if (a->collective && a->api != WORKLOAD_MPIIO)
		workload_fault(f, "access.collective: only of mpiio");
	if (a->direct && a->transfer_bytes % 512)
		workload_fault(f,
			       "access.transfer_bytes: %" PRId64
			       " is no multiple of 512, which direct needs",
			       a->transfer_bytes);
	for (uint32_t i = 0; i < a->chain_n; i++) {
		double sum = 0;

		for (uint32_t j = 0; j < a->chain[i].next_n; j++)
			sum += a->chain[i].next[j];
		if (a->chain[i].next_n != a->chain_n)
			workload_fault(f,
				       "access.chain[%u].next: not one value "
				       "for each state",
				       i);
		else if (fabs(sum - 1) > 1e-6)
			workload_fault(f,
				       "access.chain[%u].next: the sum is "
				       "%.9g, not 1",
				       i, sum);
	}
}

static void check_checkpoint(const struct workload *w,
			     struct workload_faults *f)
{
	const struct workload_checkpoint *c = &w->checkpoint;
	bool made = c->every_steps || c->every_epochs || c->writes;

	if (made && !c->files_n)
		workload_fault(f, "checkpoint.files: missing");
	if (c->files_n && !made)
		workload_fault(f, "checkpoint: none of every_steps, "
				  "every_epochs and writes is given");
	if (c->reads > c->writes)
		workload_fault(f, "checkpoint.reads: more than writes");
	for (uint32_t i = 0; i < c->files_n; i++)
		if (c->files[i].write_bytes.n &&
		    c->files[i].write_bytes.value[0] < 1)
			workload_fault(f,
				       "checkpoint.files[%u].write_bytes: "
				       "less than 1",
				       i);
}

void workload_check_values(const struct workload *w, struct workload_faults *f)
{
	check_dataset(w, f);
	check_access(w, f);
	check_checkpoint(w, f);
	if (!w->name[0])
		workload_fault(f, "name: missing");
	if (!w->dataset.prefix[0])
		workload_fault(f, "dataset.prefix: empty");
	if (w->epochs && !w->dataset.files)
		workload_fault(f,
			       "dataset.files: 0, and epochs are to be read");
	if (!w->epochs && !w->checkpoint.writes)
		workload_fault(f, "epochs: 0, and checkpoint.writes too: "
				  "nothing to do");
	if (w->evaluation.every_epochs && !w->evaluation.files)
		workload_fault(f, "evaluation.files: 0");
}

int workload_check(const struct workload *w, struct reel_buf *faults,
		   struct reel_error *err)
{
	struct workload_faults f = {.all = faults};

	workload_check_values(w, &f);
	return workload_faults_end(&f, "the workload", err);
}
