/* SPDX-License-Identifier: MIT */
/* The output of ioreel compare for people, in parts. */
#ifndef CMD_COMPARE_TEXT_H
#define CMD_COMPARE_TEXT_H

#include <stddef.h>

#include "lib/num.h"

struct reel_buf;
struct reel_code_files;
struct reel_distance;
struct reel_explanation;
struct reel_factor;
struct reel_likeness;

#define COMPARE_NAME_COLUMNS 14

/* Format a relative change: "+5.3 %"; "0", and "-" for an infinite one. */
char *compare_format_change(char out[static REEL_NUM], double change);
/* Append the last part of @path, printable, at most COMPARE_NAME_COLUMNS bytes
 * of it. */
void compare_add_name(struct reel_buf *out, const char *path);
/* Why there is no cosine. */
const char *compare_why_none(const struct reel_likeness *l);

/* The table of factors, the lines below it, and the distances. */
void compare_print_factors(const struct reel_likeness *l, const char *a,
			   const char *b);
void compare_print_likeness(const struct reel_likeness *l);
void compare_print_distances(const struct reel_distance *d);
/* The files that run @i of @n lacks and another one has: a line, or nothing. */
void compare_print_lacks(const struct reel_code_files *c, size_t n, size_t i,
			 const char *const *run);
/* The answer to --explain, about the runs @a and @b. */
void compare_print_explanation(const struct reel_likeness *l,
			       const struct reel_explanation *e, const char *a,
			       const char *b);

#endif
