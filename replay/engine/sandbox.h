/* SPDX-License-Identifier: MIT */
/*
 * The folder that a replay uses. Nothing outside of it is opened for writing.
 * Processes that play are confined to it (confine.h), as other programs may
 * change it meanwhile; what the replay itself puts there leads nowhere else:
 *
 *   - every path is ROOT and an absolute path of the job, taken as text, and a
 *     path with a "." or ".." in it is refused;
 *   - every symbolic link inside is ours, and leads to an absolute path under
 *     ROOT or to a plain name beside it: no ".." anywhere;
 *   - a folder that was there before is used only when it is empty or carries
 *     our marker, and what it held is removed first.
 */
#ifndef REPLAY_ENGINE_SANDBOX_H
#define REPLAY_ENGINE_SANDBOX_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct reel_error;

#define SANDBOX_MARKER ".ioreel-replay"

struct sandbox {
	char root[PATH_MAX]; /* absolute, no slash at the end; "": none */
	size_t root_len;
	bool made; /* the folder itself is ours */
};

/*
 * Make the sandbox: "replay.XXXXXX" in the working directory when @root is
 * NULL, else the folder @root, made when it is missing, emptied when it has
 * our marker. 0, or -1 with @err (REEL_E_USAGE: "'/data' is not empty and was
 * not made by ioreel; give an empty --root").
 */
int sandbox_make(struct sandbox *sb, const char *root, struct reel_error *err);

/* Use the sandbox that another process made. */
int sandbox_use(struct sandbox *sb, const char *root, struct reel_error *err);

/*
 * Where the job's path @name lies in the sandbox. NULL, with errno set, when
 * it is not absolute, has "." or ".." in it (EINVAL), or is too long
 * (ENAMETOOLONG). Returns @out.
 */
char *sandbox_path(const struct sandbox *sb, const char *name,
		   char out[static PATH_MAX]);

/* Remove @path, a folder, with all that is in it. 0, or -1 with errno. */
int sandbox_remove_dir(const char *path);

/* Remove all that is in it, and the folder when it is ours. */
int sandbox_remove(struct sandbox *sb, struct reel_error *err);

#endif
