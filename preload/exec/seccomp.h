/* SPDX-License-Identifier: MIT */
/* Seccomp filters and dlmopen(), which end the recording of a process. */
#ifndef PRELOAD_EXEC_SECCOMP_H
#define PRELOAD_EXEC_SECCOMP_H

#include <stdbool.h>

#include "schemas/trace_format.h"

/*
 * This thread is about to install a filter, a struct sock_fprog, or strict mode
 * (NULL). If the filter might kill the process for one of our system calls, the
 * records are written now. Returns the argument of shim_seccomp_end(), which
 * ends the recording after the call, unless that @failed.
 */
enum reel_counter shim_seccomp_begin(const void *filter);
void shim_seccomp_end(enum reel_counter noted, bool failed);

/* At the end of the process: note libraries in other namespaces (dlmopen). */
void shim_note_namespaces(void);

#endif
