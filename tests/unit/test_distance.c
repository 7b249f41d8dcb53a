/* SPDX-License-Identifier: MIT */
/* Distances of distributions, and explanations of a likeness. */
#include "analyzer/compare/distance.h"
#include "analyzer/compare/explain.h"

#include "tests/unit/test_metric.h"

/* Reads of these sizes, each 10 ns after the one before; -1 ends them. */
static void job_of(struct job *j, const int *bytes, int64_t gap_ns)
{
	int64_t at_ns = 0, offset = 0;

	job_begin(j);
	job_process(j, 1, 0, "main", 100000);
	job_file(j, 1, "/a", "file");
	for (; *bytes >= 0; bytes++) {
		job_feed(j, moved(REEL_CALL_PREAD, at_ns, 5, offset, *bytes));
		at_ns += gap_ns;
		offset += *bytes;
	}
	job_finish(j);
}

static void find(struct job *a, struct job *b, struct reel_distance *d)
{
	if (reel_distance_find(&a->st, &b->st, d, &a->err))
		ok(0, "distances: %s", a->err.text);
}

static bool near(double x, double y)
{
	return fabs(x - y) < 1e-9;
}

static void sizes(void)
{
	static const int x[] = {10, 10, 20, 40, -1}, y[] = {10, 20, 20, 30, -1};
	static const int one[] = {10, -1}, none[] = {-1};
	/* 1000 to 1007 are in a bucket, as are 2000 to 2015. */
	static const int near_x[] = {1000, 1000, 2000, 4000, -1};
	static const int near_y[] = {1004, 1004, 2000, 4000, -1};
	static const int spread[] = {1001, 1002, 2000, 4000, -1};
	struct reel_distance d[REEL_DISTANCES], *s = &d[0];
	struct job a, b;

	job_of(&a, x, 10);
	job_of(&b, y, 30);
	find(&a, &b, d);
	ok(s->has && s->calls_a == 4 && s->calls_b == 4, "sizes of reads");
	/* CDFs .5 .75 .75 1 and .25 .75 1 1 at 10, 20, 30, 40. */
	ok(near(s->ks, 0.25), "KS is the largest difference of the CDFs");
	/* |10-10| + |10-20| + |20-20| + |40-30|, of 4; mean 20. */
	ok(near(s->w1, 5), "W1 pairs equal quantiles");
	ok(near(s->w1_over_mean, 0.25), "over the mean");
	s = &d[REEL_DISTANCE_ARRIVAL];
	ok(s->has && s->calls_a == 3 && near(s->mean_a, 10) &&
		   near(s->mean_b, 30),
	   "three times between four calls");
	ok(near(s->ks, 1) && near(s->w1, 20) && near(s->w1_over_mean, 2 / 3.),
	   "without a common value KS is 1");
	s = &d[REEL_DISTANCE_READ_STRIDE];
	ok(s->has && s->ks == 0 && s->w1 == 0 && s->w1_over_mean == 0,
	   "all consecutive: no distance");
	ok(!d[REEL_DISTANCE_WRITE_SIZE].has, "no writes");
	job_end(&b);

	job_of(&b, one, 10); /* another number of calls */
	find(&a, &b, d);
	s = &d[0];
	ok(near(s->ks, 0.5) && near(s->w1, 10) && near(s->w1_over_mean, 0.5),
	   "one size against four: (0 + 0 + 10 + 30) / 4");
	find(&b, &a, d);
	ok(near(s->ks, 0.5) && near(s->w1, 10), "the order does not matter");
	job_end(&b);

	job_end(&a);
	job_of(&a, near_x, 10);
	job_of(&b, near_y, 10);
	find(&a, &b, d);
	ok(near(s->ks, 0.5) && near(s->w1, 2), "two values of one bucket");
	find(&b, &a, d);
	ok(near(s->ks, 0.5), "in either order");
	job_end(&b);
	job_of(&b, spread, 10);
	find(&a, &b, d);
	ok(s->ks == 0, "where a bucket has several, its bounds");
	job_end(&b);
	job_end(&a);
	job_of(&a, x, 10);

	job_of(&b, none, 10);
	find(&a, &b, d);
	ok(!s->has && s->calls_a == 4 && !s->calls_b, "a run without reads");
	find(&a, &a, d);
	ok(s->has && s->ks == 0 && s->w1 == 0, "a run and itself");
	job_end(&a);
	job_end(&b);
}

static void explain(void)
{
	static const int x[] = {1000, 1000, 1000, 1000, -1};
	static const int y[] = {1000, 1000, 1000, 100, -1};
	struct reel_explanation e;
	struct reel_likeness l;
	const struct reel_cause *c;
	struct job a, b;
	double cosine;

	job_of(&a, x, 10);
	job_of(&b, y, 10);
	if (reel_compare(&a.st, &b.st, &l, &a.err) ||
	    reel_explain(&a.st, &b.st, &l, &e, &a.err))
		ok(0, "explain: %s", a.err.text);
	/* Bytes read, smallest and mean size, mean bandwidth. */
	is(e.costs, 4, "factors that differ");
	ok(!strcmp(l.factor[e.cost[0].factor].name, "transfer size, min"),
	   "the smallest size costs most");
	ok(near(e.cost[0].max_abs_d_without, 0.225),
	   "without it the largest |d| is 1 - 3100 / 4000");
	ok(reel_likeness_cosine(&l, e.cost[0].factor, &cosine) &&
		   near(cosine - l.cosine, e.cost[0].gain) &&
		   e.cost[0].gain > 0,
	   "the gain is that of the cosine without it");
	for (int i = 1; i < e.costs; i++)
		ok(e.cost[i - 1].gain >= e.cost[i].gain, "in their order");
	c = &e.cause[REEL_CAUSE_READ_SIZE];
	ok(c->has && near(c->tv, 0.25) && near(c->part, 0.5), "sizes differ");
	ok(!strcmp(c->key, "512") || !strcmp(c->key, "64"), "%s", c->key);
	ok(!e.cause[REEL_CAUSE_CALL].has, "calls do not");
	ok(!e.cause[REEL_CAUSE_WRITE_SIZE].has, "there are no writes");
	if (reel_compare(&a.st, &a.st, &l, &a.err) ||
	    reel_explain(&a.st, &a.st, &l, &e, &a.err))
		ok(0, "explain: %s", a.err.text);
	is(e.costs, 0, "a run and itself need no explanation");
	job_end(&a);
	job_end(&b);
}

int main(void)
{
	sizes();
	explain();
	return done();
}
