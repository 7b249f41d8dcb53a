/* SPDX-License-Identifier: MIT */
/*
 * ioreel compare: the likeness of two runs, in one number and in each factor.
 *
 * The cosine does not depend on scale, so it is always printed below the
 * differences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/num.h"
#include "lib/store/store.h"
#include "lib/terminal.h"
#include "lib/text.h"

#include "analyzer/compare/likeness.h"
#include "analyzer/report/report.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"

#define NAME_COLUMNS 14

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

static char *format_change(char out[static REEL_NUM], double change)
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

/* The last part of @path, at most NAME_COLUMNS bytes of it, printable. */
static void put_run(int *at, const char *path)
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
	if (strlen(shown) > NAME_COLUMNS)
		strcpy(shown + NAME_COLUMNS - 2, "..");
	reel_columns_right(at, shown, NAME_COLUMNS);
}

static void print_factors(const struct reel_likeness *l, const char *a,
			  const char *b)
{
	char num[REEL_NUM];
	int i, at = 28;

	printf("%-28s", "");
	put_run(&at, a);
	put_run(&at, b);
	reel_columns_right(&at, "difference", 13);
	putchar('\n');
	for (i = 0; i < l->factors; i++) {
		const struct reel_factor *f = &l->factor[i];

		at = 28;
		printf("  %-26s", f->name);
		reel_columns_right(&at, format_value(num, f, f->has_a, f->a),
				   NAME_COLUMNS);
		reel_columns_right(&at, format_value(num, f, f->has_b, f->b),
				   NAME_COLUMNS);
		reel_columns_right(
			&at,
			f->has_a || f->has_b
				? format_change(num, reel_factor_change(f))
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

/* Why there is no cosine. */
static const char *why_none(int used)
{
	return used ? "one of the runs has only zeros"
		    : "no factor was measured in both runs";
}

static void add_cosine(struct reel_buf *text, const struct reel_likeness *l)
{
	char num[REEL_NUM];
	int used = factors_used(l), largest = reel_likeness_largest(l);

	if (l->has_cosine)
		reel_buf_printf(text, NULL,
				"likeness (cosine) %.4f over %d factor%s",
				l->cosine, used, used == 1 ? "" : "s");
	else
		reel_buf_printf(text, NULL, "likeness (cosine) -: %s",
				why_none(used));
	if (largest >= 0 && isinf(reel_factor_change(&l->factor[largest])))
		reel_buf_printf(text, NULL, "; only one run has %s",
				l->factor[largest].name);
	else if (largest >= 0)
		reel_buf_printf(
			text, NULL, "; largest difference %s (%s)",
			format_change(num,
				      reel_factor_change(&l->factor[largest])),
			l->factor[largest].name);
	else if (used)
		reel_buf_puts(text, "; no difference", NULL);
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
		reel_num_percent(num, l->call_tv),
		l->has_time ? format_change(num2, reel_change(l->total_time_d))
			    : "-");
}

static void print_likeness(const struct reel_likeness *l)
{
	struct reel_buf text = REEL_BUF_INIT;

	add_cosine(&text, l);
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	add_structure(&text, l);
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

static void print_run(const char *run, struct reel_store *st)
{
	struct reel_buf who = REEL_BUF_INIT;

	reel_terminal_word(&who, run);
	report_print_caveats(reel_buf_text(&who), st);
	reel_buf_fini(&who);
}

static bool is_complete(struct reel_store *st)
{
	struct reel_buf words = REEL_BUF_INIT;
	struct report_completeness c;
	bool is = !report_completeness_read(&c, st, NULL) &&
		  !report_incomplete_words(&c, &words);

	report_completeness_fini(&c);
	reel_buf_fini(&words);
	return is;
}

static json_t *number(const struct reel_factor *f, bool has, double v)
{
	if (!has)
		return json_null();
	if (!strcmp(f->unit, "%"))
		return json_real(v);
	return json_integer((json_int_t)v);
}

static json_t *factors_json(const struct reel_likeness *l)
{
	json_t *list = json_array();
	int i;

	for (i = 0; list && i < l->factors; i++) {
		const struct reel_factor *f = &l->factor[i];
		bool any = f->has_a || f->has_b;

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}",
					"name", f->name, "unit", f->unit, "a",
					number(f, f->has_a, f->a), "b",
					number(f, f->has_b, f->b), "d",
					any ? json_real(f->d) : json_null(),
					"used", f->used));
	}
	return list;
}

