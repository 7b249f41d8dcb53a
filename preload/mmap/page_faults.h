/* SPDX-License-Identifier: MIT */
/* Page faults in mappings, one record each, with IOREEL_MMAP=faults. */
#ifndef PRELOAD_MMAP_PAGE_FAULTS_H
#define PRELOAD_MMAP_PAGE_FAULTS_H

#include <stdbool.h>

/* IOREEL_MMAP=faults */
extern bool shim_faults_wanted;

/* At the start of a process: read the option from @env. */
void shim_faults_ask(char **env);

/* After a file is mapped: open the rings, once in each process. */
void shim_faults_open(void);

/* At the mark of a span, where they are wanted: record the faults since the last call,
 * or open the rings for mappings that a child has inherited. */
void shim_faults_mark(void);

/* Record the faults since the last call; before a mapping changes. */
void shim_faults_read(void);

/* At the end of the process: the last faults, and a note of lost ones. */
void shim_faults_finish(void);

#endif
