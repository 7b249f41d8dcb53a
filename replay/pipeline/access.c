/* SPDX-License-Identifier: MIT */
/* Which reader the keys of access ask for. */
#include "replay/pipeline/access.h"

#include "lib/error.h"

#include "replay/comm/comm.h"
#include "replay/dataset/formats.h"
#include "replay/io/io.h"
#include "replay/dataset/python_file.h"
#include "replay/dataset/place.h"
#include "replay/mpiio/mpiio.h"
#include "replay/workload/workload.h"

const struct format *access_reader(const struct workload *w)
{
	const struct format *format = format_of(w->dataset.format);

	if (!format)
		return NULL;
	if (w->access.chain_n)
		return &format_chain;
	return w->access.api == WORKLOAD_MPIIO	? &format_mpiio
	       : w->access.api == WORKLOAD_MMAP ? &format_mapped
						: format;
}

/* Can its reader read the samples of a file in any order? */
static bool reads_any_order(const struct workload *w)
{
	return w->access.api != WORKLOAD_POSIX ||
	       (format_of(w->dataset.format)->any_order &&
		!chain_is_stream(&w->access));
}

bool access_any_order(const struct workload *w)
{
	return reads_any_order(w) && !w->pipeline.sharded;
}

static int refuse(struct reel_error *err, const char *why)
{
	return reel_fail(err, REEL_E_USAGE, "%s", why);
}

static int check_mpiio(const struct workload *w, const struct comm *comm,
		       struct reel_error *err)
{
	const struct workload_access *a = &w->access;

	if (!comm->files)
		return refuse(err, "access.api: mpiio needs the ranks of MPI: "
				   "mpirun -n N ioreel-mpi run");
	if (a->chain_n)
		return refuse(err, "access.chain: not with access.api mpiio");
	if (a->direct)
		return refuse(err, "access.direct: not with access.api mpiio");
	if (!dataset_has_places(&w->dataset))
		return reel_fail(err, REEL_E_USAGE,
				 "access.api: mpiio reads raw, indexed, npy "
				 "and contiguous hdf5, not this %s",
				 workload_format_name(w->dataset.format));
	if (a->collective && w->pipeline.sharded)
		return refuse(err, "access.collective: all ranks read each "
				   "batch: set pipeline.sharded to false");
	if (a->collective && w->pipeline.readers)
		return refuse(err, "access.collective: the ranks read in their "
				   "steps: set pipeline.readers to 0");
	if (w->pipeline.readers && w->pipeline.unit == WORKLOAD_PROCESS)
		return refuse(err, "access.api: a child of a rank makes no "
				   "call of MPI: set pipeline.unit to thread");
	if (w->pipeline.readers && !comm->files->threads)
		return refuse(err, "access.api: this MPI takes calls of one "
				   "thread: set pipeline.readers to 0");
	return 0;
}

static int check_mapped(const struct workload *w, struct reel_error *err)
{
	const struct workload_access *a = &w->access;

	if (a->chain_n)
		return refuse(err, "access.chain: not with access.api mmap");
	if (a->direct)
		return refuse(err, "access.direct: not with access.api mmap");
	if (a->transfer_bytes)
		return refuse(err, "access.transfer_bytes: files that are "
				   "mapped are not read");
	if (!mapped_reads(&w->dataset))
		return reel_fail(err, REEL_E_USAGE,
				 "access.api: mmap maps raw, indexed and npy, "
				 "not %s",
				 workload_format_name(w->dataset.format));
	return 0;
}

/* A file that is mapped is not read; one that is read through a buffer of Python
 * or C is read by no less than that. */
static int check_transfer(const struct workload *w, struct reel_error *err)
{
	int64_t n = w->access.transfer_bytes;

	switch (w->dataset.format) {
	case WORKLOAD_SAFETENSORS:
		return refuse(err, "access.transfer_bytes: files of "
				   "safetensors are mapped, not read");
	case WORKLOAD_RAW:
	case WORKLOAD_INDEXED:
	case WORKLOAD_TFRECORD:
	case WORKLOAD_HDF5:
	case WORKLOAD_PARQUET:
		return 0;
	default:
		return n < PYTHON_BUFFER
			       ? reel_fail(err, REEL_E_USAGE,
					   "access.transfer_bytes: less than "
					   "the buffer of %d bytes of the "
					   "reader of %s",
					   PYTHON_BUFFER,
					   workload_format_name(
						   w->dataset.format))
			       : 0;
	}
}

static bool is_any_order(const struct workload *w)
{
	const struct format *format = format_of(w->dataset.format);

	return format && format->any_order;
}

int access_check(const struct workload *w, const char *data,
		 const struct comm *comm, struct reel_error *err)
{
	const struct workload_access *a = &w->access;
	bool own = !a->chain_n && a->api == WORKLOAD_POSIX;

	if (a->api == WORKLOAD_MPIIO && check_mpiio(w, comm, err))
		return -1;
	if (a->api == WORKLOAD_MMAP && check_mapped(w, err))
		return -1;
	if (own && a->transfer_bytes && check_transfer(w, err))
		return -1;
	if (own && a->direct && w->dataset.format == WORKLOAD_SAFETENSORS)
		return refuse(err, "access.direct: files of safetensors are "
				   "mapped, not read");
	if (a->open_files > 1 && a->api != WORKLOAD_MMAP &&
	    (!own || !is_any_order(w)))
		return refuse(err, "access.open_files: this reader reads a "
				   "file from its begin to its end");
	if (a->reopen && w->dataset.samples_per_file > 1 && !a->chain_n &&
	    !reads_any_order(w))
		return refuse(err, "access.reopen: this reader reads a file "
				   "from its begin to its end");
	return a->direct && w->epochs ? io_direct_check(data, err) : 0;
}
