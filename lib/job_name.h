/* SPDX-License-Identifier: MIT */
/* The name of a job: what a user calls it, of the words of its command. */
#ifndef LIB_JOB_NAME_H
#define LIB_JOB_NAME_H

#include <stddef.h>

/* The last part of @path. Borrowed from it. */
const char *reel_path_base(const char *path);

/*
 * The script of @word (@n words, n > 0), else the module or script that an
 * interpreter runs, else the program; without its directory. Borrowed from @word.
 */
const char *reel_job_name(const char *const *word, size_t n);

#endif
