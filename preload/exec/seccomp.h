/* SPDX-License-Identifier: MIT */
/* Processes that restrict their system calls, or load a second C library. */
#ifndef PRELOAD_EXEC_SECCOMP_H
#define PRELOAD_EXEC_SECCOMP_H

#include <stdbool.h>

#include "schemas/trace_format.h"

/*
 * Before this thread restricts its system calls, by a struct sock_fprog or to
 * nearly none (NULL). If a call of the shim could be lethal then, write all
 * records. Pass the result to shim_seccomp_after().
 */
enum reel_counter shim_seccomp_before(const void *filter);
/* After the call: stop recording, unless it failed. */
void shim_seccomp_after(enum reel_counter noted, bool failed);

/* The process ends: note libraries in namespaces of their own (dlmopen()),
 * whose calls are not recorded. */
void shim_note_namespaces(void);

#endif
