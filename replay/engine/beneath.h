/* SPDX-License-Identifier: MIT */
/*
 * Paths that cannot leave the sandbox, where the kernel does not confine the
 * process (confine.h): each is resolved by openat2(RESOLVE_BENEATH) before its
 * call. The call is given the name of the descriptor, /proc/self/fd/N or
 * /proc/self/fd/N/NAME, which no link can turn aside; the shim records the path
 * that the call would have had.
 */
#ifndef REPLAY_ENGINE_BENEATH_H
#define REPLAY_ENGINE_BENEATH_H

#include "replay/engine/player.h"

struct beneath {
	int fd[2]; /* -1: none */
	int mode;  /* of a file that was made ahead, to be set; -1: none */
	char given[2][NAME_MAX + 32];
};

/* Does the process need it? Nothing else here may be called otherwise. */
static inline bool beneath_on(const struct player *p)
{
	return p->process->root_fd >= 0;
}

/* Prepare it for this process: 0, or -1 without openat2(). */
int beneath_begin(struct player_process *q);

/*
 * Around the call of @s: give it paths that stay beneath the sandbox, or return
 * the error that keeps it from being made. beneath_leave() leaves errno alone.
 */
int beneath_enter(struct player *p, struct call_spec *s, struct beneath *b);
void beneath_leave(struct beneath *b);

/* The same for calls that follow no link at the end of the path. */
int beneath_enter_parent(struct player *p, struct call_spec *s,
			 struct beneath *b);

/* A raw openat() of @path in the sandbox, without O_CREAT, or -errno. */
long beneath_open(const struct player_process *q, const char *path, int flags);

/*
 * The text of a link at the absolute path @path to @target: relative, as an
 * absolute one leaves the sandbox for openat2(). Returns @out, or @target.
 */
const char *beneath_link(const struct player *p, const char *path,
			 const char *target, char out[static PATH_MAX]);

#endif
