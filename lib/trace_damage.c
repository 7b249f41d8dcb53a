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

/* More than fits: what is not printable grows when it is escaped. */
#define TEXT_BYTES (2 * sizeof(((struct reel_trace_damage *)0)->first))

static void count(struct reel_trace *tr, bool file, uint64_t bytes,
		  const char *text)
{
	struct reel_trace_damage *d = &tr->damage;

	pthread_mutex_lock(&tr->lock);
	d->cut_bytes += bytes;
	d->cut_places += !file;
	d->bad_files += file;
	if (!*d->first)
		reel_text_escape(d->first, sizeof(d->first), text,
				 strlen(text));
	pthread_mutex_unlock(&tr->lock);
}

void trace_damage_cut(struct reel_trace *tr, uint64_t bytes, const char *fmt,
		      ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	count(tr, false, bytes, text);
}

void trace_damage_file(struct reel_trace *tr, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	count(tr, true, 0, text);
}
