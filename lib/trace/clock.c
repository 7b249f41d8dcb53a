/* SPDX-License-Identifier: MIT */
/*
 * Ticks to nanoseconds: one straight line per host, through all its clock
 * pairs.
 *
 * The line is fitted in floating point and applied with integers, a
 * multiplication of 128 bits and a shift: times are monotonic and equal in
 * every run. Heads have no checksum, so any pair may be wrong: medians select
 * the pairs for the fit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/trace/internal.h"

#define PAIRS_MAX 65536	    /* of blocks: more are thinned out */
#define NS_MAX (1ll << 62)  /* 146 years: sums of two do not overflow */
#define SLOPE_MIN 0.01	    /* ns per tick: 100 GHz */
#define SLOPE_MAX 100000.0  /* 10 kHz */
#define SPREAD_NS 1000000.0 /* a pair is an outlier beyond this distance ... */
#define SPREAD_SHARE 200e-6 /* ... plus this share of the run */
#define AGREE_TIMES 4 /* pairs agree within this many median distances ... */
#define AGREE_NS 50   /* ... or within this distance */
#define RDTSC_NS 100  /* error of unserialised reads of the counter */

int trace_clock_pair(struct reel_trace *tr, uint32_t i, uint64_t ticks,
		     uint64_t ns, struct reel_error *err)
{
	struct trace_pair *p;

	if (tr->pair_skip++ % (tr->pair_stride ? tr->pair_stride : 1))
		return 0;
	if (tr->pairs == PAIRS_MAX) {
		for (uint32_t k = 0; k < PAIRS_MAX / 2; k++)
			tr->pair[k] = tr->pair[2 * k];
		tr->pairs = PAIRS_MAX / 2;
		tr->pair_stride = tr->pair_stride ? tr->pair_stride * 2 : 2;
	}
	if (reel_array_reach(&tr->pair, &tr->pair_room, tr->pairs, sizeof(*p),
			     err))
		return -1;
	p = &tr->pair[tr->pairs++];
	p->ticks = ticks;
	p->ns = ns - (uint64_t)tr->image[i].timens_ns;
	p->image = i;
	return 0;
}

static int by_host(const void *va, const void *vb)
{
	const struct trace_image *a = *(struct trace_image *const *)va;
	const struct trace_image *b = *(struct trace_image *const *)vb;
	int d = strcmp(a->pub.head.boot_id, b->pub.head.boot_id);

	if (d)
		return d;
	d = (a->pub.head.clock > b->pub.head.clock) -
	    (a->pub.head.clock < b->pub.head.clock);
	if (d || a->pub.head.clock != REEL_CLOCK_MONOTONIC)
		return d;
	return (a->timens_ns > b->timens_ns) - (a->timens_ns < b->timens_ns);
}

