/* SPDX-License-Identifier: MIT */
/*
 * The file of each rank, and the job.json that the last rank merges from them.
 *
 * A job may have ten thousand ranks. A running rank is a link job.RANK.run to
 * "BOOT_ID PID"; an ended one is a file job.RANK.json. Ranks only count names;
 * the last one reads the contents, once.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

#define PART_BYTES_MAX (16u << 20)
#define LOOK_AT_MOST 1024 /* links read to find killed recorders */

static int part_path(char out[static PATH_MAX], const char *dir, int rank,
		     const char *suffix)
{
	return snprintf(out, PATH_MAX, "%s/job.%d.%s", dir, rank, suffix) <
			       PATH_MAX
		       ? 0
		       : -1;
}

/* Is @name "job.RANK.@suffix"? */
static bool is_part(const char *name, const char *suffix, int *rank)
{
	int at = 0;

	return sscanf(name, "job.%d.%n", rank, &at) == 1 && at &&
	       !strcmp(name + at, suffix);
}

/* Gives "BOOT_ID PID" of this process. */
static void own_id(char out[static 64])
{
	char boot_id[40];

	record_boot_id(boot_id);
	snprintf(out, 64, "%s %d", boot_id[0] ? boot_id : "-", (int)getpid());
}

int record_rank_take(const struct record_group *g, const char *dir)
{
	char path[PATH_MAX], me[64];

	own_id(me);
	if (part_path(path, dir, g->rank, "json") || !access(path, F_OK) ||
	    part_path(path, dir, g->rank, "run") || symlink(me, path))
		return -1;
	return 0;
}

void record_rank_remove(const struct record_group *g, const char *dir)
{
	char path[PATH_MAX];

	if (!part_path(path, dir, g->rank, "run"))
		unlink(path);
}

int record_rank_end(const struct record_group *g, const char *dir,
		    const json_t *job, struct reel_error *err)
{
	static const char *const shared[] = {"mounts", "options", "versions"};
	json_t *part = json_copy((json_t *)job);
	char path[PATH_MAX];
	size_t i;
	int rc = -1;

	if (!part)
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	for (i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		json_object_del(part, shared[i]);
	json_object_set_new(part, "rank", json_integer(g->rank));
	if (!part_path(path, dir, g->rank, "json"))
		rc = record_json_write(part, path, err);
	json_decref(part);
	if (!rc)
		record_rank_remove(g, dir);
	return rc;
}

/* True if the recorder of the link @path was killed. @here: on this machine. */
static bool is_dead(const char *path, const char *me, bool *here)
{
	char text[64];
	ssize_t n = readlink(path, text, sizeof(text) - 1);
	size_t boot = strcspn(me, " ");
	long pid;

	*here = false;
	if (n <= 0)
		return false; /* it has just ended, and counts itself */
	text[n] = '\0';
	*here = !strncmp(text, me, boot + 1);
	pid = *here ? strtol(text + boot + 1, NULL, 10) : 0;
	return pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH;
}

void record_rank_count(const struct record_group *g, const char *dir, int *here,
		       int *left)
{
	DIR *d = opendir(dir);
	char path[PATH_MAX], me[64];
	int ended = 0, looked = 0;
	struct dirent *e;

	own_id(me);
	*here = 0;
	while (d && (e = readdir(d))) {
		int rank;
		bool ours;

		if (is_part(e->d_name, "json", &rank))
			ended++;
		else if (is_part(e->d_name, "run", &rank) &&
			 looked++ < LOOK_AT_MOST &&
			 !part_path(path, dir, rank, "run")) {
			if (is_dead(path, me, &ours))
				ended++;
			else
				*here += ours;
		}
	}
	if (d)
		closedir(d);
	*left = g->size > ended ? g->size - ended : 0;
}

static json_int_t part_int(const json_t *part, const char *key)
{
	return json_integer_value(json_object_get(part, key));
}

static int by_rank(const void *a, const void *b)
{
	json_int_t x = part_int(*(json_t *const *)a, "rank");
	json_int_t y = part_int(*(json_t *const *)b, "rank");

	return x < y ? -1 : x > y;
}

/* Read the files job.RANK.json of @dir, sorted by rank. */
static int read_parts(const char *dir, json_t ***out, int *n,
		      struct reel_error *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	json_t **part = NULL;
	uint32_t room = 0;
	int rc = 0;

	*n = 0;
	while (d && !rc && (e = readdir(d))) {
		struct reel_buf b = REEL_BUF_INIT;
		char path[PATH_MAX];
		json_error_t je;
		json_t *j;
		int rank;

		if (!is_part(e->d_name, "json", &rank) ||
		    part_path(path, dir, rank, "json"))
			continue;
		/* An unreadable file still counts as a rank. */
		if (reel_buf_read_file(&b, path, PART_BYTES_MAX, NULL) ||
		    !(j = json_loadb(reel_buf_text(&b), b.len, 0, &je)))
			j = json_pack("{s:i}", "rank", rank);
		reel_buf_fini(&b);
		rc = reel_array_reach(&part, &room, (uint32_t)*n, sizeof(*part),
				      err);
		if (!j)
			rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
		if (rc)
			json_decref(j);
		else
			part[(*n)++] = j;
	}
	if (d)
		closedir(d);
	if (*n)
		qsort(part, (size_t)*n, sizeof(*part), by_rank);
	*out = part;
	return rc;
}

/* Add the keys that differ between ranks to @list. */
static int add_rank(json_t *list, const json_t *part)
{
	static const char *const key[] = {
		"rank",		 "command",	"cwd",	       "host",
		"environment",	 "exit_status", "exit_signal", "wall_ns",
		"start_real_ns", "processor",	"cpu_limit",
	};
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < sizeof(key) / sizeof(key[0]); i++)
		if (json_object_get(part, key[i]))
			json_object_set(o, key[i],
					json_object_get(part, key[i]));
	return json_array_append_new(list, o);
}

