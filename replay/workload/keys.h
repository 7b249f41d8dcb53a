/* SPDX-License-Identifier: MIT */
/* The keys of workload.json, once: for reading, checking, setting, writing. */
#ifndef REPLAY_WORKLOAD_KEYS_H
#define REPLAY_WORKLOAD_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum workload_key_type {
	KEY_INTEGER,   /* int64_t */
	KEY_REAL,      /* double */
	KEY_BOOL,      /* bool */
	KEY_WORD,      /* int: index in words */
	KEY_NAME,      /* char [bytes]: letters, digits, "-_." */
	KEY_TEXT,      /* char [bytes]: any text */
	KEY_QUANTILES, /* struct quantiles: a number, or {"quantiles": [...]} */
	KEY_INTEGERS,  /* int64_t *, uint32_t count behind it */
	KEY_REALS,     /* double *, uint32_t count behind it */
	KEY_GROUP,     /* a struct: its keys */
	KEY_LIST, /* elements of @bytes, uint32_t count behind: keys of one */
};

struct workload_key {
	const char *name;
	enum workload_key_type type;
	size_t offset;		  /* in the struct of its group */
	double least, most;	  /* of a number, of each number of a list */
	double initial;		  /* the default: a number, an index of words */
	const char *const *words; /* ended by NULL */
	const struct workload_key *keys; /* of a group or element, ended */
	size_t bytes;			 /* of a text, of an element */
	uint32_t elements;		 /* at most, of a list */
};

/* The keys of struct workload; the last has no name. */
extern const struct workload_key workload_keys[];

#endif
