/* SPDX-License-Identifier: MIT */
/*
 * ioreel compare: the likeness of two runs, in one number and in each factor;
 * of more runs a matrix.
 *
 * The cosine does not depend on scale, so it is always printed below the
 * differences.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/terminal.h"

#include "analyzer/compare/code_files.h"
#include "analyzer/compare/distance.h"
#include "analyzer/compare/explain.h"
#include "analyzer/compare/likeness.h"
#include "analyzer/report/report.h"
#include "analyzer/run/classes.h"
#include "analyzer/run/run.h"
#include "cmd/commands.h"
#include "cmd/compare_json.h"
#include "cmd/compare_text.h"

struct options {
	bool json, explain;
	double least;	  /* of --min; below 0: none */
	uint32_t classes; /* of files, as bits; 0: not given */
};

static void print_run(const char *run, struct reel_store *st)
{
	struct reel_buf who = REEL_BUF_INIT;

	reel_terminal_word(&who, run);
	report_print_caveats(reel_buf_text(&who), st);
	reel_buf_fini(&who);
}

static int check_least(const struct reel_likeness *l, double least,
		       struct reel_error *err)
{
	if (!l->has_cosine)
		return reel_fail(err, REEL_E_LIMIT, "no likeness: %s",
				 compare_why_none(l));
	if (l->cosine < least)
		return reel_fail(err, REEL_E_LIMIT,
				 "likeness %.6f is below %.6g", l->cosine,
				 least);
	return 0;
}

/* Fill in what is only known of a pair. */
static int complete_pair(struct compare_pair *p, struct reel_distance *d,
			 struct reel_explanation *e, bool explain,
			 struct reel_error *err)
{
	p->distance = d;
	if (reel_distance_find(p->st_a, p->st_b, d, err))
		return -1;
	if (!explain)
		return 0;
	p->explanation = e;
	return reel_explain(p->st_a, p->st_b, p->likeness, e, err);
}

static void print_pair(const struct compare_pair *p)
{
	const char *const run[2] = {p->a, p->b};

	compare_print_factors(p->likeness, p->a, p->b);
	compare_print_distances(p->distance);
	compare_print_likeness(p->likeness);
	if (p->explanation)
		compare_print_explanation(p->likeness, p->explanation, p->a,
					  p->b);
	compare_print_lacks(p->code, 2, 0, run);
	compare_print_lacks(p->code, 2, 1, run);
	print_run(p->a, p->st_a);
	print_run(p->b, p->st_b);
}

static int read_code_files(struct reel_code_files *c,
			   struct reel_store *const *st, size_t n,
			   struct reel_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (reel_code_files_read(&c[i], st[i], err))
			return -1;
	return 0;
}

static int compare_pair(char *const run[2], struct reel_store *const st[2],
			const struct options *o, struct reel_error *err)
{
	struct reel_likeness l;
	struct reel_distance d[REEL_DISTANCES];
	struct reel_explanation e;
	struct reel_code_files code[2];
	struct compare_pair p = {.a = run[0],
				 .b = run[1],
				 .st_a = st[0],
				 .st_b = st[1],
				 .likeness = &l,
				 .code = code,
				 .classes = o->classes};

	if (read_code_files(code, st, 2, err) ||
	    reel_compare(st[0], st[1], &l, err) ||
	    reel_compare_loops(st[0], st[1], &l, err) ||
	    complete_pair(&p, d, &e, o->explain, err))
		return -1;
	if (!o->json)
		print_pair(&p);
	else if (compare_json_pair(&p, err))
		return -1;
	return o->least >= 0 ? check_least(&l, o->least, err) : 0;
}

/* The pair with the lowest cosine, a pair without one before all others. */
static void find_least(const struct reel_likeness *l, size_t n, size_t *a,
		       size_t *b)
{
	double least = 2;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = i + 1; k < n; k++) {
			const struct reel_likeness *c = &l[i * n + k];
			double cosine = c->has_cosine ? c->cosine : -1;

			if (cosine >= least)
				continue;
			least = cosine;
			*a = i;
			*b = k;
		}
	}
}

static void print_cells(const char *title, const struct reel_likeness *l,
			size_t n, bool cosine)
{
	printf("%-20s", title);
	for (size_t k = 0; k < n; k++)
		printf("%7s%zu", "#", k + 1);
	putchar('\n');
	for (size_t i = 0; i < n; i++) {
		printf("  #%-17zu", i + 1);
		for (size_t k = 0; k < n; k++) {
			const struct reel_likeness *c =
				&l[i < k ? i * n + k : k * n + i];

			if (cosine ? !c->has_cosine : !c->has_d)
				printf("%8s", "-");
			else
				printf("%8.4f",
				       cosine ? c->cosine : c->max_abs_d);
		}
		putchar('\n');
	}
}

static void print_matrix(char *const *run, struct reel_store *const *st,
			 const struct reel_code_files *code,
			 const struct reel_likeness *l, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct reel_buf name = REEL_BUF_INIT;

		reel_terminal_word(&name, run[i]);
		printf("#%zu  %s\n", i + 1, reel_buf_text(&name));
		reel_buf_fini(&name);
	}
	putchar('\n');
	print_cells("likeness (cosine)", l, n, true);
	putchar('\n');
	print_cells("largest |d|", l, n, false);
	putchar('\n');
	reel_columns_wrapped("The cosine does not see scale: read it together "
			     "with the largest differences.",
			     2, 0);
	for (size_t i = 0; i < n; i++)
		compare_print_lacks(code, n, i, (const char *const *)run);
	for (size_t i = 0; i < n; i++)
		print_run(run[i], st[i]);
}

