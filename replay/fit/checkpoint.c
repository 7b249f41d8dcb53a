/* SPDX-License-Identifier: MIT */
/* Checkpoints: their layout, sizes and times, by the writes to their files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/fit/saves.h"
#include "replay/pipeline/checkpoint_layout.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

#define KEY_MOST 64
#define FILES_MOST 32	      /* of a checkpoint; each has seven reasons */
#define SERIES_MOST 65536     /* tensors */
#define WRITES_MOST 4096      /* of a plain file, in their order */
#define WRITE_MOST 0x7ffff000 /* bytes of a call: Linux cuts larger ones */

/* --- keys ----------------------------------------------------------------- */

/* The sizes of the writes of a file. */
static int read_writes(struct fit *f, const struct fit_group *g,
		       int64_t **write, uint32_t *n)
{
	struct reel_view v;
	int64_t last = 0;
	uint32_t room = 0;
	int rc = 0;

	if (!reel_view_open(&v, f->st,
			    "SELECT bytes, open_id FROM v_event WHERE class = "
			    "'checkpoint' AND call_group = 'write' AND bytes > "
			    "0 AND process_id = ?1 ORDER BY "
			    "start_ns",
			    f->err)) {
		reel_view_bind(&v, 1, g->process_id);
		while (!rc && reel_view_next(&v)) {
			int64_t bytes = reel_view_int(&v, "bytes");

			if (reel_view_exact(&v, "open_id") != g->open_id)
				continue;
			if (last == WRITE_MOST) {
				(*write)[*n - 1] += bytes;
			} else {
				rc = reel_array_reach(write, &room, *n,
						      sizeof(**write), f->err);
				if (!rc)
					(*write)[(*n)++] = bytes;
			}
			last = bytes;
		}
	}
	return reel_view_close(&v) || rc ? -1 : 0;
}

static const char *key_of(char key[KEY_MOST], uint32_t i, const char *name)
{
	snprintf(key, KEY_MOST, "checkpoint.files[%u].%s", i, name);
	return key;
}

/* The release of torch whose records those of the version @v are. */
static int release_of(const char *v)
{
	int major = 0, minor = 0;

	sscanf(v, "%d.%d", &major, &minor);
	return major > 2 || (major == 2 && minor >= 7) ? WORKLOAD_TORCH_2_7
	       : major == 2 && minor >= 1	       ? WORKLOAD_TORCH_2_1
						       : WORKLOAD_TORCH_1_6;
}

/* That of the process, by the note of its hooks. */
static int read_release(struct fit *f, const struct fit_group *g, int *release,
			bool *noted)
{
	struct reel_view v;

	*noted = false;
	if (!reel_view_open(&v, f->st,
			    "SELECT value FROM note WHERE key = 'framework' "
			    "AND value LIKE 'PyTorch %' AND process_id = ?1",
			    f->err)) {
		reel_view_bind(&v, 1, g->process_id);
		if (reel_view_next(&v)) {
			*release = release_of(reel_view_text(&v, "value") +
					      strlen("PyTorch "));
			*noted = true;
		}
	}
	return reel_view_close(&v);
}

static int fit_form(struct fit *f, const struct torch_form *form,
		    const struct torch_seen *seen, bool noted, uint32_t i)
{
	char key[KEY_MOST];

	return fit_reason(f, key_of(key, i, "release"),
			  noted		  ? 0.99
			  : seen->release ? 0.8
					  : 0.3,
			  noted ? "the version that torch has noted"
			  : seen->release
				  ? "its records fill the zip file's directory"
				  : "the records are not seen in the writes") ||
	       fit_reason(f, key_of(key, i, "stream"),
			  seen->stream ? 0.95 : 0.5,
			  !seen->stream
				  ? "a longer buffer makes the same writes, as "
				    "all parts are too large or too small"
			  : form->stream == WORKLOAD_STREAM_13
				  ? "no write but the last is shorter than the "
				    "buffer, as from libstdc++ 13 on"
				  : "writes are shorter than the buffer, as up "
				    "to libstdc++ 12");
}

/* The writes of the first file in their order; of many, or equal ones, the sizes. Files
 * of one write each need none. */
