/* SPDX-License-Identifier: MIT */
/*
 * Open a trace directory: job.json, the windows and the logs.
 *
 * The window of a process is read before its log, so that a log without a head
 * still finds its process.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/trace/internal.h"

#define JOB_BYTES_MAX (64u << 20)

static const char windows_dir[] = "windows";

struct names {
	char **item;
	uint32_t n, room;
};

static void names_fini(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->item[i]);
	free(l->item);
}

static int names_add(struct names *l, const char *name, size_t len,
		     struct reel_error *err)
{
	char *copy;

	if (reel_array_reach(&l->item, &l->room, l->n, sizeof(*l->item), err))
		return -1;
	copy = reel_alloc(len + 1, 1, err);
	if (!copy)
		return -1;
	memcpy(copy, name, len);
	l->item[l->n++] = copy;
	return 0;
}

static bool has_suffix(const char *name, const char *suffix, size_t *stem)
{
	size_t n = strlen(name), k = strlen(suffix);

	if (n <= k || strcmp(name + n - k, suffix) != 0)
		return false;
	*stem = n - k;
	return true;
}

/* Add the names in @path that end in @suffix, without the suffix. */
static int list_names(struct names *l, const char *path, const char *suffix,
		      struct reel_error *err)
{
	DIR *d = opendir(path);
	struct dirent *e;
	size_t stem;
	int rc = 0;

	if (!d && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (!d)
		return reel_fail_io(err, "open", path, errno);
	while (rc == 0 && (e = readdir(d)))
		if (has_suffix(e->d_name, suffix, &stem))
			rc = names_add(l, e->d_name, stem, err);
	closedir(d);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Set @b to "DIR/SUB/STEM.suffix". */
static int build_path(struct reel_buf *b, const char *dir, const char *sub,
		      const char *stem, const char *suffix,
		      struct reel_error *err)
{
	reel_buf_reset(b);
	return reel_buf_printf(b, err, "%s/%s%s%s%s", dir, sub, *sub ? "/" : "",
			       stem, suffix);
}

static bool file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* Index the window and the log of one process. */
static int index_stem(struct reel_trace *tr, const char *stem,
		      struct reel_buf *b, struct reel_error *err)
{
	int64_t image = -1;

	if (build_path(b, tr->dir, windows_dir, stem, ".win", err) < 0)
		return -1;
	if (file_exists(b->data) &&
	    trace_index_window(tr, b->data, &image, err) < 0)
		return -1;
	if (build_path(b, tr->dir, "", stem, ".log", err) < 0)
		return -1;
	return file_exists(b->data) ? trace_index_log(tr, b->data, image, err)
				    : 0;
}

/* Index every log and window, in the order of their names. */
static int index_all(struct reel_trace *tr, size_t *found,
		     struct reel_error *err)
{
	struct names l = {NULL, 0, 0};
	struct reel_buf b = REEL_BUF_INIT;
	int rc = -1;

	if (list_names(&l, tr->dir, ".log", err) < 0 ||
	    build_path(&b, tr->dir, "", windows_dir, "", err) < 0 ||
	    list_names(&l, b.data, ".win", err) < 0)
		goto out;
	if (l.n)
		qsort(l.item, l.n, sizeof(*l.item), by_name);
	for (size_t i = 0; i < l.n; i++) {
		if (i && strcmp(l.item[i - 1], l.item[i]) == 0)
			continue;
		if (index_stem(tr, l.item[i], &b, err) < 0)
			goto out;
	}
	*found = l.n;
	rc = 0;
out:
	names_fini(&l);
	reel_buf_fini(&b);
	return rc;
}

/* Read job.json. A trace without it is still useful. */
static int read_job(struct reel_trace *tr, bool *found, struct reel_error *err)
{
	struct reel_buf b = REEL_BUF_INIT, text = REEL_BUF_INIT;
	struct reel_error why = {0};
	int rc = -1;

	if (build_path(&b, tr->dir, "", "job", ".json", err) < 0)
		goto out;
	*found = file_exists(b.data);
	if (*found) {
		json_error_t je;

		if (reel_buf_read_file(&text, b.data, JOB_BYTES_MAX, &why) == 0)
			tr->job = json_loadb(reel_buf_text(&text), text.len, 0,
					     &je);
		if (why.code && access(b.data, R_OK)) {
			trace_damage_open(tr, b.data, errno);
		} else if (!json_is_object(tr->job)) {
			json_decref(tr->job);
			tr->job = NULL;
			trace_damage_file(tr, "'%s' cannot be read: %s", b.data,
					  why.code ? why.text
						   : "not a JSON object");
		}
	}
	if (!tr->job)
		tr->job = json_object();
	rc = tr->job ? 0 : reel_fail(err, REEL_E_MEMORY, "out of memory");
out:
	reel_buf_fini(&b);
	reel_buf_fini(&text);
	return rc;
}

static int read_counts(struct reel_trace *tr, struct reel_error *err)
{
	struct reel_buf b = REEL_BUF_INIT;
	struct trace_input in;
	int rc = build_path(&b, tr->dir, "", "job", ".counts", err);

	if (rc == 0 && trace_input_open(&in, b.data) == 0) {
		if (!trace_input_read(&in, &tr->counts, sizeof(tr->counts),
				      0) ||
		    tr->counts.magic != REEL_COUNTS_MAGIC)
			memset(&tr->counts, 0, sizeof(tr->counts));
		trace_input_close(&in);
	}
	reel_buf_fini(&b);
	return rc;
}

/* Fail unless the directory is a trace: it has a log, a window or job.json. */
static int check_trace(const struct reel_trace *tr, bool job, size_t found,
		       struct reel_error *err)
{
	if (tr->images)
		return 0;
	if (tr->other_major)
		return reel_fail(err, REEL_E_VERSION,
				 "%s, this program reads %d.x to %d.x",
				 tr->other_major, REEL_TRACE_MAJOR_OLDEST,
				 REEL_TRACE_MAJOR);
	if (tr->damage.denied_files)
		return reel_fail(err, REEL_E_IO,
				 "cannot open the logs of '%s': %s", tr->dir,
				 strerror(EACCES));
	if (job)
		return 0;
	if (found)
		return reel_fail(err, REEL_E_FORMAT, "'%s' is not a trace: %s",
				 tr->dir, tr->damage.first);
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is not a trace: it has no job.json and no log",
			 tr->dir);
}

int reel_trace_open(struct reel_trace **out, const char *dir,
		    struct reel_error *err)
{
	struct reel_trace *tr = reel_alloc(1, sizeof(*tr), err);
	struct stat st;
	size_t found = 0;
	bool job = false;
	int rc = -1;

