/* SPDX-License-Identifier: MIT */
/* ioreel workload: check, change and print the description of a benchmark. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cli.h"
#include "lib/error.h"
#include "lib/num.h"
#include "lib/output.h"

#include "cmd/commands.h"
#include "replay/rules/rules.h"
#include "replay/workload/dlio.h"
#include "replay/workload/export.h"
#include "replay/workload/keys.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/transformer.h"
#include "replay/workload/workload.h"

static int run(int argc, char **argv);

const struct reel_command cmd_workload = {
	.name = "workload",
	.task = "check or change the description of a benchmark",
	.usage = "check F.json | set F.json KEY=VALUE ... | "
		 "size F.json [--accelerators N] [--hosts N] [--memory SIZE] | "
		 "keys | import DLIO.yaml | export F.json --as dlio|fio|ior "
		 "[-o FILE]",
	.examples = "ioreel workload check unet3d.json\n"
		    "ioreel workload import dlio.yaml -o unet3d.json\n",
	.about = "check prints every fault of F.json, a line each, with the "
		 "path of its key. set prints F.json with other values; F.json "
		 "itself stays. size prints how much storage it needs, and the "
		 "data set that MLPerf's rules ask for. keys prints each key "
		 "with its type, its range "
		 "and its default. import reads a workload of DLIO; export "
		 "writes one, or a job file of fio, or a command line of IOR.",
	.run = run,
};

static int check(const char *path)
{
	struct reel_buf faults = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, &faults, &err);

	if (rc && faults.len)
		fputs(reel_buf_text(&faults), stderr);
	if (rc && !faults.len)
		reel_cli_fail(&cmd_workload, &err);
	if (!rc)
		printf("%s: %s, no fault found\n", path, w.name);
	workload_fini(&w);
	reel_buf_fini(&faults);
	return rc ? 1 : 0;
}

static int set(const char *path, int n, char **assignment)
{
	struct reel_buf text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, NULL, &err);

	for (int i = 0; !rc && i < n; i++)
		rc = workload_set(&w, assignment[i], &err);
	if (!rc)
		rc = workload_check(&w, NULL, &err);
	if (!rc)
		rc = workload_write(&w, &text, &err);
	if (!rc)
		fputs(reel_buf_text(&text), stdout);
	workload_fini(&w);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

/* --- keys ----------------------------------------------------------------- */

static const char *const type_names[] = {
	[KEY_INTEGER] = "integer",     [KEY_REAL] = "number",
	[KEY_BOOL] = "boolean",	       [KEY_WORD] = "word",
	[KEY_NAME] = "name",	       [KEY_TEXT] = "text",
	[KEY_QUANTILES] = "quantiles", [KEY_INTEGERS] = "integers",
	[KEY_REALS] = "numbers",       [KEY_GROUP] = "group",
	[KEY_LIST] = "list",
};

static void print_range(const struct workload_key *k)
{
	switch (k->type) {
	case KEY_WORD:
		for (int i = 0; k->words[i]; i++)
			printf("%s%s", i ? "|" : "", k->words[i]);
		printf("\t%s", k->words[(int)k->initial]);
		break;
	case KEY_BOOL:
		printf("true|false\t%s", k->initial ? "true" : "false");
		break;
	case KEY_INTEGER:
	case KEY_REAL:
		printf("%.16g to %.16g\t%.16g", k->least, k->most, k->initial);
		break;
	case KEY_QUANTILES:
	case KEY_INTEGERS:
	case KEY_REALS:
		printf("%.16g to %.16g, at most %u\t-", k->least, k->most,
		       k->elements);
		break;
	case KEY_LIST:
		printf("at most %u\t-", k->elements);
		break;
	default:
		printf("at most %zu bytes\t-", k->bytes - 1);
	}
}

static void print_keys(const struct workload_key *keys, const char *in)
{
	char path[WORKLOAD_TEXT];

	for (const struct workload_key *k = keys; k->name; k++) {
		snprintf(path, sizeof(path), "%s%s", in, k->name);
		if (k->type != KEY_GROUP) {
			printf("%s\t%s\t", path, type_names[k->type]);
			print_range(k);
			putchar('\n');
		}
		if (k->keys) {
			strncat(path, k->type == KEY_LIST ? "[]." : ".",
				sizeof(path) - strlen(path) - 1);
			print_keys(k->keys, path);
		}
	}
}

/* The bytes of one file of the training on the storage: its samples, and the arrays
 * that are not read. */
static double file_bytes(const struct workload_dataset *d)
{
	return quantiles_mean(&d->sample_bytes) * (double)d->samples_per_file *
	       (1 + d->unread);
}