static int fit_writes(struct fit *f, const struct fit_group *g,
		      struct workload_checkpoint_file *file, int64_t *write,
		      uint32_t n)
{
	uint32_t same = 1;

	file->layout = WORKLOAD_PLAIN_FILE;
	if (g->writes == g->files)
		return 0;
	while (same < n && write[same] == write[0])
		same++;
	if (same == n || n > WRITES_MOST)
		return quantiles_of(&file->write_bytes, write, n, FIT_QUANTILES,
				    f->err);
	for (uint32_t i = 0; i < n; i++) {
		if (write[i] < 1)
			continue;
		if (reel_grow(&file->series_bytes, file->series_bytes_n + 1,
			      sizeof(*write), f->err))
			return -1;
		file->series_bytes[file->series_bytes_n++] = write[i];
	}
	return 0;
}

/* The tensors of the first file, so that torch.save() makes its @n writes. */
static int fit_tensors(struct fit *f, uint32_t n, const struct torch_form *form,
		       const struct torch_seen *seen, bool noted, uint32_t i,
		       struct workload_checkpoint_file *file)
{
	char key[KEY_MOST];

	memcpy(file->archive, form->archive, sizeof(file->archive));
	file->pickle_bytes = form->pickle_bytes;
	file->directory_bytes = form->directory_bytes;
	file->release = form->release;
	file->stream = form->stream;
	file->bytes = 0;
	for (uint32_t k = 0; k < file->series_bytes_n; k++)
		file->bytes += file->series_bytes[k];
	snprintf(key, sizeof(key), "checkpoint.files[%u].series_bytes", i);
	return fit_reason(f, key, 0.9,
			  "%u writes of the first file; a tensor without a "
			  "write of its own counts as part of the next one",
			  n) ||
	       fit_form(f, form, seen, noted, i);
}

/* A file by writev: the archive of torch.save(), or what makes its writes. */
static int fit_archive(struct fit *f, const struct fit_group *g, uint32_t i,
		       struct workload_checkpoint_file *file)
{
	struct torch_form form = {.archive = g->archive};
	int64_t *write = NULL, *tensor = NULL, tensors = 0;
	struct torch_seen seen;
	char key[KEY_MOST];
	bool noted;
	uint32_t n = 0;
	int rc = read_release(f, g, &form.release, &noted) ||
		 read_writes(f, g, &write, &n);

	key_of(key, i, "layout");
	seen.release = noted;
	if (!rc && n)
		tensors = torch_tensors_of(&form, write, n, &tensor, &seen,
					   f->err);
	if (rc || tensors < 0) {
		rc = -1;
	} else if (n && (!tensors || tensors > SERIES_MOST)) {
		free(tensor);
		rc = fit_writes(f, g, file, write, n) ||
		     fit_reason(f, key, 0.5,
				"torch.save() does not make the %u writes of "
				"the first file; writes of their sizes stand "
				"for them",
				n);
	} else {
		file->layout = WORKLOAD_TORCH;
		file->series_bytes = tensor;
		file->series_bytes_n = (uint32_t)tensors;
		rc = fit_reason(f, key, 0.9,
				"%lld of %lld files were written by writev, "
				"as torch.save() does",
				(long long)g->torch, (long long)g->files) ||
		     (n && fit_tensors(f, n, &form, &seen, noted, i, file));
	}
	free(write);
	return rc ? -1 : 0;
}

static int fit_layout(struct fit *f, const struct fit_group *g, uint32_t i,
		      struct workload_checkpoint_file *file)
{
	int64_t *write = NULL;
	char key[KEY_MOST];
	uint32_t n = 0;

	if (g->torch * 2 > g->files)
		return fit_archive(f, g, i, file);
	key_of(key, i, "layout");
	if (g->tensorflow * 2 > g->files) {
		file->layout = WORKLOAD_TENSORFLOW;
		return fit_reason(f, key, 0.95,
				  "%lld of %lld files are data shards of "
				  "TensorFlow; the sizes of its tensors are "
				  "not seen in its calls",
				  (long long)g->tensorflow,
				  (long long)g->files);
	}
	if (read_writes(f, g, &write, &n) || fit_writes(f, g, file, write, n)) {
		free(write);
		return -1;
	}
	free(write);
	return fit_reason(f, key, 0.6,
			  "neither torch.save() nor TensorFlow; %lld writes of "
			  "%lld files",
			  (long long)g->writes, (long long)g->files);
}

/* Names of files of which each rank writes a part: those of DeepSpeed's ZeRO, of
 * PyTorch's distributed checkpoints, of Megatron's ranks. */
