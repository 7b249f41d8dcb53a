/* SPDX-License-Identifier: MIT */
/* Named distributions as tables of quantiles. */
#include "replay/workload/distribution.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define TAIL_PARTS 1000 /* of the share of a tail, for its mean */
#define HALVINGS 200	/* of an interval: more than a double has bits */
#define TERMS_MOST 10000

static double normal_share(double z)
{
	return erfc(-z / sqrt(2)) / 2;
}

/* The regularised lower incomplete gamma function by its power series, which
 * converges for every x; slowly where x is much larger than a. */
static double gamma_share(double a, double x)
{
	double term = 1 / a, sum = term;

	if (x <= 0)
		return 0;
	if (x > a + 40 * sqrt(a) + 40)
		return 1;
	for (int n = 1; n < TERMS_MOST && term > sum * 1e-16; n++) {
		term *= x / (a + n);
		sum += term;
	}
	return sum * exp(-x + a * log(x) - lgamma(a));
}

static double step_share(double value, double x)
{
	return x >= value;
}

double distribution_share(const struct distribution *d, double x)
{
	switch (d->kind) {
	case DISTRIBUTION_NORMAL:
		return d->b > 0 ? normal_share((x - d->a) / d->b)
				: step_share(d->a, x);
	case DISTRIBUTION_FOLDED:
		if (!(d->b > 0))
			return step_share(fabs(d->a), x);
		return x < 0 ? 0
			     : normal_share((x - d->a) / d->b) -
				       normal_share((-x - d->a) / d->b);
	case DISTRIBUTION_UNIFORM:
		return x < d->a	   ? 0
		       : x >= d->b ? 1
				   : (x - d->a) / (d->b - d->a);
	case DISTRIBUTION_GAMMA:
		return gamma_share(d->a, x / d->b);
	case DISTRIBUTION_EXPONENTIAL:
		return x < 0 ? 0 : -expm1(-x / d->a);
	case DISTRIBUTION_POISSON:
		return x < 0 ? 0 : 1 - gamma_share(floor(x) + 1, d->a);
	}
	return NAN;
}

double distribution_value(const struct distribution *d, double share)
{
	double low = d->kind == DISTRIBUTION_NORMAL ? d->a - 10 * d->b : 0;
	double high = fabs(d->a) + 10 * fabs(d->b) + 1;

	while (distribution_share(d, high) < share && high < 1e300)
		high *= 2;
	for (int i = 0; i < HALVINGS && low < high; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (distribution_share(d, middle) < share)
			low = middle;
		else
			high = middle;
	}
	return d->kind == DISTRIBUTION_POISSON ? floor(high) : high;
}

/* The end of a straight line from @from, over the shares @low to @high, whose mean
 * is that of the distribution: a table keeps its mean, and nearly its deviation,
 * although a tail is no line. */
static double line_end(const struct distribution *d, double from, double low,
		       double high)
{
	double sum = 0;

	for (int i = 0; i < TAIL_PARTS; i++)
		sum += distribution_value(d, low + (high - low) * (i + 0.5) /
							     TAIL_PARTS);
	return 2 * sum / TAIL_PARTS - from;
}

static void exact_moments(const struct distribution *d, double *mean,
			  double *variance)
{
	double square = d->a * d->a + d->b * d->b;

	*mean = d->a;
	*variance = d->b * d->b;
	switch (d->kind) {
	case DISTRIBUTION_NORMAL:
		break;
	case DISTRIBUTION_FOLDED:
		if (d->b > 0)
			*mean = d->b * sqrt(2 / M_PI) *
					exp(-d->a * d->a / (2 * d->b * d->b)) +
				d->a * (1 - 2 * normal_share(-d->a / d->b));
		*variance = square - *mean * *mean;
		break;
	case DISTRIBUTION_UNIFORM:
		*mean = (d->a + d->b) / 2;
		*variance = (d->b - d->a) * (d->b - d->a) / 12;
		break;
	case DISTRIBUTION_GAMMA:
		*mean = d->a * d->b;
		*variance = *mean * d->b;
		break;
	case DISTRIBUTION_EXPONENTIAL:
		*variance = d->a * d->a;
		break;
	case DISTRIBUTION_POISSON:
		*variance = d->a;
		break;
	}
}

