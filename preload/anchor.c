/* SPDX-License-Identifier: MIT */
/*
 * The anchors of ioreel.h: spans and notes, written as marks into the calling
 * thread's window. Called by programs, and by the Python hooks.
 */
#include "preload/ioreel.h"

#include <string.h>

#include "preload/real.h"

static const char *const names[REEL_SPANS] = {
	[REEL_SPAN_EPOCH] = "epoch",	     [REEL_SPAN_STEP] = "step",
	[REEL_SPAN_FETCH] = "fetch",	     [REEL_SPAN_COMPUTE] = "compute",
	[REEL_SPAN_FORWARD] = "forward",     [REEL_SPAN_BACKWARD] = "backward",
	[REEL_SPAN_OPTIMIZER] = "optimizer", [REEL_SPAN_PREPROCESS] = "preprocess",
	[REEL_SPAN_CHECKPOINT] = "checkpoint", [REEL_SPAN_EVAL] = "eval",
};

static int span_number(const char *name)
{
	for (int i = 1; i < REEL_SPANS; i++)
		if (name[0] == names[i][0] && !strcmp(name, names[i]))
			return i;
	return REEL_SPAN_USER;
}

static void span_mark(uint32_t call, int span, const char *name, int64_t detail)
{
	struct shim_event ev = { SHIM_EVENT_NONE };
	char cut[201];
	uint64_t now;

	if (!shim_hot.on || span < 0 || span >= REEL_SPANS)
		return;
	ev.call = call;
	ev.arg = span;
	ev.arg2 = detail;
	if (span == REEL_SPAN_USER && name) {
		strncpy(cut, name, sizeof(cut) - 1);
		cut[sizeof(cut) - 1] = '\0';
		ev.path = cut;
	}
	now = shim_clock();
	shim_record_full(&ev, now, now, 0, 0);
}

EXPORT int ioreel_recording(void)
{
	return shim_hot.on != 0;
}

EXPORT void ioreel_span_begin(int span, int64_t detail)
{
	span_mark(MARK_SPAN_BEGIN, span, NULL, detail);
}

EXPORT void ioreel_span_end(int span)
{
	span_mark(MARK_SPAN_END, span, NULL, NONE);
}

EXPORT void ioreel_span_cancel(int span)
{
	span_mark(MARK_SPAN_CANCEL, span, NULL, NONE);
}

EXPORT void ioreel_begin(const char *name, int64_t detail)
{
	if (name)
		span_mark(MARK_SPAN_BEGIN, span_number(name), name, detail);
}

EXPORT void ioreel_end(const char *name)
{
	if (name)
		span_mark(MARK_SPAN_END, span_number(name), name, NONE);
}

EXPORT void ioreel_cancel(const char *name)
{
	if (name)
		span_mark(MARK_SPAN_CANCEL, span_number(name), name, NONE);
}

EXPORT void ioreel_note(const char *key, const char *value)
{
	struct shim_event ev = { SHIM_EVENT_NONE, .call = MARK_NOTE };
	char text[1024];
	size_t k, v;
	uint64_t now;

	if (!shim_hot.on || !key || !value)
		return;
	k = strlen(key);
	v = strlen(value);
	if (k + v + 2 > sizeof(text)) {
		if (k > 200)
			return;
		v = sizeof(text) - k - 2;
	}
	memcpy(text, key, k);
	text[k] = '=';
	memcpy(text + k + 1, value, v);
	text[k + 1 + v] = '\0';
	ev.path = text;
	now = shim_clock();
	shim_record_full(&ev, now, now, 0, 0);
}
