/* SPDX-License-Identifier: MIT */
/* Mappings of files: their calls, and loads from their pages. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/error.h"

#include "lib/clock.h"

#include "replay/io/io.h"
#include "replay/io/io_internal.h"

#define PAGE_LEAST 4096
#define ENTRIES 512  /* of the page map, at a time */
#define IN_MEMORY 62 /* bit 62 of an entry: swapped, 63: present */

int io_map(struct io *io, int fd, size_t n, enum io_map_how how,
	   struct io_mapping *m, struct reel_error *err)
{
	int flags = how == IO_MAP_SHARED ? MAP_SHARED : MAP_PRIVATE;
	int protection = PROT_READ | (how == IO_MAP_WRITABLE ? PROT_WRITE : 0);
	int64_t start = reel_now_ns(), ns;
	void *map = mmap(NULL, n, protection, flags, fd, 0);

	ns = io_spent(io, start);
	LOG_FD(io, start, ns, MMAP, fd,
	       CALL_HAS_SIZE | CALL_HAS_OFFSET | CALL_HAS_ARG | CALL_HAS_ARG2,
	       .size = (int64_t)n, .arg = protection, .arg2 = flags,
	       .result = map == MAP_FAILED ? -1 : (int64_t)(intptr_t)map);
	io->other_calls++;
	if (map == MAP_FAILED)
		return io_failed_fd("map", fd, err);
	*m = (struct io_mapping){map, n, 0};
	return 0;
}

/*
 * The bytes of the pages that the process has, as a recorder counts them: the kernel
 * maps neighbours of those that were touched. Those that io_touch() loaded from, where
 * the page map cannot be read.
 */
static uint64_t touched_bytes(const struct io_mapping *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages;
	uint64_t first = (uintptr_t)m->at / page, here = 0, entry[ENTRIES];
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	pages = (m->n + page - 1) / page;
	for (size_t i = 0, n; fd >= 0 && i < pages; i += n) {
		n = pages - i < ENTRIES ? pages - i : ENTRIES;
		if (pread(fd, entry, n * sizeof(*entry),
			  (off_t)((first + i) * sizeof(*entry))) !=
		    (ssize_t)(n * sizeof(*entry))) {
			here = 0;
			break;
		}
		for (size_t k = 0; k < n; k++)
			here += entry[k] >> IN_MEMORY ? page : 0;
	}
	if (fd >= 0)
		close(fd);
	here = here > m->touched ? here : m->touched;
	return here < m->n ? here : m->n;
}

void io_unmap(struct io *io, int fd, struct io_mapping *m)
{
	uint64_t touched;
	int64_t start, ns;

	if (!m->at)
		return;
	touched = io->log ? touched_bytes(m) : 0;
	start = reel_now_ns();
	munmap(m->at, m->n);
	ns = io_spent(io, start);
	/* As a recorder writes it: when its pages were touched is not known. */
	LOG_FD(io, start, 0, MAP_READ, fd,
	       CALL_HAS_SIZE | CALL_HAS_OFFSET | CALL_HAS_ARG,
	       .size = (int64_t)m->n,
	       .arg = (int64_t)((touched + PAGE_LEAST - 1) / PAGE_LEAST),
	       .result = (int64_t)touched);
	LOG_FD(io, start, ns, MUNMAP, fd, CALL_HAS_SIZE | CALL_HAS_OFFSET,
	       .size = (int64_t)m->n);
	io->other_calls++;
	m->at = NULL;
}

void io_touch(struct io *io, struct io_mapping *m, uint64_t offset, size_t n)
{
	const volatile uint8_t *at = m->at + offset;
	uint64_t in = offset % PAGE_LEAST + n;
	int64_t start = reel_now_ns();

	if (!n)
		return;
	for (size_t i = 0; i < n; i += PAGE_LEAST)
		(void)at[i];
	(void)at[n - 1];
	io_spent(io, start);
	io->read_bytes += n;
	m->touched += (in + PAGE_LEAST - 1) / PAGE_LEAST * PAGE_LEAST;
}
