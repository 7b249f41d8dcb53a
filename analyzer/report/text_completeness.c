/* SPDX-License-Identifier: MIT */
/*
 * The lines of the report on the completeness of the trace. They are above the
 * figures that they limit.
 */
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/num.h"
#include "lib/terminal.h"

#include "analyzer/report/advice_rules.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"

/* Print @b, which is emptied; nothing when it is empty. */
static void print_line(struct reel_buf *b)
{
	if (b->len)
		reel_columns_wrapped(reel_buf_text(b), 10, 0);
	reel_buf_fini(b);
}

/* The number of events in damaged logs is unknown: no figure has them. */
static void print_damage(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];
	const char *between = "damaged:";

	if (c->damaged_places > 0) {
		reel_buf_printf(
			&b, NULL, "%s %s of its logs skipped in %s place%s",
			between, reel_num_bytes(num, (double)c->damaged_bytes),
			reel_num_count(num2, c->damaged_places),
			c->damaged_places == 1 ? "" : "s");
		if (c->damaged_from)
			reel_buf_printf(&b, NULL, " (%sat %s)",
					c->damaged_places == 1 ? "" : "first ",
					c->damaged_from);
		between = ",";
	}
	if (c->unreadable_files > 0) {
		reel_buf_printf(&b, NULL, "%s %s file%s unreadable", between,
				reel_num_count(num, c->unreadable_files),
				c->unreadable_files == 1 ? "" : "s");
		between = ",";
	}
	if (c->missing_blocks > 0)
		reel_buf_printf(&b, NULL, "%s %s block%s missing", between,
				reel_num_count(num, c->missing_blocks),
				c->missing_blocks == 1 ? "" : "s");
	if (b.len)
		reel_buf_puts(&b, ": no figure below has these events", NULL);
	print_line(&b);
}

static void print_denied(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (c->denied_files > 0)
		reel_buf_printf(&b, NULL,
				"permission denied: %s file%s of the trace "
				"could not be opened: no figure below has "
				"their events",
				reel_num_count(num, c->denied_files),
				c->denied_files == 1 ? "" : "s");
	print_line(&b);
}

static void print_tracer(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], part[REEL_NUM];

	if (r->tracer.call_ns > 0)
		reel_buf_printf(
			&b, NULL,
			"strace stops the program at each call, for about %s: "
			"%s of the times in calls below, which the verdict and "
			"the problems leave out",
			reel_num_time(num, (double)r->tracer.call_ns),
			reel_columns_percent(part, r->tracer.io_share));
	print_line(&b);
}

static void print_counters(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (c->counted_after_ns > 0)
		reel_buf_printf(
			&b, NULL,
			"events until %s, then counters: the trace had "
			"reached --max-size",
			reel_num_time(num, (double)c->counted_after_ns));
	else if (c->counted > 0)
		reel_buf_printf(
			&b, NULL,
			"counters, not events: calls, bytes and their time are "
			"exact (but for printf, getc and their like), sizes "
			"are means of a power of two, files are distinguished "
			"by folder and kind of name (about %s were opened), "
			"steps "
			"faster than one a second are summed; I/O of several "
			"threads at a time, hidden and exposed I/O are "
			"estimates",
			reel_num_count(num, c->counted_files));
	print_line(&b);
}

static void print_hooks(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;

	for (int i = 0; i < c->hook_failures; i++)
		reel_buf_printf(
			&b, NULL, "%s%s (%s)",
			i ? ", " : "hooks missing: ", c->hook_failure[i].hook,
			c->hook_failure[i].reason);
	print_line(&b);
}

static void print_launchers(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];

	if (c->launchers)
		reel_buf_printf(&b, NULL,
				"launcher: %s process%s of %s, %s file%s: not "
				"shown; --all shows them",
				reel_num_count(num, c->launcher_processes),
				c->launcher_processes == 1 ? "" : "es",
				c->launchers,
				reel_num_count(num2, c->launcher_files),
				c->launcher_files == 1 ? "" : "s");
	print_line(&b);
}

static void print_running(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];
	int64_t n = c->running_processes;

	if (c->command_running)
		reel_columns_wrapped("running: the command had not ended when "
				     "this was loaded, or ioreel record was "
				     "killed",
				     10, 0);
	if (n > 0)
		reel_buf_printf(&b, NULL,
				"running: %s process%s went on after the "
				"command had ended: the trace has their events "
				"until it was loaded",
				reel_num_count(num, n), n == 1 ? "" : "es");
	print_line(&b);
}

