/* SPDX-License-Identifier: MIT */
/* Shared by the files that import a workload of DLIO. */
#ifndef REPLAY_WORKLOAD_DLIO_INTERNAL_H
#define REPLAY_WORKLOAD_DLIO_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/workload/dlio_yaml.h"

struct reel_buf;
struct reel_error;
struct workload;

struct dlio {
	struct workload *w;
	struct yaml_scalars yaml; /* keys under their present names */
	const char *path;
	struct reel_buf *notes;
	struct reel_error *err;
	bool failed;
};

/* Give every scalar the present name of its key, note those that DLIO ignores, and
 * those without a counterpart. */
int dlio_rename_keys(struct dlio *d);
/* A line of the notes. */
void dlio_note(struct dlio *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Fails with file, line and key of @s. -1. */
int dlio_fail(struct dlio *d, const struct yaml_scalar *s, const char *why);

/* The value of @key, or @initial; a value of another type is a failure, after which
 * d->failed is set. */
double dlio_number(struct dlio *d, const char *key, double initial);
bool dlio_flag(struct dlio *d, const char *key, bool initial);
const char *dlio_word(struct dlio *d, const char *key, const char *initial);
/* The numbers of the list @key: their sum, product, and how many there are. */
struct dlio_list {
	double sum, product;
	int n;
};
struct dlio_list dlio_list(struct dlio *d, const char *key);
/* Set a key of the workload: workload_set() of the formatted assignment. */
int dlio_set(struct dlio *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The time at @key (seconds; a number, with a second key for its standard
 * deviation, or a map with a type) as the quantiles @to of the workload. */
int dlio_set_time(struct dlio *d, const char *key, const char *to);
/* Sizes of samples: a normal distribution, as DLIO's, of at least 1 byte. */
int dlio_set_sizes(struct dlio *d, double mean, double stdev);
/* Columns and row groups, where the format is parquet. */
int dlio_set_parquet(struct dlio *d);
/* Files and intervals of checkpoints. */
/*
 * DLIO does a thing after the epochs @first, @first + @between and so on; a workload
 * does it every so many epochs. Set @to, to the same epochs if they can be; else a
 * line says so.
 */
int dlio_set_epochs(struct dlio *d, const char *first, const char *between,
		    const char *to);
int dlio_set_checkpoint(struct dlio *d);

#endif
