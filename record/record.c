/* SPDX-License-Identifier: MIT */
/*
 * Run a command under the shim, from the creation of the trace directory to the
 * final job.json.
 *
 * A failure before the job runs leaves nothing behind; a failure after it must
 * not lose the trace or the exit status.
 */
#include "record/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

/* Helper processes of the job (a fork server ...) end shortly after it. */
#define HELPERS_NS 300000000

/*
 * The loader splits LD_PRELOAD at spaces and colons and expands "$", and Python
 * splits PYTHONPATH at colons: a path with one of them gets a symbolic link in
 * /tmp.
 */
struct part_links {
	char folder[64]; /* created by us, or "" */
	char shim[PATH_MAX], hooks[PATH_MAX];
};

/* If @path has one of @special, make the link @name to it and replace it. */
static int link_part(struct part_links *l, char path[static PATH_MAX],
		     const char *special, const char *name,
		     struct reel_error *err)
{
	char target[PATH_MAX];

	if (!strpbrk(path, special))
		return 0;
	if (!l->folder[0]) {
		strcpy(l->folder, "/tmp/ioreel-XXXXXX");
		if (!mkdtemp(l->folder)) {
			reel_fail_io(err, "create", l->folder, errno);
			l->folder[0] = '\0';
			return -1;
		}
	}
	strcpy(target, path);
	snprintf(path, PATH_MAX, "%s/%s", l->folder, name);
	if (symlink(target, path))
		return reel_fail_io(err, "create", path, errno);
	return 0;
}

#define SHIM_LINK "libioreel.so"
#define HOOKS_LINK "python"

/* The hooks are "" if there are none. */
static int find_parts(struct part_links *l, bool hooks, struct reel_error *err)
{
	if (!hooks || !record_find_hooks(l->hooks))
		l->hooks[0] = '\0';
	return record_find_shim(l->shim, err) ||
			       link_part(l, l->shim, " :$\t\n", SHIM_LINK,
					 err) ||
			       link_part(l, l->hooks, ":", HOOKS_LINK, err)
		       ? -1
		       : 0;
}

static void remove_links(const struct part_links *l)
{
	static const char *const names[] = {SHIM_LINK, HOOKS_LINK};
	char path[128];

	if (!l->folder[0])
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", l->folder, names[i]);
		unlink(path);
	}
	rmdir(l->folder);
}

/* Merge the windows of ended processes into their logs. */
static int collect_windows(const char *dir, struct reel_record_result *res,
			   struct reel_error *err)
{
	const struct timespec pause = {0, 10000000};
	int64_t until = record_clock_ns(CLOCK_MONOTONIC) + HELPERS_NS;
	struct record_collected c;
	int rc = record_collect(dir, &c, err);

	while (!rc && c.running && !res->others &&
	       record_clock_ns(CLOCK_MONOTONIC) < until) {
		nanosleep(&pause, NULL);
		rc = record_collect(dir, &c, err);
	}
	res->running = c.running;
	return rc || record_pack(dir, true, err) < 0 ? -1 : 0;
}

/* Our rank of several has ended. The last rank merges the files of all. */
static int finish_rank(struct record_group *g, json_t **job, const char *dir,
		       struct reel_record_result *res, struct reel_error *err)
{
	struct record_collected c;
	int here, left, rc = record_collect(dir, &c, err);
	struct reel_buf b = REEL_BUF_INIT;
	char path[PATH_MAX];
	json_error_t je;
	json_t *whole;

	if (record_rank_end(g, dir, *job, err))
		rc = -1;
	record_rank_count(g, dir, &here, &left);
	/* Ranks on other machines have their own directory on a local disk. */
	if (g->local_size > 0 && g->local_size < g->size &&
	    !record_dir_on_network(dir))
		left -= g->size - g->local_size;
	res->others = left > 0 || !record_group_close(dir);
	if (res->others) {
		if (!here)
			record_dir_close_here(dir);
		return rc;
	}
	if (snprintf(path, sizeof(path), "%s/job.json", dir) < PATH_MAX &&
	    !reel_buf_read_file(&b, path, 64 << 20, NULL) &&
	    (whole = json_loadb(reel_buf_text(&b), b.len, 0, &je))) {
		json_decref(*job);
		*job = whole;
	}
	reel_buf_fini(&b);
	return record_rank_merge(g, dir, *job, res, err) ? -1 : rc;
}

/* Count the trace. Processes with a removed log count as never started. */
static int summarize(const struct record_dir *dir,
		     const struct reel_record_options *opt,
		     struct reel_record_result *res, struct reel_error *err)
{
	uint64_t started = record_dir_started(dir), there;

	if (opt->summarize(dir->path, opt->count, &res->summary, err))
		return -1;
	res->summed = true;
	there = (uint64_t)(res->summary.processes +
			   res->summary.launcher_processes);
	if (there < started &&
	    record_counts_add(dir->path, REEL_LOST_START, started - there))
		res->summary.lost[REEL_LOST_START] += started - there;
	return 0;
}

/* The job has ended: complete its trace. */
static int finish_trace(json_t **job, const struct record_dir *dir,
			const struct reel_record_options *opt,
			struct reel_record_result *res, struct reel_error *err)
{
	struct record_group *g = opt->group;
	int rc = 0;

	record_job_ended(*job, res);
	if (g)
		rc = finish_rank(g, job, dir->path, res, err);
	if (res->others)
		return rc;
	if (collect_windows(dir->path, res, err))
		rc = -1;
	if (summarize(dir, opt, res, err))
		rc = -1;
	if (record_job_end(*job, dir->path, res, err))
		rc = -1;
	return rc;
}

/* The command did not run: remove all that we created. */
static void undo_dir(struct record_dir *dir, const struct record_group *g)
{
	if (g)
		record_rank_remove(g, dir->path);
	else
		record_dir_remove(dir);
}

int reel_record(const struct reel_record_options *opt, char **argv,
		struct reel_record_result *res, struct reel_error *err)
{
	struct part_links parts = {.folder = ""};
	struct record_signals sig;
	struct record_dir dir = {.made = false};
	char **env = NULL;
	json_t *job = NULL;
	int rc = -1;

	memset(res, 0, sizeof(*res));
	res->failed_rank = -1;
	record_run_begin(&sig);
	if (find_parts(&parts, !opt->no_hooks, err) ||
	    record_dir_create(&dir, opt->dir, opt->group, opt->max_bytes, err))
		goto out;
	res->hooks = parts.hooks[0];
	env = record_env(opt, dir.path, parts.shim,
			 res->hooks ? parts.hooks : NULL, err);
	if (env)
		job = record_job_begin(opt, argv, res->hooks, err);
	if (!env || !job ||
	    ((!opt->group || opt->group->first) &&
	     record_job_write(job, dir.path, err))) {
		undo_dir(&dir, opt->group);
		goto out;
	}
	untraceable_count(dir.path, argv[0]);
	if (record_run(argv, env, dir.path, &sig, res, err)) {
		undo_dir(&dir, opt->group);
	} else {
		/* wall_ns shows the caller that the job ran. */
		rc = finish_trace(&job, &dir, opt, res, err);
	}
out:
	record_run_end(&sig);
	if (!res->running)
		remove_links(&parts);
	record_dir_fini(&dir);
	record_env_free(env);
	json_decref(job);
	return rc;
}
