/* SPDX-License-Identifier: MIT */
/* A workload for benchmarks that know no training. */
#ifndef REPLAY_WORKLOAD_EXPORT_H
#define REPLAY_WORKLOAD_EXPORT_H

struct reel_buf;
struct reel_error;
struct workload;

/* Append a job file of fio: the reads of one rank's data set, or the writes of its
 * checkpoints. 0, or -1 with @err. Source: fio(1), 3.33. */
int export_fio(const struct workload *w, struct reel_buf *out,
	       struct reel_error *err);
/* Append the command line of IOR that reads one shared file by MPI-IO. 0, or -1
 * with @err. Source: the user guide of IOR 4.0, "Options". */
int export_ior(const struct workload *w, struct reel_buf *out,
	       struct reel_error *err);

#endif
