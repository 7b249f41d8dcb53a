/* SPDX-License-Identifier: MIT */
/* Why two runs are unlike: costs of factors, and the shares that differ. */
#include "analyzer/compare/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

static const struct {
	const char *name, *of, *sql;
} kind[REEL_CAUSES] = {
	{"size of reads", "calls",
	 "SELECT low_bytes AS key, calls AS weight FROM v_transfer_size "
	 "WHERE op = 'read'"},
	{"size of writes", "calls",
	 "SELECT low_bytes AS key, calls AS weight FROM v_transfer_size "
	 "WHERE op = 'write'"},
	{"call", "calls",
	 "SELECT name AS key, calls AS weight FROM v_call_count "
	 "JOIN call USING (call_id)"},
	{"class of file", "bytes",
	 "SELECT class AS key, read_bytes + write_bytes AS weight "
	 "FROM v_class WHERE class IS NOT NULL"},
};

#define MOST 1e18 /* a weight; in a store from elsewhere */
#define KEY sizeof(((struct reel_cause *)NULL)->key)

struct share {
	char key[KEY];
	double weight[2]; /* of a and b */
};

struct shares {
	struct share *s;
	size_t n, room;
	double sum[2];
};

static struct share *find_share(struct shares *in, const char key[static KEY],
				struct reel_error *err)
{
	for (size_t i = 0; i < in->n; i++)
		if (!strcmp(in->s[i].key, key))
			return &in->s[i];
	if (in->n == in->room) {
		in->room = in->room ? 2 * in->room : 64;
		if (reel_grow(&in->s, in->room, sizeof(*in->s), err))
			return NULL;
	}
	memset(&in->s[in->n], 0, sizeof(*in->s));
	memcpy(in->s[in->n].key, key, KEY);
	return &in->s[in->n++];
}

static int read_shares(struct shares *out, struct reel_store *st, int run,
		       const char *sql, struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, sql, err);
	while (reel_view_next(&v)) {
		double weight = reel_view_real(&v, "weight");
		char key[KEY] = "";
		struct share *s;

		if (!(weight > 0 && weight < MOST))
			continue;
		strncpy(key, reel_view_text(&v, "key"), KEY - 1);
		s = find_share(out, key, err);
		if (!s) {
			v.failed = true;
			break;
		}
		s->weight[run] += weight;
		out->sum[run] += weight;
	}
	return reel_view_close(&v);
}

/* The share with the largest difference. */
static void find_cause(struct reel_cause *c, const struct shares *in)
{
	double most = 0, all = 0;

	if (!(in->sum[0] > 0) || !(in->sum[1] > 0))
		return;
	for (size_t i = 0; i < in->n; i++) {
		const struct share *s = &in->s[i];
		double a = s->weight[0] / in->sum[0];
		double b = s->weight[1] / in->sum[1];

		all += fabs(a - b);
		if (fabs(a - b) <= most)
			continue;
		most = fabs(a - b);
		c->share_a = a;
		c->share_b = b;
		memcpy(c->key, s->key, sizeof(c->key));
	}
	c->has = most > 0;
	c->tv = all / 2;
	c->part = all > 0 ? most / all : 0;
}

static int find_causes(struct reel_store *a, struct reel_store *b,
		       struct reel_cause out[static REEL_CAUSES],
		       struct reel_error *err)
{
	for (int i = 0; i < REEL_CAUSES; i++) {
		struct shares in = {0};
		int rc = read_shares(&in, a, 0, kind[i].sql, err) ||
			 read_shares(&in, b, 1, kind[i].sql, err);

		out[i] = (struct reel_cause){.name = kind[i].name,
					     .of = kind[i].of};
		if (!rc)
			find_cause(&out[i], &in);
		free(in.s);
		if (rc)
			return -1;
	}
	return 0;
}

static int by_gain(const void *a, const void *b)
{
	const struct reel_cost *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain > y->gain ? -1 : 1;
	if (x->max_abs_d_without != y->max_abs_d_without)
		return x->max_abs_d_without < y->max_abs_d_without ? -1 : 1;
	return x->factor - y->factor;
}

/* The largest |d| of the factors other than @without. */
static double largest_d(const struct reel_likeness *l, int without)
{
	double most = 0;

	for (int i = 0; i < l->factors; i++)
		if (i != without)
			most = fmax(most, fabs(l->factor[i].d));
	return most;
}

static void find_costs(const struct reel_likeness *l,
		       struct reel_explanation *out)
{
	for (int i = 0; i < l->factors; i++) {
		struct reel_cost *c = &out->cost[out->costs];

		if (l->factor[i].d == 0)
			continue;
		out->costs++;
		*c = (struct reel_cost){.factor = i};
		c->max_abs_d_without = largest_d(l, i);
		c->has = l->has_cosine &&
			 reel_likeness_cosine(l, i, &c->cosine_without);
		if (c->has)
			c->gain = c->cosine_without - l->cosine;
	}
	qsort(out->cost, (size_t)out->costs, sizeof(out->cost[0]), by_gain);
}

int reel_explain(struct reel_store *a, struct reel_store *b,
		 const struct reel_likeness *l, struct reel_explanation *out,
		 struct reel_error *err)
{
	memset(out, 0, sizeof(*out));
	find_costs(l, out);
	return find_causes(a, b, out->cause, err);
}
