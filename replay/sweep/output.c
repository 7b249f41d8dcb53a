/* SPDX-License-Identifier: MIT */
/* A sweep as a table and as CSV. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/sweep/sweep.h"

/* --- table ---------------------------------------------------------------- */

static int column_width(const struct sweep_axis *a)
{
	size_t n = strlen(a->key);

	for (int i = 0; i < a->values; i++)
		if (strlen(a->value[i]) > n)
			n = strlen(a->value[i]);
	return n > 40 ? 40 : (int)n;
}

void sweep_print(const struct sweep *s, const char *metric)
{
	for (int a = 0; a < s->axes; a++)
		printf("%-*.40s  ", column_width(&s->axis[a]), s->axis[a].key);
	printf("%16s  %12s  %s\n", metric, "+-95 %", "runs");
	for (int i = 0; i < s->points; i++) {
		const struct sweep_point *p = &s->point[i];

		for (int a = 0; a < s->axes; a++)
			printf("%-*.40s  ", column_width(&s->axis[a]),
			       s->axis[a].value[p->at[a]]);
		if (isfinite(p->mean))
			printf("%16.5g  ", p->mean);
		else
			printf("%16s  ", "-");
		if (isfinite(p->half))
			printf("%12.3g  %d\n", p->half, p->samples);
		else
			printf("%12s  %d\n", "-", p->samples);
	}
}

/* --- CSV ------------------------------------------------------------------ */

static int csv_text(struct reel_buf *out, const char *s, struct reel_error *err)
{
	if (!strpbrk(s, ",\"\n"))
		return reel_buf_puts(out, s, err);
	if (reel_buf_puts(out, "\"", err))
		return -1;
	for (; *s; s++)
		if ((*s == '"' && reel_buf_puts(out, "\"", err)) ||
		    reel_buf_add(out, s, 1, err))
			return -1;
	return reel_buf_puts(out, "\"", err);
}

int sweep_csv(const struct sweep *s, const char *metric, struct reel_buf *out,
	      struct reel_error *err)
{
	int rc = 0;

	for (int a = 0; !rc && a < s->axes; a++)
		rc = csv_text(out, s->axis[a].key, err) ||
		     reel_buf_puts(out, ",", err);
	rc = rc || reel_buf_printf(out, err, "repeat,%s\n", metric);
	for (int i = 0; !rc && i < s->points; i++)
		for (int k = 0; !rc && k < s->point[i].samples; k++) {
			const struct sweep_point *p = &s->point[i];

			for (int a = 0; !rc && a < s->axes; a++)
				rc = csv_text(out, s->axis[a].value[p->at[a]],
					      err) ||
				     reel_buf_puts(out, ",", err);
			rc = rc || reel_buf_printf(out, err, "%d,", k + 1) ||
			     (isfinite(p->sample[k]) &&
			      reel_buf_printf(out, err, "%.9g",
					      p->sample[k])) ||
			     reel_buf_puts(out, "\n", err);
		}
	return rc ? -1 : 0;
}
