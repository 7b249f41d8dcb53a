/* SPDX-License-Identifier: MIT */
/* Page faults in mappings, one by one, when IOREEL_MMAP=faults asks for them.
 */
#ifndef PRELOAD_MMAP_PAGE_FAULTS_H
#define PRELOAD_MMAP_PAGE_FAULTS_H

/* Does @env ask for them? As a process starts. */
void shim_faults_ask(char **env);

/* When a process maps a file; does something once in each. */
void shim_faults_open(void);

/* Record what the kernel has told since; before a mapping changes. */
void shim_faults_read(void);

/* The last time, and what was lost. */
void shim_faults_finish(void);

#endif
