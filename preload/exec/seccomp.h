/* SPDX-License-Identifier: MIT */
/* What a process does that ends our sight of it. */
#ifndef PRELOAD_EXEC_SECCOMP_H
#define PRELOAD_EXEC_SECCOMP_H

#include <stdbool.h>

#include "schemas/trace_format.h"

/*
 * This thread is about to forbid itself system calls, by a struct sock_fprog or
 * nearly all of them (NULL). If one of ours might kill it then, what is
 * recorded is written. What it returns is for shim_confined(), after the call:
 * recording ends, unless it failed.
 */
enum reel_counter shim_confining(const void *filter);
void shim_confined(enum reel_counter noted, bool failed);

/* The process ends: tell of the libraries that it has loaded beside itself. */
void shim_other_spaces(void);

#endif
