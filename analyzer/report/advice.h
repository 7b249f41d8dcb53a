/* SPDX-License-Identifier: MIT */
/*
 * Advice: a code that never changes, a fact and its cost, the numbers behind it,
 * a remedy.
 */
#ifndef ANALYZER_REPORT_ADVICE_H
#define ANALYZER_REPORT_ADVICE_H

struct reel_error;
struct report;

#define ADVICE_MOST 20
#define ADVICE_FACTS 12
#define ADVICE_TEXT 512

struct advice_fact {
	const char *name, *unit; /* static */
	double value;
};

struct advice {
	const char *code; /* "FILE-OPEN" */
	char text[ADVICE_TEXT];
	char try_this[ADVICE_TEXT]; /* "": nothing */
	struct advice_fact fact[ADVICE_FACTS];
	int facts;
};

/*
 * Judge the run that @r holds: fill its verdict and its advice, the most
 * costly first; there is always at least one. 0, or -1 with @err.
 */
int advise(struct report *r, struct reel_error *err);

#endif
