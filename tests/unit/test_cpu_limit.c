/* SPDX-License-Identifier: MIT */
/*
 * The CPU limit of a control group: of both versions of the kernel's files, of a group
 * above, of a container that cannot see its own path; and no number from nonsense.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/internal.h"

#include "tests/lib/tap.h"

static char top[] = "/tmp/ioreel-test-limit-XXXXXX";

/* Write a file under the top; folders that lack are made. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	for (char *p = path + sizeof(top); (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	out = fopen(path, "w");
	if (!out || fputs(text, out) < 0 || fclose(out))
		exit(1);
}

static struct cpu_limit limit_of(const char *groups)
{
	struct cpu_limit l;
	char file[PATH_MAX], root[PATH_MAX];

	put("groups", groups);
	snprintf(file, sizeof(file), "%s/groups", top);
	snprintf(root, sizeof(root), "%s/root", top);
	cpu_limit_now(&l, file, root);
	return l;
}

static void check(const char *groups, int64_t millicpus, int64_t throttled_ns,
		  const char *what)
{
	struct cpu_limit l = limit_of(groups);

	is(l.millicpus, millicpus, "%s: the limit", what);
	is(l.throttled_ns, throttled_ns, "%s: the time", what);
}

static void version_2(void)
{
	put("root/pod/job/cpu.max", "max 100000\n");
	put("root/pod/job/cpu.stat", "usage_usec 5\nthrottled_usec 9\n");
	put("root/pod/cpu.max", "150000 100000\n");
	put("root/pod/cpu.stat", "usage_usec 7\nnr_throttled 2\n"
				 "throttled_usec 2500\n");
	check("0::/pod/job\n", 1500, 2500000, "v2, of the group above");
	put("root/pod/job/cpu.max", "40000 100000\n");
	check("0::/pod/job\n", 400, 2500000, "v2, the lower one of two");
	check("0::/other\n", 0, 0, "v2, no limit");
	put("root/cpu.max", "200000 100000\n");
	put("root/cpu.stat", "throttled_usec 1\n");
	check("0::/\n", 2000, 1000, "v2, a container's own root");
	check("0::/not/to/be/seen\n", 2000, 1000, "v2, a path outside");
}

static void version_1(void)
{
	const char *groups = "9:cpuset:/x\n4:cpu,cpuacct:/slurm/a:b\n0::/pod\n";

	put("root/cpu,cpuacct/slurm/a:b/cpu.cfs_quota_us", "50000\n");
	put("root/cpu,cpuacct/slurm/a:b/cpu.cfs_period_us", "100000\n");
	put("root/cpu,cpuacct/slurm/a:b/cpu.stat",
	    "nr_periods 3\nnr_throttled 3\nthrottled_time 17301230582\n");
	put("root/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
	put("root/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
	check(groups, 500, 17301230582, "v1, beside a group of v2");
	put("root/cpu,cpuacct/slurm/a:b/cpu.cfs_quota_us", "-1\n");
	check(groups, 0, 0, "v1, no limit");
	put("root/cpu,cpuacct/slurm/a:b/cpu.cfs_quota_us", "10\n");
	check(groups, 1, 17301230582, "v1, less than a thousandth");
}

static void nonsense(void)
{
	char *deep = malloc(3 * PATH_MAX);

	put("root/bad/cpu.max", "9223372036854775807 1\n");
	put("root/bad/cpu.stat", "throttled_usec 9223372036854775807\n");
	check("0::/bad\n", 2000, 1000, "a quota beyond all numbers");
	put("root/bad/cpu.max", "100000 0\n");
	check("0::/bad\n", 2000, 1000, "a period of 0");
	put("root/bad/cpu.max", "");
	check("0::/bad\n", 2000, 1000, "an empty file");
	put("root/bad/cpu.max", "100000 100000\n");
	put("root/bad/cpu.stat", "throttled_usec -4\n");
	check("0::/bad\n", 1000, 1000, "a time below 0");
	check("", 0, 0, "no groups");
	check("0:\n:\n\n7\n", 0, 0, "lines without fields");
	if (!deep)
		exit(1);
	memset(deep, 'd', 3 * PATH_MAX - 1);
	memcpy(deep, "0::/", 4);
	deep[3 * PATH_MAX - 1] = 0;
	check(deep, 0, 0, "a path that is too long");
	free(deep);
}

int main(void)
{
	char clean[PATH_MAX];
	struct cpu_limit l;

	if (!mkdtemp(top))
		return 1;
	version_2();
	version_1();
	nonsense();
	cpu_limit_now(&l, "/does/not/exist", "/");
	is(l.millicpus, 0, "no file of groups: no limit");
	snprintf(clean, sizeof(clean), "rm -rf '%s'", top);
	if (system(clean))
		return 1;
	return done();
}
