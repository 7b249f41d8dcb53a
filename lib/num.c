/* SPDX-License-Identifier: MIT */
/*
 * Numbers for people: three significant digits and a unit.
 *
 * Measured values keep their zeros (3.10 MB); whole units have none (64 KiB). A
 * value is rounded before its unit is chosen: 999.6 MB is 1.00 GB, never 1,000
 * MB.
 */
#include "lib/num.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/terminal.h"

struct unit {
	double bytes_or_ns;
	const char *name;
};

char *reel_num_count(char out[static REEL_NUM], int64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);
	int sign = n < 0, at = 0, i;

	for (i = 0; i < len; i++) {
		if (i > sign && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

/* Round @v (>= 0) to three significant digits; *@decimals shows them. */
static double round3(double v, int *decimals)
{
	double scale;

	*decimals = v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	scale = *decimals == 0 ? 1 : *decimals == 1 ? 10 : 100;
	return round(v * scale) / scale;
}

/* Print @v (>= 0) with its decimals; whole numbers from 1,000 on get commas. */
static int put_number(char *out, size_t room, double v, bool strip)
{
	char count[REEL_NUM];
	int decimals;
	double r = round3(v, &decimals);

	if (r >= 1e15)
		return snprintf(out, room, "%.3g", r);
	if (decimals == 0)
		return snprintf(out, room, "%s",
				reel_num_count(count, (int64_t)r));
	if (strip && r == floor(r))
		decimals = 0;
	else if (strip && round(r * 10) == r * 10)
		decimals = 1;
	return snprintf(out, room, "%.*f", decimals, r);
}

/* Print @v in the largest unit that its rounded value reaches; no fraction in
 * the first unit when @whole. */
static char *with_unit(char out[static REEL_NUM], double v,
		       const struct unit *u, int n, double step, bool whole,
		       bool strip)
{
	const char *sign = v < 0 ? "-" : "";
	char count[REEL_NUM];
	int i = 0, decimals;

	if (isnan(v) || isinf(v)) {
		strcpy(out, "-");
		return out;
	}
	v = fabs(v);
	while (i + 1 < n && v >= u[i + 1].bytes_or_ns)
		i++;
	/* 1,023.7 KiB rounds to the next unit, if there is one. */
	if (i + 1 < n &&
	    round3(v / u[i].bytes_or_ns, &decimals) >=
		    (step ? step : u[i + 1].bytes_or_ns / u[i].bytes_or_ns))
		i++;
	if (i == 0 && whole)
		reel_num_count(count, (int64_t)round(v));
	else
		put_number(count, sizeof(count), v / u[i].bytes_or_ns, strip);
	snprintf(out, REEL_NUM, "%s%.24s %s", sign, count, u[i].name);
	return out;
}

char *reel_num_size(char out[static REEL_NUM], double bytes)
{
	static const struct unit u[] = {
		{1, "B"},	 {0x1p10, "KiB"}, {0x1p20, "MiB"},
		{0x1p30, "GiB"}, {0x1p40, "TiB"}, {0x1p50, "PiB"},
	};

	return with_unit(out, bytes, u, 6, 1024, true, true);
}

char *reel_num_bytes(char out[static REEL_NUM], double bytes)
{
	static const struct unit u[] = {
		{1, "B"},    {1e3, "kB"},  {1e6, "MB"},
		{1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"},
	};

	return with_unit(out, bytes, u, 6, 1000, true, false);
}

char *reel_num_time(char out[static REEL_NUM], double ns)
{
	const struct unit u[] = {
		{1, "ns"},     {1e3, reel_terminal_utf8() ? "\u00b5s" : "us"},
		{1e6, "ms"},   {1e9, "s"},
		{3.6e12, "h"},
	};

	return with_unit(out, ns, u, 5, 0, ns == round(ns), false);
}

char *reel_num_rate(char out[static REEL_NUM], double bytes_per_s)
{
	static const struct unit u[] = {
		{1, "B/s"},    {1e3, "kB/s"},  {1e6, "MB/s"},
		{1e9, "GB/s"}, {1e12, "TB/s"},
	};

	return with_unit(out, bytes_per_s, u, 5, 1000, true, false);
}

/* Never round to 0 % or 100 % unless exact. */
char *reel_num_factor(char out[static REEL_NUM], double factor)
{
	if (factor >= 10 && factor < 1e15)
		return reel_num_count(out, llround(factor));
	snprintf(out, REEL_NUM, isfinite(factor) ? "%.2g" : "-", factor);
	return out;
}

char *reel_num_percent(char out[static REEL_NUM], double share)
{
	double v = fabs(share * 100);
	const char *sign = share < 0 ? "-" : "";
	char number[REEL_NUM - 8];

	if (isnan(share) || isinf(share)) {
		strcpy(out, "-");
		return out;
	}
	if (v > 0 && v < 0.005) {
		snprintf(out, REEL_NUM, "%s< 0.01 %%", share < 0 ? "-" : "");
		return out;
	}
	if (v < 100 && v >= 99.95)
		v = 99.9;
	put_number(number, sizeof(number), v, true);
	snprintf(out, REEL_NUM, "%s%s %%", sign, number);
	return out;
}
