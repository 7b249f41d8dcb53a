/* SPDX-License-Identifier: MIT */
/* Completeness of a trace, read from its losses and notes. */
#include "analyzer/report/completeness.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/columns.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/store/view.h"
#include "lib/text.h"

#include "analyzer/report/cpu_contention.h"

#define NAME_BYTES 256

/* The bytes of each imported file are a reason of their own, with its name. */
static const char *const damaged = "damaged: ";

/* Text that the job may have set: any bytes, and of any length. */
static char *printable(const char *text, struct reel_error *err)
{
	char shown[4 * NAME_BYTES + 1];
	size_t len = strnlen(text, NAME_BYTES);

	reel_text_escape(shown, sizeof(shown), text, len);
	return reel_strdup(shown, err);
}

static void add_loss(struct report_completeness *c, const char *reason,
		     const char *unit, int64_t count)
{
	const struct {
		const char *reason;
		int64_t *count;
	} field[] = {
		{"damaged", !strcmp(unit, "bytes") ? &c->damaged_bytes
						   : &c->damaged_places},
		{"unreadable", &c->unreadable_files},
		{"missing", &c->missing_blocks},
		{"other_format", &c->other_format},
		{"empty", &c->empty_files},
		{"trailing_bytes", &c->trailing_bytes},
		{"partial", &c->partial_files},
		{"unreliable", &c->unreliable_files},
		{"denied", &c->denied_files},
		{"counted", &c->counted},
		{"counted_files", &c->counted_files},
		{"only_failed", &c->only_failed},
		{"no_time", &c->no_time},
		{"no_duration", &c->no_duration},
		{"no_size", &c->no_size},
		{"counted_after", &c->counted_after_ns},
	};

	if (!strcmp(unit, "modules"))
		c->left_out += count;
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		if (!strcmp(reason, field[i].reason))
			*field[i].count += count;
	for (unsigned int i = 0; i < REEL_COUNTERS; i++)
		if (reel_counter_untraced(i) &&
		    !strcmp(reason, reel_counter_name(i))) {
			c->untraced[i] += count;
			c->untraced_programs += count;
		}
}

static int read_losses(struct report_completeness *c, struct reel_store *st,
		       struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_loss", err);
	while (reel_view_next(&v)) {
		const char *reason = reel_view_text(&v, "reason");

		c->losses = true;
		add_loss(c, reason, reel_view_text(&v, "unit"),
			 reel_view_int(&v, "count"));
		if (strncmp(reason, damaged, strlen(damaged)) != 0)
			continue;
		c->damaged_bytes += reel_view_int(&v, "count");
		if (c->damaged_from)
			continue;
		c->damaged_from = printable(reason + strlen(damaged), err);
		v.failed |= !c->damaged_from;
	}
	return reel_view_close(&v);
}

static int read_hooks(struct report_completeness *c, struct reel_store *st,
		      struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_hook_failure", err);
	while (c->hook_failures < REPORT_HOOKS && reel_view_next(&v)) {
		int i = c->hook_failures++;

		c->hook_failure[i].hook =
			printable(reel_view_text(&v, "hook"), err);
		c->hook_failure[i].reason =
			printable(reel_view_text(&v, "reason"), err);
		if (!c->hook_failure[i].hook || !c->hook_failure[i].reason)
			v.failed = true;
	}
	return reel_view_close(&v);
}

static int read_launchers(struct report_completeness *c, struct reel_store *st,
			  struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM launcher_io", err);
	if (reel_view_next(&v)) {
		c->launchers = printable(reel_view_text(&v, "names"), err);
		c->launcher_processes = reel_view_int(&v, "processes");
		c->launcher_files = reel_view_int(&v, "files");
		v.failed |= !c->launchers;
	}
	return reel_view_close(&v);
}

/* job.json: a command whose end is not recorded, processes that outlived it. */
static int read_run(struct report_completeness *c, struct reel_store *st,
		    struct reel_error *err)
{
	struct reel_view v;
	json_t *job = NULL;

	reel_view_open(&v, st, "SELECT * FROM run", err);
	if (reel_view_next(&v)) {
		c->lost_events = reel_view_int(&v, "lost");
		job = json_loads(reel_view_text(&v, "job_json"), 0, NULL);
	}
	c->running_processes =
		json_integer_value(json_object_get(job, "running"));
	c->job_ids = json_integer_value(json_object_get(job, "job_ids"));
	c->command_running = json_object_get(job, "command") &&
			     !json_object_get(job, "exit_status");
	json_decref(job);
	return reel_view_close(&v);
}

/* A checkpoint is open, too, while a job is recorded that goes on. */
static int read_unfinished(struct report_completeness *c, struct reel_store *st,
			   struct reel_error *err)
{
	struct reel_view v;

