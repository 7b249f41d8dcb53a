/* SPDX-License-Identifier: MIT */
/*
 * Importers: foreign formats into a store. A format is a file of this room and
 * a row in the table of import.c; docs/add-an-importer.md shows how.
 */
#ifndef ANALYZER_IMPORT_IMPORT_H
#define ANALYZER_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/import/common/importer.h"

struct reel_error;
struct reel_store;

/* Ended by NULL. */
extern const struct reel_importer *const reel_importers[];

/* The row @name; NULL with @err: REEL_E_USAGE, with the names of all. */
const struct reel_importer *reel_importer_find(const char *name,
					       struct reel_error *err);
/*
 * The importer of @path, a file or a folder of files; NULL: none knows it.
 * Never fails: a file that cannot be read has no importer.
 */
const struct reel_importer *reel_importer_detect(const char *path);
/* Is @path, or a file of the folder @path, output of a tool that no importer can read?
 * -1 with @err, which says what to give in its place; 0: it is not known. */
int reel_import_unknown(const char *path, struct reel_error *err);
/* Is @path a file without bytes? */
bool reel_import_is_empty(const char *path);

/* Zeroed has the defaults. */
struct reel_import_options {
	const struct reel_importer *as; /* of all files; NULL: by content */
	const char *map; /* the columns of CSV files; NULL: not given */
	/* Take what is before the damage of a text file, or before its cut. */
	bool partial;
	/* Threads, with the caller's; 0: one for each processor. The store
	 * does not depend on it. */
	int threads;
};

/*
 * Import the @n files or folders @path, parts of one job, into the fresh store
 * @st. Of files without a named format, an empty one behind others is left out and
 * counted. @options NULL: the defaults. The number of events, or -1 with @err:
 * REEL_E_IO, REEL_E_FORMAT, REEL_E_DB, REEL_E_MEMORY, REEL_E_USAGE (the map).
 */
int64_t reel_import(struct reel_store *st, char *const *path, int n,
		    const struct reel_import_options *options,
		    struct reel_error *err);

#endif
