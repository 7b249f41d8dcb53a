/* SPDX-License-Identifier: MIT */
/*
 * MPI calls that order ranks but are counted only: messages, one-sided epochs,
 * the rarer collectives. The counts are notes of the process.
 */
#include "preload/mpi/mpi.h"

enum { MESSAGES, EPOCHS, COLLECTIVES, COUNTS };

static uint64_t count[COUNTS];
static const char *const key[COUNTS] = {
	[MESSAGES] = "mpi_messages",
	[EPOCHS] = "mpi_one_sided",
	[COLLECTIVES] = "mpi_collectives",
};

void shim_mpi_note_counts(void)
{
	for (int i = 0; i < COUNTS; i++) {
		uint64_t n = __atomic_load_n(&count[i], __ATOMIC_RELAXED);

		if (n)
			shim_note(key[i], n);
	}
}

/* Notes at powers of two: the last one of a killed process has at least half
 * the count. */
HOT void add_call(int which)
{
	uint64_t n = __atomic_add_fetch(&count[which], 1, __ATOMIC_RELAXED);
	int saved;

	if (likely(n & (n - 1)))
		return;
	saved = errno;
	shim_note(key[which], n);
	errno = saved;
}

#define X(COUNT, fn, n)                                                        \
	int shim_mpi_##fn(MPI_A##n)                                            \
	{                                                                      \
		if (shim_hot.on)                                               \
			add_call(COUNT);                                       \
		return mpi_real.fn(MPI_ARGS##n);                               \
	}
MPI_COUNT_ONLY(X)