/* The same of an evaluation, whose samples may have sizes of their own. */
static double evaluation_file_bytes(const struct workload *w)
{
	const struct workload_evaluation *e = &w->evaluation;

	return quantiles_mean(e->sample_bytes.n ? &e->sample_bytes
						: &w->dataset.sample_bytes) *
	       (double)e->samples_per_file * (1 + w->dataset.unread);
}

/* --- size ----------------------------------------------------------------- */

/* The machines that a workload is to run on. */
struct machines {
	int64_t accelerators, hosts, memory_bytes;
};

/* The data set that the rules ask for, and the key that makes it. */
static void print_least(const struct workload *w, const char *path,
			const struct machines *m)
{
	const struct workload_dataset *d = &w->dataset;
	const struct rules_case c = {.w = w,
				     .accelerators = m->accelerators,
				     .hosts = m->hosts,
				     .memory_bytes = m->memory_bytes};
	char n[REEL_NUM], a[REEL_NUM], b[REEL_NUM], ranks[REEL_NUM];
	char memory[REEL_NUM];
	double by_steps, by_memory;
	double least = rules_samples_least(&c, &by_steps, &by_memory);
	double files = ceil(least / (double)d->samples_per_file);

	printf("MLPerf       %s samples at least: %s by steps of %s "
	       "accelerator%s, %s by %s of memory on %" PRId64 " host%s\n",
	       reel_num_count(n, (int64_t)least),
	       reel_num_count(a, (int64_t)by_steps),
	       reel_num_count(ranks, m->accelerators),
	       m->accelerators == 1 ? "" : "s",
	       reel_num_count(b, (int64_t)by_memory),
	       reel_num_size(memory, (double)m->memory_bytes), m->hosts,
	       m->hosts == 1 ? "" : "s");
	if (files <= (double)d->files)
		printf("             the data set is large enough\n");
	else
		printf("             %s files, %s: ioreel workload set %s "
		       "dataset.files=%.0f\n",
		       reel_num_count(n, (int64_t)files),
		       reel_num_bytes(a, files * file_bytes(d)), path, files);
}

static void print_files(const char *part, int64_t files, int64_t samples,
			double bytes)
{
	char n[REEL_NUM], k[REEL_NUM], all[REEL_NUM];

	printf("%-12s %s file%s of %s sample%s, %s", part,
	       reel_num_count(n, files), files == 1 ? "" : "s",
	       reel_num_count(k, samples), samples == 1 ? "" : "s",
	       reel_num_bytes(all, bytes));
}

/* gen makes the files of evaluations also where no epoch has one. */
static void print_dataset(const struct workload *w)
{
	const struct workload_dataset *d = &w->dataset;
	const struct workload_evaluation *e = &w->evaluation;
	double train = file_bytes(d) * (double)d->files;
	double valid = evaluation_file_bytes(w) * (double)e->files;
	char all[REEL_NUM];

	print_files("data set", d->files, d->samples_per_file, train);
	if (e->files) {
		putchar('\n');
		print_files("evaluation", e->files, e->samples_per_file, valid);
		printf("; %s in all", reel_num_bytes(all, train + valid));
	}
	putchar('\n');
}

static int print_checkpoint(const struct workload *w, const struct machines *m,
			    struct reel_error *err)
{
	const struct workload_checkpoint *c = &w->checkpoint;
	double sum = 0, least = INFINITY, most = 0;
	char all[REEL_NUM], a[REEL_NUM], b[REEL_NUM], written[REEL_NUM];

	for (int64_t rank = 0; rank < m->accelerators; rank++) {
		double bytes;

		if (checkpoint_rank_bytes(c, rank, m->accelerators, &bytes,
					  err))
			return -1;
		sum += bytes;
		least = fmin(least, bytes);
		most = fmax(most, bytes);
	}
	reel_num_bytes(a, least);
	reel_num_bytes(b, most);
	printf("checkpoint   %s of %" PRId64 " rank%s, %s%s%s each",
	       reel_num_bytes(all, sum), m->accelerators,
	       m->accelerators == 1 ? "" : "s", a, strcmp(a, b) ? " to " : "",
	       strcmp(a, b) ? b : "");
	if (c->writes)
		printf("; %" PRId64 " are written: %s", c->writes,
		       reel_num_bytes(written, sum * (double)c->writes));
	putchar('\n');
	return 0;
}

static int size(const char *path, struct machines *m)
{
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, NULL, &err);

	if (!m->accelerators)
		m->accelerators = w.ranks ? w.ranks : 1;
	if (!m->hosts)
		m->hosts = 1;
	if (!m->memory_bytes)
		m->memory_bytes = rules_host_memory();
	if (!rc && w.epochs) {
		print_dataset(&w);
		print_least(&w, path, m);
	}
	if (!rc && (w.checkpoint.files_n || w.checkpoint.transformer.layers))
		rc = print_checkpoint(&w, m, &err);
	if (!rc && w.kvcache.users)
		printf("objects      of %" PRId64 " users of each rank, made "
		       "and removed by ioreel run\n",
		       w.kvcache.users);
	workload_fini(&w);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

