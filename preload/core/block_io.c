/* SPDX-License-Identifier: MIT */
/*
 * Bytes that a read fetched from storage, by the kernel's counter of sectors
 * for each thread. The counter starts with the thread and survives exec. An
 * increase since the last read_counters belongs to the read or to major faults
 * on mapped files in between: if there were such faults, the bytes are unknown.
 */
#include "preload/core/block_io.h"

#include <sys/resource.h>

#include "schemas/syscall.h"

#define SECTOR_BYTES 512

struct counts {
	uint64_t sectors, faults;
};

static struct counts first;
static uint32_t first_tid;

/* Pipes and sockets, which need no read_counters. An overwritten entry costs
 * one. */
#define MESSAGES 64
static uint32_t messages[MESSAGES];

static bool read_counters(struct counts *c)
{
	struct rusage now;

	if (raw(SYS_getrusage, RUSAGE_THREAD, &now))
		return false;
	c->sectors = (uint64_t)now.ru_inblock;
	c->faults = (uint64_t)now.ru_majflt;
	return true;
}

void shim_block_io_start(void)
{
	if (read_counters(&first))
		first_tid = (uint32_t)raw(SYS_gettid);
}

void shim_block_io_begin(struct shim_thread *t, uint32_t tid)
{
	bool is_first = tid == first_tid;

	t->sectors = is_first ? first.sectors : 0;
	t->faults = is_first ? first.faults : 0;
}

void shim_block_io_exclude(uint32_t desc)
{
	__atomic_store_n(&messages[desc % MESSAGES], desc, __ATOMIC_RELAXED);
}

COLD int64_t shim_fetched_slow(uint32_t desc)
{
	struct shim_thread *t = shim_self();
	struct counts now;
	uint64_t new;
	bool faulted;

	if (__atomic_load_n(&messages[desc % MESSAGES], __ATOMIC_RELAXED) ==
	    desc)
		return NONE;
	if (!t->block || !read_counters(&now))
		return NONE;
	new = now.sectors - t->sectors;
	faulted = now.faults != t->faults;
	t->sectors = now.sectors;
	t->faults = now.faults;
	if (!new) /* a fault that waited for a lock counts as major, too */
		return REEL_FETCHED_NONE;
	return faulted ? NONE : (int64_t)(new *SECTOR_BYTES);
}
