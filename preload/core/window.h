/* SPDX-License-Identifier: MIT */
/*
 * The life of a process (process.c), its files in the trace directory
 * (trace_files.c), and the blocks in its window (window.c).
 */
#ifndef PRELOAD_CORE_WINDOW_H
#define PRELOAD_CORE_WINDOW_H

#include "preload/core/shim.h"
#include "preload/core/types.h"

#define SHIM_THREADS 16384 /* thread states in the arena */

/* --- process.c ------------------------------------------------------------ */

/*
 * Map the arena and give the process its id: the first half of the start. The
 * settings in struct shim_state follow, then shim_process_arm(). False: the
 * kernel lacks MADV_WIPEONFORK or memory, and nothing can be recorded.
 */
bool shim_process_init(void);

/* Register for fork and exit, and record from now on. */
void shim_process_arm(void);

/*
 * Make the log and the window if the process has none yet: at its first event
 * and again after a fork. False: there is none, and the event is counted as
 * lost.
 */
bool shim_process_ready(void);

/* Has the process its log and window? False in a vfork child. */
bool shim_process_has_log(void);

/* Has nothing asked for a log since the process began or was forked? */
bool shim_process_is_fresh(void);

/* --- trace_files.c
 * --------------------------------------------------------- */

/* A process that begins to record. */
struct shim_beginning {
	uint32_t pid, ppid;
	uint64_t parent_uid;	/* 0: not forked by a process that records */
	struct reel_head *head; /* filled by shim_make_files() */
};

/*
 * Create the log and the window of the process, and map the window's head.
 * @beginning: a struct shim_beginning. For shim_run_private_fds(). False: the
 * trace directory cannot be written.
 */
bool shim_make_files(void *beginning);

/* Remove the window: its blocks and its head are in the log. */
void shim_remove_window(void);

/* Write the head to the log: at its start, and at the end with the final
 * counters. */
bool shim_write_head(void);

/* Map job.counts, if the launcher or another process has made it. */
void shim_map_counts(void);

/* Read up to @room bytes of the file @path into @buf by one read(). Returns the
 * number of bytes, or < 0. */
ssize_t shim_read_small(const char *path, char *buf, size_t room);

/* Clock @id in nanoseconds. */
uint64_t shim_clock_ns(clockid_t id);

/*
 * Read ticks and CLOCK_MONOTONIC at the same moment. Takes the narrowest of a
 * few brackets and returns its width in ticks.
 */
uint32_t shim_clock_pair(uint64_t *ticks, uint64_t *mono_ns);

/* --- window.c
 * --------------------------------------------------------------- */

/* Open a file of this process in the trace directory, for a short time. Returns
 * a descriptor, or minus the error number. */
int shim_open_file(const char *sub, const char *suffix, int flags);
int shim_open_window(int flags);
int shim_open_log(int flags);

/* Does RLIMIT_FSIZE allow a file of @size bytes? Beyond it a write raises
 * SIGXFSZ in the job. */
bool shim_size_allowed(uint64_t size);

/* Allocate real blocks for the range, so that a store into its mapping cannot
 * fail later. Returns 0, or minus the error number. */
int shim_allocate(int fd, uint64_t off, uint64_t bytes);

/* Write the blocks of the calling thread and of ended threads to the log. False
 * when other threads live, or a block could not be written: the window has it. */
bool shim_flush_all(void);

#endif