static void print_unfinished(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (!c->unfinished_saves)
		return;
	reel_buf_printf(&b, NULL,
			"unfinished: %s checkpoint%s, whose process%s ended "
			"meanwhile, may be incomplete",
			reel_num_count(num, c->unfinished_saves),
			c->unfinished_saves == 1 ? "" : "s",
			c->unfinished_saves == 1 ? "" : "es");
	if (c->unfinished_path)
		reel_buf_printf(&b, NULL, " (%s%s)",
				c->unfinished_saves == 1 ? "" : "one of them: ",
				c->unfinished_path);
	print_line(&b);
}

/* Ranks are counted by their numbers, which each world has from 0 on. */
static void print_worlds(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (c->worlds < 2)
		return;
	reel_buf_printf(&b, NULL, "worlds: MPI made %s, of",
			reel_num_count(num, c->worlds));
	for (int i = 0; i < REPORT_WORLDS && i < c->worlds; i++)
		reel_buf_printf(&b, NULL, "%s %s", i ? "," : "",
				reel_num_count(num, c->world_ranks[i]));
	reel_buf_printf(&b, NULL,
			"%s ranks with the same numbers; --ranks shows the "
			"world of each",
			c->worlds > REPORT_WORLDS ? " ..." : "");
	print_line(&b);
}

/* Without a scheduler each process of a launcher has a job id of its own, as a job
 * that has nothing to do with the others has. */
static void print_job_ids(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (c->job_ids > 1)
		reel_buf_printf(&b, NULL,
				"jobs: the logs have %s job ids and are taken "
				"for one run: if no launcher started these "
				"processes, import the logs of each job alone",
				reel_num_count(num, c->job_ids));
	print_line(&b);
}

static void print_apart(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];

	if (c->apart > 1)
		reel_buf_printf(
			&b, NULL,
			"apart: the processes of these sources live in %s "
			"groups, %s%s apart, and are taken for one run: if "
			"they are not one job, import the files of each alone",
			reel_num_count(num, c->apart),
			c->apart > 2 ? "at most " : "",
			reel_num_time(num2, (double)c->apart_ns));
	print_line(&b);
}

static void print_mpi(const struct report_completeness *c)
{
	static const char *const words[] = {
		[MPI_MESSAGES] = "point-to-point message",
		[MPI_ONE_SIDED] = "one-sided epoch",
		[MPI_COLLECTIVES] = "other collective",
	};
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	for (int i = 0; i < 3; i++)
		if (c->mpi_counted[i] > 0)
			reel_buf_printf(
				&b, NULL, "%s%s %s%s", b.len ? ", " : "MPI: ",
				reel_num_count(num, c->mpi_counted[i]),
				words[i], c->mpi_counted[i] == 1 ? "" : "s");
	if (b.len)
		reel_buf_puts(&b,
			      ", counted but not recorded: a replay does not "
			      "wait for them",
			      NULL);
	print_line(&b);
	if (c->mpi_unrecorded)
		reel_buf_printf(&b, NULL,
				"MPI not seen: %s: the POSIX calls of this "
				"library are recorded; MPI-IO, ranks and "
				"collectives are not",
				c->mpi_unrecorded);
	print_line(&b);
}

static void print_untraced(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	const char *between = " (";
	char num[REEL_NUM];

	if (!c->untraced_programs)
		return;
	reel_buf_printf(&b, NULL, "untraced: %s program%s",
			reel_num_count(num, c->untraced_programs),
			c->untraced_programs == 1 ? "" : "s");
	for (unsigned int i = 0; i < REEL_COUNTERS; i++) {
		if (!c->untraced[i])
			continue;
		reel_buf_printf(&b, NULL, "%s%s %s", between,
				reel_num_count(num, c->untraced[i]),
				reel_counter_untraced(i));
		between = ", ";
	}
	reel_buf_puts(&b, "): their I/O is in no figure", NULL);
	if (c->untraced_names)
		reel_buf_printf(&b, NULL, ": %s", c->untraced_names);
	print_line(&b);
}

/* A log of strace may lack calls: its own ones show which. */
static void print_scope(const struct report *r)
{
	const struct report_completeness *c = &r->completeness;
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], time[REEL_NUM];

	if (c->filtered)
		reel_buf_printf(&b, NULL,
				"filter: the log has calls of I/O alone, as of "
				"strace -e or -P: other calls and files may be "
				"missing%s",
				c->no_seeks ? ", and without seeks the "
					      "order of reads and writes "
					      "is not known"
					    : "");
	print_line(&b);
	if (advice_files_unknown(r))
		reel_buf_printf(&b, NULL,
				"unknown files: %s %s, %s in sum, of "
				"descriptors without a name: files or pipes "
				"(strace -y names them)",
				reel_num_count(num, c->unnamed),
				c->unnamed == 1 ? "read or write"
						: "reads and writes",
				reel_num_time(time, (double)c->unnamed_ns));
	print_line(&b);
}

