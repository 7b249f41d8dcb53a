/* SPDX-License-Identifier: MIT */
/* A sweep as an SVG chart: the first axis from left to right, a line for each
 * combination of the others, bars for the confidence intervals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/text.h"

#include "replay/sweep/sweep.h"

/* In pixels. CHAR is the width of a wide letter of the font. */
#define PLOT_WIDTH 560
#define PLOT_HEIGHT 320
#define LEFT 80 /* at least */
#define RIGHT 24
#define TOP 40
#define CHAR 7
#define LINE 18
#define BAR 5 /* half of the width of an end of a bar, and a gap of lines */

static const char *const colours[] = {"#1b6ca8", "#c0392b", "#2e8b57",
				      "#8e44ad", "#b9770e", "#5d6d7e"};
#define COLOURS (sizeof(colours) / sizeof(colours[0]))
/* Lines of one colour differ by their dashes. */
static const char *const dashes[] = {"none", "7 3", "2 3"};
#define DASHES (sizeof(dashes) / sizeof(dashes[0]))

struct chart {
	const struct sweep *sweep;
	int lines;    /* combinations of all axes but the first */
	double top;   /* of the scale */
	double step;  /* between its marks */
	bool slanted; /* labels of the first axis */
	int left, width, height, bottom;
	struct reel_buf *out;
	struct reel_error *err;
};

/* --- text ----------------------------------------------------------------- */

/* XML allows no control characters. */
static int xml_text(struct reel_buf *out, const char *s, struct reel_error *err)
{
	int rc = 0;

	for (; !rc && *s; s++)
		rc = *s == '<'	 ? reel_buf_puts(out, "&lt;", err)
		     : *s == '&' ? reel_buf_puts(out, "&amp;", err)
		     : *s == '>' ? reel_buf_puts(out, "&gt;", err)
		     : (unsigned char)*s < ' ' ? reel_buf_puts(out, "?", err)
					       : reel_buf_add(out, s, 1, err);
	return rc;
}

/* A text at (x, y). @anchor: "middle", "end", "start". @more: attributes. */
static int label(const struct chart *c, double x, double y, const char *anchor,
		 const char *more, const char *text)
{
	if (reel_buf_printf(c->out, c->err,
			    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>",
			    x, y, anchor, more) ||
	    xml_text(c->out, text, c->err))
		return -1;
	return reel_buf_puts(c->out, "</text>\n", c->err);
}

static bool key_ends_in(const struct sweep_axis *a, const char *end)
{
	size_t n = strlen(a->key), m = strlen(end);

	return n >= m && !strcmp(a->key + n - m, end);
}

/* A value with its unit: sizes and times of a bare integer get theirs. */
static const char *value_text(const struct sweep_axis *a, int i,
			      char room[static REEL_NUM])
{
	char *end;
	long long n = strtoll(a->value[i], &end, 10);

	if (*end || end == a->value[i])
		return a->value[i];
	if (key_ends_in(a, "bytes"))
		return reel_num_size(room, (double)n);
	if (key_ends_in(a, "_ns"))
		return reel_num_time(room, (double)n);
	return a->value[i];
}

static double longest_value(const struct sweep_axis *a)
{
	char room[REEL_NUM];
	int most = 0;

	for (int i = 0; i < a->values; i++) {
		int n = reel_text_columns(value_text(a, i, room));

		if (n > most)
			most = n;
	}
	return most * CHAR;
}

/* --- scale ---------------------------------------------------------------- */

static double x_of(const struct chart *c, int i)
{
	return c->left + PLOT_WIDTH * (i + 0.5) / c->sweep->axis[0].values;
}

static double y_of(const struct chart *c, double v)
{
	if (v < 0)
		v = 0;
	return TOP + PLOT_HEIGHT * (1 - v / c->top);
}

/* Marks of 1, 2 or 5 times a power of ten; the scale begins at 0. */
static void choose_scale(struct chart *c)
{
	double most = 0, power;

	for (int i = 0; i < c->sweep->points; i++) {
		const struct sweep_point *p = &c->sweep->point[i];
		double high = p->mean + (isfinite(p->half) ? p->half : 0);

		if (high > most)
			most = high;
	}
	if (!(most > 0))
		most = 1;
	power = pow(10, floor(log10(most / 5)));
	c->step = most / 5 / power > 5	 ? 10 * power
		  : most / 5 / power > 2 ? 5 * power
		  : most / 5 / power > 1 ? 2 * power
					 : power;
	c->top = ceil(most / c->step * 1.001) * c->step;
}