	if (!tr)
		return -1;
	pthread_mutex_init(&tr->lock, NULL);
	tr->dir = reel_strdup(dir, err);
	if (!tr->dir)
		goto out;
	if (stat(dir, &st) < 0) {
		reel_fail_io(err, "open", dir, errno);
		goto out;
	}
	if (!S_ISDIR(st.st_mode)) {
		reel_fail(err, REEL_E_FORMAT,
			  "'%s' is not a trace: it is not a directory", dir);
		goto out;
	}
	if (read_job(tr, &job, err) < 0 || read_counts(tr, err) < 0 ||
	    index_all(tr, &found, err) < 0 ||
	    check_trace(tr, job, found, err) < 0 || trace_order(tr, err) < 0 ||
	    trace_clock_fit(tr, err) < 0)
		goto out;
	*out = tr;
	tr = NULL;
	rc = 0;
out:
	reel_trace_close(tr);
	return rc;
}

void reel_trace_close(struct reel_trace *tr)
{
	if (!tr)
		return;
	for (uint32_t i = 0; i < tr->images; i++) {
		free(tr->image[i].text);
		free(tr->image[i].text_bytes);
	}
	for (uint32_t i = 0; i < tr->files; i++)
		free(tr->file[i].path);
	free(tr->image);
	free(tr->file);
	free(tr->block);
	free(tr->thread);
	free(tr->pair);
	free(tr->clock);
	free(tr->other_major);
	json_decref(tr->job);
	pthread_mutex_destroy(&tr->lock);
	free(tr->dir);
	free(tr);
}

/* True when a file of @dir that ends in @suffix begins with our magic. */
static bool has_magic(const char *dir, const char *suffix)
{
	struct reel_buf b = REEL_BUF_INIT;
	DIR *d = opendir(dir);
	struct trace_input in;
	struct dirent *e;
	uint64_t magic = 0;
	size_t stem;

	while (d && magic != REEL_HEAD_MAGIC && (e = readdir(d))) {
		magic = 0;
		if (!has_suffix(e->d_name, suffix, &stem) ||
		    build_path(&b, dir, "", e->d_name, "", NULL) < 0 ||
		    trace_input_open(&in, b.data) < 0)
			continue;
		if (!trace_input_read(&in, &magic, sizeof(magic), 0))
			magic = 0;
		trace_input_close(&in);
	}
	if (d)
		closedir(d);
	reel_buf_fini(&b);
	return magic == REEL_HEAD_MAGIC;
}

bool reel_trace_is(const char *dir)
{
	struct reel_buf b = REEL_BUF_INIT;
	bool is = false;

	if (build_path(&b, dir, "", "job", ".json", NULL) == 0)
		is = file_exists(b.data);
	if (!is)
		is = has_magic(dir, ".log");
	if (!is && build_path(&b, dir, "", windows_dir, "", NULL) == 0)
		is = has_magic(b.data, ".win");
	reel_buf_fini(&b);
	return is;
}
