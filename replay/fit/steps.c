/* SPDX-License-Identifier: MIT */
/* Epochs, steps, their computation, and checkpoints. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define SERIES_MOST 4096 /* steps whose order is kept */

/* One integer of a query; @otherwise when there is none. */
static int ask(struct fit *f, const char *sql, int64_t otherwise, int64_t *out)
{
	bool has;

	if (reel_store_int(f->st, sql, out, &has, f->err))
		return -1;
	if (!has)
		*out = otherwise;
	return 0;
}

int fit_steps(struct fit *f)
{
	struct workload *w = f->w;
	int64_t steps;

	if (ask(f, "SELECT count(*) FROM v_rank", 0, &f->ranks) ||
	    ask(f, "SELECT min(rank) FROM v_rank WHERE steps > 0", 0,
		&f->first_rank) ||
	    ask(f,
		"SELECT count(*) FROM v_step WHERE rank = "
		"(SELECT min(rank) FROM v_rank WHERE steps > 0)",
		0, &steps) ||
	    ask(f,
		"SELECT count(*) FROM v_epoch WHERE steps > 0 AND rank = "
		"(SELECT min(rank) FROM v_rank WHERE steps > 0)",
		0, &f->epochs))
		return -1;
	f->steps = steps;
	if (!f->epochs && f->visits)
		f->epochs = f->visits / f->files;
	if (f->epochs < 1)
		f->epochs = 1;
	f->steps_of_epoch = steps ? (steps + f->epochs - 1) / f->epochs : 0;
	w->ranks = f->ranks;
	w->epochs = f->epochs;
	if (!steps)
		return fit_reason(f, "epochs", 0.3,
				  "no steps were marked: the number of times "
				  "that each file was read") ||
		       fit_reason(f, "ranks", f->ranks ? 0.9 : 0,
				  "processes of the job");
	return fit_reason(f, "epochs", 0.95,
			  "epochs that the framework marked") ||
	       fit_reason(f, "ranks", 0.95, "processes that step");
}

/* --- computation ---------------------------------------------------------- */

int fit_compute(struct fit *f)
{
	struct workload_compute *c = &f->w->compute;
	int64_t *value = NULL;
	uint32_t n = 0, room = 0;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(&v, f->st,
			    "SELECT compute_ns FROM v_step WHERE rank = ?1 AND "
			    "steady AND compute_ns IS NOT NULL "
			    "ORDER BY start_ns",
			    f->err)) {
		reel_view_bind(&v, f->first_rank);
		while (!rc && reel_view_next(&v)) {
			rc = reel_array_reach(&value, &room, n, sizeof(*value),
					      f->err);
			if (!rc)
				value[n++] = reel_view_int(&v, "compute_ns");
		}
	}
	if (reel_view_close(&v) || rc)
		goto fail;
	c->on = WORKLOAD_SLEEP;
	if (!n) {
		free(value);
		return fit_reason(f, "compute.step_ns", 0,
				  "no step says how long it computed");
	}
	c->series_ns_n = n < SERIES_MOST ? n : SERIES_MOST;
	c->series_ns = reel_alloc(c->series_ns_n, sizeof(*value), f->err);
	if (!c->series_ns)
		goto fail;
	memcpy(c->series_ns, value, c->series_ns_n * sizeof(*value));
	rc = quantiles_of(&c->step_ns, value, n, FIT_QUANTILES, f->err);
	free(value);
	return rc ||
	       fit_reason(f, "compute.step_ns", n >= 20 ? 0.9 : 0.6,
			  "%u steps, each without its wait for the batch", n);
fail:
	free(value);
	return -1;
}

/* --- checkpoints ---------------------------------------------------------- */

/* Steps between two checkpoints: their number, when they are evenly spread. */
static int fit_interval(struct fit *f, int64_t saves)
{
	struct workload_checkpoint *c = &f->w->checkpoint;

	if (f->epochs > 1 && saves == f->epochs) {
		c->every_epochs = 1;
		return fit_reason(f, "checkpoint.every_epochs", 0.8,
				  "as many saves as epochs");
	}
	c->every_steps = f->steps / (saves ? saves : 1);
	if (c->every_steps < 1)
		c->every_steps = 1;
	return fit_reason(f, "checkpoint.every_steps", 0.6,
			  "%lld saves in %lld steps", (long long)saves,
			  (long long)f->steps);
}

static int add_checkpoint_file(struct fit *f, struct reel_view *v,
			       int64_t saves)
{
	struct workload_checkpoint *c = &f->w->checkpoint;
	int64_t writes = reel_view_int(v, "writes");
	int64_t bytes = reel_view_int(v, "write_bytes");
	struct workload_checkpoint_file *file;

	if (reel_grow(&c->files, c->files_n + 1, sizeof(*c->files), f->err))
		return -1;
	file = &c->files[c->files_n++];
	memset(file, 0, sizeof(*file));
	file->owner = WORKLOAD_ROOT;
	file->count = 1;
	file->bytes = bytes / saves;
	file->fsync = reel_view_int(v, "syncs") > 0;
	file->rename = reel_view_int(v, "renames") > 0;
	if (writes <= saves)
		return 0;
	file->write_bytes.value = reel_alloc(1, sizeof(int64_t), f->err);
	if (!file->write_bytes.value)
		return -1;
	file->write_bytes.n = 1;
	file->write_bytes.value[0] = bytes / writes > 0 ? bytes / writes : 1;
	return 0;
}

/* A name that is written again and again is one file of each checkpoint; names
 * that differ are files of different ones, and their means stand for all. */
int fit_checkpoints(struct fit *f)
{
	int64_t saves, names;
	struct reel_view v;
	int rc = 0;

	if (ask(f, "SELECT count(*) FROM v_span WHERE name = 'checkpoint'", 0,
		&saves) ||
	    ask(f,
		"SELECT count(*) FROM v_file WHERE class = 'checkpoint' AND "
		"write_bytes > 0",
		0, &names))
		return -1;
	if (!names)
		return fit_reason(f, "checkpoint", 0.9,
				  "no checkpoint was written");
	if (!saves)
		saves = names;
	if (!reel_view_open(
		    &v, f->st,
		    "SELECT sum(write_bytes) AS write_bytes, sum(writes) AS "
		    "writes, (SELECT count(*) FROM v_event WHERE class = "
		    "'checkpoint' AND call_group = 'sync') AS syncs, (SELECT "
		    "count(*) FROM v_event WHERE class = 'checkpoint' AND call "
		    "LIKE 'rename%') AS renames FROM v_file WHERE class = "
		    "'checkpoint' AND write_bytes > 0",
		    f->err) &&
	    reel_view_next(&v))
		rc = add_checkpoint_file(f, &v, saves);
	if (reel_view_close(&v) || rc)
		return -1;
	return fit_interval(f, saves) ||
	       fit_reason(f, "checkpoint.files", names == 1 ? 0.9 : 0.5,
			  "%lld files were written in %lld saves",
			  (long long)names, (long long)saves);
}
