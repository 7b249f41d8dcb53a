/* SPDX-License-Identifier: MIT */
/* Checkpoints: their layout, files, sizes and times, by the writes to them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/quantiles.h"
#include "replay/workload/workload.h"

/* torch.save() writes a tensor from so many bytes on in a call of its own. */
#define TENSOR_LEAST 1024
#define NAME_MOST 256

/* Writes to files of checkpoints. */
struct saves {
	int64_t files;	 /* opened and written, without those of a layout */
	int64_t names;	 /* of them, without their numbers */
	int64_t writers; /* processes */
	int64_t bytes, writes;
	int64_t torch, tensorflow; /* of @files */
	int64_t syncs, renames, saves;
	char (*name)[NAME_MOST];
	uint32_t room;
};

/* @path without digits: one name for the files of all checkpoints. */
static void name_without_numbers(const char *path, char out[NAME_MOST])
{
	size_t n = 0;

	for (; *path && n < NAME_MOST - 1; path++)
		if (!isdigit((unsigned char)*path))
			out[n++] = *path;
	out[n] = '\0';
}

static int add_name(struct fit *f, struct saves *s, const char *path)
{
	char name[NAME_MOST];

	name_without_numbers(path, name);
	for (int64_t i = 0; i < s->names; i++)
		if (!strcmp(s->name[i], name))
			return 0;
	if (reel_array_reach(&s->name, &s->room, (uint32_t)s->names,
			     sizeof(*s->name), f->err))
		return -1;
	memcpy(s->name[s->names++], name, sizeof(name));
	return 0;
}

/* The index and the state beside the data are TensorFlow's own. */
static bool is_beside_data(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return strstr(name, ".index") || !strncmp(name, "checkpoint", 10);
}

static int count_files(struct fit *f, struct saves *s, bool tensorflow)
{
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path, sum(bytes) AS bytes, count(*) AS writes, "
		    "max(call = 'writev') AS vector FROM v_event WHERE class "
		    "= 'checkpoint' AND call_group = 'write' AND bytes > 0 "
		    "GROUP BY process_id, open_id, path",
		    f->err))
		while (!rc && reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			bool data = strstr(path, ".data-0") != NULL;

			if (tensorflow && is_beside_data(path) && !data)
				continue;
			s->files++;
			s->bytes += reel_view_int(&v, "bytes");
			s->writes += reel_view_int(&v, "writes");
			s->torch += !data && reel_view_int(&v, "vector") > 0;
			s->tensorflow += data;
			rc = add_name(f, s, path);
		}
	return reel_view_close(&v) || rc ? -1 : 0;
}

static int count_calls(struct fit *f, struct saves *s)
{
	return fit_ask(f,
		       "SELECT count(DISTINCT process_id) FROM v_event WHERE "
		       "class = 'checkpoint' AND call_group = 'write' AND "
		       "bytes > 0",
		       0, &s->writers) ||
	       fit_ask(f,
		       "SELECT count(*) FROM v_event WHERE class = "
		       "'checkpoint' AND call IN ('fsync', 'fdatasync')",
		       0, &s->syncs) ||
	       fit_ask(f,
		       "SELECT count(*) FROM v_event WHERE class = "
		       "'checkpoint' AND call LIKE 'rename%'",
		       0, &s->renames);
}

/* --- keys ----------------------------------------------------------------- */

/* Sizes of the calls that hold a tensor each. */
static int fit_tensors(struct fit *f, struct workload_checkpoint_file *file)
{
	int64_t *value = NULL;
	uint32_t n = 0, room = 0;
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(&v, f->st,
			    "SELECT bytes FROM v_event WHERE class = "
			    "'checkpoint' AND call = 'writev' AND bytes >= ?1",
			    f->err)) {
		reel_view_bind(&v, TENSOR_LEAST);
		while (!rc && reel_view_next(&v)) {
			rc = reel_array_reach(&value, &room, n, sizeof(*value),
					      f->err);
			if (!rc)
				value[n++] = reel_view_int(&v, "bytes");
		}
	}
	if (reel_view_close(&v))
		rc = -1;
	if (!rc && n)
		rc = quantiles_of(&file->tensor_bytes, value, n, FIT_QUANTILES,
				  f->err);
	free(value);
	return rc ||
	       fit_reason(f, "checkpoint.files[0].tensor_bytes", 0.7,
			  "sizes of %u writes; tensors below %d bytes share "
			  "one",
			  n, TENSOR_LEAST);
}