/* --- import, export ------------------------------------------------------- */

static int import(const char *path, const char *output)
{
	struct reel_buf notes = REEL_BUF_INIT, text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = dlio_import(&w, path, &notes, &err);

	if (!rc)
		rc = workload_write(&w, &text, &err) ||
		     reel_output_write(&text, output, &err);
	if (!rc && notes.len) {
		char *line = notes.data, *end;

		for (; (end = strchr(line, '\n')); line = end + 1)
			fprintf(stderr, "ioreel workload: %s: %.*s\n", path,
				(int)(end - line), line);
	}
	workload_fini(&w);
	reel_buf_fini(&notes);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

#define EXPORTS "dlio|fio|ior"

static int export(const char *path, int as, const char *output)
{
	static int (*const formats[])(
		const struct workload *, struct reel_buf *,
		struct reel_error *) = {dlio_export, export_fio, export_ior};
	struct reel_buf text = REEL_BUF_INIT;
	struct reel_error err = {0};
	struct workload w;
	int rc = workload_read(&w, path, NULL, &err);

	if (!rc)
		rc = formats[as](&w, &text, &err) ||
		     reel_output_write(&text, output, &err);
	workload_fini(&w);
	reel_buf_fini(&text);
	return rc ? reel_cli_fail(&cmd_workload, &err) : 0;
}

/* --- the verbs ------------------------------------------------------------ */

struct words {
	char **word;
	int n, as;
	const char *output;
	struct machines machines;
};

static int run_check(struct words *w)
{
	return check(w->word[0]);
}

static int run_set(struct words *w)
{
	return set(w->word[0], w->n - 1, w->word + 1);
}

static int run_size(struct words *w)
{
	return size(w->word[0], &w->machines);
}

static int run_keys(struct words *w)
{
	print_keys(workload_keys, "");
	return w->n;
}

static int run_import(struct words *w)
{
	return import(w->word[0], w->output);
}

static int run_export(struct words *w)
{
	return export(w->word[0], w->as, w->output);
}

static const struct verb {
	const char *name, *takes;
	int least, most; /* words */
	int (*run)(struct words *w);
} verbs[] = {
	{"check", "a workload", 1, 1, run_check},
	{"set", "a workload and KEY=VALUE", 2, INT_MAX, run_set},
	{"size", "a workload", 1, 1, run_size},
	{"keys", "no words", 0, 0, run_keys},
	{"import", "a YAML file of DLIO", 1, 1, run_import},
	{"export", "a workload and --as " EXPORTS, 1, 1, run_export},
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* An option of another verb would be ignored. */
static const char *foreign_option(const struct verb *v, const struct words *w)
{
	if (w->as >= 0 && v->run != run_export)
		return "--as is only of export";
	if (w->output && v->run != run_export && v->run != run_import)
		return "-o is only of import and export";
	if ((w->machines.accelerators || w->machines.hosts ||
	     w->machines.memory_bytes) &&
	    v->run != run_size)
		return "--accelerators, --hosts and --memory are only of size";
	return NULL;
}

static int run(int argc, char **argv)
{
	struct words w = {.as = -1};
	const char *why;
	const struct verb *v;
	int first;
	struct reel_opt opts[] = {
		{"as", 0, REEL_OPT_CHOICE, &w.as, EXPORTS,
		 "the benchmark to export for", 0, 0},
		{"output", 'o', REEL_OPT_TEXT, &w.output, "FILE",
		 "import, export: write to FILE", 0, 0},
		{"accelerators", 0, REEL_OPT_INT, &w.machines.accelerators, "N",
		 "size: ranks (default: those of the workload, or 1)", 1,
		 1000000},
		{"hosts", 0, REEL_OPT_INT, &w.machines.hosts, "N",
		 "size: hosts (default: 1)", 1, 1000000},
		{"memory", 0, REEL_OPT_SIZE, &w.machines.memory_bytes, "SIZE",
		 "size: memory of a host, as 256G (default: as here)", 0, 0},
		{0},
	};

	first = reel_cli_parse(&cmd_workload, opts, false, argc, argv);
	if (first < 0)
		return first == -2 ? 0 : 2;
	v = find_verb(argv[first]);
	if (!v)
		return reel_cli_usage(&cmd_workload,
				      "one of check, set, size, keys, import "
				      "and export is needed");
	w.word = argv + first + 1;
	w.n = argc - first - 1;
	if (w.n < v->least || w.n > v->most ||
	    (v->run == run_export && w.as < 0))
		return reel_cli_usage(&cmd_workload, "%s takes %s", v->name,
				      v->takes);
	why = foreign_option(v, &w);
	if (why)
		return reel_cli_usage(&cmd_workload, "%s", why);
	return v->run(&w);
}