	c->unfinished_unknown = c->command_running ||
				c->running_processes > 0 || c->sources > 0;
	if (c->unfinished_unknown)
		return 0;
	reel_view_open(&v, st,
		       "SELECT * FROM v_unfinished_checkpoint "
		       "ORDER BY path IS NULL, start_ns",
		       err);
	while (reel_view_next(&v)) {
		const char *path = reel_view_text(&v, "path");

		if (!c->unfinished_saves++ && *path) {
			c->unfinished_path = printable(path, err);
			v.failed |= !c->unfinished_path;
		}
	}
	return reel_view_close(&v);
}

static int read_scope(struct report_completeness *c, struct reel_store *st,
		      struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_log_scope", err);
	if (reel_view_next(&v)) {
		c->filtered = reel_view_int(&v, "filtered");
		c->no_seeks = reel_view_int(&v, "no_seeks");
		c->unnamed = reel_view_int(&v, "unnamed");
		c->unnamed_ns = reel_view_int(&v, "unnamed_ns");
	}
	return reel_view_close(&v);
}

static int read_mpi(struct report_completeness *c, struct reel_store *st,
		    struct reel_error *err)
{
	static const char *const kinds[] = {
		[MPI_MESSAGES] = "messages",
		[MPI_ONE_SIDED] = "one_sided",
		[MPI_COLLECTIVES] = "collectives",
	};
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_mpi_counted", err);
	while (reel_view_next(&v))
		for (int i = 0; i < 3; i++)
			if (!strcmp(reel_view_text(&v, "kind"), kinds[i]))
				c->mpi_counted[i] = reel_view_int(&v, "calls");
	if (reel_view_close(&v))
		return -1;
	reel_view_open(&v, st, "SELECT * FROM v_world_size", err);
	while (reel_view_next(&v)) {
		if (c->worlds < REPORT_WORLDS)
			c->world_ranks[c->worlds] = reel_view_int(&v, "ranks");
		c->worlds++;
	}
	return reel_view_close(&v);
}

/* Gives the names in @column of the rows of @query, "a, b"; NULL: no row. */
static int read_names(char **names, struct reel_store *st, const char *query,
		      const char *column, struct reel_error *err)
{
	struct reel_buf b = REEL_BUF_INIT;
	struct reel_view v;

	reel_view_open(&v, st, query, err);
	while (reel_view_next(&v)) {
		char *name = printable(reel_view_text(&v, column), err);

		if (!name ||
		    reel_buf_printf(&b, err, "%s%s", b.len ? ", " : "", name))
			v.failed = true;
		free(name);
	}
	*names = b.data;
	return reel_view_close(&v);
}

static int read_programs(struct report_completeness *c, struct reel_store *st,
			 struct reel_error *err)
{
	return read_names(&c->untraced_names, st,
			  "SELECT * FROM v_untraced LIMIT 4", "program", err) ||
			       read_names(&c->mpi_unrecorded, st,
					  "SELECT * FROM v_mpi_unrecorded "
					  "LIMIT 8",
					  "library", err)
		       ? -1
		       : 0;
}

static int read_source(struct report_source *s, struct reel_view *v,
		       struct reel_error *err)
{
	s->file = printable(reel_view_text(v, "file"), err);
	s->format = printable(reel_view_text(v, "format"), err);
	s->aligned_by = printable(reel_view_text(v, "aligned_by"), err);
	s->joined = printable(reel_view_text(v, "joined"), err);
	s->missing = printable(reel_view_text(v, "missing"), err);
	s->shift_ns = reel_view_exact(v, "shift_ns");
	s->shift_error_ns = reel_view_known(v, "shift_error_ns");
	return s->file && s->format && s->aligned_by && s->joined && s->missing
		       ? 0
		       : -1;
}

/* Does the row say of its file what it says of that of @s? */
static bool is_like(const struct report_source *s, struct reel_view *v)
{
	return !strcmp(reel_view_text(v, "format"), s->format) &&
	       !strcmp(reel_view_text(v, "missing"), s->missing) &&
	       !strcmp(reel_view_text(v, "aligned_by"), s->aligned_by) &&
	       !strcmp(reel_view_text(v, "joined"), s->joined) &&
	       reel_view_exact(v, "shift_ns") == s->shift_ns &&
	       reel_view_known(v, "shift_error_ns") == s->shift_error_ns;
}

static int read_sources(struct report_completeness *c, struct reel_store *st,
			struct reel_error *err)
{
	struct reel_view v;

	reel_view_open(&v, st, "SELECT * FROM v_report_source", err);
	while (reel_view_next(&v)) {
		struct report_source *s = &c->source[c->sources];

		if (c->sources && !c->other_files && is_like(s - 1, &v)) {
			s[-1].files++;
		} else if (c->sources == REPORT_SOURCES) {
			c->other_files++;
		} else {
			c->sources++;
			s->files = 1;
			v.failed |= read_source(s, &v, err) != 0;
		}
	}
	return reel_view_close(&v);
}

/* Below this share of the run, times between its processes change no figure much. */
#define APART_SHARE 0.01

/* Do files of an import have processes that no time of the run has in common? One
 * file is one recording: pauses in it are the job's. */
static int read_apart(struct report_completeness *c, struct reel_store *st,
		      struct reel_error *err)
{
	struct reel_view v;

