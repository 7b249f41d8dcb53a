/* SPDX-License-Identifier: MIT */
/* A foreign format: each is a row in the table of analyzer/import/import.c. */
#ifndef ANALYZER_IMPORT_COMMON_IMPORTER_H
#define ANALYZER_IMPORT_COMMON_IMPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_writer;

/* The input: the files of one job. */
struct import_input {
	char **path; /* files, those of a folder by name */
	int paths;
	const char *name; /* the file or folder on the command line */
	const char *map;  /* the columns of a CSV file; NULL: not given */
};

/* Processes of one run that no number joins are not further apart in time. */
#define IMPORT_RUN_GAP_NS INT64_C(60000000000)

struct reel_importer {
	const char *name;  /* "strace", as --as takes it */
	const char *about; /* one line: the files that it reads */
	/* Values that are not in the format, a few words each; ended by NULL.
	 * Table source_missing has them. */
	const char *missing[8];
	/* Each import lacks others: load() writes their rows itself. */
	bool own_missing;
	/* A file is of use up to its damage: events one behind the other, as text. */
	bool partial;
	/* Do the first @n bytes of a file look like it? gzip is undone. */
	bool (*detect)(const char *bytes, size_t n);
	/* Is the file @path, which detect() takes, of the format? NULL: yes. */
	bool (*confirm)(const char *path);
	/*
	 * Read @in and fill @w up to reel_writer_finish(). Damage is counted by
	 * reel_writer_loss(); a file of another format fails with its name and
	 * the line or byte. 0, or -1 with @err.
	 */
	int (*load)(struct reel_writer *w, const struct import_input *in,
		    struct reel_error *err);
};

#endif
