/* SPDX-License-Identifier: MIT */
/* Between the wrappers that are written by hand. */
#ifndef PRELOAD_WRAP_H
#define PRELOAD_WRAP_H

#include "preload/shim.h"

/* Enter the descriptor that an open made (or not), and record the open. */
void shim_opened(struct shim_event *ev, uint64_t start, uint64_t end, int fd);

#endif
