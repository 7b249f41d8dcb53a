/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room. */
#ifndef REPLAY_WORKLOAD_INTERNAL_H
#define REPLAY_WORKLOAD_INTERNAL_H

#include <stdint.h>

struct reel_buf;
struct reel_error;
struct workload;
struct workload_dataset;
struct workload_key;

#define FAULTS_MOST 1000 /* listed; all are counted */

struct workload_faults {
	struct reel_buf *all; /* NULL: not wanted */
	unsigned int count;
	char first[512];
};

/* Add a line "KEY: WHY". */
void workload_fault(struct workload_faults *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* 0 without faults; else -1 with @err: the first and how many more. */
int workload_faults_end(const struct workload_faults *f, const char *what,
			struct reel_error *err);
/* Rules between keys. */
void workload_check_values(const struct workload *w, struct workload_faults *f);

/* The bytes of a sample, by its columns; 0 without columns. */
int64_t workload_column_bytes(const struct workload_dataset *d);

/* The number of elements of the list, or of the quantiles, at @field. */
uint32_t *workload_list_count(const struct workload_key *k, void *field);
void workload_defaults(const struct workload_key *keys, void *to);
void workload_free(const struct workload_key *keys, void *from);

#endif
