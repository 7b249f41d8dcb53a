/* SPDX-License-Identifier: MIT */
/*
 * The progress line: title, bar, share, rate, time left.
 *
 * Nothing is drawn before SHOW_NS, so quick work stays quiet; the line is
 * redrawn in place, and removed by reel_progress_stop().
 */
#include "lib/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/num.h"
#include "lib/terminal.h"
#include "lib/text.h"

#define SHOW_NS 1000000000ll
#define AGAIN_NS 100000000ll
/* The rate at the start predicts little, unless it took long. */
#define EARLY_SHARE 0.05
#define EARLY_NS 10000000000ll

void reel_progress_start(struct reel_progress *p, const char *title,
			 const char *unit, uint64_t total)
{
	*p = (struct reel_progress){
		.title = title, .unit = unit, .total = total};
	p->width = reel_terminal_columns(STDERR_FILENO);
	if (p->width < 40 || reel_terminal_dumb())
		p->width = 0;
	p->start_ns = reel_now_ns();
}

static char *format_amount(char out[static REEL_NUM], const char *unit,
			   double n)
{
	if (!strcmp(unit, "B"))
		return reel_num_bytes(out, n);
	return reel_num_count(out, (int64_t)n);
}

static void cut_line(char *line, int columns)
{
	size_t n;

	for (; *line && columns > 0; line += n ? n : 1, columns--)
		n = reel_text_char(line, strlen(line));
	*line = '\0';
}

/* Estimated time until the end; 0: unknown. */
static double left_ns(const struct reel_progress *p, uint64_t done, int64_t now)
{
	double age_ns = (double)(now - p->start_ns);

	if (p->left_ns)
		return (double)p->left_ns;
	if (!done || (age_ns < EARLY_NS &&
		      (double)done < EARLY_SHARE * (double)p->total))
		return 0;
	return age_ns * (double)(p->total - done) / (double)done;
}

static void draw_line(struct reel_progress *p, uint64_t done, int64_t now)
{
	double s = (double)(now - p->start_ns) / 1e9;
	double rate = s > 0 ? (double)done / s : 0;
	bool bytes = !strcmp(p->unit, "B");
	char line[512], bar[4 * 20 + 1], a[REEL_NUM], b[REEL_NUM];
	int n = 0;

	if (p->total && done <= p->total) {
		double share = (double)done / (double)p->total;
		double left = left_ns(p, done, now);

		n = snprintf(line, sizeof(line), "%.*s %s %3.0f %%  %s%s%s/s",
			     p->width / 2, p->title,
			     reel_terminal_bar(bar, 20, share), share * 100,
			     format_amount(a, p->unit, rate), bytes ? "" : " ",
			     bytes ? "" : p->unit);
		if (left > 0)
			snprintf(line + n, sizeof(line) - (size_t)n,
				 "  %s left", reel_num_time(b, left));
	} else {
		snprintf(line, sizeof(line), "%.*s  %s%s%s  %s%s%s/s",
			 p->width / 2, p->title,
			 format_amount(a, p->unit, (double)done),
			 bytes ? "" : " ", bytes ? "" : p->unit,
			 format_amount(b, p->unit, rate), bytes ? "" : " ",
			 bytes ? "" : p->unit);
	}
	/* A character in the last column may wrap to the next line. */
	cut_line(line, p->width - 1);
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	p->shown_ns = now;
}

void reel_progress_at(struct reel_progress *p, uint64_t done)
{
	int64_t now;

	if (!p->width)
		return;
	now = reel_now_ns();
	if (now - p->start_ns < SHOW_NS || now - p->shown_ns < AGAIN_NS)
		return;
	draw_line(p, done, now);
}

void reel_progress_stop(struct reel_progress *p)
{
	if (p->width && p->shown_ns)
		fputs("\r\033[K", stderr);
	p->width = 0;
}
