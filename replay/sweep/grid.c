/* SPDX-License-Identifier: MIT */
/* The grid of a sweep, and the statistics of its points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/sweep/sweep.h"

/* Commas within brackets belong to a value: {"quantiles": [1, 2]}. */
static size_t value_length(const char *s)
{
	int depth = 0;
	size_t n = 0;

	for (; s[n] && (depth > 0 || s[n] != ','); n++) {
		depth += s[n] == '[' || s[n] == '{';
		depth -= s[n] == ']' || s[n] == '}';
	}
	return n;
}

static int add_axis(struct sweep *s, const char *setting,
		    struct reel_error *err)
{
	const char *equals = strchr(setting, '='), *from;
	struct sweep_axis *a = &s->axis[s->axes];

	if (!equals || equals == setting || !equals[1])
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' is not KEY=VALUE,VALUE...", setting);
	if (s->axes == SWEEP_AXES)
		return reel_fail(err, REEL_E_USAGE, "more than %d keys",
				 SWEEP_AXES);
	s->axes++;
	a->key = strndup(setting, (size_t)(equals - setting));
	for (int i = 0; a->key && i < s->axes - 1; i++)
		if (!strcmp(s->axis[i].key, a->key))
			return reel_fail(err, REEL_E_USAGE,
					 "the key '%s' is set twice", a->key);
	for (from = equals + 1; a->key; from++) {
		size_t n = value_length(from);

		if (reel_grow(&a->value, (size_t)a->values + 1,
			      sizeof(*a->value), err))
			return -1;
		a->value[a->values] = strndup(from, n);
		if (!a->value[a->values])
			break;
		for (int i = 0; i < a->values; i++)
			if (!strcmp(a->value[i], a->value[a->values])) {
				a->values++;
				return reel_fail(err, REEL_E_USAGE,
						 "%s has the value '%s' twice",
						 a->key, a->value[i]);
			}
		a->values++;
		from += n;
		if (!*from)
			return 0;
	}
	return reel_fail(err, REEL_E_MEMORY, "out of memory");
}

int sweep_init(struct sweep *s, const char *const *setting, int n, int repeats,
	       struct reel_error *err)
{
	memset(s, 0, sizeof(*s));
	s->points = 1;
	for (int i = 0; i < n; i++) {
		if (add_axis(s, setting[i], err))
			return -1;
		s->points *= s->axis[i].values;
		if (s->points > SWEEP_POINTS)
			return reel_fail(err, REEL_E_USAGE,
					 "more than %d points", SWEEP_POINTS);
	}
	s->point = reel_alloc((size_t)s->points, sizeof(*s->point), err);
	if (!s->point)
		return -1;
	for (int i = 0; i < s->points; i++) {
		int left = i;

		for (int axis = s->axes - 1; axis >= 0; axis--) {
			s->point[i].at[axis] = left % s->axis[axis].values;
			left /= s->axis[axis].values;
		}
		s->point[i].sample =
			reel_alloc((size_t)repeats, sizeof(double), err);
		if (!s->point[i].sample)
			return -1;
	}
	return 0;
}

void sweep_fini(struct sweep *s)
{
	for (int i = 0; s->point && i < s->points; i++)
		free(s->point[i].sample);
	free(s->point);
	for (int i = 0; i < s->axes; i++) {
		for (int j = 0; j < s->axis[i].values; j++)
			free(s->axis[i].value[j]);
		free(s->axis[i].value);
		free(s->axis[i].key);
	}
}

int sweep_setting(const struct sweep *s, const struct sweep_point *p, int axis,
		  struct reel_buf *out, struct reel_error *err)
{
	const struct sweep_axis *a = &s->axis[axis];

	return reel_buf_printf(out, err, "%s=%s", a->key,
			       a->value[p->at[axis]]);
}

/* --- statistics ----------------------------------------------------------- */

/* The 97.5 % point of Student's t with @n degrees of freedom: exact up to 10, then
 * an expansion in 1/n that is right to three digits. */
static double student(int n)
{
	static const double t[] = {NAN,	  12.706, 4.303, 3.182, 2.776, 2.571,
				   2.447, 2.365,  2.306, 2.262, 2.228};

	if (n <= 10)
		return t[n];
	return 1.959964 + 2.372271 / n + 2.822501 / ((double)n * n) +
	       2.555852 / ((double)n * n * n);
}

void sweep_summarize(struct sweep *s)
{
	for (int i = 0; i < s->points; i++) {
		struct sweep_point *p = &s->point[i];
		double sum = 0, squares = 0;
		int n = p->samples;

		for (int k = 0; k < n; k++)
			sum += p->sample[k];
		p->mean = n ? sum / n : NAN;
		for (int k = 0; k < n; k++)
			squares += (p->sample[k] - p->mean) *
				   (p->sample[k] - p->mean);
		p->half = n > 1 ? student(n - 1) * sqrt(squares / (n - 1) / n)
				: NAN;
	}
}

const struct sweep_point *sweep_winner(const struct sweep *s, bool low,
				       const char **why)
{
	const struct sweep_point *best = NULL;

	*why = "there is one point";
	if (s->points == 1)
		return NULL;
	for (int i = 0; i < s->points; i++) {
		const struct sweep_point *p = &s->point[i];

		*why = !isfinite(p->mean) ? "a point has no value"
					  : "an interval needs two runs";
		if (!isfinite(p->mean) || !isfinite(p->half))
			return NULL;
		if (!best ||
		    (low ? p->mean < best->mean : p->mean > best->mean))
			best = p;
	}
	*why = "the intervals overlap";
	for (int i = 0; i < s->points; i++) {
		const struct sweep_point *p = &s->point[i];

		if (p != best &&
		    fabs(p->mean - best->mean) <= p->half + best->half)
			return NULL;
	}
	return best;
}
