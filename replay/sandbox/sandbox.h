/* SPDX-License-Identifier: MIT */
/*
 * The sandbox: the folder of a replay. No file outside of it is opened for
 * writing.
 *
 * Other programs may change the folder during a replay, so the processes are
 * confined to it (confine.h). The replay itself makes no entry that leads out:
 *
 *   - every path is ROOT followed by an absolute path of the job; a path with a
 *     "." or ".." component is refused;
 *   - every symbolic link is made by the replay, and leads to an absolute path
 *     under ROOT or to a plain name beside it, without "..";
 *   - an existing folder is used only when it is empty or has our marker; its
 *     contents are removed first.
 */
#ifndef REPLAY_SANDBOX_SANDBOX_H
#define REPLAY_SANDBOX_SANDBOX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct reel_error;

#define SANDBOX_MARKER ".ioreel-replay"

struct sandbox {
	char root[PATH_MAX]; /* absolute, no slash at its end; "": none */
	size_t root_len;
	bool made; /* by us: the folder itself is removed, too */
};

/*
 * Make the sandbox: "replay.XXXXXX" in the working directory when @root is
 * NULL, else the folder @root, which is made when it is missing and emptied
 * when it has our marker. 0, or -1 with @err (REEL_E_USAGE: "'/data' is not
 * empty and was not made by ioreel; give an empty --root").
 */
int sandbox_make(struct sandbox *sb, const char *root, struct reel_error *err);

/* Use a sandbox that another process made. */
int sandbox_use(struct sandbox *sb, const char *root, struct reel_error *err);

/*
 * The path in the sandbox of the job's path @name. NULL, with errno set, when
 * it is not absolute, has "." or ".." components (EINVAL), or is too long
 * (ENAMETOOLONG). Returns @out.
 */
char *sandbox_path(const struct sandbox *sb, const char *name,
		   char out[static PATH_MAX]);

/* Remove the folder @path with all its contents. 0, or -1 with errno. */
int sandbox_remove_dir(const char *path);

/* Remove its contents, and the folder if sandbox_make() made it. */
int sandbox_remove(struct sandbox *sb, struct reel_error *err);

#endif
