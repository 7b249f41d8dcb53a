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
	"\"name\":\"read\",\"pid\":1,\"args\":{\"a\":1,\"bb\":22,\"ccc\":-3}",
	"\"name\":\"read\",\"pie\":1,\"args\":{\"a\":1,\"bc\":22}",
	"\"name\":\"read\",\"args\":{\"a\":1,\"bb\":22,\"ccc\":-3,\"d\":4},"
	"\"pid\":1",
	"\"name\":\"read\" ,\"pid\":1, \"args\":{ \"a\":1 ,\"bb\" :22}",
	"\"name\":\"read\",\"pid\":12345678,\"tid\":1234567890123456,\"args\":{"
	"\"a\":999999999999999999,\"b\":1000000000000000000,\"c\":-0,"
	"\"d\":00000000000000000007,\"e\":12345678901234567890123456789,"
	"\"f\":12345678.5,\"g\":1e3,\"h\":-1.5,\"i\":9223372036854775807,"
	"\"j\":123456789,\"k\":-12345678901,\"l\":\"12\",\"m\":1-2}",
	"\"name\":\"read\",\"args\":{\"0\":0,\"1\":1,\"2\":2,\"3\":3,\"4\":4,"
	"\"5\":5,"
	"\"6\":6,\"7\":7,\"8\":8,\"9\":9,\"10\":10,\"11\":11,\"12\":12,\"13\":"
	"13,"
	"\"14\":14,\"15\":15,\"16\":16,\"a long key of 22 "
	"bytes\":17,\"18\":18}",
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

static char path[] = "/tmp/ioreel-test-XXXXXX";

/* Put a document with the event @body behind the event @first. */
static bool put(const char *first, const char *before, const char *body)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return false;
	fprintf(f, "[\n{%s},\n{%s%s},\n{\"ph\":\"M\"}", first, before, body);
	return !fclose(f);
}

static bool same_text(const struct trace_text *a, const struct trace_text *b)
{
	int64_t x = 0, y = 0;

	return a->len == b->len && !memcmp(a->s, b->s, a->len + 1) &&
	       trace_text_int(a, &x) == trace_text_int(b, &y) && x == y;
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
		same = a->arg[i].word == b->arg[i].word &&
		       same_text(&a->arg[i].key, &b->arg[i].key) &&
		       same_text(&a->arg[i].value, &b->arg[i].value);
	return same;
}

/* Is event @i behind the event @first the same by both ways, and the event behind it
 * found? The keys of the first one are the guesses for those of the other. */
static bool agrees_behind(unsigned int first, unsigned int i, bool args)
{
	static const char *const before[] = {"", BY_TOKENS};
	struct reel_error err = {0};
	struct trace_events *t[2] = {NULL, NULL};
	static struct trace_event ev[2], next;
	bool same = true;
	uint64_t bad[2] = {0, 0};

	for (int k = 0; same && k < 2; k++) {
		same = put(events[first], before[k], events[i]) &&
		       !trace_events_open(&t[k], path, &err);
		if (same && !args)
			trace_events_without_args(t[k]);
		same = same && trace_events_next(t[k], &ev[k], &err) == 1 &&
		       trace_events_next(t[k], &ev[k], &err) == 1;
		bad[k] = same ? trace_events_bad(t[k]) : 0;
	}
	same = same && same_event(&ev[0], &ev[1]) && bad[0] == bad[1];
	for (int k = 0; k < 2; k++) {
		same = same && trace_events_next(t[k], &next, &err) == 1 &&
		       next.phase == 'M' &&
		       trace_events_next(t[k], &next, &err) == 0;
		trace_events_close(t[k]);
	}
	return same;
}

static bool agrees(unsigned int i, bool args)
{
	bool same = true;

	for (unsigned int first = 0; same && first < EVENTS; first++)
		same = agrees_behind(first, i, args);
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
	struct trace_text text = {.s = s, .len = strlen(s)};
	int64_t n;

	return trace_text_int(&text, &n) == is && (!is || n == want);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	for (unsigned int i = 0; i < EVENTS; i++) {
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
