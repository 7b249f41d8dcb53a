/* SPDX-License-Identifier: MIT */
/* Ranks agree on a failure before the next collective call. */
#include "replay/comm/comm.h"

#include <string.h>

#include "lib/error.h"

#define CODES 256 /* more than enum reel_error_code has */

static const char elsewhere[] = "another rank failed";

int comm_agree(const struct comm *comm, int rc, struct reel_error *err)
{
	/* With its code: mpirun takes the exit status of any rank. */
	int64_t code = rc && err->code ? (int64_t)err->code : REEL_E_IO;
	int64_t first = rc ? comm->rank * CODES + code : comm->size * CODES;

	comm->allreduce(&first, 1, COMM_MIN);
	if (first == comm->size * CODES)
		return 0;
	if (first / CODES != comm->rank) {
		memset(err, 0, sizeof(*err));
		reel_fail(err, (enum reel_error_code)(first % CODES), "%s",
			  elsewhere);
	}
	return -1;
}

bool comm_failed_elsewhere(const struct reel_error *err)
{
	return !strcmp(err->text, elsewhere);
}