static int by_ticks(const void *va, const void *vb)
{
	const struct trace_pair *a = va, *b = vb;

	if (a->image != b->image)
		return a->image > b->image ? 1 : -1;
	return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

static int by_value(const void *va, const void *vb)
{
	double a = *(const double *)va, b = *(const double *)vb;

	return (a > b) - (a < b);
}

static double median(double *v, uint32_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

/* @a - @b as a double: the difference may not fit an int64_t. */
static double difference(uint64_t a, uint64_t b)
{
	return a >= b ? (double)(a - b) : -(double)(b - a);
}

static double pair_above(const struct trace_pair *p,
			 const struct trace_pair *origin, double slope)
{
	return difference(p->ns, origin->ns) -
	       slope * difference(p->ticks, origin->ticks);
}

/* Set the line through (@ticks, @ns), in integers. */
static void set_line(struct trace_clock *c, uint64_t ticks, int64_t ns,
		     double slope)
{
	int exponent;
	double f = frexp(slope, &exponent);

	c->base_ticks = ticks;
	c->base_ns = ns;
	c->mult = (uint64_t)ldexp(f, 62);
	c->shift = (unsigned int)(62 - exponent);
}

/* Convert any ticks, even those of a damaged trace, and clamp the result. */
static int64_t clamped_ns(const struct trace_clock *c, uint64_t ticks)
{
	__int128 ns = (__int128)ticks - c->base_ticks;

	if (ns > INT64_MAX)
		ns = INT64_MAX;
	if (ns < INT64_MIN)
		ns = INT64_MIN;
	ns = (ns * (__int128)c->mult >> c->shift) + c->base_ns;
	return ns < 0 ? 0 : ns > NS_MAX ? NS_MAX : (int64_t)ns;
}

/* Convert @ticks: one multiplication if they come soon after the base. */
static int64_t clock_ns(const struct trace_clock *c, uint64_t ticks)
{
	unsigned __int128 since =
		(unsigned __int128)(ticks - c->base_ticks) * c->mult >>
		c->shift;
	int64_t ns;

	if (ticks < c->base_ticks || since > NS_MAX / 2)
		return clamped_ns(c, ticks);
	ns = c->base_ns + (int64_t)since;
	return ns < 0 ? 0 : ns > NS_MAX ? NS_MAX : ns;
}

/*
 * The median slope between pairs half of the list apart; *@level is the median
 * residual. Up to a quarter of the pairs may be wrong. 0: no slope.
 */
static double robust_slope(const struct trace_pair *p, uint32_t n, double *v,
			   double *level)
{
	uint32_t half = n / 2, k = 0;
	double slope;

	for (uint32_t i = 0; i + half < n; i++) {
		double dt = difference(p[i + half].ticks, p[i].ticks);
		double s =
			dt > 0 ? difference(p[i + half].ns, p[i].ns) / dt : 0;

		if (s >= SLOPE_MIN && s <= SLOPE_MAX)
			v[k++] = s;
	}
	if (half == 0 || k == 0)
		return 0;
	slope = median(v, k);
	for (uint32_t i = 0; i < n; i++)
		v[i] = pair_above(&p[i], p, slope);
	*level = median(v, n);
	return slope;
}

/* The distance of a pair above the line. */
static double pair_distance(const struct trace_clock *c,
			    const struct trace_pair *p)
{
	return difference(p->ns, (uint64_t)clock_ns(c, p->ticks));
}

/* Refine the line by least squares over the pairs within @near of it. */
static bool refine_line(struct trace_clock *c, double *slope, double near,
			const struct trace_pair *p, uint32_t n)
{
	long double sx = 0, sy = 0, sxx = 0, sxy = 0, k = 0, spread, tilt;
	const struct trace_pair *o = NULL;

	for (uint32_t i = 0; i < n; i++) {
		long double x, y = pair_distance(c, &p[i]);

		if (fabsl(y) > near)
			continue;
		o = o ? o : &p[i];
		x = difference(p[i].ticks, o->ticks);
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		k++;
	}
	spread = k * sxx - sx * sx;
	if (!(spread > 0) || !o)
		return false;
	tilt = (k * sxy - sx * sy) / spread;
	if (*slope + tilt < SLOPE_MIN || *slope + tilt > SLOPE_MAX)
		return false;
	*slope = (double)(*slope + tilt);
	set_line(c, o->ticks,
		 clock_ns(c, o->ticks) + llroundl((sy - tilt * sx) / k),
		 *slope);
	return true;
}

/* Fill @v with the distances of all pairs. Returns how many are within
 * @near. */
static uint32_t pair_distances(const struct trace_clock *c, double near,
			       const struct trace_pair *p, uint32_t n,
			       double *v)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++) {
		v[k] = fabs(pair_distance(c, &p[i]));
		k += v[k] <= near;
	}
	return k;
}

/*
 * Fit the line in two passes: a block's pair is two reads with an unknown delay
 * between them, so the second pass uses only pairs that agree. Their largest
 * distance is the error bound.
 */
static bool fit_line(struct trace_clock *c, const struct trace_pair *p,
		     uint32_t n, double *v)
{
	double level = 0, near, finer, slope = robust_slope(p, n, v, &level);
	long double base = (long double)p->ns + level;
	uint32_t k;

	if (slope == 0 || base < 0 || base > NS_MAX)
		return false;
	set_line(c, p->ticks, llroundl(base), slope);
	near = SPREAD_NS +
	       SPREAD_SHARE * slope * difference(p[n - 1].ticks, p[0].ticks);
	if (!refine_line(c, &slope, near, p, n))
		return false;
	k = pair_distances(c, near, p, n, v);
	finer = k ? AGREE_TIMES * median(v, k) : near;
	finer = finer < AGREE_NS ? AGREE_NS : finer;
	near = finer < near ? finer : near;
	refine_line(c, &slope, near, p, n);
	k = pair_distances(c, near, p, n, v);
	if (k)
		qsort(v, k, sizeof(*v), by_value);
	c->error_ns = k ? (int64_t)ceil(v[k - 1]) : 0;
	return true;
}