static bool has_failed(const json_t *part)
{
	return part_int(part, "exit_status") || part_int(part, "exit_signal");
}

/* The first rank that failed determines the job's exit status: its launcher may
 * have ended the others because of it. */
static void add_end(json_t *job, json_t **part, int n,
		    struct reel_record_result *res)
{
	json_int_t start = INT64_MAX, end = 0;
	const json_t *worst = part[0];
	int i;

	for (i = 0; i < n; i++) {
		json_int_t from = part_int(part[i], "start_real_ns"),
			   to = part_int(part[i], "end_real_ns");

		if (from > 0 && from < start)
			start = from;
		if (to > end)
			end = to;
		if (has_failed(part[i]) &&
		    (!has_failed(worst) || to < part_int(worst, "end_real_ns")))
			worst = part[i];
	}
	if (has_failed(worst)) {
		res->failed_rank = (int)part_int(worst, "rank");
		res->failed_status =
			W_EXITCODE((int)part_int(worst, "exit_status"),
				   (int)part_int(worst, "exit_signal"));
	}
	res->ranks = n;
	json_object_set_new(job, "start_real_ns", json_integer(start));
	json_object_set_new(job, "end_real_ns", json_integer(end));
	json_object_set_new(job, "wall_ns",
			    json_integer(end > start ? end - start : 0));
	json_object_set(job, "exit_status",
			json_object_get(worst, "exit_status"));
	json_object_set(job, "exit_signal",
			json_object_get(worst, "exit_signal"));
}

int record_rank_merge(const struct record_group *g, const char *dir,
		      json_t *job, struct reel_record_result *res,
		      struct reel_error *err)
{
	json_t **part = NULL, *list = json_array();
	char path[PATH_MAX];
	int n = 0, i, rc = read_parts(dir, &part, &n, err);

	for (i = 0; i < n; i++)
		if (!rc && add_rank(list, part[i]))
			rc = reel_fail(err, REEL_E_MEMORY, "out of memory");
	if (!rc && n)
		add_end(job, part, n, res);
	json_object_set_new(job, "ranks", list);
	json_object_set_new(job, "ranks_started", json_integer(g->size));
	if (!rc)
		rc = record_job_write(job, dir, err);
	for (i = 0; i < n; i++) {
		if (!rc && !part_path(path, dir, (int)part_int(part[i], "rank"),
				      "json"))
			unlink(path);
		json_decref(part[i]);
	}
	free(part);
	return rc;
}
