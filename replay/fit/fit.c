/* SPDX-License-Identifier: MIT */
/* A workload from a recorded job. */
#include "replay/fit/fit.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

int fit_reason(struct fit *f, const char *key, double confidence,
	       const char *fmt, ...)
{
	struct workload *w = f->w;
	struct workload_reason *r;
	uint32_t at = 0;
	va_list args;

	while (at < w->fit_n && strcmp(w->fit[at].key, key) != 0)
		at++;
	/* Some twenty in all: one more each time costs nothing. */
	if (at == w->fit_n &&
	    reel_grow(&w->fit, w->fit_n + 1, sizeof(*w->fit), f->err))
		return -1;
	r = &w->fit[at];
	w->fit_n += at == w->fit_n;
	memset(r, 0, sizeof(*r));
	snprintf(r->key, sizeof(r->key), "%s", key);
	r->confidence = confidence;
	va_start(args, fmt);
	vsnprintf(r->reason, sizeof(r->reason), fmt, args);
	va_end(args);
	return 0;
}

/* The bytes of mappings are no calls, and not exact. */
static void keep_job(struct fit *f)
{
	struct workload_job *job = &f->w->job;

	job->steps = f->steps;
	if (f->maps || job->steps < 1 || job->read_calls < 1)
		*job = (struct workload_job){0};
}

/* The last part of the job's name, with the characters of a name. */
static int fit_name(struct fit *f)
{
	struct reel_view v;
	char *out = f->w->name;
	size_t n = 0;

	if (!reel_view_open(&v, f->st, "SELECT name FROM run", f->err) &&
	    reel_view_next(&v)) {
		const char *s = reel_view_text(&v, "name");
		const char *last = strrchr(s, '/');

		for (s = last ? last + 1 : s; *s && n < WORKLOAD_NAME - 1;
		     s++, n++)
			out[n] = isalnum((unsigned char)*s) || (n && *s == '.')
					 ? *s
					 : '-';
	}
	if (!n)
		memcpy(out, "job", 4);
	else
		out[n] = '\0';
	return reel_view_close(&v);
}

static void fit_fini(struct fit *f)
{
	for (uint32_t i = 0; i < f->files + f->evaluated; i++)
		free(f->file[i].path);
	free(f->file);
	free(f->visit);
	fit_own_loop_fini(f);
	free(f->evaluation.start_ns);
	free(f->evaluation.end_ns);
}

int workload_fit(struct workload *w, struct reel_store *st,
		 struct reel_error *err)
{
	struct fit f = {.st = st, .w = w, .err = err};
	int rc = fit_name(&f) || fit_files(&f) || fit_visits(&f) ||
		 fit_part_evaluations(&f) || fit_file_keys(&f) ||
		 fit_steps(&f) || fit_memory(&f) || fit_samples(&f) ||
		 fit_metadata(&f) || fit_compression(&f) || fit_pipeline(&f) ||
		 fit_compute(&f) || fit_evaluation(&f) || fit_checkpoints(&f);

	keep_job(&f);
	fit_fini(&f);
	return rc ? -1 : 0;
}