/*
 * Guess a line from one pair, of a process killed before it filled a block. The
 * counter started about at boot.
 */
static void guess_line(struct trace_clock *c, const struct reel_head *h,
		       uint64_t last_ticks, double other)
{
	double slope = 0;
	uint64_t ns = h->start_mono_ns < NS_MAX ? h->start_mono_ns : 0;

	if (h->start_ticks)
		slope = (double)h->start_boot_ns / (double)h->start_ticks;
	if (other > 0)
		slope = other;
	if (!(slope >= SLOPE_MIN && slope <= SLOPE_MAX))
		slope = 1;
	set_line(c, h->start_ticks, (int64_t)ns, slope);
	if (last_ticks > h->start_ticks)
		c->error_ns = (clock_ns(c, last_ticks) - (int64_t)ns) / 100;
}

/* Collect the pairs of block heads and of heads, sorted by clock and time. */
static int gather_pairs(struct reel_trace *tr, struct reel_error *err)
{
	size_t room = (size_t)tr->pairs + 2 * (size_t)tr->images;

	if (reel_grow(&tr->pair, room, sizeof(*tr->pair), err) < 0)
		return -1;
	tr->pair_room = (uint32_t)room;
	for (uint32_t i = 0; i < tr->pairs; i++)
		tr->pair[i].image = tr->image[tr->pair[i].image].clock;
	for (uint32_t i = 0; i < tr->images; i++) {
		const struct reel_head *h = &tr->image[i].pub.head;

		tr->pair[tr->pairs++] = (struct trace_pair){
			h->start_ticks, h->start_mono_ns, tr->image[i].clock};
		if (h->end_ticks && h->end_mono_ns)
			tr->pair[tr->pairs++] = (struct trace_pair){
				h->end_ticks, h->end_mono_ns,
				tr->image[i].clock};
	}
	qsort(tr->pair, tr->pairs, sizeof(*tr->pair), by_ticks);
	return 0;
}

/* Number the hosts in the order of their names; each gets a clock. */
static int find_hosts(struct reel_trace *tr, struct trace_image **ptr,
		      struct reel_error *err)
{
	for (uint32_t i = 0; i < tr->images; i++)
		ptr[i] = &tr->image[i];
	qsort(ptr, tr->images, sizeof(*ptr), by_host);
	for (uint32_t i = 0; i < tr->images; i++) {
		if (i && by_host(&ptr[i - 1], &ptr[i]) != 0)
			tr->clocks++;
		ptr[i]->clock = tr->clocks;
	}
	tr->clocks++;
	tr->clock = reel_alloc(tr->clocks, sizeof(*tr->clock), err);
	return tr->clock ? 0 : -1;
}

/* The bracket of a start pair in ns; 0 if it is implausible. */
static int64_t start_bracket_ns(const struct trace_clock *c,
				const struct reel_head *h)
{
	double ns =
		ldexp((double)c->mult, -(int)c->shift) * h->pair_error_ticks;

	return ns < SPREAD_NS ? (int64_t)ns : 0;
}

/* Fit the clock of the images [@from, @to) of @ptr, and its @n pairs at @p. */
static bool fit_host(struct trace_clock *c, struct trace_image **ptr,
		     uint32_t from, uint32_t to, const struct trace_pair *p,
		     uint32_t n, double *v)
{
	int64_t wide = 0, w;

	if (ptr[from]->pub.head.clock == REEL_CLOCK_MONOTONIC) {
		set_line(c, 0, -ptr[from]->timens_ns, 1.0);
		return true;
	}
	if (!fit_line(c, p, n, v))
		return false;
	for (uint32_t i = from; i < to; i++) {
		w = start_bracket_ns(c, &ptr[i]->pub.head);
		wide = w > wide ? w : wide;
	}
	c->error_ns += wide + RDTSC_NS;
	return true;
}

