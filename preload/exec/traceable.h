/* SPDX-License-Identifier: MIT */
/* Before a program is started: can it be traced, and with which environment? */
#ifndef PRELOAD_EXEC_TRACEABLE_H
#define PRELOAD_EXEC_TRACEABLE_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/trace_format.h"

/*
 * The program @path (looked for in PATH when @search and it has no slash) is
 * about to be started with @env: if it cannot be traced, count it by reason and
 * record a note. Returns the argument of shim_exec_undo(), for a start that
 * fails. Safe in a vfork child, and with pointers that the kernel would refuse.
 */
enum reel_counter shim_exec_note(const char *path, bool search,
				 char *const env[]);
void shim_exec_undo(enum reel_counter noted);
/* Count and note that @path is not traced, and @why. */
void shim_untraced(enum reel_counter why, const char *path);

/*
 * With --follow-env: the number of pointers of an environment that adds the
 * shim to @env; 0: @env needs no change, or must not be changed.
 */
size_t shim_exec_room(char *const env[]);
/* Build that environment in @room, which has as many pointers. */
char *const *shim_exec_env(char *const env[], char **room);

/* After posix_spawn() with @actions (or NULL): record their opens, at @when. */
void shim_spawn_opens(const posix_spawn_file_actions_t *actions, uint64_t when);

/* Copy our variables of @env, the constructor's, for shim_exec_env(). */
void shim_exec_keep(char **env);

#endif
