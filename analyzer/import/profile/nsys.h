/* SPDX-License-Identifier: MIT */
/* An export of Nsight Systems while it is imported: shared by nsys*.c. */
#ifndef ANALYZER_IMPORT_NSYS_H
#define ANALYZER_IMPORT_NSYS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/intmap.h"

#include "analyzer/import/common/event_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/profile/nsys_db.h"

#define NSYS_TIME_NS_MOST (INT64_MAX / 4)
#define NSYS_COPY_KINDS 32
#define NSYS_LAUNCHERS (-1)

struct nsys {
	struct reel_writer *writer;
	struct import_gather *gather;
	uint32_t source, records;
	uint64_t bad, unended, pathless, unknown_calls;
	int64_t start_ns; /* of all files */
	uint32_t gpu_processes;
	/* The file at hand. */
	struct nsys_db *db;
	struct event_names names;
	int64_t base_ns; /* is added to relative times; 0: not known */
	char *copy_kind[NSYS_COPY_KINDS];
	uint64_t events;
	struct reel_intmap by_pid; /* of serialized ids without tid */
	uint32_t *process;	   /* by index of by_pid */
	uint32_t process_room;
	struct reel_intmap by_correlation; /* calls of CUDA, where needed */
	int64_t *launcher; /* serialized process; NSYS_LAUNCHERS: several */
	uint32_t launchers, launcher_room;
};

/* Columns 0 and 1 of @rows, start and end. False: they are no interval, and are
 * counted as such. */
bool nsys_interval(struct nsys *im, const struct nsys_rows *rows,
		   int64_t *start_ns, int64_t *dur_ns);
/* The ids of a serialized id: host and VM, 24 bits of pid, 24 of tid. */
int64_t nsys_pid(int64_t global);
/* The process and thread of one. 0 with @err: REEL_E_MEMORY. */
uint32_t nsys_process(struct nsys *im, int64_t global, struct reel_error *err);
uint32_t nsys_thread(struct nsys *im, int64_t global, struct reel_error *err);
/* Count an event by name. The index of the name, or REEL_NO_INDEX with @err. */
uint32_t nsys_count(struct nsys *im, const char *category, const char *name,
		    int64_t dur_ns, struct reel_error *err);

/*
 * Exports of old versions have no process beside a kernel: it is that of the call of
 * CUDA with the same correlation. Read these calls once. 0, or -1 with @err.
 */
int nsys_read_launches(struct nsys *im, struct reel_error *err);
/* The process that @correlation has there, serialized; 0: not known. */
int64_t nsys_launcher(const struct nsys *im, int64_t correlation);
/*
 * Read the calls of CUDA and of the OS runtime, and the accesses to files,
 * which become events. 0, or -1 with @err.
 */
int nsys_read_calls(struct nsys *im, struct reel_error *err);

#endif
