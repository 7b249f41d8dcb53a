/* SPDX-License-Identifier: MIT */
/* What the replay asks of the shim, and no program does. */
#ifndef SCHEMAS_REPLAY_OPEN_H
#define SCHEMAS_REPLAY_OPEN_H

#include <stdint.h>
#include <sys/types.h>

/*
 * open() and unlink(), recorded as @call, an id of calls.def: one that chooses
 * the file by itself, and would not choose the replay's. Absent without the
 * shim.
 */
__attribute__((weak)) int ioreel_open_as(uint32_t call, const char *path,
					 int flags, mode_t mode);
__attribute__((weak)) int ioreel_unlink_as(uint32_t call, const char *path);

/*
 * Until the next call of this: paths of this thread's calls that are @given[i],
 * the pointer, are recorded as @name[i]. NULL: none. Borrows all.
 */
__attribute__((weak)) void ioreel_names_as(const char *const given[2],
					   const char *const name[2]);

#endif