static int show_matrix(char *const *run, struct reel_store *const *st,
		       const struct reel_code_files *code,
		       const struct reel_likeness *l, size_t n,
		       const struct options *o, struct reel_error *err)
{
	struct reel_distance d[REEL_DISTANCES];
	struct reel_explanation e;
	struct compare_pair p;
	size_t a = 0, b = 1;

	find_least(l, n, &a, &b);
	p = (struct compare_pair){.a = run[a],
				  .b = run[b],
				  .st_a = st[a],
				  .st_b = st[b],
				  .likeness = &l[a * n + b],
				  .classes = o->classes};
	if (o->explain && complete_pair(&p, d, &e, true, err))
		return -1;
	if (!o->json)
		print_matrix(run, st, code, l, n);
	else if (compare_json_matrix((const char *const *)run, st, code, l, n,
				     o->classes, o->explain ? &p : NULL, err))
		return -1;
	if (o->explain && !o->json) {
		printf("\nThe least alike pair: #%zu and #%zu.\n", a + 1,
		       b + 1);
		compare_print_explanation(p.likeness, &e, p.a, p.b);
	}
	return o->least >= 0 ? check_least(p.likeness, o->least, err) : 0;
}

static int compare_all(char *const *run, struct reel_store *const *st, size_t n,
		       const struct options *o, struct reel_error *err)
{
	struct reel_likeness *l = reel_alloc(n * n, sizeof(*l), err);
	struct reel_code_files *code = reel_alloc(n, sizeof(*code), err);
	int rc = l && code ? read_code_files(code, st, n, err) : -1;

	for (size_t i = 0; !rc && i < n; i++)
		for (size_t k = i; !rc && k < n; k++)
			rc = reel_compare(st[i], st[k], &l[i * n + k], err);
	if (!rc)
		rc = show_matrix(run, st, code, l, n, o, err);
	free(code);
	free(l);
	return rc;
}

static int compare(char *const *run, size_t n, struct options *o,
		   struct reel_error *err)
{
	struct reel_store **st = reel_alloc(n, sizeof(*st), err);
	int rc = st ? 0 : -1;

	for (size_t i = 0; !rc && i < n; i++)
		rc = reel_run_open(&st[i], run[i], err);
	if (!rc && !o->classes) {
		rc = reel_run_default_classes(st, n, &o->classes, err);
		if (!rc && o->classes != REEL_RUN_ALL_CLASSES && !o->json)
			reel_columns_wrapped(
				"Of a job and a benchmark, the calls on data "
				"and checkpoints are compared (--class all: "
				"all calls).",
				2, 0);
	}
	for (size_t i = 0; !rc && i < n && o->classes != REEL_RUN_ALL_CLASSES;
	     i++)
		rc = reel_run_keep_classes(&st[i], o->classes, err);
	if (!rc)
		rc = n == 2 ? compare_pair(run, st, o, err)
			    : compare_all(run, st, n, o, err);
	for (size_t i = 0; st && i < n; i++)
		reel_store_close(st[i]);
	free(st);
	return rc;
}

static int run(int argc, char **argv)
{
	struct options o = {.least = -1};
	const char *classes = NULL;
	const struct reel_opt opts[] = {
		{"json", 0, REEL_OPT_FLAG, &o.json, NULL,
		 "all of it as one JSON document", 0, 0},
		{"explain", 0, REEL_OPT_FLAG, &o.explain, NULL,
		 "name the factors, sizes, calls and files that cost likeness",
		 0, 0},
		{"min", 0, REEL_OPT_DOUBLE, &o.least, "S",
		 "exit with 3 when the cosine (of any two) is below S", 0, 1},
		{"class", 0, REEL_OPT_TEXT, &classes, "CLASS,...",
		 "only calls on files of these classes, such as "
		 "data,checkpoint; all: of any, of a benchmark too",
		 0, 0},
		{NULL, 0, REEL_OPT_FLAG, NULL, NULL, NULL, 0, 0},
	};
	struct reel_error err = {0};
	int at = reel_cli_parse(&cmd_compare, opts, false, argc, argv);

	if (at < 0)
		return at == -2 ? 0 : 2;
	if (argc - at < 2)
		return reel_cli_usage(&cmd_compare,
				      "wants two runs or more, got %d",
				      argc - at);
	if (classes && reel_run_parse_classes(classes, &o.classes, &err))
		return reel_cli_usage(&cmd_compare, "%s", err.text);
	if (compare(argv + at, (size_t)(argc - at), &o, &err))
		return reel_cli_fail(&cmd_compare, &err);
	return 0;
}

const struct reel_command cmd_compare = {
	.name = "compare",
	.task = "say how alike two runs are",
	.usage = "[--json] [--explain] [--min S] [--class CLASS,...] A B "
		 "[RUN...]",
	.examples = "ioreel compare train.reel replay.db\n"
		    "ioreel compare --min 0.99 app.db bench.db\n",
	.about = "A, B and RUN are stores or trace directories. A difference "
		 "is (B - A) / A. More than two runs give a matrix.",
	.run = run,
};