static void print_left_out(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	int64_t partial = c->partial_files - c->unreliable_files;
	char num[REEL_NUM];

	if (c->left_out > 0)
		reel_buf_printf(&b, NULL,
				"left out: records of %s module%s, not in the "
				"file or of an unknown form (--losses names "
				"them): figures are lower bounds",
				reel_num_count(num, c->left_out),
				c->left_out == 1 ? "" : "s");
	print_line(&b);
	if (c->other_format > 0)
		reel_buf_printf(&b, NULL,
				"left out: %s file%s of another format in the "
				"folder",
				reel_num_count(num, c->other_format),
				c->other_format == 1 ? "" : "s");
	print_line(&b);
	if (c->empty_files > 0)
		reel_buf_printf(&b, NULL, "left out: %s empty file%s",
				reel_num_count(num, c->empty_files),
				c->empty_files == 1 ? "" : "s");
	print_line(&b);
	if (c->only_failed > 0)
		reel_buf_printf(&b, NULL,
				"left out: calls that succeeded: all %s calls "
				"of the log failed, as of strace -Z: figures "
				"are theirs alone",
				reel_num_count(num, c->only_failed));
	print_line(&b);
	if (partial > 0)
		reel_buf_printf(&b, NULL,
				"left out: what follows the damage in %s "
				"file%s: figures are lower bounds",
				reel_num_count(num, partial),
				partial == 1 ? "" : "s");
	print_line(&b);
	if (c->unreliable_files > 0)
		reel_buf_printf(
			&b, NULL,
			"unreliable: compressed bytes of %s file%s are damaged "
			"at an unknown place: events behind it are wrong or "
			"missing",
			reel_num_count(num, c->unreliable_files),
			c->unreliable_files == 1 ? "" : "s");
	print_line(&b);
	if (c->trailing_bytes > 0)
		reel_buf_printf(&b, NULL,
				"ignored: %s behind the compressed data",
				reel_num_bytes(num, (double)c->trailing_bytes));
	print_line(&b);
}

/* Append "; shifted by 1.2 s (anchors, within 40 us)". */
static void add_alignment(struct reel_buf *b, const struct report_source *s)
{
	char num[REEL_NUM], num2[REEL_NUM];

	if (!s->aligned_by[0] || !strcmp(s->aligned_by, "first"))
		return;
	reel_buf_printf(
		b, NULL, "; times %s%s by %s, ", s->shift_ns < 0 ? "-" : "+",
		reel_num_time(num, s->shift_ns < 0 ? -(double)s->shift_ns
						   : (double)s->shift_ns),
		s->aligned_by);
	if (s->shift_error_ns >= 0)
		reel_buf_printf(b, NULL, "error %s %s",
				reel_terminal_utf8() ? "\u2264" : "<=",
				reel_num_time(num2, (double)s->shift_error_ns));
	else
		reel_buf_puts(b, "error not known", NULL);
	if (s->joined[0])
		reel_buf_printf(b, NULL, "; %s", s->joined);
}

/* Operations and page faults that the shim knows of and did not record. */
static void add_unseen(struct reel_buf *b, const struct report *r)
{
	char num[REEL_NUM];

	if (r->unseen.uring_operations > 0)
		reel_buf_printf(b, NULL,
				"; %s operation%s of io_uring not recorded",
				reel_num_count(num, r->unseen.uring_operations),
				r->unseen.uring_operations == 1 ? "" : "s");
	if (r->unseen.page_faults > 0)
		reel_buf_printf(b, NULL,
				"; %s page fault%s did not fit into the "
				"kernel's rings, so their times are not known",
				reel_num_count(num, r->unseen.page_faults),
				r->unseen.page_faults == 1 ? "" : "s");
	if (r->unseen.fault_processes > 0)
		reel_buf_printf(b, NULL,
				"; the kernel reported no page faults of %s "
				"process%s",
				reel_num_count(num, r->unseen.fault_processes),
				r->unseen.fault_processes == 1 ? "" : "es");
}

static void print_sources(const struct report_completeness *c)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	for (int i = 0; i < c->sources; i++) {
		const struct report_source *s = &c->source[i];

		reel_buf_printf(&b, NULL, "source: %s", s->file);
		if (s->files > 1)
			reel_buf_printf(&b, NULL, " and %s other%s",
					reel_num_count(num, s->files - 1),
					s->files == 2 ? "" : "s");
		reel_buf_printf(&b, NULL, " (%s)%s%s", s->format,
				s->missing[0] ? ": without " : "", s->missing);
		add_alignment(&b, s);
		print_line(&b);
	}
	if (c->other_files)
		reel_buf_printf(&b, NULL,
				"and %s more source%s: --json names them",
				reel_num_count(num, c->other_files),
				c->other_files == 1 ? "" : "s");
	print_line(&b);
}

