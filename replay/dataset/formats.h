/* SPDX-License-Identifier: MIT */
/* Every format, each defined in the file of its name. */
#ifndef REPLAY_DATASET_FORMATS_H
#define REPLAY_DATASET_FORMATS_H

#include <stdbool.h>

#include "replay/dataset/format.h"

struct workload_access;
struct workload_dataset;

/* In place of a format's own reader: access.chain. */
extern const struct format format_chain;
/* Has the chain of @a no seek? It reads its files from the begin to the end. */
bool chain_is_stream(const struct workload_access *a);

/* In place of a format's own reader: access.api mmap. */
extern const struct format format_mapped;
/* Can the files of @d be mapped so? */
bool mapped_reads(const struct workload_dataset *d);

extern const struct format format_csv;
extern const struct format format_hdf5;
extern const struct format format_indexed;
extern const struct format format_jpeg;
extern const struct format format_npy;
extern const struct format format_npz;
extern const struct format format_parquet;
extern const struct format format_png;
extern const struct format format_raw;
extern const struct format format_safetensors;
extern const struct format format_tar;
extern const struct format format_tfrecord;

#endif
