/* SPDX-License-Identifier: MIT */
/* Only files of this room include it. */
#ifndef ANALYZER_RUN_INTERNAL_H
#define ANALYZER_RUN_INTERNAL_H

struct reel_error;
struct reel_importer;
struct reel_store;

/* The @n files @path of the format @as, or, NULL, the trace path[0], as a
 * temporary store. Gives *@out. 0, or -1 with @err. */
int run_load_temporary(struct reel_store **out, char *const *path, int n,
		       const struct reel_importer *as, struct reel_error *err);

#endif
