/* SPDX-License-Identifier: MIT */
/*
 * The state of the shim: of each thread, of the process, and the table of
 * descriptors.
 *
 * Fork safety rests on memory, not on handlers: struct shim_thread is on
 * MADV_WIPEONFORK pages, so a forked child finds limit == 0 and takes the slow
 * path, which starts a log of its own. The descriptor table is ordinary memory:
 * a child inherits it together with the descriptors.
 */
#ifndef PRELOAD_CORE_STATE_H
#define PRELOAD_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/trace_format.h"

/*
 * On declarations too: -fvisibility covers definitions only, and a variable
 * that is declared elsewhere would be reached through the global offset table,
 * which takes a register.
 */
#pragma GCC visibility push(hidden)

#define NONE INT64_MIN /* a field that the call does not have */
#define NOFD (-2)      /* a call without a descriptor */

/* The most bytes of a record without paths. */
#define SHIM_RECORD_MAX 160

/* Descriptor table entries; ids of descriptors start at SHIM_DESC_FIRST. */
#define SHIM_FD_UNKNOWN 0 /* not seen yet: /proc/self/fd says */
#define SHIM_FD_CODE 1	  /* code, system or excluded file: counted only */
#define SHIM_FD_IGNORE 2  /* terminal, eventfd ...: not even counted */
#define SHIM_FD_PARENTS 3 /* recorded by the parent, without an id here yet */
#define SHIM_FD_DIR 4	  /* as SHIM_FD_CODE, and its name is stored: dir.c */
#define SHIM_DESC_FIRST 16
#define SHIM_FDS (1 << 20)

/*
 * Small transfers of one stream that share one record (stdio/stream.h), as long
 * as that record is the thread's last.
 */
struct shim_run {
	const void *stream; /* NULL: there is no such record */
	uint8_t *end;	    /* of the record */
	uint64_t before;    /* last_end at its beginning */
	uint64_t dur;	    /* ticks, estimated */
	uint32_t call, bytes, count;
	uint32_t timed; /* the count at which the clock is read next */
};

/*
 * One thread, on wiped-on-fork pages. A record without a path touches one cache
 * line of it: a system call evicts our lines.
 */
struct shim_thread {
	uint8_t *p; /* next byte to write, NULL: no window */
	/*
	 * A record without paths may start below this address. Negative while a
	 * record is being written (shim_busy()), so that the one test of the
	 * hot path covers a signal handler too.
	 */
	intptr_t limit;
	intptr_t room; /* the value of limit between records */
	struct reel_block_head *block;
	uint64_t last_end; /* ticks */
	int64_t next_offset;
	uint64_t last_size;
	uint32_t last_desc;
	uint32_t events; /* in this block */

	uint32_t owner;	 /* tid, 0: the slot is free */
	uint32_t serial; /* of the thread in the process */
	uint32_t seq;
	uint32_t lost;
	uint32_t usable;		/* allocated bytes of the slot */
	uint64_t sectors, faults;	/* at the last look: block_io.c */
	struct shim_counters *counters; /* counters.c; NULL: none */
	struct shim_run run;

	/* The cache lines that a record with a path touches too:
	 * path_record.h */
	uint32_t desc_next __attribute__((aligned(64))); /* ids that this */
	uint32_t desc_end;   /* thread may give out */
	uint32_t path_len;   /* of path */
	uint32_t data_dir;   /* 1 + length of the part of path that is a known
			    * data directory; 0: unknown */
	uint64_t plain_ends; /* shim_name_ends() of a name that is not code */
	char path[REEL_PATH_SHARED + 16]; /* the previous path of the block */
} __attribute__((aligned(64)));

/* The process. Ordinary memory: a forked child finds its parent's values. */
struct shim_state {
	int all;       /* record code files too */
	int globs;     /* include or exclude patterns are set */
	int strict;    /* valgrind: no byte after a name's NUL may be read */
	uint32_t rank; /* the launcher's rank + 1; 0: none */
	uint32_t next_desc;
	uint32_t next_serial;
	uint32_t pid; /* that opened the log */
	uint64_t uid;
	uint64_t
		fork_ticks; /* time of the fork that made this process, until */
	uint32_t fork_tid;  /* its head has it; the parent's thread; 0: none */
	/*
	 * Slots of this process are threads[slots_base .. slots_high). A child
	 * starts above its parent's: the thread that forked still points at its
	 * old, wiped state, which no other thread may get.
	 */
	uint32_t slots_base, slots_high;
	uint64_t no_window_until;    /* ticks */
	struct shim_thread *threads; /* wiped-on-fork, process.c */
	struct reel_head *head;	     /* first page of the window, NULL: none */
	bool orphan; /* the window's file is gone, so the head has no reader */
	struct reel_counts *counts;    /* job.counts; NULL: none */
	const char *include, *exclude; /* newline-separated globs or NULL */
	char *dir;		       /* the trace directory, absolute */
	size_t dir_len;
	char stem[64]; /* "3141.1" */
	char cwd[REEL_PATH_BYTES];
};

extern struct shim_state shim;

/*
 * Every call reads this before it is made: one cache line for the low
 * descriptors.
 */
struct shim_hot {
	int on;		    /* enum reel_clock; 0: record nothing */
	int clock;	    /* the value of on while recording */
	intptr_t tls;	    /* of shim_tls, from the thread pointer */
	uint32_t fd_high;   /* highest number entered in the table */
	uint32_t tmp_files; /* tmp_rename.c watches open files */
	uint32_t fd[SHIM_FDS];
} __attribute__((aligned(64)));
extern struct shim_hot shim_hot;
extern struct shim_thread shim_no_thread; /* a new thread points at it */

/* The values of a thread that a fork keeps. */
#define SHIM_CLONED 2
struct shim_tls {
	struct shim_thread *thread;
	intptr_t claiming;   /* shim_busy() while it claims a slot, else 0 */
	intptr_t vforked;    /* a vfork child of this thread may be running or,
			      * SHIM_CLONED, one that shares its memory */
	uint64_t fork_ticks; /* of the fork that this thread is making */
	uint32_t fork_tid;   /* its own number; the child reads the parent's */
};
extern _Thread_local struct shim_tls shim_tls
	__attribute__((tls_model("initial-exec")));

/* IOREEL_STACKS: records have call sites, so none may take the short path. */
extern bool shim_sites;

#pragma GCC visibility pop

#endif