static double legend_width(const struct chart *c)
{
	double width = 0;

	if (c->lines == 1)
		return 0;
	for (int a = 1; a < c->sweep->axes; a++) {
		double key =
			(double)reel_text_columns(c->sweep->axis[a].key) * CHAR;
		double value = longest_value(&c->sweep->axis[a]) + 2 * CHAR;

		width += key > value ? key : value;
	}
	return width + 60;
}

static void lay_out(struct chart *c)
{
	double longest = longest_value(&c->sweep->axis[0]);
	int legend = TOP + LINE * (c->lines + c->sweep->axes);

	c->slanted = longest > PLOT_WIDTH / c->sweep->axis[0].values - CHAR;
	if (longest > 40 * CHAR)
		longest = 40 * CHAR;
	c->bottom = 60 + (c->slanted ? (int)(longest * 0.7) : 0);
	c->left = LEFT;
	if (c->slanted && longest * 0.7 > LEFT)
		c->left = (int)(longest * 0.7);
	c->width = c->left + PLOT_WIDTH + RIGHT + (int)legend_width(c);
	c->height = TOP + PLOT_HEIGHT + c->bottom;
	if (c->lines > 1 && legend > c->height)
		c->height = legend;
}

/* --- drawing -------------------------------------------------------------- */

static int draw_marks(const struct chart *c)
{
	int rc = 0;

	for (int i = 0; !rc && i * c->step <= c->top * 1.0001; i++) {
		double v = i * c->step, y = y_of(c, v);
		char text[REEL_NUM];

		if (c->step >= 1)
			reel_num_count(text, (int64_t)(v + 0.5));
		else
			snprintf(text, sizeof(text), "%.6g", v);
		rc = reel_buf_printf(
			     c->out, c->err,
			     "<path stroke=\"%s\" d=\"M%d %.1fh%d\"/>\n",
			     i ? "#ddd" : "#444", c->left, y, PLOT_WIDTH) ||
		     label(c, c->left - 8, y + 4, "end", "", text);
	}
	return rc;
}

static int draw_values(const struct chart *c)
{
	const struct sweep_axis *a = &c->sweep->axis[0];
	double y = TOP + PLOT_HEIGHT + 20;
	char room[REEL_NUM], turn[64];
	int rc = 0;

	for (int i = 0; !rc && i < a->values; i++) {
		double x = x_of(c, i);

		turn[0] = '\0';
		if (c->slanted)
			snprintf(turn, sizeof(turn),
				 " transform=\"rotate(-45 %.1f %.1f)\"", x, y);
		rc = label(c, x, y, c->slanted ? "end" : "middle", turn,
			   value_text(a, i, room));
	}
	return rc || label(c, c->left + PLOT_WIDTH / 2.0, c->height - 14,
			   "middle", "", a->key);
}

static int draw_bar(const struct chart *c, const struct sweep_point *p,
		    double x)
{
	int rc = reel_buf_printf(c->out, c->err,
				 "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" "
				 "fill=\"currentColor\"/>\n",
				 x, y_of(c, p->mean));

	if (!rc && isfinite(p->half))
		rc = reel_buf_printf(
			c->out, c->err,
			"<path d=\"M%.1f %.1fh%dm-%d 0V%.1fm-%d 0h%d\"/>\n",
			x - BAR, y_of(c, p->mean - p->half), 2 * BAR, BAR,
			y_of(c, p->mean + p->half), BAR, 2 * BAR);
	return rc;
}

/* The line of the points whose other axes are at place @rest of their grid. Lines
 * are moved apart, so that their bars do not hide each other. */
