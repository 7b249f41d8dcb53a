/* SPDX-License-Identifier: MIT */
/* The mark of a data set's folder: which data set it is. */
#ifndef REPLAY_GENERATE_MARK_H
#define REPLAY_GENERATE_MARK_H

#include <stdbool.h>

struct reel_error;
struct workload;

/* Write the mark. 0, or -1 with @err. */
int dataset_mark(const struct workload *w, const char *dir,
		 struct reel_error *err);
/* Make @dir ready for the data set of @w, empty or begun. *@claimed: it was empty, and
 * has the mark now. 0, or -1 with @err: REEL_E_USAGE when it holds something else. */
int dataset_claim(const struct workload *w, const char *dir, bool *claimed,
		  struct reel_error *err);
void dataset_unmark(const char *dir);

#endif
