/* SPDX-License-Identifier: MIT */
/* The output of ioreel compare for people. */
#include "cmd/compare_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/terminal.h"
#include "lib/text.h"

#include "analyzer/compare/code_files.h"
#include "analyzer/compare/distance.h"
#include "analyzer/compare/explain.h"
#include "analyzer/compare/likeness.h"

#define CELL_COLUMNS (COMPARE_NAME_COLUMNS + 1)

static char *format_value(char out[static REEL_NUM],
			  const struct reel_factor *f, bool has, double v)
{
	if (!has)
		return strcpy(out, "-");
	if (!strcmp(f->unit, "ns"))
		return reel_num_time(out, v);
	if (!strcmp(f->unit, "B/s"))
		return reel_num_rate(out, v);
	if (!strcmp(f->unit, "%"))
		return reel_num_percent(out, v / 100);
	if (!strcmp(f->unit, "B"))
		return strncmp(f->name, "bytes", 5) ? reel_num_size(out, v)
						    : reel_num_bytes(out, v);
	return reel_num_count(out, (int64_t)v);
}

char *compare_format_change(char out[static REEL_NUM], double change)
{
	double percent = 100 * change;
	char count[REEL_NUM];

	if (change == 0)
		return strcpy(out, "0");
	if (isinf(percent))
		return strcpy(out, "-");
	if (percent >= 1000)
		snprintf(out, REEL_NUM, "+%.24s %%",
			 reel_num_count(count, percent < 1e15 ? llround(percent)
							      : (int64_t)1e15));
	else if (fabs(percent) >= 0.05)
		snprintf(out, REEL_NUM, "%+.1f %%", percent);
	else
		snprintf(out, REEL_NUM, "%+.1g %%", percent);
	return out;
}

void compare_add_name(struct reel_buf *out, const char *path)
{
	char shown[4 * 256 + 1];
	size_t len = strlen(path);
	const char *base;

	while (len > 1 && path[len - 1] == '/')
		len--;
	base = memrchr(path, '/', len);
	base = base && base + 1 < path + len ? base + 1 : path;
	len -= (size_t)(base - path);
	reel_text_escape(shown, sizeof(shown), base, len < 256 ? len : 256);
	if (strlen(shown) > COMPARE_NAME_COLUMNS)
		strcpy(shown + COMPARE_NAME_COLUMNS - 2, "..");
	reel_buf_puts(out, shown, NULL);
}

static void put_name(int *at, const char *path)
{
	struct reel_buf name = REEL_BUF_INIT;

	compare_add_name(&name, path);
	reel_columns_right(at, reel_buf_text(&name), CELL_COLUMNS);
	reel_buf_fini(&name);
}

void compare_print_factors(const struct reel_likeness *l, const char *a,
			   const char *b)
{
	char num[REEL_NUM];
	int i, at = 28;

	printf("%-28s", "");
	put_name(&at, a);
	put_name(&at, b);
	reel_columns_right(&at, "difference", 13);
	putchar('\n');
	for (i = 0; i < l->factors; i++) {
		const struct reel_factor *f = &l->factor[i];

		at = 28;
		printf("  %-26s", f->name);
		reel_columns_right(&at, format_value(num, f, f->has_a, f->a),
				   CELL_COLUMNS);
		reel_columns_right(&at, format_value(num, f, f->has_b, f->b),
				   CELL_COLUMNS);
		reel_columns_right(&at,
				   f->has_d
					   ? compare_format_change(
						     num, reel_factor_change(f))
					   : "-",
				   13);
		putchar('\n');
	}
}

static int factors_used(const struct reel_likeness *l)
{
	int used = 0, i;

	for (i = 0; i < l->factors; i++)
		used += l->factor[i].used;
	return used;
}

/* Factors that one run has, and that the source of the other one does not tell. */
static int factors_unknown(const struct reel_likeness *l)
{
	int unknown = 0;

	for (int i = 0; i < l->factors; i++)
		unknown += (l->factor[i].has_a || l->factor[i].has_b) &&
			   !l->factor[i].has_d;
	return unknown;
}

const char *compare_why_none(const struct reel_likeness *l)
{
	return factors_used(l) ? "one of the runs has only zeros"
			       : "no factor was measured in both runs";
}

static void add_cosine(struct reel_buf *text, const struct reel_likeness *l)
{
	char num[REEL_NUM];
	int used = factors_used(l), largest = reel_likeness_largest(l);
	int unknown = factors_unknown(l);

	if (l->has_cosine)
		reel_buf_printf(text, NULL,
				"likeness (cosine) %.4f over %d factor%s",
				l->cosine, used, used == 1 ? "" : "s");
	else
		reel_buf_printf(text, NULL, "likeness (cosine) -: %s",
				compare_why_none(l));
	if (largest >= 0 && isinf(reel_factor_change(&l->factor[largest])))
		reel_buf_printf(text, NULL, "; only one run has %s",
				l->factor[largest].name);
	else if (largest >= 0)
		reel_buf_printf(
			text, NULL, "; largest difference %s (%s)",
			compare_format_change(
				num, reel_factor_change(&l->factor[largest])),
			l->factor[largest].name);
	else if (used)
		reel_buf_puts(text, "; no difference", NULL);
	if (unknown)
		reel_buf_printf(text, NULL,
				"; %d factor%s known of one run only", unknown,
				unknown == 1 ? "" : "s");
}

