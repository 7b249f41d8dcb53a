/* SPDX-License-Identifier: MIT */
/*
 * analyzer/import/common/trace_events.c: an event that is parsed in place equals the
 * same event read token by token, which an escape in a key brings about.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/import/common/trace_events.h"
#include "lib/error.h"
#include "tests/lib/tap.h"

#define BY_TOKENS "\"\\u0078-------\":0,"
#define MANY 9000 /* events: some are cut by each end of the buffer */

static const char *const events[] = {
	"\"ph\":\"X\",\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":\"0\","
	"\"tid\":12,\"id\":\"7\",\"ts\":\"1698352109777818\",\"dur\":\"83748\","
	"\"args\":{\"ret\":\"-1\",\"fd\":20,\"fname\":\"/d/img_163_of_168\"}",
	" \"name\" : \"a, b} [c\" ,\n\"ts\":1.5,\"dur\":2e3,\"ph\":\"i\" ",
	"\"args\":{\"a\":[1,{\"b\":\"]\"}],\"c\":null,\"d\":true,\"e\":-3},"
	"\"other key\":{\"x\":[\"}\"]},\"id\":null,\"pid\":[1]",
	"\"args\":{},\"args\":7,\"name\":\"\",\"ph\":\"\",\"name\":\"last\"",
	"\"ts\":\"no time\",\"dur\":99999999999999999999,\"tid\":\"main\"",
	"\"ts\":9223372036854775,\"dur\":-0.0015,\"ph\":\"X\"",
	"\"ts\":2305843009213693,\"dur\":0,\"name\":\"12345678\"",
	"\"name\":\"quote \"in\" it\",\"ph\":\"X\",\"ts\":1",
	"\"name\":\"tab \\t\",\"cat\":\"\\u00e4\",\"args\":{\"k\":\"\\\"\"}",
	"\"ph\":\"X\"",
};

static char path[] = "/tmp/ioreel-test-XXXXXX";

/* Put a document with the event @body. */
static bool put(const char *before, const char *body)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return false;
	fprintf(f, "[\n{%s%s},\n{\"ph\":\"M\"}", before, body);
	return !fclose(f);
}

static bool same_text(const struct trace_text *a, const struct trace_text *b)
{
	return a->len == b->len && !memcmp(a->s, b->s, a->len + 1);
}

static bool same_event(const struct trace_event *a, const struct trace_event *b)
{
	bool same = a->phase == b->phase && same_text(&a->name, &b->name) &&
		    same_text(&a->category, &b->category) &&
		    same_text(&a->pid, &b->pid) &&
		    same_text(&a->tid, &b->tid) && same_text(&a->id, &b->id) &&
		    a->has_ts == b->has_ts && a->has_dur == b->has_dur &&
		    a->args == b->args &&
		    (!a->has_ts || a->ts_ns == b->ts_ns) &&
		    (!a->has_dur || a->dur_ns == b->dur_ns);

	for (unsigned int i = 0; same && i < a->args; i++)
		same = same_text(&a->arg[i].key, &b->arg[i].key) &&
		       same_text(&a->arg[i].value, &b->arg[i].value);
	return same;
}

/* Is event @i the same by both ways, and the event behind it found? */
static bool agrees(unsigned int i, bool args)
{
	static const char *const before[] = {"", BY_TOKENS};
	struct reel_error err = {0};
	struct trace_events *t[2] = {NULL, NULL};
	static struct trace_event ev[2], next;
	bool same = true;

	for (int k = 0; same && k < 2; k++) {
		same = put(before[k], events[i]) &&
		       !trace_events_open(&t[k], path, &err);
		if (same && !args)
			trace_events_without_args(t[k]);
		same = same && trace_events_next(t[k], &ev[k], &err) == 1;
	}
	same = same && same_event(&ev[0], &ev[1]) &&
	       trace_events_bad(t[0]) == trace_events_bad(t[1]);
	for (int k = 0; k < 2; k++) {
		same = same && trace_events_next(t[k], &next, &err) == 1 &&
		       next.phase == 'M' &&
		       trace_events_next(t[k], &next, &err) == 0;
		trace_events_close(t[k]);
	}
	return same;
}

/* Are @MANY events found, whatever part of them was in memory? */
static bool finds_all(void)
{
	struct reel_error err = {0};
	struct trace_events *t = NULL;
	static struct trace_event ev;
	FILE *f = fopen(path, "w");
	int64_t n = 0, id;

	if (!f)
		return false;
	fputs("[\n", f);
	for (int i = 0; i < MANY; i++)
		fprintf(f,
			"{\"id\":%d,\"name\":\"%0*d\",\"args\":{\"n\":%d}}\n",
			i, i % 211 + 1, i, i);
	if (fclose(f) || trace_events_open(&t, path, &err))
		return false;
	while (trace_events_next(t, &ev, &err) > 0) {
		if (!trace_text_int(&ev.id, &id) || id != n ||
		    strtoll(ev.name.s, NULL, 10) != n ||
		    !trace_text_int(trace_event_arg(&ev, "n"), &id) || id != n)
			break;
		n++;
	}
	trace_events_close(t);
	return n == MANY;
}

static bool is_int(const char *s, bool is, int64_t want)
{
	struct trace_text text = {s, strlen(s)};
	int64_t n;

	return trace_text_int(&text, &n) == is && (!is || n == want);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	for (unsigned int i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		ok(agrees(i, true), "event %u, in place and by tokens", i);
		ok(agrees(i, false), "event %u without arguments", i);
	}
	ok(finds_all(), "events that the end of the buffer cuts");
	ok(is_int("0", true, 0) && is_int("-12", true, -12) &&
		   is_int("999999999999999999", true, 999999999999999999) &&
		   is_int("9223372036854775807", true, INT64_MAX) &&
		   is_int("9223372036854775808", false, 0) &&
		   is_int("", false, 0) && is_int("7 ", false, 0) &&
		   is_int("1.5", false, 0),
	   "integers");
	unlink(path);
	return done();
}
