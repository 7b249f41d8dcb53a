/* SPDX-License-Identifier: MIT */
/* The row of a run, as far as formats without a command have one. */
#ifndef ANALYZER_IMPORT_COMMON_RUN_NAME_H
#define ANALYZER_IMPORT_COMMON_RUN_NAME_H

#include "analyzer/write/writer.h"

/* All is unknown: no name, no command, no end and no clock. */
struct reel_writer_run import_run_unknown(void);
/*
 * The base name of @path up to @suffix (".pt.trace.json"); where it is not in it,
 * or NULL, without .gz or .zst and one more suffix. Returns @out.
 */
const char *import_run_name(const char *path, const char *suffix,
			    char out[static 256]);

#endif