static int draw_line(const struct chart *c, int rest)
{
	double gap = c->lines > 6 ? 2 : BAR;
	double shift = (rest - (c->lines - 1) / 2.0) * gap;
	const struct sweep *s = c->sweep;
	int rc = reel_buf_printf(
		c->out, c->err,
		"<g color=\"%s\" stroke=\"%s\" fill=\"none\">\n"
		"<polyline stroke-width=\"2\" stroke-dasharray=\"%s\" "
		"points=\"",
		colours[(size_t)rest % COLOURS],
		colours[(size_t)rest % COLOURS],
		dashes[(size_t)rest / COLOURS % DASHES]);

	for (int i = 0; !rc && i < s->axis[0].values; i++) {
		const struct sweep_point *p = &s->point[i * c->lines + rest];

		if (isfinite(p->mean))
			rc = reel_buf_printf(c->out, c->err, "%.1f,%.1f ",
					     x_of(c, i) + shift,
					     y_of(c, p->mean));
	}
	rc = rc || reel_buf_puts(c->out, "\"/>\n", c->err);
	for (int i = 0; !rc && i < s->axis[0].values; i++) {
		const struct sweep_point *p = &s->point[i * c->lines + rest];

		if (isfinite(p->mean))
			rc = draw_bar(c, p, x_of(c, i) + shift);
	}
	return rc || reel_buf_puts(c->out, "</g>\n", c->err);
}

/* The keys, and below them the values of each line. */
static int draw_legend(const struct chart *c)
{
	double x = c->left + PLOT_WIDTH + RIGHT + 36;
	int rc = 0;

	for (int a = 1; !rc && a < c->sweep->axes; a++) {
		const struct sweep_axis *axis = &c->sweep->axis[a];
		double key = (double)reel_text_columns(axis->key) * CHAR;
		double width = longest_value(axis) + 2 * CHAR;

		rc = label(c, x, TOP, "start", " font-weight=\"bold\"",
			   axis->key);
		for (int i = 0; !rc && i < c->lines; i++) {
			char room[REEL_NUM];

			rc = label(c, x, TOP + LINE * (i + 1), "start", "",
				   value_text(axis, c->sweep->point[i].at[a],
					      room));
		}
		x += (key > width ? key : width) + CHAR;
	}
	for (int i = 0; !rc && i < c->lines; i++)
		rc = reel_buf_printf(c->out, c->err,
				     "<path stroke=\"%s\" stroke-width=\"2\" "
				     "stroke-dasharray=\"%s\" d=\"M%d "
				     "%dh26\"/>\n",
				     colours[(size_t)i % COLOURS],
				     dashes[(size_t)i / COLOURS % DASHES],
				     c->left + PLOT_WIDTH + RIGHT,
				     TOP + LINE * (i + 1) - 4);
	return rc;
}

static int draw_title(const struct chart *c, const char *metric)
{
	struct reel_buf title = REEL_BUF_INIT;
	char note[64];
	bool bars = false;
	int most = 0, rc;

	for (int i = 0; i < c->sweep->points; i++) {
		const struct sweep_point *p = &c->sweep->point[i];

		bars = bars || isfinite(p->half);
		if (p->samples > most)
			most = p->samples;
	}
	snprintf(note, sizeof(note), "%s%d run%s of each point",
		 bars ? "95 % confidence intervals, " : "", most,
		 most == 1 ? "" : "s");
	rc = sweep_metric_title(metric, &title, c->err) ||
	     label(c, c->left, 20, "start", " font-weight=\"bold\"",
		   reel_buf_text(&title)) ||
	     label(c, c->left + PLOT_WIDTH, 20, "end", " fill=\"#666\"", note);
	reel_buf_fini(&title);
	return rc;
}

int sweep_svg(const struct sweep *s, const char *metric, struct reel_buf *out,
	      struct reel_error *err)
{
	struct chart c = {.sweep = s, .out = out, .err = err};
	int rc;

	if (!s->axes)
		return 0;
	c.lines = s->points / s->axis[0].values;
	choose_scale(&c);
	lay_out(&c);
	rc = reel_buf_printf(out, err,
			     "<svg xmlns=\"http://www.w3.org/2000/svg\" "
			     "width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
			     "font-size=\"12\" font-family=\"sans-serif\">\n"
			     "<rect width=\"100%%\" height=\"100%%\" "
			     "fill=\"#fff\"/>\n",
			     c.width, c.height, c.width, c.height) ||
	     draw_title(&c, metric) || draw_marks(&c) || draw_values(&c) ||
	     (c.lines > 1 && draw_legend(&c));
	for (int i = 0; !rc && i < c.lines; i++)
		rc = draw_line(&c, i);
	return rc || reel_buf_puts(out, "</svg>\n", err) ? -1 : 0;
}
