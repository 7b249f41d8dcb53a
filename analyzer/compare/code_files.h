/* SPDX-License-Identifier: MIT */
/*
 * Code and system files: a recording counts the calls on them and leaves them out
 * unless it is asked for them; strace and other tools have them. Runs that differ
 * in this are unlike by files that only one of them has.
 */
#ifndef ANALYZER_COMPARE_CODE_FILES_H
#define ANALYZER_COMPARE_CODE_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct reel_error;
struct reel_store;

/* The classes that every recording has, as --class takes them. */
#define REEL_RECORDED_CLASSES "data,checkpoint,log,pipe"

struct reel_code_files {
	int64_t calls;	      /* of the run, on any file */
	int64_t code, system; /* calls on files of the class */
	int64_t counted;      /* calls on both, which are left out */
	bool refused;	      /* the recording was not asked for them */
};

/* 0, or -1 with @err: REEL_E_DB. Borrows @st. */
int reel_code_files_read(struct reel_code_files *out, struct reel_store *st,
			 struct reel_error *err);

/* Does @run leave out the files of which @other has 1 % of its calls or more? */
bool reel_code_files_lack(const struct reel_code_files *run,
			  const struct reel_code_files *other);

/* Its calls on code and system files. */
int64_t reel_code_files_calls(const struct reel_code_files *c);
/* The same as a share of all its calls. */
double reel_code_files_share(const struct reel_code_files *c);

/* The one of @n runs with most of the files that @run lacks; -1: it lacks none. */
int reel_code_files_find(const struct reel_code_files *c, int n, int run);

#endif
