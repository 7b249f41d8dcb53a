/* SPDX-License-Identifier: MIT */
/*
 * The screen of "ioreel report": the answer, then the evidence.
 *
 * 24 to 50 lines of at most 100 columns; bars and colour only on a terminal.
 * A value that was not measured is "-", never 0.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/columns.h"
#include "lib/num.h"
#include "lib/terminal.h"
#include "lib/text.h"

#include "analyzer/report/render.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"

static const char *separator(void)
{
	return reel_terminal_utf8() ? " \u00b7 " : " - ";
}

static char *time_or_none(char out[static REEL_NUM], int64_t ns)
{
	return ns == REPORT_NONE ? strcpy(out, "-")
				 : reel_num_time(out, (double)ns);
}

static void add_when(struct reel_buf *b, const struct report *r)
{
	time_t at = (time_t)(r->start_real_ns / 1000000000);
	struct tm tm;
	char text[64];

	if (r->start_real_ns > 0 && localtime_r(&at, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm))
		reel_buf_printf(b, NULL, "%s%s", separator(), text);
}

/* Append a name that the job or the user chose; it may hold any bytes. */
static void add_name(struct reel_buf *b, const char *name)
{
	char shown[4 * 1024 + 1];
	size_t len = strlen(name);

	reel_text_escape(shown, sizeof(shown), name, len < 1024 ? len : 1024);
	reel_buf_puts(b, shown, NULL);
}

static void put_line(struct reel_buf *b, int indent)
{
	reel_columns_wrapped(reel_buf_text(b), indent, 0);
	reel_buf_fini(b);
}

/* The loader workers of each of the @ranks at a time: a range where passes or ranks
 * differ. */
static void add_workers(struct reel_buf *b, const struct report *r,
			int64_t ranks)
{
	char num[REEL_NUM];

	if (r->workers <= 0)
		return;
	reel_buf_puts(b, ", ", NULL);
	if (r->min_workers < r->workers)
		reel_buf_printf(b, NULL, "%s-",
				reel_num_count(num, r->min_workers));
	reel_buf_printf(b, NULL, "%s loader worker%s%s",
			reel_num_count(num, r->workers),
			r->workers == 1 ? "" : "s", ranks > 1 ? " each" : "");
}

/* Trainings of a sweep, or one after the other, are no ranks of one job: where no
 * launcher and no framework said so, they are only numbered as such. */
static const char *ranks_word(const struct report *r)
{
	return r->rank_numbers || r->ranks <= 1 ? "ranks"
						: "processes with loops";
}

static void print_header(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];
	int64_t ranks =
		r->ranks > r->ranks_declared ? r->ranks : r->ranks_declared;

	add_name(&b, r->name ? r->name : "-");
	if (r->framework) {
		reel_buf_puts(&b, separator(), NULL);
		add_name(&b, r->framework);
	}
	reel_buf_puts(&b, separator(), NULL);
	if (r->ranks > 0 || ranks > 1) {
		/* An import may hold files of some ranks alone. */
		if (r->sources && r->ranks > 0 && r->ranks < ranks)
			reel_buf_printf(&b, NULL, "%s of ",
					reel_num_count(num, r->ranks));
		reel_buf_printf(&b, NULL, "%s %s", reel_num_count(num, ranks),
				ranks == 1 ? "rank" : ranks_word(r));
		add_workers(&b, r, ranks);
	} else {
		reel_buf_printf(&b, NULL, "%s process%s",
				reel_num_count(num, r->processes),
				r->processes == 1 ? "" : "es");
	}
	reel_buf_printf(&b, NULL, "%s%s", separator(),
			time_or_none(num, report_is_untimed(r) ? REPORT_NONE
					  : r->wall_ns > 0     ? r->wall_ns
							       : r->span_ns));
	if (r->host) {
		reel_buf_puts(&b, " on ", NULL);
		add_name(&b, r->host);
	}
	add_when(&b, r);
	put_line(&b, 2);
	if (r->exit_signal > 0)
		printf("the job was ended by signal %lld\n",
		       (long long)r->exit_signal);
	else if (r->exit_status > 0)
		printf("the job ended with exit status %lld\n",
		       (long long)r->exit_status);
}

static void print_cpu_contention(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;

	if (reel_cpu_contention_words(&r->cpu_contention, &b))
		put_line(&b, 2);
	reel_buf_fini(&b);
}

