/* SPDX-License-Identifier: MIT */
/*
 * Paths that cannot leave the sandbox, where the kernel does not confine the
 * process (confine.h).
 *
 * Each path is resolved by openat2(RESOLVE_BENEATH) just before its call. The
 * call gets a name of the resulting descriptor, /proc/self/fd/N or
 * /proc/self/fd/N/NAME, which no symbolic link can redirect; the shim records
 * the original path.
 */
#ifndef REPLAY_ENGINE_BENEATH_H
#define REPLAY_ENGINE_BENEATH_H

#include "replay/engine/player.h"

struct beneath {
	int fd[2]; /* -1: none */
	int mode;  /* of a file that was created ahead of the call; -1: none */
	char given[2][NAME_MAX + 32];
};

/* Is it needed in this process? The other functions require it. */
static inline bool beneath_on(const struct player *p)
{
	return p->process->root_fd >= 0;
}

/* Prepare this process. 0, or -1 without openat2(). */
int beneath_begin(struct player_process *q);

/*
 * Around the call @s: replace its paths by resolved ones. Returns 0, or the
 * error that keeps the call from being issued. beneath_leave() preserves errno.
 */
int beneath_enter(struct player *p, struct call_spec *s, struct beneath *b);
void beneath_leave(struct beneath *b);

/* The same for calls that follow no link at the end of the path. */
int beneath_enter_parent(struct player *p, struct call_spec *s,
			 struct beneath *b);

/* Open @path in the sandbox by a raw call, without O_CREAT; or -errno. */
long beneath_open(const struct player_process *q, const char *path, int flags);

/*
 * The text of a symbolic link at the absolute path @path to @target. It is
 * relative, because openat2() refuses absolute ones. Returns @out, or @target.
 */
const char *beneath_link(const struct player *p, const char *path,
			 const char *target, char out[static PATH_MAX]);

#endif
