/* SPDX-License-Identifier: MIT */
/*
 * Counts of unreadable data of a trace.
 *
 * Streams of one trace may be read in several threads: all counts change under
 * one lock, which is taken only for damage.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/trace/internal.h"

#define TEXT_BYTES sizeof(((struct reel_trace_damage *)0)->first)

static void count_damage(struct reel_trace *tr, bool file, uint64_t bytes,
			 const char text[static TEXT_BYTES])
{
	struct reel_trace_damage *d = &tr->damage;

	pthread_mutex_lock(&tr->lock);
	d->cut_bytes += bytes;
	d->cut_places += !file;
	d->bad_files += file;
	if (!*d->first)
		strcpy(d->first, text);
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
	count_damage(tr, false, bytes, text);
}

void trace_damage_open(struct reel_trace *tr, const char *path, int why)
{
	if (why != EACCES && why != EPERM) {
		trace_damage_file(tr, "cannot open '%s': %s", path,
				  strerror(why));
		return;
	}
	pthread_mutex_lock(&tr->lock);
	tr->damage.denied_files++;
	pthread_mutex_unlock(&tr->lock);
}

void trace_damage_file(struct reel_trace *tr, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	count_damage(tr, true, 0, text);
}