/* An import is complete as far as its format goes: "imported". */
static const char *state_word(const struct report *r)
{
	const struct report_completeness *c = &r->completeness;

	if (c->lost_events || report_is_damaged(c) || c->denied_files ||
	    c->left_out)
		return "incomplete";
	if (c->untraced_programs)
		return "without untraced programs";
	return r->sources ? "imported" : "complete";
}

static void add_events(struct reel_buf *b, const struct report *r)
{
	char num[REEL_NUM];

	if (r->sources && !r->events) {
		reel_buf_printf(b, NULL, "no events of I/O, %s",
				r->counters ? "counters only"
					    : "I/O was not measured");
		if (r->spans)
			reel_buf_printf(b, NULL, ", %s span%s",
					reel_num_count(num, r->spans),
					r->spans == 1 ? "" : "s");
		return;
	}
	if (r->calls > r->events)
		reel_buf_printf(b, NULL, "%s calls in ",
				reel_num_count(num, r->calls));
	reel_buf_printf(b, NULL, "%s event%s", reel_num_count(num, r->events),
			r->events == 1 ? "" : "s");
}

static void add_loss(struct reel_buf *b, const struct report_completeness *c)
{
	char num[REEL_NUM];

	if (c->lost_events)
		reel_buf_printf(b, NULL, ", %s lost (--losses says why)",
				reel_num_count(num, c->lost_events));
	else
		reel_buf_printf(b, NULL, ", %s",
				report_is_damaged(c) ? "the trace is damaged"
				: c->denied_files
					? "permission denied to read some "
					  "files"
				: c->left_out ? "records left out"
					      : "none lost");
}

/* Values that calls of an import lack. */
static void add_unknown(struct reel_buf *b, const struct report *r)
{
	const struct {
		const char *values;
		int64_t calls;
	} unknown[] = {{"times", r->completeness.no_time},
		       {"durations", r->completeness.no_duration},
		       {"sizes", r->completeness.no_size}};
	char num[REEL_NUM];

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (unknown[i].calls >= r->calls && r->calls > 0)
			reel_buf_printf(b, NULL,
					"; the %s of all calls are not known",
					unknown[i].values);
		else if (unknown[i].calls > 0)
			reel_buf_printf(b, NULL,
					"; the %s of %s call%s are not known",
					unknown[i].values,
					reel_num_count(num, unknown[i].calls),
					unknown[i].calls == 1 ? "" : "s");
}

static void add_clock(struct reel_buf *b, const struct report *r)
{
	char num[REEL_NUM];

	if (r->clock_error_ns == REPORT_NONE)
		reel_buf_puts(b, "; clock error -", NULL);
	else
		reel_buf_printf(b, NULL, "; clock error %s %s",
				reel_terminal_utf8() ? "\u2264" : "<=",
				reel_num_time(num, (double)r->clock_error_ns));
}

void text_completeness_head(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];

	reel_buf_printf(&b, NULL, "%s: ", state_word(r));
	add_events(&b, r);
	if (strcmp(state_word(r), "imported") != 0)
		add_loss(&b, &r->completeness);
	add_unknown(&b, r);
	if (r->processes > 0)
		add_clock(&b, r);
	if (r->code_opens > 0)
		reel_buf_printf(
			&b, NULL,
			"; %s open%s of code and system files, counted only "
			"(%s read)",
			reel_num_count(num, r->code_opens),
			r->code_opens == 1 ? "" : "s",
			reel_num_bytes(num2, (double)r->code_read_bytes));
	if (r->untimed_bytes > 0)
		reel_buf_printf(&b, NULL,
				"; up to %s through mappings, at unknown times",
				reel_num_bytes(num, (double)r->untimed_bytes));
	if (r->unknown_bytes > 0)
		reel_buf_printf(&b, NULL,
				"; %s mapped, of which the touched part is not "
				"known",
				reel_num_bytes(num, (double)r->unknown_bytes));
	add_unseen(&b, r);
	print_line(&b);
}

void text_completeness(const struct report *r)
{
	const struct report_completeness *c = &r->completeness;

	print_sources(c);
	print_tracer(r);
	print_damage(c);
	print_denied(c);
	print_left_out(c);
	print_scope(r);
	print_counters(c);
	print_hooks(c);
	print_launchers(c);
	print_running(c);
	print_unfinished(c);
	print_worlds(c);
	print_job_ids(c);
	print_apart(c);
	print_mpi(c);
	print_untraced(c);
}