static bool is_shard_name(const char *path)
{
	static const char *const part[] = {"zero_pp_rank", "distcp", "rank",
					   "shard", "-of-"};
	const char *name = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (strstr(name ? name : path, part[i]))
			return true;
	return false;
}

/* One rank, or each: with a file of its own, or with a part of one. */
static int fit_owner(struct fit *f, const struct fit_group *g, uint32_t i,
		     struct workload_checkpoint_file *file)
{
	bool all = f->ranks > 1 && g->writers >= f->ranks;
	bool shard = all && is_shard_name(g->name);
	char key[KEY_MOST];

	file->owner = shard ? WORKLOAD_SHARD
		      : all ? WORKLOAD_ALL
			    : WORKLOAD_ROOT;
	if (shard)
		file->bytes *= f->ranks;
	return fit_reason(f, key_of(key, i, "owner"),
			  shard		    ? 0.8
			  : all		    ? 0.6
			  : g->writers == 1 ? 0.9
					    : 0.4,
			  "%lld of %lld ranks wrote%s", (long long)g->writers,
			  (long long)f->ranks,
			  shard ? ", with names of shards"
			  : all ? "; whether these are shards is not seen"
				: "");
}

static int fit_calls(struct fit *f, const struct fit_saves *s, uint32_t i,
		     struct workload_checkpoint_file *file)
{
	bool tensorflow = file->layout == WORKLOAD_TENSORFLOW;
	const struct fit_group *g = &s->group[i];
	char key[KEY_MOST];

	/* Other descriptions may sync a file, and a folder be renamed. */
	file->fsync = 2 * g->syncs > g->files || s->syncs >= s->files;
	file->rename = !tensorflow &&
		       (2 * g->renames > g->files || s->renames >= s->files);
	return fit_reason(
		       f, key_of(key, i, "fsync"),
		       !s->syncs || file->fsync ? 0.95
		       : g->syncs		? 0.5
						: 0.8,
		       "%lld of %lld files are synced, with %lld syncs in all",
		       (long long)g->syncs, (long long)g->files,
		       (long long)s->syncs) ||
	       fit_reason(
		       f, key_of(key, i, "rename"),
		       !s->renames || file->rename || tensorflow ? 0.95
		       : g->renames				 ? 0.5
								 : 0.8,
		       "%lld of %lld files are renamed, with %lld renames in "
		       "all",
		       (long long)g->renames, (long long)g->files,
		       (long long)s->renames);
}

/* Files that are not in each checkpoint, as those of the best model: their group has
 * half of the checkpoints at least. */
static int fit_share(struct fit *f, const struct fit_saves *s, uint32_t i,
		     struct workload_checkpoint_file *file)
{
	const struct fit_group *g = &s->group[i];
	char key[KEY_MOST];

	file->share = 1;
	if (g->own >= s->saves || g->own * g->writers != g->files)
		return 0;
	file->share = (double)g->own / (double)s->saves;
	return fit_reason(f, key_of(key, i, "share"), 0.7,
			  "%lld of %lld checkpoints have it; which of them is "
			  "not kept",
			  (long long)g->own, (long long)s->saves);
}

static int fit_file(struct fit *f, const struct fit_saves *s, uint32_t i)
{
	struct workload_checkpoint *c = &f->w->checkpoint;
	const struct fit_group *g = &s->group[i];
	struct workload_checkpoint_file *file;
	char key[KEY_MOST];

	if (reel_grow(&c->files, c->files_n + 1, sizeof(*c->files), f->err))
		return -1;
	file = &c->files[c->files_n++];
	memset(file, 0, sizeof(*file));
	file->bytes = g->bytes / g->files;
	file->count = (g->own + s->saves / 2) / s->saves;
	if (file->count < 1)
		file->count = 1;
	return fit_share(f, s, i, file) || fit_layout(f, g, i, file) ||
	       fit_owner(f, g, i, file) || fit_calls(f, s, i, file) ||
	       fit_reason(f, key_of(key, i, "count"),
			  g->own % s->saves ? 0.5 : 0.8,
			  "a process wrote %lld of these in %lld checkpoints",
			  (long long)g->own, (long long)s->saves);
}

