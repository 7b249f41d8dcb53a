/* SPDX-License-Identifier: MIT */
/* Before a program is started: can it be seen, and what must it be told? */
#ifndef PRELOAD_EXEC_TRACEABLE_H
#define PRELOAD_EXEC_TRACEABLE_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/trace_format.h"

/*
 * The program @path (looked for in PATH when @search and it has no slash) is
 * about to be started with @env: if it cannot be traced, count it with the
 * reason and note it. What it returns is for shim_exec_undo(), should the start
 * fail. Safe in a vfork child, and with pointers that the kernel would refuse.
 */
enum reel_counter shim_exec_note(const char *path, bool search,
				 char *const env[]);
void shim_exec_undo(enum reel_counter noted);
/* Count and note that @path is not seen, and @why. */
void shim_untraced(enum reel_counter why, const char *path);

/*
 * With --follow-env: how many pointers the environment needs that gives the
 * program the shim again; 0: @env is good as it is, or is none of our business.
 */
size_t shim_exec_room(char *const env[]);
/* That environment, in @room of as many pointers. */
char *const *shim_exec_env(char *const env[], char **room);

/* posix_spawn() did @actions, NULL for none: record the opens, as of @when. */
void shim_spawn_opened(const posix_spawn_file_actions_t *actions,
		       uint64_t when);

/* Keep what the constructor found for shim_exec_env(). */
void shim_exec_keep(char **env);

#endif
