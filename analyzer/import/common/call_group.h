/* SPDX-License-Identifier: MIT */
/* The purpose of a call that calls.def lacks, where its name says it. */
#ifndef ANALYZER_IMPORT_CALL_GROUP_H
#define ANALYZER_IMPORT_CALL_GROUP_H

#include "lib/calls.h"

/*
 * The group of the call @name of libc, HDF5 or (P)NetCDF: "__lxstat" gives
 * REEL_GROUP_STAT, "H5Dread" REEL_GROUP_READ; else REEL_GROUP_OTHER.
 */
enum reel_group import_call_group(const char *name);
/* The layer of it: by the beginning of the name; else REEL_LAYER_OTHER. */
enum reel_layer import_call_layer(const char *name);

#endif