static void print_advice(const struct report *r)
{
	bool colour = reel_terminal_colour(stdout);
	int i;

	putchar('\n');
	reel_columns_wrapped(r->verdict, 0, 0);
	for (i = 0; i < r->advices; i++) {
		const struct advice *a = &r->advice[i];

		printf("  %s%-12s%s ", colour ? "\033[1m" : "", a->code,
		       colour ? "\033[0m" : "");
		reel_columns_wrapped(a->text, 15, 15);
		if (!a->try_this[0])
			continue;
		printf("%*sTry: ", 15, "");
		reel_columns_wrapped(a->try_this, 15, 20);
	}
}

/* One part of a step: its median time, and its share of all steps' time. */
static void print_part(const char *name, int64_t ns, double share)
{
	char num[REEL_NUM];
	int at = 11;

	printf("  %-9s", name);
	reel_columns_right(&at, time_or_none(num, ns), 9);
	reel_columns_right(&at, reel_columns_percent(num, share), 8);
	reel_columns_bar(&at, reel_columns_bar_width(40, at), share);
	putchar('\n');
}

static double of_steps(const struct report_rank *k, int64_t ns)
{
	if (ns == REPORT_NONE || k->steady_ns <= 0)
		return REPORT_NONE;
	return (double)ns / (double)k->steady_ns;
}

#define SHARE_LEAST 0.0005 /* of the steps, to have a line */
#define BETWEEN_LEAST 0.01 /* of the loop, to have a sentence */

/* Do most steps have no recorded fetch, and nothing else tells their computation? The
 * figures of the others say nothing about the loop. */
static bool is_mostly_unknown(const struct report_rank *k)
{
	return k->unknown_steps > k->steps / 2 &&
	       (!k->compute_source[0] ||
		!strcmp(k->compute_source, "step minus fetch"));
}

static void print_parts(const struct report_rank *k)
{
	double fetch = of_steps(k, k->steady_fetch_ns);
	double compute = of_steps(k, k->steady_compute_ns);
	double own = of_steps(k, k->steady_own_io_ns), other = 1;

	if (is_mostly_unknown(k) ||
	    (fetch == REPORT_NONE && compute == REPORT_NONE)) {
		print_part("all", k->median_step_ns, 1);
		return;
	}
	print_part("fetch", k->median_fetch_ns, fetch);
	print_part("compute", k->median_compute_ns, compute);
	if (own >= SHARE_LEAST)
		print_part("own I/O", k->median_own_io_ns, own);
	other -= (fetch > 0 ? fetch : 0) + (compute > 0 ? compute : 0) +
		 (own > 0 ? own : 0);
	if (other >= SHARE_LEAST)
		print_part("other", k->median_other_ns, other);
}

/* Print a paragraph below the rows, indented like them. */
static void put_under(struct reel_buf *b)
{
	fputs("  ", stdout);
	reel_columns_wrapped(reel_buf_text(b), 2, 2);
	reel_buf_fini(b);
}

static void print_overlap(const struct report *r, const struct report_rank *k)
{
	char num[REEL_NUM], num2[REEL_NUM], num3[REEL_NUM];
	const char *least = r->io_is_bound ? "at least " : "";
	struct reel_buf b = REEL_BUF_INIT;

	if (k->hidden_ns != REPORT_NONE && k->io_ns > 0)
		reel_buf_printf(&b, NULL,
				"I/O hidden behind computation: %s; exposed: "
				"%s%s of %s%s. ",
				reel_columns_percent(num, k->hidden_share),
				least, time_or_none(num2, k->exposed_ns), least,
				reel_num_time(num3, (double)(k->hidden_ns +
							     k->exposed_ns)));
	if (k->computing_share != REPORT_NONE)
		reel_buf_printf(&b, NULL, "Computing: %s of the steps.",
				reel_columns_percent(num, k->computing_share));
	if (k->between_wait_ns > 0 && k->loop_ns > 0 &&
	    (double)k->between_wait_ns >= BETWEEN_LEAST * (double)k->loop_ns)
		reel_buf_printf(
			&b, NULL,
			"%sFetches between the steps take %s, %s of the loop.",
			b.len ? " " : "",
			reel_num_time(num, (double)k->between_wait_ns),
			reel_columns_percent(num2, (double)k->between_wait_ns /
							   (double)k->loop_ns));
	if (b.len)
		put_under(&b);
}

/*
 * One thread of Python runs at a time: where threads of the job make the batches, the
 * stepping thread waits for them in its computation, and nothing shows how long.
 */
