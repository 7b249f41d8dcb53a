/* SPDX-License-Identifier: MIT */
/*
 * Functions that the shim offers to the replay: record a call in place of
 * another one. Weak: they are NULL without the shim.
 */
#ifndef SCHEMAS_REPLAY_OPEN_H
#define SCHEMAS_REPLAY_OPEN_H

#include <stdint.h>
#include <sys/types.h>

/*
 * open() and unlink() that are recorded as @call, an id of calls.def: as a call
 * that chooses its file by itself (mkstemp(), tmpfile() ...) and would not
 * choose the file of the replay.
 */
__attribute__((weak)) int ioreel_open_as(uint32_t call, const char *path,
					 int flags, mode_t mode);
__attribute__((weak)) int ioreel_unlink_as(uint32_t call, const char *path);

/*
 * Record paths under other names: in calls of this thread, until the next call
 * of this function, a path whose pointer is @given[i] is recorded as @name[i].
 * NULL: no path is. Borrows all.
 */
__attribute__((weak)) void ioreel_names_as(const char *const given[2],
					   const char *const name[2]);

#endif
