/* SPDX-License-Identifier: MIT */
/*
 * Ranks that a launcher started, each under an "ioreel record" of its own, with
 * one trace directory for all of them.
 *
 * Ranks on several machines share nothing but the directory, so every decision
 * is one atomic operation in it. The link job.group names the job, and ranks
 * may join while it exists; job.RANK.json is created once per rank; the rank
 * that removes job.group is the last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/launcher.h"

#include "lib/error.h"

#include "record/internal.h"

#define GROUP "job.group"

static int number(const char *name)
{
	const char *s = name ? getenv(name) : NULL;
	char *end;
	long n;

	if (!s || *s < '0' || *s > '9')
		return -1;
	n = strtol(s, &end, 10);
	return *end || n > 100000000 ? -1 : (int)n;
}

static const char *value(const char *name)
{
	const char *s = name ? getenv(name) : NULL;

	return s ? s : "";
}

bool record_group_find(struct record_group *g)
{
	size_t i;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->needs && !getenv(l->needs))
			continue;
		g->rank = number(l->rank);
		g->size = number(l->size);
		if (g->rank < 0 || g->size < 0)
			continue;
		if (g->size < 2 || g->rank >= g->size)
			return false; /* one process for all ranks */
		g->local_size = number(l->local_size);
		g->restart = number(l->restart);
		snprintf(g->id, sizeof(g->id), "%s:%s:%s:%d:%d", l->name,
			 value("SLURM_JOB_ID"), value(l->job), g->size,
			 g->restart);
		for (char *p = g->id; *p; p++) /* it becomes the link's text */
			if (*p == '/' || *p < ' ')
				*p = '_';
		return true;
	}
	return false;
}

/* Read the nonce of @dir's group: 0; 1: it is another group; -1: no group. */
static int read_group(const char *dir, struct record_group *g)
{
	char path[PATH_MAX], text[sizeof(g->id) + sizeof(g->nonce) + 2];
	size_t n = strlen(g->id);
	ssize_t got;

	if (snprintf(path, sizeof(path), "%s/" GROUP, dir) >= PATH_MAX)
		return 1;
	got = readlink(path, text, sizeof(text) - 1);
	if (got < 0)
		return errno == ENOENT ? -1 : 1;
	text[got] = '\0';
	if (strncmp(text, g->id, n) || text[n] != '/' ||
	    strlen(text + n + 1) >= sizeof(g->nonce))
		return 1;
	strcpy(g->nonce, text + n + 1);
	return 0;
}

static int make_group(const char *dir, struct record_group *g)
{
	char path[PATH_MAX], text[sizeof(g->id) + sizeof(g->nonce) + 2];
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random) ||
	    snprintf(path, sizeof(path), "%s/" GROUP, dir) >= PATH_MAX)
		return -1;
	snprintf(g->nonce, sizeof(g->nonce), "%016llx",
		 (unsigned long long)random);
	snprintf(text, sizeof(text), "%s/%s", g->id, g->nonce);
	return symlink(text, path);
}

int record_group_join(struct record_group *g, const char *dir,
		      struct reel_error *err)
{
	int found;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return reel_fail_io(err, "create", dir, errno);
	found = read_group(dir, g);
	if (found < 0) {
		/* Never write into a directory that has other contents. */
		bool empty = record_dir_is_empty(dir);

		if (empty && !make_group(dir, g))
			g->first = true;
		else if (empty && errno != EEXIST)
			return reel_fail_io(err, "write to", dir, errno);
		found = read_group(dir, g);
	}
	if (found || record_rank_take(g, dir))
		return found || errno == EEXIST
			       ? 1
			       : reel_fail_io(err, "write to", dir, errno);
	g->joined = true;
	return 0;
}

bool record_group_close(const char *dir)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" GROUP, dir) < PATH_MAX &&
	       !unlink(path);
}

bool record_group_open(const char *dir)
{
	char path[PATH_MAX];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/" GROUP, dir) < PATH_MAX &&
	       !lstat(path, &st);
}
