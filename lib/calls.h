/* SPDX-License-Identifier: MIT */
/* schemas/calls.def, as the reading side sees it. */
#ifndef LIB_CALLS_H
#define LIB_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reel_call {
#define CALL(id, NAME, ...) REEL_CALL_##NAME = id,
#define BY_HAND(id, NAME, ...) REEL_CALL_##NAME = id,
#define PART(id, NAME, ...) REEL_CALL_##NAME = id,
#define MARK(id, NAME, name) REEL_MARK_##NAME = id,
#include "schemas/calls.def"
};

#define REEL_CALL_MAX 1024 /* ids of calls.def are below */

/* Ids of an imported store's calls that calls.def lacks: from NAMED to below
 * IDS, which bounds all ids of a store. Table call has their names. */
#define REEL_CALL_NAMED 2048
#define REEL_CALL_IDS 4096

enum reel_layer {
	REEL_LAYER_NONE = 0,
	REEL_LAYER_POSIX,
	REEL_LAYER_STDIO,
	REEL_LAYER_MMAP,
	REEL_LAYER_ASYNC,
	REEL_LAYER_MPIIO,
	REEL_LAYER_HDF5, /* this and below: of imported stores alone */
	REEL_LAYER_NETCDF,
	REEL_LAYER_OTHER, /* not known */
	REEL_LAYERS
};

enum reel_group {
	REEL_GROUP_NONE = 0,
	REEL_GROUP_OPEN,
	REEL_GROUP_CLOSE,
	REEL_GROUP_DUP,
	REEL_GROUP_READ,
	REEL_GROUP_WRITE,
	REEL_GROUP_SEEK,
	REEL_GROUP_STAT,
	REEL_GROUP_META,
	REEL_GROUP_DIR,
	REEL_GROUP_SYNC,
	REEL_GROUP_MAP,
	REEL_GROUP_MARK,
	REEL_GROUP_QUEUE,
	REEL_GROUP_PROCESS,
	REEL_GROUP_OTHER, /* not known: of imported stores alone */
	REEL_GROUPS
};

/* The effects of a call, beyond its group. */
enum reel_trait {
	REEL_TRAIT_CREATES = 1 << 0,  /* makes a path, without opening it */
	REEL_TRAIT_RENAMES = 1 << 1,  /* path to path2 */
	REEL_TRAIT_LINKS = 1 << 2,    /* path2 becomes a hard link to path */
	REEL_TRAIT_REMOVES = 1 << 3,  /* a path */
	REEL_TRAIT_RESIZES = 1 << 4,  /* an open file, without a write */
	REEL_TRAIT_FLUSHES = 1 << 5,  /* the buffer of a stream */
	REEL_TRAIT_NOFOLLOW = 1 << 6, /* acts on a symbolic link itself */
	REEL_TRAIT_PROBES = 1 << 7, /* valid on a bound socket: stat, unlink */
	REEL_TRAIT_AT_OFFSET = 1 << 8, /* neither uses nor moves the position */
	REEL_TRAIT_READS_LINE = 1 << 9,
	REEL_TRAIT_COPIES = 1 << 10,	 /* from one descriptor to another */
	REEL_TRAIT_BY_ADDRESS = 1 << 11, /* of a mapping: has no descriptor */
	REEL_TRAIT_ARRIVES = 1 << 12,	 /* at an MPI collective */
	REEL_TRAIT_LEAVES = 1 << 13,	 /* it */
	REEL_TRAIT_FROM_ROOT = 1
			       << 14, /* a collective whose ranks await root */
	REEL_TRAIT_TO_ROOT = 1 << 15, /* a collective whose root awaits ranks */
};

/* One row; name NULL where the id is not used. */
struct reel_call_info {
	const char *name; /* "pread": of the first symbol */
	enum reel_layer layer;
	enum reel_group group;
	unsigned int traits; /* bits of enum reel_trait */
};

extern const struct reel_call_info reel_calls[REEL_CALL_MAX]; /* by id */

/* Borrows nothing. NULL for an id that no row has: a trace of a newer minor. */
static inline const struct reel_call_info *reel_call_info(unsigned int id)
{
	return id < REEL_CALL_MAX && reel_calls[id].name ? &reel_calls[id]
							 : NULL;
}

/* Bits of enum reel_trait; 0 for an id that no row has. */
unsigned int reel_call_traits(unsigned int id);

/* Is the first parameter of the call a descriptor that it needs: pread(), fsync()?
 * False for calls of names, of streams, and those wrapped by hand. */
bool reel_call_takes_fd(unsigned int id);

/*
 * Is the call above the one that does the I/O (MPI-IO, HDF5, queues), or of no
 * known purpose? It has its own row in the tables by call, and is in no sum.
 */
static inline bool reel_call_is_higher(unsigned int layer, unsigned int group)
{
	return layer >= REEL_LAYER_MPIIO || group == REEL_GROUP_QUEUE ||
	       group == REEL_GROUP_OTHER;
}

const char *reel_layer_name(enum reel_layer layer); /* "POSIX" ... */
const char *reel_group_name(enum reel_group group); /* "open" ... */
/* The layer or group of that name; REEL_LAYER_NONE, REEL_GROUP_NONE: no such. */
enum reel_layer reel_layer_of_name(const char *name);
enum reel_group reel_group_of_name(const char *name);
const char *reel_span_name(unsigned int span);	     /* "epoch" ... or "user" */
const char *reel_counter_name(unsigned int counter); /* "disk" ..., or NULL */
/* Why programs that @counter counts were not traced, as in "3 programs NOT TRACED
 * (3 statically linked)"; NULL: it counts something else. */
const char *reel_counter_untraced(unsigned int counter);

#endif
