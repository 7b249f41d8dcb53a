/* SPDX-License-Identifier: MIT */
/*
 * The anchors of ioreel.h: spans and notes, written as marks into the calling
 * thread's window. Called by programs, by the Python hooks, and for paths that
 * are marks themselves, which a shell can use.
 */
#include "preload/anchors/spans.h"

#include <string.h>

#include "schemas/ioreel.h"

#include "preload/core/symbols.h"
#include "preload/mmap/page_faults.h"

static const char names[REEL_SPANS][12] = {
#define NAME(SPAN, text) [REEL_SPAN_##SPAN] = text,
	REEL_SPAN_NAMES(NAME)
#undef NAME
};

#define NAME_BYTES 200 /* of a user's span */

_Thread_local uint32_t shim_fetching;

static int span_number(const char *name)
{
	for (int i = 1; i < REEL_SPANS; i++)
		if (shim_same_text(names[i], name))
			return i;
	return REEL_SPAN_USER;
}

/* Write the bytes of shim_record_full() directly. False: use that instead. */
HOT bool write_short(uint32_t call, int span, int64_t detail, uint64_t since)
{
	struct shim_thread *t = shim_self();
	unsigned int more = REEL_M_ARG;
	uint64_t now;
	uint8_t *p;

	if (unlikely(!shim_hot_clock() || !shim_begin_short(t)))
		return false;
	now = shim_ticks();
	p = shim_put_span(t, t->p + SHIM_HEAD, since ? since : now, now);
	*p++ = (uint8_t)shim_zigzag(span);
	if (detail != NONE) {
		more |= REEL_M_ARG2;
		p = shim_put(p, shim_zigzag(detail));
	}
	t->events--; /* a mark is no event */
	shim_end_short(t, p, call, 0, more);
	return true;
}

static void write_mark(uint32_t call, int span, const char *name,
		       int64_t detail, uint64_t since)
{
	struct shim_event ev = {SHIM_EVENT_NONE};
	char cut[NAME_BYTES + 1];
	uint64_t now;

	ev.call = call;
	ev.arg = span;
	ev.arg2 = detail;
	if (span == REEL_SPAN_USER && name) {
		ev.path = name;
		if (strnlen(name, sizeof(cut)) == sizeof(cut)) {
			memcpy(cut, name, NAME_BYTES);
			cut[NAME_BYTES] = '\0';
			ev.path = cut;
		}
	}
	now = shim_clock();
	shim_record_full(&ev, since && since < now ? since : now, now, 0, 0);
}

HOT void count_fetch(uint32_t call)
{
	if (call == MARK_SPAN_BEGIN)
		shim_fetching++;
	else if (shim_fetching)
		shim_fetching--;
}

HOT void span_mark(uint32_t call, int span, const char *name, int64_t detail,
		   uint64_t since)
{
	if (!shim_hot.on || span < 0 || span >= REEL_SPANS)
		return;
	if (span == REEL_SPAN_FETCH)
		count_fetch(call);
	if (unlikely(shim_faults_wanted))
		shim_faults_mark();
	if ((span == REEL_SPAN_USER && name) ||
	    unlikely(!write_short(call, span, detail, since)))
		write_mark(call, span, name, detail, since);
}

EXPORT int ioreel_recording(void)
{
	return shim_hot.on != 0;
}

EXPORT void ioreel_span_begin(int span, int64_t detail)
{
	span_mark(MARK_SPAN_BEGIN, span, NULL, detail, 0);
}

void shim_span_since(int span, int64_t detail, uint64_t since)
{
	span_mark(MARK_SPAN_BEGIN, span, NULL, detail, since);
}

void shim_span_end_at(int span, uint64_t at)
{
	span_mark(MARK_SPAN_END, span, NULL, NONE, at);
}

EXPORT void ioreel_span_end(int span)
{
	span_mark(MARK_SPAN_END, span, NULL, NONE, 0);
}

EXPORT void ioreel_span_cancel(int span)
{
	span_mark(MARK_SPAN_CANCEL, span, NULL, NONE, 0);
}

EXPORT void ioreel_begin(const char *name, int64_t detail)
{
	if (name)
		span_mark(MARK_SPAN_BEGIN, span_number(name), name, detail, 0);
}

EXPORT void ioreel_end(const char *name)
{
	if (name)
		span_mark(MARK_SPAN_END, span_number(name), name, NONE, 0);
}

EXPORT void ioreel_cancel(const char *name)
{
	if (name)
		span_mark(MARK_SPAN_CANCEL, span_number(name), name, NONE, 0);
}

EXPORT void ioreel_note(const char *key, const char *value)
{
	if (shim_hot.on && key && value)
		shim_note_text(key, value);
}

/* Split "NAME" or "NAME/DETAIL" of @n bytes. The name is cut at @room; returns
 * the number. */
static int64_t marker_name(char *name, size_t room, const char *text, size_t n)
{
	size_t digits = 0;
	int64_t detail = -1;

	while (digits < n && digits < 18 && text[n - 1 - digits] >= '0' &&
	       text[n - 1 - digits] <= '9')
		digits++;
	if (digits && digits + 1 < n && text[n - 1 - digits] == '/') {
		detail = 0;
		for (size_t i = n - digits; i < n; i++)
			detail = 10 * detail + (text[i] - '0');
		n -= digits + 1;
	}
	if (n > room - 1)
		n = room - 1;
	memcpy(name, text, n);
	name[n] = '\0';
	return detail;
}

bool shim_marker(const char *path, size_t len)
{
	static const char begin[] = "/ioreel/begin/", end[] = "/ioreel/end/";
	char name[NAME_BYTES + 1];

	if (len >= sizeof(begin) && !memcmp(path, begin, sizeof(begin) - 1)) {
		int64_t detail = marker_name(name, sizeof(name),
					     path + sizeof(begin) - 1,
					     len - (sizeof(begin) - 1));

		ioreel_begin(name, detail);
		return true;
	}
	if (len >= sizeof(end) && !memcmp(path, end, sizeof(end) - 1)) {
		marker_name(name, sizeof(name), path + sizeof(end) - 1,
			    len - (sizeof(end) - 1));
		ioreel_end(name);
		return true;
	}
	return false;
}