/* The larger root of x x + b x + c. NaN: none. */
static double larger_root(double b, double c)
{
	return (-b + sqrt(b * b - 4 * c)) / 2;
}

/*
 * Choose the ends of the table @v so that its lines have the mean and the
 * deviation of @d: the tails are lines too, and would be too heavy with the mean
 * alone. A low end below @least becomes that, then only the deviation is kept.
 * False, and @v unchanged, where no ends do.
 */
static bool ends_by_moments(const struct distribution *d, double least,
			    double v[DISTRIBUTION_TABLE])
{
	const int last = DISTRIBUTION_TABLE - 1;
	double mean, variance, p, q, x, y, sum = 0, square = 0;

	exact_moments(d, &mean, &variance);
	for (int i = 1; i < last - 1; i++) {
		double a = v[i] - mean, b = v[i + 1] - mean;

		sum += (a + b) / 2;
		square += (a * a + a * b + b * b) / 3;
	}
	p = v[1] - mean;
	q = v[last - 1] - mean;
	square = 3 * (last * variance - square);
	/* x + y = sum, and x x + p x + p p + y y + q y + q q = square */
	sum = -2 * sum - p - q;
	x = -larger_root(-(p - 2 * sum - q) / 2,
			 (sum * sum + q * sum + p * p + q * q - square) / 2);
	y = sum - x;
	if (x + mean < least) {
		x = least - mean;
		y = larger_root(q, x * x + p * x + p * p + q * q - square);
	}
	if (!(x <= p) || !(y >= q))
		return false;
	v[0] = mean + x;
	v[last] = mean + y;
	return true;
}

void distribution_table(const struct distribution *d, double unit,
			int64_t least, int64_t value[DISTRIBUTION_TABLE])
{
	const int last = DISTRIBUTION_TABLE - 1;
	double v[DISTRIBUTION_TABLE];

	for (int i = 1; i < last; i++)
		v[i] = distribution_value(d, (double)i / last);
	if (!ends_by_moments(d, (double)least / unit, v)) {
		v[0] = fmin(v[1], line_end(d, v[1], 0, 1.0 / last));
		v[last] = fmax(v[last - 1],
			       line_end(d, v[last - 1], 1 - 1.0 / last, 1));
	}
	for (int i = 0; i <= last; i++) {
		double x = round(v[i] * unit);

		value[i] = x < (double)least ? least
			   : x > 9e18	     ? (int64_t)9e18
					     : (int64_t)x;
	}
}

void quantiles_moments(const struct quantiles *q, double *mean, double *stdev)
{
	double square = 0;

	*mean = quantiles_mean(q);
	*stdev = 0;
	if (q->n < 2)
		return;
	for (uint32_t i = 0; i + 1 < q->n; i++) {
		double a = (double)q->value[i] - *mean;
		double b = (double)q->value[i + 1] - *mean;

		square += (a * a + a * b + b * b) / 3;
	}
	*stdev = sqrt(square / (q->n - 1));
}

void distribution_moments(const struct quantiles *q, double *mean,
			  double *stdev)
{
	const int last = DISTRIBUTION_TABLE - 1;
	struct distribution unit = {DISTRIBUTION_NORMAL, 0, 1}, is = unit;
	int64_t value[DISTRIBUTION_TABLE];

	quantiles_moments(q, mean, stdev);
	if (q->n != DISTRIBUTION_TABLE)
		return;
	is.a = (double)q->value[last / 2];
	is.b = round(((double)q->value[last - 1] - is.a) /
		     distribution_value(&unit, 1 - 1.0 / last));
	distribution_table(&is, 1, 1, value);
	for (int i = 1; i < last; i++)
		if (llabs(value[i] - q->value[i]) > 1)
			return;
	*mean = is.a;
	*stdev = is.b;
}

double distribution_distance(const struct distribution *d,
			     const struct quantiles *q, double unit)
{
	double most = 0;

	for (uint32_t i = 0; i < q->n && q->n > 1; i++) {
		double share = (double)i / (q->n - 1);
		double is = distribution_share(d, (double)q->value[i] / unit);

		most = fmax(most, fabs(is - share));
	}
	return most;
}