/* Guess a line for hosts without one; @other is the slope of another host. */
static void guess_hosts(struct reel_trace *tr, struct trace_image **ptr,
			double other)
{
	for (uint32_t i = 0; i < tr->images; i++) {
		struct trace_clock *c = &tr->clock[ptr[i]->clock];
		uint64_t last = ptr[i]->last_ticks;

		if (c->mult)
			continue;
		for (uint32_t k = i;
		     k < tr->images && ptr[k]->clock == ptr[i]->clock; k++)
			if (ptr[k]->last_ticks > last)
				last = ptr[k]->last_ticks;
		guess_line(c, &ptr[i]->pub.head, last, other);
		c->error_ns +=
			start_bracket_ns(c, &ptr[i]->pub.head) + RDTSC_NS;
	}
}

static void fit_hosts(struct reel_trace *tr, struct trace_image **ptr,
		      double *v)
{
	uint32_t from = 0, to, p = 0, q;
	double other = 0;

	for (uint32_t k = 0; k < tr->clocks; k++) {
		struct trace_clock *c = &tr->clock[k];

		for (to = from; to < tr->images && ptr[to]->clock == k; to++)
			;
		for (q = p; q < tr->pairs && tr->pair[q].image == k; q++)
			;
		if (fit_host(c, ptr, from, to, &tr->pair[p], q - p, v) &&
		    ptr[from]->pub.head.clock == REEL_CLOCK_TSC)
			other = ldexp((double)c->mult, -(int)c->shift);
		from = to;
		p = q;
	}
	guess_hosts(tr, ptr, other);
}

/* Set the fast path: the range in which the product cannot overflow. */
static void set_fit(struct trace_clock *c)
{
	unsigned __int128 most;

	if (c->peer_at[0] || !c->mult || c->shift < 1 || c->shift > 63 ||
	    c->base_ns < 0 || c->base_ns > NS_MAX / 2)
		return;
	most = ((unsigned __int128)(NS_MAX / 2) << c->shift) / c->mult;
	c->fit = (struct reel_clock_fit){
		.base_ticks = c->base_ticks,
		.fast_ticks = most > UINT64_MAX ? UINT64_MAX : (uint64_t)most,
		.mult = c->mult,
		.base_ns = c->base_ns,
		.shift = c->shift,
	};
}

int trace_clock_fit(struct reel_trace *tr, struct reel_error *err)
{
	struct trace_image **ptr = NULL;
	double *v = NULL;
	int rc = -1;

	if (!tr->images)
		return 0;
	ptr = reel_alloc(tr->images, sizeof(struct trace_image *), err);
	if (!ptr || find_hosts(tr, ptr, err) < 0 || gather_pairs(tr, err) < 0)
		goto out;
	v = reel_alloc(tr->pairs, sizeof(*v), err);
	if (!v)
		goto out;
	fit_hosts(tr, ptr, v);
	trace_peer_find(tr);
	for (uint32_t k = 0; k < tr->clocks; k++)
		set_fit(&tr->clock[k]);
	rc = 0;
out:
	free(ptr);
	free(v);
	free(tr->pair);
	tr->pair = NULL;
	tr->pairs = tr->pair_room = 0;
	return rc;
}

int64_t reel_clock_fit_slow_ns(const struct reel_clock_fit *l, uint64_t ticks)
{
	const struct trace_clock *c = (const struct trace_clock *)l;
	int64_t ns = clock_ns(c, ticks);

	return c->peer_at[0] ? trace_peer_ns(c, ns) : ns;
}

const struct reel_clock_fit *reel_trace_clock_fit(const struct reel_trace *tr,
						  int i)
{
	return &tr->clock[tr->image[i].clock].fit;
}

int64_t reel_trace_ns(const struct reel_trace *tr, int process, uint64_t ticks)
{
	return reel_clock_fit_ns(reel_trace_clock_fit(tr, process), ticks);
}

int64_t reel_trace_clock_error_ns(const struct reel_trace *tr)
{
	int64_t worst = 0;

	for (uint32_t i = 0; i < tr->clocks; i++)
		if (tr->clock[i].error_ns > worst)
			worst = tr->clock[i].error_ns;
	return worst;
}
