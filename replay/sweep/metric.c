/* SPDX-License-Identifier: MIT */
/* A metric of a sweep: a number of a run's result, "samples_per_s" or
 * "time.storage_s". Its unit is the end of its name. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/text.h"

#include "replay/sweep/sweep.h"

bool sweep_metric_is_low(const char *metric)
{
	return !reel_text_ends(metric, "_per_s") &&
	       (reel_text_ends(metric, "_s") || reel_text_ends(metric, "_us"));
}

int sweep_metric_title(const char *metric, struct reel_buf *out,
		       struct reel_error *err)
{
	static const struct {
		const char *end, *unit;
	} units[] = {{"_per_s", "/s"},
		     {"_percent", " (%)"},
		     {"_bytes", " (bytes)"},
		     {"_us", " (\xc2\xb5s)"},
		     {"_s", " (s)"}};
	const char *unit = "";
	size_t n = strlen(metric);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (reel_text_ends(metric, units[i].end)) {
			n -= strlen(units[i].end);
			unit = units[i].unit;
			break;
		}
	return reel_buf_add(out, metric, n, err) ||
			       reel_buf_puts(out, unit, err)
		       ? -1
		       : 0;
}

int sweep_metric_value(const char *metric, const json_t *result, double *value,
		       struct reel_error *err)
{
	const char *from = metric;

	while (result) {
		size_t n = strcspn(from, ".");
		char key[64];

		if (n >= sizeof(key)) {
			result = NULL;
			break;
		}
		memcpy(key, from, n);
		key[n] = '\0';
		result = json_object_get(result, key);
		if (!from[n])
			break;
		from += n + 1;
	}
	*value = json_is_number(result) ? json_number_value(result) : NAN;
	return json_is_number(result) || json_is_null(result)
		       ? 0
		       : reel_fail(err, REEL_E_USAGE,
				   "a result has no number '%s' (samples_per_s,"
				   " au_percent, wall_s, time.storage_s, "
				   "read_latency.p99_us ...)",
				   metric);
}
