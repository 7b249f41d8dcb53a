/* SPDX-License-Identifier: MIT */
/*
 * What could not be read of a trace, counted.
 *
 * Streams of one trace may be read in several threads: all goes through one
 * lock, which only damage ever takes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/text.h"
#include "lib/trace_internal.h"

/* The lock is held. */
static void say_first(struct reel_trace *tr, const char *fmt, va_list ap)
{
	char raw[2 * sizeof(tr->damage.first)];

	if (*tr->damage.first)
		return;
	vsnprintf(raw, sizeof(raw), fmt, ap);
	reel_text_escape(tr->damage.first, sizeof(tr->damage.first), raw,
			 strlen(raw));
}

void trace_damage_cut(struct reel_trace *tr, uint64_t bytes, const char *fmt,
		      ...)
{
	va_list ap;

	pthread_mutex_lock(&tr->lock);
	tr->damage.cut_bytes += bytes;
	tr->damage.cut_places++;
	va_start(ap, fmt);
	say_first(tr, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&tr->lock);
}

void trace_damage_file(struct reel_trace *tr, const char *fmt, ...)
{
	va_list ap;

	pthread_mutex_lock(&tr->lock);
	tr->damage.bad_files++;
	va_start(ap, fmt);
	say_first(tr, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&tr->lock);
}