static void add_structure(struct reel_buf *text, const struct reel_likeness *l)
{
	int64_t threads =
		l->threads_a > l->threads_b ? l->threads_a : l->threads_b;
	char num[REEL_NUM], num2[REEL_NUM];

	if (l->has_same)
		reel_buf_printf(text, NULL,
				"call sequence identical in %s of %s threads; ",
				reel_num_count(num, l->threads_same),
				reel_num_count(num2, threads));
	reel_buf_printf(
		text, NULL, "call counts differ by %s; total time %s",
		l->call_tv >= 0 ? reel_num_percent(num, l->call_tv) : "-",
		l->has_time ? compare_format_change(
				      num2, reel_change(l->total_time_d))
			    : "-");
}

/* Shares are compared in points. */
static void add_points(struct reel_buf *text, const char *name, double a,
		       double b)
{
	char num[REEL_NUM], num2[REEL_NUM];

	if (a < 0 || b < 0)
		return;
	reel_buf_printf(text, NULL, "%s%s %s and %s (%+.1f points)",
			reel_buf_text(text)[0] ? "; " : "", name,
			reel_columns_percent(num, a),
			reel_columns_percent(num2, b), 100 * (b - a));
}

static void add_numbers(struct reel_buf *text, const char *name, int64_t a,
			int64_t b)
{
	char num[REEL_NUM], num2[REEL_NUM];

	if (a >= 0 && b >= 0 && a != b)
		reel_buf_printf(text, NULL, "%s%s %s and %s",
				reel_buf_text(text)[0] ? "; " : "", name,
				reel_num_count(num, a),
				reel_num_count(num2, b));
}

/* Shares of computing that are measured in two ways are not compared. */
static void add_loops(struct reel_buf *text, const struct reel_loop_shares *a,
		      const struct reel_loop_shares *b)
{
	add_points(text, "waiting for input", a->waiting, b->waiting);
	add_points(text, "hidden I/O", a->hidden, b->hidden);
	if (!strcmp(a->compute_source, b->compute_source))
		add_points(text, "computing", a->computing, b->computing);
	else if (a->compute_source[0] && b->compute_source[0])
		reel_buf_printf(text, NULL,
				"%scomputing is not compared: it is %s and %s",
				reel_buf_text(text)[0] ? "; " : "",
				a->compute_source, b->compute_source);
	add_numbers(text, "ranks", a->ranks, b->ranks);
	add_numbers(text, "loader workers of a rank", a->workers, b->workers);
	add_numbers(text, "steps of a rank", a->steps, b->steps);
}

void compare_print_likeness(const struct reel_likeness *l)
{
	struct reel_buf text = REEL_BUF_INIT;

	add_cosine(&text, l);
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	add_structure(&text, l);
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	add_loops(&text, &l->loop_a, &l->loop_b);
	if (reel_buf_text(&text)[0])
		reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	if (!l->has_cosine)
		return;
	if (2 * factors_used(l) < l->factors)
		reel_columns_wrapped("Few factors were measured in both: the "
				     "cosine says little.",
				     2, 0);
	reel_columns_wrapped("The cosine does not see scale: read it together "
			     "with the differences.",
			     2, 0);
}

void compare_print_lacks(const struct reel_code_files *c, size_t n, size_t i,
			 const char *const *run)
{
	int most = reel_code_files_find(c, (int)n, (int)i);
	const struct reel_code_files *other = &c[most < 0 ? 0 : most];
	struct reel_buf text = REEL_BUF_INIT;
	char num[3][REEL_NUM];

	if (most < 0)
		return;
	reel_terminal_word(&text, run[i]);
	reel_buf_printf(&text, NULL,
			" was recorded without %s%s%s files (%s calls, only "
			"counted); ",
			other->code > 0 ? "code" : "",
			other->code > 0 && other->system > 0 ? " and " : "",
			other->system > 0 ? "system" : "",
			reel_num_count(num[0], c[i].counted));
	reel_terminal_word(&text, run[most]);
	reel_buf_printf(
		&text, NULL,
		" has %s calls on them, %s of its calls. Leave them out with "
		"--class " REEL_RECORDED_CLASSES ", or keep them with ioreel "
		"record --all.",
		reel_num_count(num[1], reel_code_files_calls(other)),
		reel_columns_percent(num[2], reel_code_files_share(other)));
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
}

static void print_distance_titles(void)
{
	int at = 28;

	printf("%-28s", "  distributions");
	reel_columns_right(&at, "mean", CELL_COLUMNS);
	reel_columns_right(&at, "mean", CELL_COLUMNS);
	reel_columns_right(&at, "KS", 9);
	reel_columns_right(&at, "W1/mean", 10);
	putchar('\n');
}

