/* SPDX-License-Identifier: MIT */
/* How the jobs that are replayed check what they get themselves. */
#ifndef TESTS_REPLAY_JOB_H
#define TESTS_REPLAY_JOB_H

#include <stdio.h>
#include <stdlib.h>

/* 1 once want() was not given what it should be: the exit status. */
static int bad;

static inline void want(const char *what, long got, long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s gave %ld, not %ld\n", what, got, expected);
	bad = 1;
}

/* Ends the job otherwise. */
static inline void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

#endif
