/* SPDX-License-Identifier: MIT */
/* The name of a run whose format has no command. */
#ifndef ANALYZER_IMPORT_COMMON_RUN_NAME_H
#define ANALYZER_IMPORT_COMMON_RUN_NAME_H

/*
 * The base name of @path without .gz or .zst and one more suffix. Returns
 * @out.
 */
const char *import_run_name(const char *path, char out[static 256]);

#endif
