/* SPDX-License-Identifier: MIT */
/*
 * The limit of CPU time that the kernel keeps for this process's control group, as
 * containers and batch systems set it: cpu.max of cgroup v2, cpu.cfs_quota_us of v1.
 * A limit of a group holds for the groups in it, and a container may see its own
 * group as the root, under a path that it cannot see: all groups from the path up to
 * the root are looked at.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "record/internal.h"

#define US_NS INT64_C(1000)

static FILE *open_file(const char *group, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", group, name);

	return n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
}

/* Microseconds of CPU time in each period; both of v1's files have one number. */
static bool read_quota(const char *group, int64_t *quota, int64_t *period)
{
	const char *const v1[] = {"cpu.cfs_quota_us", "cpu.cfs_period_us"};
	int64_t *out[] = {quota, period};
	FILE *in = open_file(group, "cpu.max");
	bool ok;

	if (in) {
		ok = fscanf(in, "%" SCNd64 " %" SCNd64, quota, period) == 2;
		fclose(in);
		return ok;
	}
	ok = true;
	for (int i = 0; ok && i < 2; i++) {
		in = open_file(group, v1[i]);
		ok = in && fscanf(in, "%" SCNd64, out[i]) == 1;
		if (in)
			fclose(in);
	}
	return ok;
}

/* The time in which the group was stopped, summed over processors. */
static int64_t read_throttled_ns(const char *group)
{
	FILE *in = open_file(group, "cpu.stat");
	int64_t value, ns = 0;
	char key[64];

	while (in && fscanf(in, "%63s %" SCNd64, key, &value) == 2) {
		if (!strcmp(key, "throttled_time"))
			ns = value;
		else if (!strcmp(key, "throttled_usec") &&
			 value < INT64_MAX / US_NS)
			ns = value * US_NS;
	}
	if (in)
		fclose(in);
	return ns > 0 ? ns : 0;
}

static void add_group(struct cpu_limit *l, const char *group)
{
	int64_t quota, period, millicpus, ns;

	if (!read_quota(group, &quota, &period) || quota <= 0 || period <= 0 ||
	    quota > INT64_MAX / 1000)
		return;
	millicpus = quota * 1000 / period;
	if (!millicpus)
		millicpus = 1;
	if (!l->millicpus || millicpus < l->millicpus)
		l->millicpus = millicpus;
	ns = read_throttled_ns(group);
	if (ns > l->throttled_ns)
		l->throttled_ns = ns;
}

static bool has_cpu(const char *controllers)
{
	size_t n;

	for (const char *p = controllers; *p; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		if (n == 3 && !memcmp(p, "cpu", 3))
			return true;
	}
	return false;
}

/* Find the path of our group in a line "ID:CONTROLLERS:PATH" of @in, and the folder
 * of its hierarchy: cgroup v1's, or else that of v2, whose line names no controller. */
static bool find_group(FILE *in, const char *root, char *base, char *path)
{
	char line[2 * PATH_MAX], *controllers, *at;
	bool found = false, v1 = false;
	int n;

	while (!v1 && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		controllers = strchr(line, ':');
		at = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!at)
			continue;
		*at++ = 0;
		controllers++;
		v1 = has_cpu(controllers);
		if (!v1 && *controllers)
			continue;
		n = snprintf(base, PATH_MAX, "%s/%s", root, controllers);
		found = n > 0 && n < PATH_MAX && strlen(at) < PATH_MAX;
		if (found)
			strcpy(path, at);
	}
	return found;
}

void cpu_limit_now(struct cpu_limit *l, const char *groups, const char *root)
{
	char base[PATH_MAX], path[PATH_MAX], group[2 * PATH_MAX];
	FILE *in = fopen(groups, "re");
	bool found = in && find_group(in, root, base, path);

	*l = (struct cpu_limit){0};
	if (in)
		fclose(in);
	if (!found)
		return;
	for (;;) {
		snprintf(group, sizeof(group), "%s%s", base, path);
		add_group(l, group);
		if (!strrchr(path, '/'))
			return;
		*strrchr(path, '/') = 0;
	}
}

json_t *cpu_limit_json(const struct cpu_limit *l)
{
	return json_pack("{s:I, s:I}", "millicpus", (json_int_t)l->millicpus,
			 "throttled_ns", (json_int_t)l->throttled_ns);
}
