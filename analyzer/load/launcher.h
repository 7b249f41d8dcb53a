/* SPDX-License-Identifier: MIT */
/* Processes of a trace that belong to a launcher, such as pyenv. */
#ifndef ANALYZER_LOAD_LAUNCHER_H
#define ANALYZER_LOAD_LAUNCHER_H

#include <stdbool.h>

struct reel_error;
struct reel_trace;
struct reel_trace_process;

/*
 * The name of the launcher of each process image of @tr, by its number there;
 * NULL for an image of the job. Names are static. Gives an array for free(), or
 * NULL with @err filled. Source: ioreel-store(5), "Launchers".
 */
const char **reel_launchers(const struct reel_trace *tr,
			    struct reel_error *err);
/* Is @path, by its name, a launcher? */
bool reel_launcher_is(const char *path);
/* The script or module that @p runs, else its program; "": unknown. */
const char *reel_launcher_runs(const struct reel_trace_process *p);

#endif