	if (c->sources < 2 && c->source[0].files < 2)
		return 0;
	reel_view_open(&v, st,
		       "SELECT count(*) AS gaps, max(start_ns - before_ns) AS "
		       "longest_ns, (SELECT max(end_ns) - min(start_ns) FROM "
		       "process) AS run_ns FROM (SELECT start_ns, max(end_ns) "
		       "OVER (ORDER BY start_ns, process_id ROWS BETWEEN "
		       "UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns "
		       "FROM process) WHERE start_ns > before_ns",
		       err);
	if (reel_view_next(&v)) {
		c->apart_ns = reel_view_int(&v, "longest_ns");
		c->apart = reel_view_int(&v, "gaps") + 1;
		if ((double)c->apart_ns <
		    APART_SHARE * (double)reel_view_int(&v, "run_ns"))
			c->apart = 0;
	}
	return reel_view_close(&v);
}

int report_completeness_read(struct report_completeness *c,
			     struct reel_store *st, struct reel_error *err)
{
	memset(c, 0, sizeof(*c));
	return read_losses(c, st, err) || read_hooks(c, st, err) ||
			       read_launchers(c, st, err) ||
			       read_run(c, st, err) ||
			       read_sources(c, st, err) ||
			       read_apart(c, st, err) ||
			       read_unfinished(c, st, err) ||
			       read_scope(c, st, err) || read_mpi(c, st, err) ||
			       read_programs(c, st, err)
		       ? -1
		       : 0;
}

void report_completeness_fini(struct report_completeness *c)
{
	for (int i = 0; i < c->hook_failures; i++) {
		free(c->hook_failure[i].hook);
		free(c->hook_failure[i].reason);
	}
	for (int i = 0; i < REPORT_SOURCES; i++) {
		free(c->source[i].file);
		free(c->source[i].format);
		free(c->source[i].missing);
		free(c->source[i].aligned_by);
		free(c->source[i].joined);
	}
	free(c->damaged_from);
	free(c->launchers);
	free(c->unfinished_path);
	free(c->mpi_unrecorded);
	free(c->untraced_names);
	memset(c, 0, sizeof(*c));
}

bool report_is_damaged(const struct report_completeness *c)
{
	return c->damaged_bytes > 0 || c->damaged_places > 0 ||
	       c->unreadable_files > 0 || c->missing_blocks > 0 ||
	       c->partial_files > 0;
}

bool report_is_complete(const struct report_completeness *c)
{
	return !c->lost_events && !c->untraced_programs &&
	       !report_is_damaged(c) && !c->denied_files && !c->left_out &&
	       !c->only_failed;
}

/* Append a number and its words. */
static void add_count(struct reel_buf *b, int64_t n, const char *one,
		      const char *many)
{
	char num[REEL_NUM];

	if (n > 0)
		reel_buf_printf(b, NULL, "%s%s %s", b->len ? ", " : "",
				reel_num_count(num, n), n == 1 ? one : many);
}

bool report_incomplete_words(const struct report_completeness *c,
			     struct reel_buf *out)
{
	struct reel_buf b = REEL_BUF_INIT;
	bool is;

	add_count(&b, c->lost_events, "event lost", "events lost");
	add_count(&b, c->untraced_programs, "program not traced",
		  "programs not traced");
	if (report_is_damaged(c))
		reel_buf_printf(&b, NULL, "%sa damaged trace",
				b.len ? ", " : "");
	add_count(&b, c->denied_files, "file without permission to read it",
		  "files without permission to read them");
	add_count(&b, c->left_out, "module with records left out",
		  "modules with records left out");
	if (c->only_failed > 0)
		reel_buf_printf(&b, NULL, "%scalls that failed only",
				b.len ? ", " : "");
	if (c->counted > 0)
		reel_buf_printf(&b, NULL,
				"%scounters in place of events, with mean "
				"sizes",
				b.len ? ", " : "");
	is = b.len;
	if (is)
		reel_buf_printf(out, NULL, "incomplete: %s", reel_buf_text(&b));
	reel_buf_fini(&b);
	return is;
}

/* Print @words, which are emptied, behind the run's name. */
static void print_caveat(const char *name, struct reel_buf *words)
{
	struct reel_buf text = REEL_BUF_INIT;

	reel_buf_printf(&text, NULL, "%s: %s", name, reel_buf_text(words));
	reel_columns_wrapped(reel_buf_text(&text), 2, 0);
	reel_buf_fini(&text);
	reel_buf_fini(words);
}

void report_print_caveats(const char *name, struct reel_store *st)
{
	struct reel_buf words = REEL_BUF_INIT;
	struct report_completeness c;
	struct reel_cpu_contention cpu;

	if (!report_completeness_read(&c, st, NULL) &&
	    report_incomplete_words(&c, &words))
		print_caveat(name, &words);
	report_completeness_fini(&c);
	reel_cpu_contention_read(&cpu, st);
	if (reel_cpu_contention_words(&cpu, &words))
		print_caveat(name, &words);
	reel_buf_fini(&words);
}
