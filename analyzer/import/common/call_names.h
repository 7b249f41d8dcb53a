/* SPDX-License-Identifier: MIT */
/* The call of a symbol, or the purpose of one that calls.def lacks. */
#ifndef ANALYZER_IMPORT_CALL_NAMES_H
#define ANALYZER_IMPORT_CALL_NAMES_H

#include <stdint.h>

#include "lib/calls.h"

/* The id of a symbol or name in calls.def ("open64" gives REEL_CALL_OPEN); 0: it
 * lacks it. */
uint16_t import_call_id(const char *name);
/*
 * The group of the call @name of libc, HDF5 or (P)NetCDF: "__lxstat" gives
 * REEL_GROUP_STAT, "H5Dread" REEL_GROUP_READ; else REEL_GROUP_OTHER.
 */
enum reel_group import_call_group(const char *name);
/* The layer of it: by the beginning of the name; else REEL_LAYER_OTHER. */
enum reel_layer import_call_layer(const char *name);

#endif