static json_t *real_or_null(bool has, double v)
{
	return has ? json_real(v) : json_null();
}

static int print_json(const struct reel_likeness *l, const char *a,
		      const char *b, struct reel_store *const st[2],
		      struct reel_error *err)
{
	struct reel_cpu_contention m[2];
	int used = 0, i;
	json_t *doc;

	for (i = 0; i < l->factors; i++)
		used += l->factor[i].used;
	reel_cpu_contention_read(&m[0], st[0]);
	reel_cpu_contention_read(&m[1], st[1]);
	doc = json_pack(
		"{s:o, s:o, s:o, s:i, s:f, s:o, s:o, s:I, s:I, s:I, s:o, s:f, "
		"s:o, s:b, s:b, s:o, s:o}",
		"a", reel_json_name(a), "b", reel_json_name(b), "cosine",
		real_or_null(l->has_cosine, l->cosine), "factors_used", used,
		"max_abs_d", l->max_abs_d, "worst_factor",
		l->worst >= 0 ? json_string(l->factor[l->worst].name)
			      : json_null(),
		"factors", factors_json(l), "threads_a",
		(json_int_t)l->threads_a, "threads_b", (json_int_t)l->threads_b,
		"threads_same", (json_int_t)l->threads_same,
		"same_sequence_share",
		real_or_null(l->has_same, l->same_sequence_share),
		"call_total_variation", l->call_tv, "total_time_d",
		real_or_null(l->has_time, l->total_time_d), "complete_a",
		is_complete(st[0]), "complete_b", is_complete(st[1]),
		"cpu_contention_a", reel_cpu_contention_json(&m[0]),
		"cpu_contention_b", reel_cpu_contention_json(&m[1]));
	return reel_json_print(doc, err);
}

static int check_least(const struct reel_likeness *l, double least,
		       struct reel_error *err)
{
	if (!l->has_cosine)
		return reel_fail(err, REEL_E_LIMIT, "no likeness: %s",
				 why_none(factors_used(l)));
	if (l->cosine < least)
		return reel_fail(err, REEL_E_LIMIT,
				 "likeness %.6f is below %.6g", l->cosine,
				 least);
	return 0;
}

static int compare(const char *a, const char *b, bool json, double least,
		   struct reel_error *err)
{
	struct reel_store *st[2] = {NULL, NULL};
	struct reel_likeness l;
	int rc = -1;

	if (reel_run_open(&st[0], a, err) || reel_run_open(&st[1], b, err) ||
	    reel_compare(st[0], st[1], &l, err))
		goto out;
	if (json) {
		if (print_json(&l, a, b, st, err))
			goto out;
	} else {
		print_factors(&l, a, b);
		print_likeness(&l);
		print_run(a, st[0]);
		print_run(b, st[1]);
	}
	rc = least >= 0 ? check_least(&l, least, err) : 0;
out:
	reel_store_close(st[0]);
	reel_store_close(st[1]);
	return rc;
}

static int run(int argc, char **argv)
{
	bool json = false;
	double least = -1;
	const struct reel_opt opts[] = {
		{"json", 0, REEL_OPT_FLAG, &json, NULL,
		 "all of it as one JSON document", 0, 0},
		{"min", 0, REEL_OPT_DOUBLE, &least, "S",
		 "exit with 3 when the cosine is below S", 0, 1},
		{NULL, 0, REEL_OPT_FLAG, NULL, NULL, NULL, 0, 0},
	};
	struct reel_error err = {0};
	int at = reel_cli_parse(&cmd_compare, opts, false, argc, argv);

	if (at < 0)
		return at == -2 ? 0 : 2;
	if (argc - at != 2)
		return reel_cli_usage(&cmd_compare, "wants two runs, got %d",
				      argc - at);
	if (compare(argv[at], argv[at + 1], json, least, &err))
		return reel_cli_fail(&cmd_compare, &err);
	return 0;
}

const struct reel_command cmd_compare = {
	.name = "compare",
	.task = "say how alike two runs are",
	.usage = "[--json] [--min S] A B",
	.examples = "ioreel compare train.reel replay.db\n"
		    "ioreel compare --min 0.99 app.db bench.db\n",
	.about = "A and B are stores or trace directories. A difference is "
		 "(B - A) / A.",
	.run = run,
};