static int fit_after_evaluation(struct fit *f, const struct fit_saves *s)
{
	if (!s->evaluated)
		return 0;
	f->w->checkpoint.after_evaluation = 2 * s->evaluated > s->saves;
	return fit_reason(f, "checkpoint.after_evaluation", 0.9,
			  "in %lld of %lld checkpoints the last step comes "
			  "before an evaluation",
			  (long long)s->evaluated, (long long)s->saves);
}

/* Steps or epochs between two checkpoints; where they are not regular, as if they were
 * evenly spread. */
static int fit_interval(struct fit *f, const struct fit_saves *s)
{
	struct workload_checkpoint *c = &f->w->checkpoint;
	int64_t between, epoch = f->steps_of_epoch, epochs;
	int64_t all = f->epochs * epoch; /* of the benchmark */

	if (fit_steps_between(f, s->step, s->steps, &between))
		return -1;
	/* A step from an end is near it: of fewer steps each one would be. */
	epochs = epoch > 3 ? (between + epoch / 2) / epoch : 0;
	if (f->epochs > 1 && epochs > 0 && f->epochs / epochs == s->saves &&
	    fit_at_ends(f, s->step, s->steps)) {
		c->every_epochs = epochs;
		if (fit_after_evaluation(f, s))
			return -1;
		return fit_reason(f, "checkpoint.every_epochs", 0.9,
				  "%lld saves at ends of epochs, %lld from one "
				  "to the next as a rule",
				  (long long)s->saves, (long long)epochs);
	}
	/* Its epochs of equal steps give the benchmark some more of them. */
	if (between > 0 && all / between == s->saves + 1 &&
	    all % between < f->epochs)
		between += 1;
	if (between > 0 && all / between == s->saves) {
		c->every_steps = between;
		return fit_reason(f, "checkpoint.every_steps", 0.9,
				  "%lld saves, %lld steps from one to the next "
				  "as a rule",
				  (long long)s->saves, (long long)between);
	}
	if (f->epochs > 1 && f->epochs % s->saves == 0) {
		c->every_epochs = f->epochs / s->saves;
		return fit_reason(f, "checkpoint.every_epochs", 0.6,
				  "%lld saves in %lld epochs",
				  (long long)s->saves, (long long)f->epochs);
	}
	c->every_steps = f->steps / s->saves > 0 ? f->steps / s->saves : 1;
	return fit_reason(f, "checkpoint.every_steps", 0.6,
			  "%lld saves in %lld steps", (long long)s->saves,
			  (long long)f->steps);
}

/* Checkpoints that are removed: those that stay, as a rule, behind the last removal
 * before a write. */
static int fit_removals(struct fit *f, const struct fit_saves *s)
{
	int64_t *left, files, removed;
	uint32_t n;

	if (fit_column(f,
		       "WITH at AS (SELECT min(start_ns) AS ns, path, 1 AS "
		       "change FROM v_event WHERE class = 'checkpoint' AND "
		       "call_group = 'write' AND bytes > 0 GROUP BY path UNION "
		       "ALL SELECT max(start_ns), path, -1 FROM v_event WHERE "
		       "class = 'checkpoint' AND call IN ('unlink', "
		       "'unlinkat', 'remove') AND errno = 0 GROUP BY path), "
		       "alive AS (SELECT ns, change, sum(change) OVER (ORDER "
		       "BY ns) AS files, lead(change, 1, 1) OVER (ORDER BY "
		       "ns) AS later FROM at WHERE path IN (SELECT path FROM "
		       "at WHERE change = 1)) SELECT files AS ns FROM alive "
		       "WHERE change < 0 AND later > 0",
		       &left, &n) ||
	    fit_ask(f,
		    "SELECT count(DISTINCT path) FROM v_event WHERE class = "
		    "'checkpoint' AND call IN ('unlink', 'unlinkat', 'remove') "
		    "AND errno = 0",
		    0, &removed)) {
		free(left);
		return -1;
	}
	files = fit_median(left, n);
	free(left);
	if (!n || files < 1)
		return 0;
	f->w->checkpoint.keep = (files * s->saves + s->files - 1) / s->files;
	return fit_reason(f, "checkpoint.keep", 0.7,
			  "%lld of %lld checkpoint files were removed, and "
			  "%lld stayed behind a removal, as a rule",
			  (long long)removed, (long long)s->files,
			  (long long)files);
}

