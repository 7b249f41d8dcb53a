/* SPDX-License-Identifier: MIT */
/* The JSON documents of ioreel compare. */
#include "cmd/compare_json.h"

#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/json.h"
#include "lib/store/file_class.h"

#include "analyzer/compare/code_files.h"
#include "analyzer/compare/distance.h"
#include "analyzer/compare/explain.h"
#include "analyzer/compare/likeness.h"
#include "analyzer/report/report.h"
#include "analyzer/run/classes.h"

/* Null: all. */
static json_t *classes_json(uint32_t classes)
{
	json_t *names;

	if (classes == REEL_RUN_ALL_CLASSES)
		return json_null();
	names = json_array();
	for (int i = 0; names && i < REEL_CLASSES; i++)
		if (classes >> i & 1)
			json_array_append_new(names,
					      json_string(reel_class_name(
						      (enum reel_class)i)));
	return names;
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

/* Counts are whole numbers, shares and means are not. */
static json_t *number(const struct reel_factor *f, bool has, double v)
{
	if (!has)
		return json_null();
	if (!strcmp(f->unit, "%") || v != (double)(json_int_t)v)
		return json_real(v);
	return json_integer((json_int_t)v);
}

static json_t *factors_json(const struct reel_likeness *l)
{
	json_t *list = json_array();
	int i;

	for (i = 0; list && i < l->factors; i++) {
		const struct reel_factor *f = &l->factor[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}", "name",
				  f->name, "unit", f->unit, "a",
				  number(f, f->has_a, f->a), "b",
				  number(f, f->has_b, f->b), "d",
				  f->has_d ? json_real(f->d) : json_null(),
				  "used", f->used));
	}
	return list;
}

static json_t *real_or_null(bool has, double v)
{
	return has ? json_real(v) : json_null();
}

static json_t *share_or_null(double share)
{
	return real_or_null(share >= 0, share);
}

static json_t *distances_json(const struct reel_distance *d)
{
	json_t *list = json_array();

	for (int i = 0; list && i < REEL_DISTANCES; i++) {
		bool a = d[i].calls_a > 0, b = d[i].calls_b > 0;

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, "
				  "s:o}",
				  "name", d[i].name, "unit", d[i].unit,
				  "calls_a", (json_int_t)d[i].calls_a,
				  "calls_b", (json_int_t)d[i].calls_b, "mean_a",
				  real_or_null(a, d[i].mean_a), "mean_b",
				  real_or_null(b, d[i].mean_b), "ks",
				  real_or_null(d[i].has, d[i].ks), "w1",
				  real_or_null(d[i].has, d[i].w1),
				  "w1_over_mean",
				  real_or_null(d[i].has, d[i].w1_over_mean)));
	}
	return list;
}

static json_t *costs_json(const struct reel_likeness *l,
			  const struct reel_explanation *e)
{
	json_t *list = json_array();

	for (int i = 0; list && i < e->costs; i++) {
		const struct reel_cost *c = &e->cost[i];
		const struct reel_factor *f = &l->factor[c->factor];

		json_array_append_new(
			list,
			json_pack("{s:s, s:f, s:o, s:o, s:f}", "name", f->name,
				  "d", f->d, "cosine_without",
				  real_or_null(c->has, c->cosine_without),
				  "gain", real_or_null(c->has, c->gain),
				  "max_abs_d_without", c->max_abs_d_without));
	}
	return list;
}

static json_t *causes_json(const struct reel_explanation *e)
{
	json_t *list = json_array();

	for (int i = 0; list && i < REEL_CAUSES; i++) {
		const struct reel_cause *c = &e->cause[i];

		if (!c->has)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:f, s:o, s:f, s:f, s:f}", "name",
				  c->name, "of", c->of, "total_variation",
				  c->tv, "key", reel_json_name(c->key),
				  "share_a", c->share_a, "share_b", c->share_b,
				  "part", c->part));
	}
	return list;
}

static json_t *explanation_json(const struct compare_pair *p)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "a", reel_json_name(p->a), "b",
			 reel_json_name(p->b), "factors",
			 costs_json(p->likeness, p->explanation), "causes",
			 causes_json(p->explanation));
}

static json_t *worst_json(const struct reel_likeness *l)
{
	return l->worst >= 0 ? json_string(l->factor[l->worst].name)
			     : json_null();
}

static int factors_used(const struct reel_likeness *l)
{
	int used = 0;

	for (int i = 0; i < l->factors; i++)
		used += l->factor[i].used;
	return used;
}

/* The files that run @i lacks and another one has; null: none. */
static json_t *lacks_json(const struct reel_code_files *c, int n, int i,
			  const char *const *run)
{
	int most = reel_code_files_find(c, n, i);
	const struct reel_code_files *other = &c[most < 0 ? 0 : most];
	json_t *classes;

	if (most < 0)
		return json_null();
	classes = json_array();
	if (classes && other->code > 0)
		json_array_append_new(classes, json_string("code"));
	if (classes && other->system > 0)
		json_array_append_new(classes, json_string("system"));
	return json_pack("{s:o, s:I, s:o, s:I, s:f}", "classes", classes,
			 "counted_calls", (json_int_t)c[i].counted, "other",
			 reel_json_name(run[most]), "other_calls",
			 (json_int_t)reel_code_files_calls(other),
			 "other_share", reel_code_files_share(other));
}