static void print_lock_waits(const struct report *r,
			     const struct report_rank *k)
{
	static const char *const threads[] = {"PyDataset of threads",
					      "prefetch_generator", "MONAI",
					      "PaddlePaddle"};
	struct reel_buf b = REEL_BUF_INIT;

	if (strcmp(k->compute_source, "step minus fetch") != 0 ||
	    !r->noted_loader)
		return;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		if (!strcmp(r->noted_loader, threads[i]))
			reel_buf_puts(
				&b,
				"Computation may include waits for "
				"Python's interpreter lock, which threads "
				"that make batches hold.",
				NULL);
	if (b.len)
		put_under(&b);
}

static void print_unknown(const struct report *r, const struct report_rank *k)
{
	struct reel_buf b = REEL_BUF_INIT;
	char unknown[REEL_NUM], steps[REEL_NUM];

	if (k->unknown_steps <= 0)
		return;
	if (k->unknown_steps < k->steps)
		reel_buf_printf(&b, NULL,
				"No fetch was recorded for %s of the %s "
				"steps: how long these wait is not known.",
				reel_num_count(unknown, k->unknown_steps),
				reel_num_count(steps, k->steps));
	else
		reel_buf_puts(&b,
			      "How long a step waits for its batch is not "
			      "known: no fetch was recorded.",
			      NULL);
	if (r->uses.own_loop) {
		reel_buf_puts(&b,
			      " The job marks no steps: each is the time from "
			      "one optimizer step to the next.",
			      NULL);
		put_under(&b);
		return;
	}
	/* The advice says what an import lacks. */
	if (!r->sources)
		reel_buf_puts(
			&b,
			r->uses.tensorflow
				? " A step that is one graph of TensorFlow "
				  "fetches inside it (ioreel record "
				  "--profile-steps A-B); elsewhere mark the "
				  "fetches (ioreel.h, or the Python module "
				  "ioreel)."
				: " Mark the fetches (ioreel.h, or the Python "
				  "module ioreel).",
			NULL);
	put_under(&b);
}

static void print_no_steps(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);
	char text[256], loops[REEL_NUM + 8], num[REEL_NUM];

	if (k) {
		putchar('\n');
		snprintf(loops, sizeof(loops), "%s %s",
			 reel_num_count(num, k->evaluations),
			 k->evaluations == 1 ? "loop" : "loops");
		snprintf(text, sizeof(text),
			 "No steps: rank %lld has %s over batches, which %s "
			 "nothing (evaluation, inference).",
			 (long long)k->rank, loops,
			 k->evaluations == 1 ? "trains" : "train");
		reel_columns_wrapped(text, 0, 0);
		return;
	}
	if (!r->uses.python)
		return;
	putchar('\n');
	if (report_is_imported(r)) {
		reel_columns_wrapped(
			"No steps: the imported files mark none. A "
			"profile of the same run does, imported "
			"with them (ioreel import), and so does "
			"ioreel record.",
			0, 0);
		return;
	}
	reel_columns_wrapped(
		"No steps: the job marked no training step. The hooks mark "
		"loops over the loaders of PyTorch, TensorFlow, Keras, Grain "
		"and PaddlePaddle; mark any other with ioreel.steps(batches) "
		"in Python "
		"or ioreel.h in C (man ioreel-anchors).",
		0, 0);
}

static void print_steps(const struct report *r)
{
	const struct report_rank *k = report_slowest(r);
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (!k || !k->steps) {
		if (r->calls)
			print_no_steps(r);
		return;
	}
	putchar('\n');
	reel_buf_printf(&b, NULL, "Where a step's time goes (rank %lld, ",
			(long long)k->rank);
	if (k->steady_steps == 0) {
		reel_buf_puts(&b, "1 step: no steady one)", NULL);
		put_line(&b, 2);
		return;
	}
	reel_buf_printf(&b, NULL, "steps 2-%s", reel_num_count(num, k->steps));
	if (k->epochs > 0)
		reel_buf_printf(&b, NULL, " of %s epoch%s",
				reel_num_count(num, k->epochs),
				k->epochs == 1 ? "" : "s");
	reel_buf_printf(&b, NULL,
			"; median, share of all; computation is %s%s)",
			k->compute_source[0] && !is_mostly_unknown(k)
				? k->compute_source
				: "not known",
			of_steps(k, k->steady_own_io_ns) >= SHARE_LEAST
				? ", less own I/O"
				: "");
	put_line(&b, 2);
	print_parts(k);
	if (!is_mostly_unknown(k)) {
		print_overlap(r, k);
		print_lock_waits(r, k);
	}
	print_unknown(r, k);
	if (r->ranks > 1) {
		reel_buf_printf(&b, NULL, "%s %s; --ranks shows each",
				reel_num_count(num, r->ranks), ranks_word(r));
		put_under(&b);
	}
}