static char *format_mean(char out[static REEL_NUM],
			 const struct reel_distance *d, double mean)
{
	char size[REEL_NUM];

	if (!strcmp(d->unit, "ns"))
		return reel_num_time(out, mean);
	snprintf(out, REEL_NUM, "%s%.30s", mean < 0 ? "-" : "",
		 reel_num_size(size, fabs(mean)));
	return out;
}

void compare_print_distances(const struct reel_distance *d)
{
	char num[REEL_NUM];
	int titles = 0;

	for (int i = 0; i < REEL_DISTANCES; i++) {
		int at = 28;

		if (!d[i].has)
			continue;
		if (!titles++)
			print_distance_titles();
		printf("  %-26s", d[i].name);
		reel_columns_right(&at, format_mean(num, &d[i], d[i].mean_a),
				   CELL_COLUMNS);
		reel_columns_right(&at, format_mean(num, &d[i], d[i].mean_b),
				   CELL_COLUMNS);
		snprintf(num, sizeof(num), "%.3f", d[i].ks);
		reel_columns_right(&at, num, 9);
		snprintf(num, sizeof(num), "%.3f", d[i].w1_over_mean);
		reel_columns_right(&at, num, 10);
		putchar('\n');
	}
}

/* A size bin by its bounds, or a name. */
static void add_key(struct reel_buf *text, int cause, const char *key)
{
	char low[REEL_NUM], high[REEL_NUM], shown[4 * 64 + 1];
	double from = strtod(key, NULL);

	if (cause == REEL_CAUSE_READ_SIZE || cause == REEL_CAUSE_WRITE_SIZE) {
		reel_buf_printf(text, NULL, "%s of %s to %s",
				cause == REEL_CAUSE_READ_SIZE ? "reads"
							      : "writes",
				reel_num_size(low, from),
				reel_num_size(high, 2 * from));
		return;
	}
	reel_text_escape(shown, sizeof(shown), key, strlen(key));
	reel_buf_printf(text, NULL,
			cause == REEL_CAUSE_CALL ? "%s" : "files of class %s",
			shown);
}

static void print_cause(int cause, const struct reel_cause *c, const char *a,
			const char *b)
{
	struct reel_buf text = REEL_BUF_INIT;
	char num[3][REEL_NUM];

	reel_buf_printf(&text, NULL, "  %s differs by %s, most by ", c->name,
			reel_columns_percent(num[2], c->tv));
	add_key(&text, cause, c->key);
	reel_buf_printf(&text, NULL, ": %s of the %s in ",
			reel_columns_percent(num[0], c->share_a), c->of);
	compare_add_name(&text, a);
	reel_buf_printf(&text, NULL, ", %s in ",
			reel_columns_percent(num[1], c->share_b));
	compare_add_name(&text, b);
	reel_columns_wrapped(reel_buf_text(&text), 4, 0);
	reel_buf_fini(&text);
}

static void print_cost(const struct reel_likeness *l, const struct reel_cost *c)
{
	const struct reel_factor *f = &l->factor[c->factor];
	char num[REEL_NUM];
	int at = 28;

	printf("  %-26s", f->name);
	snprintf(num, sizeof(num), "%+.4f", f->d);
	reel_columns_right(&at, num, 10);
	snprintf(num, sizeof(num), c->has ? "%.4f" : "-", c->cosine_without);
	reel_columns_right(&at, num, 12);
	snprintf(num, sizeof(num), c->has ? "%+.4f" : "-", c->gain);
	reel_columns_right(&at, num, 10);
	snprintf(num, sizeof(num), "%.4f", c->max_abs_d_without);
	reel_columns_right(&at, num, 14);
	putchar('\n');
}

static void print_most(const struct reel_likeness *l, const struct reel_cost *c)
{
	struct reel_buf text = REEL_BUF_INIT;

	if (!l->has_cosine)
		reel_buf_puts(&text,
			      "There is no cosine that a factor could lower; "
			      "see their differences.",
			      NULL);
	else if (c->has && c->gain > 0)
		reel_buf_printf(&text, NULL,
				"Most likeness is lost by %s: without it the "
				"cosine is %.4f (%+.4f).",
				l->factor[c->factor].name, c->cosine_without,
				c->gain);
	else
		reel_buf_puts(&text,
			      "No single factor lowers the cosine; see their "
			      "differences.",
			      NULL);
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
}

void compare_print_explanation(const struct reel_likeness *l,
			       const struct reel_explanation *e, const char *a,
			       const char *b)
{
	putchar('\n');
	if (!e->costs) {
		reel_columns_wrapped(l->has_d ? "No factor differs."
				     : factors_unknown(l)
					     ? "No factor is known of both."
					     : "No run has a factor.",
				     2, 0);
	} else {
		print_most(l, &e->cost[0]);
		printf("%-28s%10s%12s%10s%14s\n", "  without", "d", "cosine",
		       "gain", "largest |d|");
	}
	for (int i = 0; i < e->costs; i++)
		print_cost(l, &e->cost[i]);
	for (int i = 0; i < REEL_CAUSES; i++)
		if (e->cause[i].has)
			print_cause(i, &e->cause[i], a, b);
}
