/* SPDX-License-Identifier: MIT */
/*
 * The types in the signatures of calls.def.
 *
 * The shim defines the symbols that these headers declare, with and without 64,
 * so nothing may redirect names: no _FILE_OFFSET_BITS, no fortification, no
 * inline variants.
 */
#ifndef PRELOAD_CORE_TYPES_H
#define PRELOAD_CORE_TYPES_H

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

#endif