#define NAME_COLUMNS 17
#define SIZES_COLUMNS 26
#define CALL_COLUMNS 9

/* min / median / max: one number when they are equal, without blanks when the
 * text is long. */
static void put_sizes(int *at, const struct report_transfer *m)
{
	char min[REEL_NUM], median[REEL_NUM], max[REEL_NUM];
	char text[3 * REEL_NUM + 8] = "-", cell[3 * REEL_NUM + 10];

	if (m->min_bytes != REPORT_NONE) {
		reel_num_size(min, (double)m->min_bytes);
		reel_num_size(median, (double)m->median_bytes);
		reel_num_size(max, (double)m->max_bytes);
		snprintf(text, sizeof(text), "%s / %s / %s", min, median, max);
		if (m->min_bytes == m->max_bytes)
			snprintf(text, sizeof(text), "%s each", min);
		else if (reel_text_columns(text) > SIZES_COLUMNS)
			snprintf(text, sizeof(text), "%s/%s/%s", min, median,
				 max);
	}
	snprintf(cell, sizeof(cell), "  %s", text);
	reel_columns_left(at, cell, 2 + SIZES_COLUMNS);
}

/* @most: an upper bound of the bytes. */
static void print_row(const char *name, const struct report_group *g,
		      const struct report_transfer *m, bool most)
{
	char num[REEL_NUM], bytes[REEL_NUM + 4] = "-";
	int at = NAME_COLUMNS;

	if (!g->calls && g->bytes <= 0) /* mappings have bytes without a call */
		return;
	printf("  %-*s", NAME_COLUMNS - 2, name);
	reel_columns_right(&at, reel_num_count(num, g->calls), 10);
	if (m && g->bytes != REPORT_NONE)
		snprintf(bytes, sizeof(bytes), "%s%s",
			 !most			? ""
			 : reel_terminal_utf8() ? "\u2264"
						: "<",
			 reel_num_bytes(num, (double)g->bytes));
	reel_columns_right(&at, bytes, 9);
	if (m)
		put_sizes(&at, m);
	/* Writes that a stream made by itself have no duration. */
	reel_columns_right(
		&at,
		g->dur_ns > 0 && g->calls > g->untimed
			? reel_num_time(num,
					(double)g->dur_ns /
						(double)(g->calls - g->untimed))
			: "-",
		m ? CALL_COLUMNS : 2 + SIZES_COLUMNS + CALL_COLUMNS);
	if (m) {
		reel_columns_right(
			&at,
			m->busy_bytes_per_s == REPORT_NONE
				? "-"
				: reel_num_rate(num, m->busy_bytes_per_s),
			11);
		reel_columns_right(
			&at, reel_columns_percent(num, m->in_order_share), 9);
		/* Calls without a file: the source names none. */
		reel_columns_right(&at,
				   g->calls > 0 && !m->files
					   ? "-"
					   : reel_num_count(num, m->files),
				   7);
	}
	putchar('\n');
}

static struct report_group sum_groups(const struct report *r, enum reel_group a,
				      enum reel_group b, enum reel_group c)
{
	const enum reel_group groups[] = {a, b, c};
	struct report_group s = {0};
	int i;

	for (i = 0; i < 3; i++) {
		if (groups[i] == REEL_GROUP_NONE)
			continue;
		s.calls += r->group[groups[i]].calls;
		s.dur_ns += r->group[groups[i]].dur_ns;
	}
	return s;
}

/* Print a sentence below the table, indented like it. */
static void put_sentence(struct reel_buf *b)
{
	fputs("  ", stdout);
	reel_columns_wrapped(reel_buf_text(b), 4, 2);
	reel_buf_fini(b);
}

/* Bytes through mappings are in the bytes of the rows, but in no size, time or
 * order. */
