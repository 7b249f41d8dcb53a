/* SPDX-License-Identifier: MIT */
/* The class of a file, derived from its name: ioreel-store(5). */
#ifndef LIB_STORE_FILE_CLASS_H
#define LIB_STORE_FILE_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/store/event.h"

/* Classify @path. @written: the job wrote it, or created it for writing. */
enum reel_class reel_file_class(const char *path, enum reel_kind kind,
				bool written);

/* "data" ..., as in file.class. */
const char *reel_class_name(enum reel_class class_);
/* "file" ..., as in file.kind. */
const char *reel_kind_name(enum reel_kind kind);
enum reel_class reel_class_of_name(const char *name);
enum reel_kind reel_kind_of_name(const char *name);

#endif
