/* SPDX-License-Identifier: MIT */
/* Memory that may not be readable, and pages that fork() wipes. */
#ifndef PRELOAD_CORE_MEMORY_H
#define PRELOAD_CORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Can the @n bytes at @p be read? For memory of the program that the shim must
 * read although no call has accepted it. Leaves errno alone.
 */
bool shim_readable(const void *p, size_t n);

/*
 * @bytes of zeroed pages on which a forked child finds zeroes again
 * (MADV_WIPEONFORK), mapped by the first call and kept in *@at. NULL: there is
 * no memory. Safe in a signal handler and for concurrent callers.
 */
void *shim_wiped(void **at, size_t bytes);

#endif
