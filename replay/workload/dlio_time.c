/* SPDX-License-Identifier: MIT */
/* Times of DLIO's YAML: a number, or a distribution. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/workload/distribution.h"
#include "replay/workload/dlio_internal.h"

/* The parameters of each type, in NumPy's words. */
static const struct {
	const char *type, *a, *b;
	enum distribution_kind kind;
} types[] = {
	{"normal", "mean", "stdev", DISTRIBUTION_FOLDED},
	{"uniform", "min", "max", DISTRIBUTION_UNIFORM},
	{"gamma", "shape", "scale", DISTRIBUTION_GAMMA},
	{"exponential", "scale", NULL, DISTRIBUTION_EXPONENTIAL},
	{"poisson", "lam", NULL, DISTRIBUTION_POISSON},
};
#define TYPES (sizeof(types) / sizeof(*types))

static double parameter(struct dlio *d, const char *key, const char *name)
{
	char path[128];

	if (!name)
		return 0;
	snprintf(path, sizeof(path), "%s.%s", key, name);
	return dlio_number(d, path, 0);
}

static int set_table(struct dlio *d, const char *to,
		     const struct distribution *is, double unit, int64_t least)
{
	int64_t value[DISTRIBUTION_TABLE];
	struct reel_buf text = REEL_BUF_INIT;
	int rc = 0;

	distribution_table(is, unit, least, value);
	for (int i = 0; !rc && i < DISTRIBUTION_TABLE; i++)
		rc = reel_buf_printf(&text, d->err, "%s%lld", i ? "," : "",
				     (long long)value[i]);
	rc = rc ||
	     dlio_set(d, "%s={\"quantiles\":[%s]}", to, reel_buf_text(&text));
	reel_buf_fini(&text);
	return rc ? -1 : 0;
}

static int set_normal(struct dlio *d, const char *key, const char *to)
{
	char name[128];
	struct distribution is = {DISTRIBUTION_FOLDED, 0, 0};

	snprintf(name, sizeof(name), "%s_stdev", key);
	is.a = dlio_number(d, key, 0);
	is.b = dlio_number(d, name, 0);
	if (d->failed)
		return -1;
	if (is.a < 0 || is.b < 0)
		return dlio_fail(d, yaml_scalar_of(&d->yaml, key),
				 "a time below 0");
	if (is.b > 0)
		return set_table(d, to, &is, 1e9, 0);
	return dlio_set(d, "%s=%.0f", to, round(is.a * 1e9));
}

int dlio_set_time(struct dlio *d, const char *key, const char *to)
{
	struct distribution is = {0};
	const struct yaml_scalar *s;
	char name[128];
	size_t i;

	snprintf(name, sizeof(name), "%s.type", key);
	s = yaml_scalar_of(&d->yaml, name);
	if (!s)
		return yaml_scalar_of(&d->yaml, key) ? set_normal(d, key, to)
						     : 0;
	for (i = 0; i < TYPES && strcmp(types[i].type, s->text); i++)
		;
	if (i == TYPES)
		return dlio_fail(d, s,
				 "not one of normal, uniform, gamma, "
				 "exponential, poisson");
	is.kind = types[i].kind;
	is.a = parameter(d, key, types[i].a);
	is.b = parameter(d, key, types[i].b);
	if (d->failed)
		return -1;
	if (is.a < 0 || is.b < 0 || is.a > 86400 || is.b > 86400)
		return dlio_fail(d, s,
				 "a parameter that is below 0 or above a day");
	if (is.kind == DISTRIBUTION_UNIFORM && is.b < is.a)
		return dlio_fail(d, s, "max is below min");
	if ((is.kind != DISTRIBUTION_FOLDED &&
	     is.kind != DISTRIBUTION_UNIFORM && !(is.a > 0)) ||
	    (is.kind == DISTRIBUTION_GAMMA && !(is.b > 0)))
		return dlio_fail(d, s, "a parameter that is not above 0");
	if (is.a == is.b && is.kind == DISTRIBUTION_UNIFORM)
		return dlio_set(d, "%s=%.0f", to, round(is.a * 1e9));
	return set_table(d, to, &is, 1e9, 0);
}

int dlio_set_sizes(struct dlio *d, double mean, double stdev)
{
	struct distribution is = {DISTRIBUTION_NORMAL, mean, stdev};

	return set_table(d, "dataset.sample_bytes", &is, 1, 1);
}