static int fit_layout(struct fit *f, const struct saves *s,
		      struct workload_checkpoint_file *file)
{
	if (s->tensorflow * 2 > s->files) {
		file->layout = WORKLOAD_TENSORFLOW;
		return fit_reason(f, "checkpoint.files[0].layout", 0.95,
				  "%lld of %lld files are data shards of "
				  "TensorFlow; the sizes of its tensors are "
				  "not seen in its calls",
				  (long long)s->tensorflow,
				  (long long)s->files);
	}
	if (s->torch * 2 > s->files) {
		file->layout = WORKLOAD_TORCH;
		return fit_reason(f, "checkpoint.files[0].layout", 0.9,
				  "%lld of %lld files were written by writev, "
				  "as torch.save() does",
				  (long long)s->torch, (long long)s->files) ||
		       fit_tensors(f, file);
	}
	file->write_bytes.value = reel_alloc(1, sizeof(int64_t), f->err);
	if (!file->write_bytes.value)
		return -1;
	file->write_bytes.n = 1;
	file->write_bytes.value[0] = s->bytes / s->writes;
	return fit_reason(f, "checkpoint.files[0].layout", 0.6,
			  "neither torch.save() nor TensorFlow; %lld writes of "
			  "%lld files",
			  (long long)s->writes, (long long)s->files);
}

/* Each rank, or one of them. */
static int fit_owner(struct fit *f, const struct saves *s,
		     struct workload_checkpoint_file *file)
{
	bool all = f->ranks > 1 && s->writers >= f->ranks;

	file->owner = all ? WORKLOAD_ALL : WORKLOAD_ROOT;
	return fit_reason(f, "checkpoint.files[0].owner",
			  all || s->writers == 1 ? 0.9 : 0.4,
			  "%lld of %lld ranks wrote%s", (long long)s->writers,
			  (long long)f->ranks,
			  all ? "; whether these are shards is not seen" : "");
}

static int fit_calls(struct fit *f, const struct saves *s,
		     struct workload_checkpoint_file *file)
{
	file->fsync = s->syncs >= s->files;
	file->rename =
		s->renames >= s->files && file->layout != WORKLOAD_TENSORFLOW;
	return fit_reason(f, "checkpoint.files[0].fsync",
			  !s->syncs || file->fsync ? 0.95 : 0.5,
			  "%lld syncs of %lld files", (long long)s->syncs,
			  (long long)s->files) ||
	       fit_reason(f, "checkpoint.files[0].rename",
			  !s->renames || file->rename || s->tensorflow ? 0.95
								       : 0.5,
			  "%lld renames of %lld files", (long long)s->renames,
			  (long long)s->files);
}

/* Steps or epochs between two checkpoints, as if they were evenly spread. */
static int fit_interval(struct fit *f, int64_t saves)
{
	struct workload_checkpoint *c = &f->w->checkpoint;

	if (f->epochs > 1 && f->epochs % saves == 0) {
		c->every_epochs = f->epochs / saves;
		return fit_reason(f, "checkpoint.every_epochs", 0.8,
				  "%lld saves in %lld epochs", (long long)saves,
				  (long long)f->epochs);
	}
	c->every_steps = f->steps / saves > 0 ? f->steps / saves : 1;
	return fit_reason(f, "checkpoint.every_steps", 0.6,
			  "%lld saves in %lld steps", (long long)saves,
			  (long long)f->steps);
}

static int fit_file(struct fit *f, struct saves *s)
{
	struct workload_checkpoint *c = &f->w->checkpoint;
	struct workload_checkpoint_file *file;
	int64_t each;

	if (reel_grow(&c->files, c->files_n + 1, sizeof(*c->files), f->err))
		return -1;
	file = &c->files[c->files_n++];
	memset(file, 0, sizeof(*file));
	file->count = s->names;
	if (fit_layout(f, s, file) || fit_owner(f, s, file) ||
	    fit_calls(f, s, file))
		return -1;
	each = s->names * (file->owner == WORKLOAD_ALL ? f->ranks : 1);
	s->saves = s->files / each > 0 ? s->files / each : 1;
	file->bytes = s->bytes / s->files;
	return fit_reason(f, "checkpoint.files[0].count",
			  s->files % each ? 0.5 : 0.8,
			  "%lld files with %lld names, numbers left out",
			  (long long)s->files, (long long)s->names);
}

int fit_checkpoints(struct fit *f)
{
	struct saves s = {0};
	int64_t data;
	int rc = fit_ask(f,
			 "SELECT count(*) FROM v_event WHERE class = "
			 "'checkpoint' AND call_group = 'write' AND path LIKE "
			 "'%.data-0%'",
			 0, &data) ||
		 count_files(f, &s, data > 0) || count_calls(f, &s);

	if (!rc)
		rc = s.files ? fit_file(f, &s) || fit_interval(f, s.saves)
			     : fit_reason(f, "checkpoint", 0.9,
					  "no checkpoint was written");
	free(s.name);
	return rc ? -1 : 0;
}
