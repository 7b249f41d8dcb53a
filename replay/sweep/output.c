/* SPDX-License-Identifier: MIT */
/* A sweep as a table, as CSV, as a chart. */
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
			rc = rc || reel_buf_printf(out, err, "%d,%.9g\n", k + 1,
						   p->sample[k]);
		}
	return rc ? -1 : 0;
}

/* --- SVG ------------------------------------------------------------------ */

#define WIDTH 640
#define HEIGHT 400
#define LEFT 80
#define RIGHT 20
#define TOP 30
#define BOTTOM 50

static const char *const colours[] = {"#1b6ca8", "#c0392b", "#2e8b57",
				      "#8e44ad", "#d68910", "#5d6d7e"};
#define COLOURS (sizeof(colours) / sizeof(colours[0]))

static int xml_text(struct reel_buf *out, const char *s, struct reel_error *err)
{
	int rc = 0;

	for (; !rc && *s; s++)
		rc = *s == '<'	 ? reel_buf_puts(out, "&lt;", err)
		     : *s == '&' ? reel_buf_puts(out, "&amp;", err)
		     : *s == '>' ? reel_buf_puts(out, "&gt;", err)
				 : reel_buf_add(out, s, 1, err);
	return rc;
}

/* A label at (x, y). @anchor: "middle", "end", "start". */
static int label(struct reel_buf *out, double x, double y, const char *anchor,
		 const char *text, struct reel_error *err)
{
	if (reel_buf_printf(out, err,
			    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
			    x, y, anchor) ||
	    xml_text(out, text, err))
		return -1;
	return reel_buf_puts(out, "</text>\n", err);
}

static double x_of(const struct sweep *s, int i)
{
	int n = s->axis[0].values;

	return LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / n;
}

static double y_of(double v, double most)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * v / most;
}

/* Points that differ in the first axis alone are one line: @rest is their place in
 * the grid of the others. */
static int draw_line(const struct sweep *s, int rest, int lines, double most,
		     struct reel_buf *out, struct reel_error *err)
{
	const char *colour = colours[(size_t)rest % COLOURS];
	int rc = reel_buf_printf(out, err,
				 "<polyline fill=\"none\" stroke=\"%s\" "
				 "stroke-width=\"2\" points=\"",
				 colour);

	for (int i = 0; !rc && i < s->axis[0].values; i++) {
		const struct sweep_point *p = &s->point[i * lines + rest];

		if (isfinite(p->mean))
			rc = reel_buf_printf(out, err, "%.1f,%.1f ", x_of(s, i),
					     y_of(p->mean, most));
	}
	rc = rc || reel_buf_puts(out, "\"/>\n", err);
	for (int i = 0; !rc && i < s->axis[0].values; i++) {
		const struct sweep_point *p = &s->point[i * lines + rest];
		double half = isfinite(p->half) ? p->half : 0;

		if (isfinite(p->mean))
			rc = reel_buf_printf(
				out, err,
				"<path stroke=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n",
				colour, x_of(s, i), y_of(p->mean - half, most),
				y_of(p->mean + half, most));
	}
	return rc ? -1 : 0;
}

static int draw_legend(const struct sweep *s, int rest, int lines,
		       struct reel_buf *out, struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	int rc = 0;

	for (int a = 1; !rc && a < s->axes; a++) {
		rc = reel_buf_puts(&text, a > 1 ? ", " : "", err) ||
		     sweep_setting(s, &s->point[rest], a, &text, err);
	}
	rc = rc ||
	     reel_buf_printf(out, err, "<g fill=\"%s\">",
			     colours[(size_t)rest % COLOURS]) ||
	     label(out, WIDTH - RIGHT, TOP + 16.0 * rest, "end",
		   reel_buf_text(&text), err) ||
	     reel_buf_puts(out, "</g>", err);
	reel_buf_fini(&text);
	return rc ? -1 : 0;
}

static int draw_axes(const struct sweep *s, const char *metric, double most,
		     struct reel_buf *out, struct reel_error *err)
{
	int rc = reel_buf_printf(out, err,
				 "<path fill=\"none\" stroke=\"#444\" "
				 "d=\"M%d %dV%dH%d\"/>\n",
				 LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);

	for (int i = 0; !rc && i <= 4; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%.3g", most * i / 4);
		rc = label(out, LEFT - 6, y_of(most * i / 4, most) + 4, "end",
			   text, err);
	}
	for (int i = 0; !rc && i < s->axis[0].values; i++)
		rc = label(out, x_of(s, i), HEIGHT - BOTTOM + 18, "middle",
			   s->axis[0].value[i], err);
	return rc ||
	       label(out, (WIDTH + LEFT) / 2.0, HEIGHT - 10, "middle",
		     s->axis[0].key, err) ||
	       label(out, 8, 16, "start", metric, err);
}

int sweep_svg(const struct sweep *s, const char *metric, struct reel_buf *out,
	      struct reel_error *err)
{
	int lines, rc;
	double most = 0;

	if (!s->axes)
		return 0;
	lines = s->points / s->axis[0].values;
	for (int i = 0; i < s->points; i++) {
		double half = isfinite(s->point[i].half) ? s->point[i].half : 0;

		if (s->point[i].mean + half > most)
			most = s->point[i].mean + half;
	}
	if (!(most > 0))
		most = 1;
	rc = reel_buf_printf(out, err,
			     "<svg xmlns=\"http://www.w3.org/2000/svg\" "
			     "width=\"%d\" height=\"%d\" font-size=\"12\" "
			     "font-family=\"sans-serif\">\n",
			     WIDTH, HEIGHT) ||
	     draw_axes(s, metric, most, out, err);
	for (int i = 0; !rc && i < lines; i++)
		rc = draw_line(s, i, lines, most, out, err) ||
		     (lines > 1 && draw_legend(s, i, lines, out, err));
	return rc || reel_buf_puts(out, "</svg>\n", err) ? -1 : 0;
}
