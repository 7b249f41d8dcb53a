/* SPDX-License-Identifier: MIT */
/* The records of DFTracer's logs: their phases, and the names that they have as hashes. */
#ifndef ANALYZER_IMPORT_DFTRACER_NAMES_H
#define ANALYZER_IMPORT_DFTRACER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

struct import_input;
struct reel_error;
struct trace_event;
struct trace_events;
struct trace_text;

/* The phase of a record: a letter of Chrome's format, or from 2.0 on a digit. */
enum dftracer_phase {
	DFTRACER_PHASE_OTHER,
	DFTRACER_PHASE_EVENT,
	DFTRACER_PHASE_SUM,
	DFTRACER_PHASE_METADATA
};
#define DFTRACER_PHASE_2_EVENT '1'

enum dftracer_phase dftracer_phase_of(const struct trace_event *ev);

/* Open the log @path. Gives *@t for trace_events_close(), after a failure too. 0 or -1. */
int dftracer_open(struct trace_events **t, const char *path,
		  struct reel_error *err);

/* A hash and its name. */
struct dftracer_name {
	char *hash, *text; /* text NULL: not known so far */
	uint32_t id;	   /* of the file; 0: none yet */
};

/* Zeroed but for @in is empty. */
struct dftracer_names {
	const struct import_input *in; /* the files of the job */
	struct reel_intmap by_hash;
	struct dftracer_name *name;
	uint32_t n, room;
	bool all; /* those of all files are read */
};

/* A metadata event: FH, HH and SH are the names of files, hosts, strings. 0 or -1. */
int dftracer_read_name(struct dftracer_names *names,
		       const struct trace_event *ev, struct reel_error *err);

/* The name of @hash, of any file of the job; its text stays NULL where none has it.
 * @type: 'F', 'H', 'S'. Borrowed until the next one; NULL with @err. */
struct dftracer_name *dftracer_find_name(struct dftracer_names *names,
					 char type,
					 const struct trace_text *hash,
					 struct reel_error *err);

void dftracer_names_fini(struct dftracer_names *names);

#endif
