/* SPDX-License-Identifier: MIT */
/* The JSON documents of ioreel compare. */
#ifndef CMD_COMPARE_JSON_H
#define CMD_COMPARE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_code_files;
struct reel_distance;
struct reel_error;
struct reel_explanation;
struct reel_likeness;
struct reel_store;

/* Two runs and the result of their comparison; all borrowed. */
struct compare_pair {
	const char *a, *b; /* as named */
	struct reel_store *st_a, *st_b;
	const struct reel_likeness *likeness;
	const struct reel_distance *distance;	    /* REEL_DISTANCES */
	const struct reel_explanation *explanation; /* NULL: none is wanted */
	const struct reel_code_files *code;	    /* of both */
	uint32_t classes; /* of files that are compared, as bits */
};

/* Print the document of two runs. 0, or -1 with @err. */
int compare_json_pair(const struct compare_pair *p, struct reel_error *err);

/*
 * Print the document of @n runs: @likeness is an n x n matrix, row by row, of
 * which the cells with column >= row are filled. @explained: the least alike
 * pair, or NULL. 0, or -1 with @err.
 */
int compare_json_matrix(const char *const *run, struct reel_store *const *st,
			const struct reel_code_files *code,
			const struct reel_likeness *likeness, size_t n,
			uint32_t classes, const struct compare_pair *explained,
			struct reel_error *err);

#endif
