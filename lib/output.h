/* SPDX-License-Identifier: MIT */
/* Files that a command writes: those that a user names, and temporary ones. */
#ifndef LIB_OUTPUT_H
#define LIB_OUTPUT_H

#include <stdbool.h>

struct reel_buf;
struct reel_error;

/* Does @path, the value of -o, mean standard output: "-"? */
bool reel_output_is_stdout(const char *path);

/*
 * The file that an output @path replaces: @path, or the file that this link names. A
 * rename onto a link would replace the link, and /dev/stdout is one of the system. A
 * device or pipe stays @path. For free(); NULL with @err: no memory, or a link to no
 * file.
 */
char *reel_output_path(const char *path, struct reel_error *err);

/*
 * The name that a default output is made from: @run without slashes at its end, and
 * absolute if its last part, "." or "..", is no name for a file. For free(); NULL with
 * @err.
 */
char *reel_output_stem(const char *run, struct reel_error *err);

/* A temporary file without a name, in TMPDIR or else /tmp: its descriptor, or -1 with
 * @err. */
int reel_output_temporary(struct reel_error *err);

/* From now on a signal that ends the command removes the file @path, which may not
 * exist yet. NULL: the file is complete. One file at a time. */
void reel_output_unfinished(const char *path);

/* Write @text to the output @path, which is never half written; NULL or "-": standard
 * output. 0, or -1 with @err. */
int reel_output_write(const struct reel_buf *text, const char *path,
		      struct reel_error *err);

#endif
