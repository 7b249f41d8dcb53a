/* SPDX-License-Identifier: MIT */
#ifndef ANALYZER_IMPORT_DARSHAN_H
#define ANALYZER_IMPORT_DARSHAN_H

struct reel_error;
struct reel_writer;

/* Import the log @path with @w. 0, or -1 with @err. */
int darshan_import(struct reel_writer *w, const char *path,
		   struct reel_error *err);

#endif
