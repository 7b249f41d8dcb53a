/* SPDX-License-Identifier: MIT */
/* The mark of a data set's folder: which data set it is. */
#include "replay/generate/mark.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "replay/generate/generate.h"
#include "replay/workload/workload.h"

/* The keys that decide about the bytes. */
static json_t *identity(const struct workload *w, struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	json_t *doc = NULL, *id = NULL, *dataset, *evaluation, *sizes;

	if (!workload_write(w, &text, err))
		doc = json_loadb(reel_buf_text(&text), text.len, 0, NULL);
	reel_buf_fini(&text);
	if (!doc)
		return NULL;
	dataset = json_object_get(doc, "dataset");
	evaluation = json_object_get(doc, "evaluation");
	/* Only where they are given, so that older marks stay valid. */
	if (!w->dataset.chunk_samples)
		json_object_del(dataset, "chunk_samples");
	for (uint32_t i = 0; i < w->dataset.columns_n; i++)
		if (!w->dataset.columns[i].contiguous)
			json_object_del(
				json_array_get(
					json_object_get(dataset, "columns"), i),
				"contiguous");
	id = json_pack("{s:O, s:O, s:O}", "dataset", dataset,
		       "evaluation_files", json_object_get(evaluation, "files"),
		       "evaluation_samples_per_file",
		       json_object_get(evaluation, "samples_per_file"));
	sizes = json_object_get(evaluation, "sample_bytes");
	if (id && sizes &&
	    json_object_set(id, "evaluation_sample_bytes", sizes)) {
		json_decref(id);
		id = NULL;
	}
	json_decref(doc);
	if (!id)
		reel_fail(err, REEL_E_MEMORY, "out of memory");
	return id;
}

/* The first key of @a whose value differs in @b. */
static const char *differs(json_t *a, json_t *b)
{
	const char *key, *inner;
	json_t *value;

	json_object_foreach(a, key, value)
	{
		json_t *other = json_object_get(b, key);

		if (json_is_object(value) && json_is_object(other))
			inner = differs(value, other);
		else
			inner = json_equal(value, other) ? NULL : key;
		if (inner)
			return inner;
	}
	return NULL;
}

static int mark_path(struct reel_buf *path, const char *dir,
		     struct reel_error *err)
{
	return reel_buf_printf(path, err, "%s/" DATASET_MARK, dir);
}

int dataset_mark(const struct workload *w, const char *dir,
		 struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT, text = REEL_BUF_INIT;
	json_t *id = identity(w, err);
	char *dump = id ? json_dumps(id, JSON_INDENT(1)) : NULL;
	int rc = -1;

	if (dump && !reel_buf_puts(&text, dump, err) &&
	    !mark_path(&path, dir, err))
		rc = reel_buf_write_file(&text, reel_buf_text(&path), err);
	free(dump);
	json_decref(id);
	reel_buf_fini(&path);
	reel_buf_fini(&text);
	return rc;
}

int dataset_is_of(const struct workload *w, const char *dir,
		  struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	json_t *id = identity(w, err), *was = NULL;
	const char *key;
	int rc = -1;

	if (!id || mark_path(&path, dir, err))
		goto out;
	if (access(reel_buf_text(&path), R_OK)) {
		if (errno != ENOENT || access(dir, F_OK))
			reel_fail(err, REEL_E_IO, "cannot open '%s': %s", dir,
				  strerror(errno));
		else
			reel_fail(err, REEL_E_USAGE,
				  "'%s' is no data set that ioreel gen made",
				  dir);
		goto out;
	}
	was = json_load_file(reel_buf_text(&path), 0, NULL);
	if (!json_is_object(was)) {
		reel_fail(err, REEL_E_FORMAT, "'%s' is damaged",
			  reel_buf_text(&path));
		goto out;
	}
	key = differs(id, was);
	if (!key)
		key = differs(was, id);
	rc = key ? reel_fail(err, REEL_E_USAGE,
			     "'%s' is the data set of another workload: '%s' "
			     "differs",
			     dir, key)
		 : 0;
out:
	json_decref(id);
	json_decref(was);
	reel_buf_fini(&path);
	return rc;
}

/* 1: empty but for hidden files and notes; 0: it holds more; -1 with @err. */
static int is_empty(const char *dir, struct reel_error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int empty = 1;

	if (!d)
		return reel_fail(err, REEL_E_IO, "cannot open '%s': %s", dir,
				 strerror(errno));
	while (empty && (e = readdir(d)))
		empty = e->d_name[0] == '.';
	closedir(d);
	return empty;
}

void dataset_unmark(const char *dir)
{
	struct reel_buf path = REEL_BUF_INIT;

	if (!mark_path(&path, dir, NULL))
		unlink(reel_buf_text(&path));
	reel_buf_fini(&path);
}

int dataset_claim(const struct workload *w, const char *dir, bool *claimed,
		  struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	bool marked;
	int empty;

	*claimed = false;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return reel_fail(err, REEL_E_IO, "cannot make '%s': %s", dir,
				 strerror(errno));
	if (mark_path(&path, dir, err))
		return -1;
	marked = !access(reel_buf_text(&path), F_OK);
	reel_buf_fini(&path);
	if (marked)
		return dataset_is_of(w, dir, err);
	empty = is_empty(dir, err);
	if (empty < 0)
		return -1;
	if (!empty)
		return reel_fail(err, REEL_E_USAGE,
				 "'%s' is not empty and no data set of ioreel; "
				 "give an empty folder",
				 dir);
	if (dataset_mark(w, dir, err))
		return -1;
	*claimed = true;
	return 0;
}