static void print_mapped(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM];

	if (r->map_read_bytes)
		reel_buf_printf(&b, NULL, "%s of the bytes read",
				reel_num_bytes(num, (double)r->map_read_bytes));
	if (r->map_write_bytes)
		reel_buf_printf(
			&b, NULL, "%s%s of the bytes written",
			b.len ? " and " : "",
			reel_num_bytes(num, (double)r->map_write_bytes));
	if (!b.len)
		return;
	reel_buf_puts(
		&b,
		" went through mappings, at most, as the kernel maps "
		"neighbouring pages too (ioreel record --mmap faults: the "
		"page faults); without a call they are in no size, rate "
		"or order",
		NULL);
	put_sentence(&b);
}

/* Below 1 % failures are usual: programs search for their files. */
static void print_errors(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	int64_t calls = 0, errors = 0, others;
	char num[REEL_NUM];
	int i;

	for (i = 0; i < REEL_GROUPS; i++) {
		calls += r->group[i].calls;
		errors += r->group[i].errors;
	}
	if (!errors || errors * 100 < calls)
		return;
	reel_buf_printf(&b, NULL, "%s of these calls failed",
			reel_num_count(num, errors));
	others = errors;
	for (i = 0; i < REPORT_ERRORS && r->error[i].calls; i++) {
		const char *why = strerrorname_np(r->error[i].number);

		reel_buf_printf(&b, NULL, "%s%s ", i ? ", " : ": ",
				reel_num_count(num, r->error[i].calls));
		add_name(&b, r->error[i].call);
		reel_buf_printf(&b, NULL, " (%s)",
				why ? why : "errno not known");
		others -= r->error[i].calls;
	}
	if (i == REPORT_ERRORS && others > 0)
		reel_buf_printf(&b, NULL, ", %s other%s",
				reel_num_count(num, others),
				others == 1 ? "" : "s");
	put_sentence(&b);
}

/* Requests to MPI-IO, and the POSIX calls that its library made of them. */
static void print_mpiio(const struct report *r)
{
	static const char *const op[] = {"read", "write"};
	struct reel_buf b = REEL_BUF_INIT;
	char num[5][REEL_NUM];
	int i;

	for (i = 0; i < 2; i++) {
		const struct report_mpiio *m = &r->mpiio[i];

		if (!m->calls)
			continue;
		reel_buf_printf(&b, NULL, "MPI-IO %s %s in %s call%s", op[i],
				reel_num_bytes(num[0], (double)m->bytes),
				reel_num_count(num[1], m->calls),
				m->calls == 1 ? "" : "s");
		if (m->collective != REPORT_NONE)
			reel_buf_printf(
				&b, NULL, ", %s collective",
				reel_columns_percent(num[2],
						     (double)m->collective /
							     (double)m->calls));
		if (m->posix_calls != REPORT_NONE)
			reel_buf_printf(
				&b, NULL,
				"; POSIX on their files: %s in %s calls",
				reel_num_bytes(num[3], (double)m->posix_bytes),
				reel_num_count(num[4], m->posix_calls));
		put_sentence(&b);
	}
}

/* DXT has segments of POSIX and MPI-IO only. */
static void print_stdio_counters(const struct report *r)
{
	static const char *const op[2] = {"read", "write"};
	struct reel_buf b = REEL_BUF_INIT;
	char bytes[REEL_NUM], calls[REEL_NUM];
	int i;

	for (i = 0; i < 2; i++) {
		if (r->stdio[i].bytes <= 0)
			continue;
		reel_buf_printf(
			&b, NULL,
			"STDIO %s %s in %s call%s, in the counters only", op[i],
			reel_num_bytes(bytes, (double)r->stdio[i].bytes),
			reel_num_count(calls, r->stdio[i].calls),
			r->stdio[i].calls == 1 ? "" : "s");
		put_sentence(&b);
	}
}

static void print_messages(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char num[REEL_NUM], num2[REEL_NUM];

	if (r->messages <= 0)
		return;
	reel_buf_printf(&b, NULL,
			"not counted as I/O: %s call%s on pipes and sockets "
			"(%s)",
			reel_num_count(num, r->messages),
			r->messages == 1 ? "" : "s",
			reel_num_bytes(num2, (double)r->message_bytes));
	put_sentence(&b);
}

