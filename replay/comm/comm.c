/* SPDX-License-Identifier: MIT */
/* Ranks agree on a failure before the next collective call. */
#include "replay/comm/comm.h"

#include <string.h>

#include "lib/error.h"

static const char elsewhere[] = "another rank failed";

int comm_agree(const struct comm *comm, int rc, struct reel_error *err)
{
	int64_t first = rc ? comm->rank : comm->size;

	comm->allreduce(&first, 1, COMM_MIN);
	if (first == comm->size)
		return 0;
	if (first != comm->rank) {
		memset(err, 0, sizeof(*err));
		reel_fail(err, REEL_E_IO, "%s", elsewhere);
	}
	return -1;
}

bool comm_failed_elsewhere(const struct reel_error *err)
{
	return !strcmp(err->text, elsewhere);
}
