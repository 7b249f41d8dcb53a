/* SPDX-License-Identifier: MIT */
/*
 * The one table through which core calls the other rooms of the shim.
 *
 * Core includes no header of another room and uses none of its symbols. The
 * entry (preload/main.c) is above all rooms and hands the table to core before
 * recording begins. Only slow paths look at it: a hook costs a plain call
 * nothing.
 */
#ifndef PRELOAD_CORE_FEATURES_H
#define PRELOAD_CORE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_ending {
	SHIM_ENDING_EXIT,     /* exit(): libc flushes its streams afterwards */
	SHIM_ENDING_QUICK,    /* _exit(): the buffers of streams are lost */
	SHIM_ENDING_CONFINED, /* a seccomp filter may forbid our calls */
};

/* One room's hooks; NULL: it has none. Each leaves errno alone. */
struct shim_feature {
	/* The process will be recorded; no wrapper records yet. */
	void (*start)(char **env);
	/* fork(): before it, then in the parent, then in the child. */
	void (*fork_prepare)(void);
	void (*fork_parent)(void);
	void (*fork_child)(void);
	/*
	 * Record all that is still pending, in the order of the table. Called
	 * more than once where a process ends in steps; never in a vfork child.
	 */
	void (*finish)(enum shim_ending how);
	/* Is @path a span marker and no file? Its span is then recorded. */
	bool (*marker)(const char *path, size_t len);
	/*
	 * Record the call site of @call, which ended at @end, if it is sampled.
	 * False: the call is the unwinder's own and gets no record. Called only
	 * while shim_sites is true.
	 */
	bool (*site)(uint32_t call, uint64_t end);
};

/* Use the table @feature of @n rows from now on. Borrows it for good. */
void shim_features_set(const struct shim_feature *feature, size_t n);

/* Call one hook of all rooms; marker and site: until one decides. */
void shim_features_start(char **env);
void shim_features_fork_prepare(void);
void shim_features_fork_parent(void);
void shim_features_fork_child(void);
void shim_features_finish(enum shim_ending how);
bool shim_features_marker(const char *path, size_t len);
bool shim_features_site(uint32_t call, uint64_t end);

#endif
