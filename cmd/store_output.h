/* SPDX-License-Identifier: MIT */
/* The store that a command writes: nothing is left of it when it is
 * interrupted. */
#ifndef CMD_STORE_OUTPUT_H
#define CMD_STORE_OUTPUT_H

#include <stdint.h>

struct reel_error;
struct reel_store;

/*
 * reel_store_create(), and a signal that ends the program removes the file
 * until store_output_finish().
 */
int store_output_create(struct reel_store **out, const char *path,
			struct reel_error *err);
/*
 * Refuse a store of no process with @err ("cannot VERB 'SOURCE': ..."), then
 * reel_store_finish().
 */
int store_output_finish(struct reel_store *st, const char *verb,
			const char *source, const char *nothing,
			struct reel_error *err);
/* On stderr: @events, the time since @start_s, the size of @path. */
void store_output_summary(const char *path, int64_t events, double start_s);
/* CLOCK_MONOTONIC. */
double store_output_now_s(void);

#endif