/* The keys about the runs themselves. */
static void add_runs(json_t *doc, const struct compare_pair *p)
{
	const char *const run[2] = {p->a, p->b};
	struct reel_cpu_contention m[2];

	reel_cpu_contention_read(&m[0], p->st_a);
	reel_cpu_contention_read(&m[1], p->st_b);
	json_object_set_new(doc, "complete_a",
			    json_boolean(is_complete(p->st_a)));
	json_object_set_new(doc, "complete_b",
			    json_boolean(is_complete(p->st_b)));
	json_object_set_new(doc, "lacks_a", lacks_json(p->code, 2, 0, run));
	json_object_set_new(doc, "lacks_b", lacks_json(p->code, 2, 1, run));
	json_object_set_new(doc, "cpu_contention_a",
			    reel_cpu_contention_json(&m[0]));
	json_object_set_new(doc, "cpu_contention_b",
			    reel_cpu_contention_json(&m[1]));
}

static json_t *source_or_null(const char *source)
{
	return *source ? reel_json_name(source) : json_null();
}

static json_t *number_or_null(int64_t number)
{
	return number >= 0 ? json_integer(number) : json_null();
}

static void add_shares(json_t *doc, const struct reel_likeness *l)
{
	const struct reel_loop_shares *a = &l->loop_a, *b = &l->loop_b;
	const struct {
		const char *key;
		double share;
	} share[] = {
		{"wait_share_a", a->waiting},
		{"wait_share_b", b->waiting},
		{"hidden_share_a", a->hidden},
		{"hidden_share_b", b->hidden},
		{"computing_share_a", a->computing},
		{"computing_share_b", b->computing},
	};
	const struct {
		const char *key;
		int64_t number;
	} number[] = {
		{"ranks_a", a->ranks},	   {"ranks_b", b->ranks},
		{"workers_a", a->workers}, {"workers_b", b->workers},
		{"steps_a", a->steps},	   {"steps_b", b->steps},
	};

	for (size_t i = 0; i < sizeof(share) / sizeof(share[0]); i++)
		json_object_set_new(doc, share[i].key,
				    share_or_null(share[i].share));
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		json_object_set_new(doc, number[i].key,
				    number_or_null(number[i].number));
	json_object_set_new(doc, "compute_source_a",
			    source_or_null(a->compute_source));
	json_object_set_new(doc, "compute_source_b",
			    source_or_null(b->compute_source));
}

int compare_json_pair(const struct compare_pair *p, struct reel_error *err)
{
	const struct reel_likeness *l = p->likeness;
	json_t *doc = json_pack(
		"{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, "
		"s:o}",
		"a", reel_json_name(p->a), "b", reel_json_name(p->b), "cosine",
		real_or_null(l->has_cosine, l->cosine), "factors_used",
		factors_used(l), "max_abs_d",
		real_or_null(l->has_d, l->max_abs_d), "worst_factor",
		worst_json(l), "factors", factors_json(l), "threads_a",
		(json_int_t)l->threads_a, "threads_b", (json_int_t)l->threads_b,
		"threads_same", (json_int_t)l->threads_same,
		"same_sequence_share",
		real_or_null(l->has_same, l->same_sequence_share),
		"call_total_variation", share_or_null(l->call_tv),
		"total_time_d", real_or_null(l->has_time, l->total_time_d));

	if (doc) {
		add_runs(doc, p);
		json_object_set_new(doc, "classes", classes_json(p->classes));
		add_shares(doc, l);
		json_object_set_new(doc, "distributions",
				    distances_json(p->distance));
		if (p->explanation)
			json_object_set_new(doc, "explanation",
					    explanation_json(p));
	}
	return reel_json_print(doc, err);
}

/* The value of a cell: the cosine, or else max |d|. */
static json_t *cell_json(const struct reel_likeness *l, bool cosine)
{
	return cosine ? real_or_null(l->has_cosine, l->cosine)
		      : real_or_null(l->has_d, l->max_abs_d);
}

static json_t *matrix_json(const struct reel_likeness *l, size_t n, bool cosine)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < n; i++) {
		json_t *row = json_array();

		for (size_t k = 0; row && k < n; k++)
			json_array_append_new(
				row,
				cell_json(&l[i < k ? i * n + k : k * n + i],
					  cosine));
		json_array_append_new(rows, row);
	}
	return rows;
}

int compare_json_matrix(const char *const *run, struct reel_store *const *st,
			const struct reel_code_files *code,
			const struct reel_likeness *likeness, size_t n,
			uint32_t classes, const struct compare_pair *explained,
			struct reel_error *err)
{
	json_t *runs = json_array(), *doc;

	for (size_t i = 0; runs && i < n; i++)
		json_array_append_new(
			runs, json_pack("{s:o, s:b, s:o}", "run",
					reel_json_name(run[i]), "complete",
					is_complete(st[i]), "lacks",
					lacks_json(code, (int)n, (int)i, run)));
	doc = json_pack("{s:o, s:o, s:o}", "runs", runs, "cosine",
			matrix_json(likeness, n, true), "max_abs_d",
			matrix_json(likeness, n, false));
	if (doc)
		json_object_set_new(doc, "classes", classes_json(classes));
	if (doc && explained)
		json_object_set_new(doc, "explanation",
				    explanation_json(explained));
	return reel_json_print(doc, err);
}