/* Checkpoints that are written over earlier ones. Renames hide which those are. */
static int fit_keep(struct fit *f, const struct fit_saves *s)
{
	int64_t paths;

	if (fit_ask(f,
		    "SELECT count(*) FROM v_file WHERE class = 'checkpoint' "
		    "AND write_bytes > 0",
		    0, &paths))
		return -1;
	if (s->renames)
		return 0;
	if (paths <= 0 || paths > s->files / 2)
		return fit_removals(f, s);
	f->w->checkpoint.keep = (paths * s->saves + s->files - 1) / s->files;
	return fit_reason(f, "checkpoint.keep", 0.8,
			  "%lld checkpoint files were written to %lld paths",
			  (long long)s->files, (long long)paths);
}

/* Files that the benchmark does not write. */
static int say_seldom(struct fit *f, const struct fit_saves *s)
{
	const char *name = strrchr(s->seldom_name, '/');

	if (!s->seldom)
		return 0;
	return fit_reason(
		f, "checkpoint.files", 0.5,
		"left out: %lld %s of %lld bytes in all, as '%s', in "
		"less than half of %lld checkpoints",
		(long long)s->seldom, s->seldom == 1 ? "file" : "files",
		(long long)s->seldom_bytes, name ? name + 1 : s->seldom_name,
		(long long)s->saves);
}

static int fit_groups(struct fit *f, struct fit_saves *s)
{
	if (say_seldom(f, s))
		return -1;
	for (uint32_t i = 0; i < s->groups && i < FILES_MOST; i++)
		if (fit_file(f, s, i))
			return -1;
	f->w->checkpoint.background = 2 * s->background > s->saves;
	if (fit_reason(
		    f, "checkpoint.background",
		    s->background && s->background < s->saves ? 0.5 : 0.8,
		    "in %lld of %lld checkpoints steps begin before the last "
		    "file is written",
		    (long long)s->background, (long long)s->saves))
		return -1;
	if (s->work_ns > 0)
		f->w->checkpoint.work_ns = s->work_ns;
	/* Sleeping needs no processor. */
	if (s->work_ns > 0 && f->w->compute.on == WORKLOAD_PROCESSOR)
		fit_work(f, &f->w->checkpoint.work_ns, 1);
	return (s->work_ns < 0
			? fit_reason(f, "checkpoint.work_ns", 0,
				     "no marked checkpoint writes")
			: fit_reason(f, "checkpoint.work_ns",
				     f->busy ? 0.4 : 0.7,
				     "median of the marked checkpoints without "
				     "their calls%s",
				     fit_busy_words(f))) ||
	       fit_keep(f, s) || fit_interval(f, s);
}

/* No file of a checkpoint was written: is the job without checkpoints, or does the
 * recording lack their writes? */
static int fit_no_saves(struct fit *f)
{
	int64_t marked;

	if (fit_ask(f, "SELECT count(*) FROM v_span WHERE name = 'checkpoint'",
		    0, &marked))
		return -1;
	if (marked > 0)
		return fit_reason(f, "checkpoint", 0,
				  "%lld %s marked, but the recording has no "
				  "write of %s",
				  (long long)marked,
				  marked == 1 ? "checkpoint was"
					      : "checkpoints were",
				  marked == 1 ? "it" : "them");
	return fit_reason(f, "checkpoint", 0.9, "no checkpoint was written");
}

/* A benchmark with epochs reads no checkpoint, as a job does that resumes. */
static int say_reads(struct fit *f)
{
	struct reel_view v;
	int64_t files = 0, bytes = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path, read_bytes FROM v_file WHERE kind = "
		    "'file' AND class = 'checkpoint' AND read_bytes > 0",
		    f->err))
		while (reel_view_next(&v)) {
			if (fit_find(f, reel_view_text(&v, "path")))
				continue;
			files++;
			bytes += reel_view_int(&v, "read_bytes");
		}
	if (reel_view_close(&v))
		return -1;
	return !files ? 0
		      : fit_reason(f, "checkpoint.reads", 0.9,
				   "left out: the job read %lld bytes of %lld "
				   "checkpoint file%s, as to resume",
				   (long long)bytes, (long long)files,
				   files == 1 ? "" : "s");
}

int fit_checkpoints(struct fit *f)
{
	struct fit_saves s = {0};
	int rc = fit_find_saves(f, &s) ||
		 (s.files ? fit_groups(f, &s) : fit_no_saves(f)) ||
		 say_reads(f);

	fit_saves_fini(&s);
	return rc ? -1 : 0;
}
