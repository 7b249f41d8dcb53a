/* SPDX-License-Identifier: MIT */
/* How the replayed jobs check the results of their own calls. */
#ifndef TESTS_REPLAY_JOB_H
#define TESTS_REPLAY_JOB_H

#include <stdio.h>
#include <stdlib.h>

/* 1 after a call of want() with a wrong result: the exit status. */
static int bad;

static inline void want(const char *what, long got, long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s gave %ld, not %ld\n", what, got, expected);
	bad = 1;
}

/* End the job unless @good. */
static inline void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

#endif
