/* SPDX-License-Identifier: MIT */
/*
 * Keep the writes of a replayed process inside the sandbox, even when
 * another program plants a symbolic link there while the replay runs.
 */
#ifndef REPLAY_SANDBOX_CONFINE_H
#define REPLAY_SANDBOX_CONFINE_H

#include <stdint.h>

struct reel_error;
struct sandbox;

/* The ways, the best one first. The numbers are stored in the result file. */
enum confinement {
	CONFINE_NONE = 0,
	CONFINE_LANDLOCK, /* the kernel refuses writes elsewhere */
	CONFINE_CHROOT,	  /* other files have no name */
	CONFINE_OPENAT2,  /* every path is resolved beneath the sandbox first */
	CONFINE_WAYS
};

/* The name of @way for people: "Landlock". */
const char *confine_name(uint32_t way);

/*
 * The way that IOREEL_REPLAY_CONFINE requires; CONFINE_NONE: the first one that
 * works. 0, or -1 with @err (REEL_E_USAGE).
 */
int confine_wanted(enum confinement *way, struct reel_error *err);

/*
 * Confine this process, which has one thread, and all processes that it forks:
 * they can write only beneath the root of @sb and in the trace directory of the
 * shim. CONFINE_OPENAT2 needs no preparation here, but beneath.h.
 *
 * Returns the way, or CONFINE_NONE when @wanted does not work. By raw calls
 * only.
 */
enum confinement confine_process(const struct sandbox *sb,
				 enum confinement wanted);

#endif
