/* SPDX-License-Identifier: MIT */
/* Work that the process's own limits do not allow. */
#ifndef PRELOAD_APART_H
#define PRELOAD_APART_H

#include <stdbool.h>

/*
 * @fn(@arg) failed: was it for want of a descriptor, or by a file size that the
 * program has lowered? Then call it again in a child that shares our memory and
 * nothing else: it has a table of descriptors and limits of its own. False: it
 * failed for another reason, or again.
 */
bool shim_apart(bool (*fn)(void *), void *arg);

#endif