static void print_storage(const struct report *r)
{
	struct reel_buf b = REEL_BUF_INIT;
	char bytes[REEL_NUM], count[REEL_NUM], time[REEL_NUM];

	if (!r->storage.reads)
		return;
	reel_buf_printf(&b, NULL,
			"page-cache misses: %s read from storage in %s read%s "
			"(%s)",
			reel_num_bytes(bytes, (double)r->storage.bytes),
			reel_num_count(count, r->storage.reads),
			r->storage.reads == 1 ? "" : "s",
			reel_num_time(time, (double)r->storage.ns));
	if (r->storage.waits)
		reel_buf_printf(
			&b, NULL,
			"; %s more waited %s for readahead in progress",
			reel_num_count(count, r->storage.waits),
			reel_num_time(time, (double)r->storage.wait_ns));
	put_sentence(&b);
}

static void print_titles(void)
{
	int at = 0;

	putchar('\n');
	reel_columns_left(&at, "What moved", NAME_COLUMNS);
	reel_columns_right(&at, "calls", 10);
	reel_columns_right(&at, "bytes", 9);
	reel_columns_left(&at, "  size min / median / max", 2 + SIZES_COLUMNS);
	reel_columns_right(&at, "per call", CALL_COLUMNS);
	reel_columns_right(&at, "while busy", 11);
	reel_columns_right(&at, "in order", 9);
	reel_columns_right(&at, "files", 7);
	putchar('\n');
}

/* Reads or writes. If no call of an import has a size, their bytes are not known. The
 * kernel may have touched pages of mappings by itself. */
static void print_transfer(const struct report *r, const char *name,
			   enum reel_group which)
{
	struct report_group group = r->group[which];

	if (group.sizeless)
		group.bytes = REPORT_NONE;
	print_row(name, &group, &r->transfer[which == REEL_GROUP_WRITE],
		  (which == REEL_GROUP_WRITE ? r->map_write_bytes
					     : r->map_read_bytes) > 0);
}

static void print_transfers(const struct report *r)
{
	struct report_group group, advice = r->meta[REPORT_META_ADVICE];

	if (!r->calls && !r->mpiio_only)
		return;
	print_titles();
	print_transfer(r, "read", REEL_GROUP_READ);
	print_transfer(r, "write", REEL_GROUP_WRITE);
	group = sum_groups(r, REEL_GROUP_OPEN, REEL_GROUP_CLOSE,
			   REEL_GROUP_NONE);
	print_row("open, close", &group, NULL, false);
	group = sum_groups(r, REEL_GROUP_STAT, REEL_GROUP_SEEK, REEL_GROUP_DUP);
	print_row("stat, seek, dup", &group, NULL, false);
	print_row("list", &r->group[REEL_GROUP_DIR], NULL, false);
	print_row("unlink, rename", &r->meta[REPORT_META_NAMES], NULL, false);
	print_row("mkdir, truncate", &r->meta[REPORT_META_FILES], NULL, false);
	print_row("sync, flush", &r->group[REEL_GROUP_SYNC], NULL, false);
	advice.calls += r->group[REEL_GROUP_MAP].calls;
	advice.dur_ns += r->group[REEL_GROUP_MAP].dur_ns;
	print_row("map, advise", &advice, NULL, false);
	print_mapped(r);
	print_errors(r);
	print_messages(r);
	print_storage(r);
	print_mpiio(r);
	print_stdio_counters(r);
}

/* The command is not wrapped, so that it can be copied. */
static void print_more(const char *run)
{
	struct reel_buf b = REEL_BUF_INIT;
	int at;

	reel_buf_printf(&b, NULL,
			"More: --files --steps --ranks --time --losses "
			"--stacks %s",
			reel_terminal_utf8() ? "\u00b7" : "-");
	putchar('\n');
	at = reel_columns_words(reel_buf_text(&b), 6, 0);
	reel_buf_fini(&b);
	reel_buf_puts(&b, " ioreel sql ", NULL);
	reel_terminal_word(&b, run);
	reel_columns_left(&at, reel_buf_text(&b), 0);
	putchar('\n');
	reel_buf_fini(&b);
}

static int print_screen(const struct report *r, const char *run,
			struct reel_error *err)
{
	print_header(r);
	text_completeness_head(r);
	print_cpu_contention(r);
	text_completeness(r);
	print_advice(r);
	print_steps(r);
	if (text_phases(r, err))
		return -1;
	print_transfers(r);
	text_sizes(r);
	if (text_counters(r, err))
		return -1;
	print_more(run);
	return 0;
}

int report_text(const struct report *r, const struct report_options *o,
		struct reel_error *err)
{
	int tables = text_tables(r, o, err);

	if (!tables)
		return print_screen(r, o->run, err);
	return tables < 0 ? -1 : 0;
}
