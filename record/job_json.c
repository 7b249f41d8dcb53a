/* SPDX-License-Identifier: MIT */
/*
 * job.json, the description of the job: written before it, completed after it.
 *
 * It leaves the machine with the trace. Therefore it holds only the environment
 * variables in the list below, and none whose name suggests a secret.
 */
#include <errno.h>
#include <fnmatch.h>
#include <mntent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"

#include "lib/json.h"
#include "record/internal.h"

static json_t *word_list(char **argv)
{
	json_t *list = json_array();

	for (; *argv; argv++)
		json_array_append_new(list, reel_json_name(*argv));
	return list;
}

static json_t *glob_list(const struct reel_opt_list *l)
{
	json_t *list = json_array();
	int i;

	for (i = 0; i < l->n; i++)
		json_array_append_new(list, reel_json_name(l->item[i]));
	return list;
}

static json_t *host_object(void)
{
	struct utsname u = {0};
	char boot_id[40];
	json_t *h = json_object();
	cpu_set_t set;

	uname(&u);
	json_object_set_new(h, "name", reel_json_name(u.nodename));
	record_boot_id(boot_id);
	if (boot_id[0])
		json_object_set_new(h, "boot_id", json_string(boot_id));
	json_object_set_new(h, "kernel", reel_json_name(u.release));
	json_object_set_new(h, "machine", reel_json_name(u.machine));
	json_object_set_new(h, "cpus",
			    json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	if (!sched_getaffinity(0, sizeof(set), &set))
		json_object_set_new(h, "cpus_allowed",
				    json_integer(CPU_COUNT(&set)));
	json_object_set_new(h, "memory_bytes",
			    json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) *
					 sysconf(_SC_PAGESIZE)));
	return h;
}

static bool is_kept_variable(const char *name)
{
	static const char *const yes[] = {
		"OMP_*",
		"MKL_*",
		"OPENBLAS_NUM_THREADS",
		"CUDA_VISIBLE_DEVICES",
		"CUDA_DEVICE_ORDER",
		"HIP_VISIBLE_DEVICES",
		"PYTHON*",
		"OMPI_COMM_WORLD_*",
		"PMI_RANK",
		"PMI_SIZE",
		"PMIX_RANK",
		"MPI_LOCALRANKID",
		"RANK",
		"WORLD_SIZE",
		"LOCAL_RANK",
		"LOCAL_WORLD_SIZE",
		"GROUP_RANK",
		"NODE_RANK",
		"SLURM_PROCID",
		"SLURM_NTASKS",
		"SLURM_LOCALID",
		"SLURM_NODEID",
		"SLURM_NNODES",
		"SLURM_JOB_ID",
		"SLURM_CPUS_PER_TASK",
		"TF_CPP_*",
		"TF_NUM_*",
		"TF_ENABLE_*",
		"KERAS_BACKEND",
		"HDF5_USE_FILE_LOCKING",
		"LC_ALL",
		"LANG",
		"MALLOC_*",
	};
	static const char *const no[] = {"SECRET", "TOKEN",	 "PASS",
					 "KEY",	   "CREDENTIAL", "AUTH"};
	size_t i;

	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasestr(name, no[i]))
			return false;
	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (!fnmatch(yes[i], name, 0))
			return true;
	return false;
}

static json_t *environment_object(void)
{
	json_t *o = json_object();
	char **e;

	for (e = environ; e && *e; e++) {
		size_t n = strcspn(*e, "=");
		char name[64];

		if (!(*e)[n] || n >= sizeof(name))
			continue;
		memcpy(name, *e, n);
		name[n] = '\0';
		if (is_kept_variable(name))
			json_object_set_new(o, name,
					    reel_json_name(*e + n + 1));
	}
	return o;
}

/* Pseudo file systems of the kernel hold no data of the job. */
static bool is_pseudo(const char *type)
{
	static const char *const pseudo[] = {
		"proc",	  "sysfs",	"cgroup",  "cgroup2",	"devpts",
		"mqueue", "securityfs", "debugfs", "tracefs",	"pstore",
		"bpf",	  "configfs",	"fusectl", "hugetlbfs", "binfmt_misc",
		"autofs", "rpc_pipefs", "nsfs",	   "efivarfs",	"selinuxfs",
	};
	size_t i;

	for (i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
		if (!strcmp(type, pseudo[i]))
			return true;
	return false;
}

static json_t *mount_list(void)
{
	json_t *list = json_array();
	FILE *f = setmntent("/proc/self/mounts", "re");
	char room[3 * PATH_MAX];
	struct mntent m;

	while (f && getmntent_r(f, &m, room, sizeof(room))) {
		json_t *o;

		if (is_pseudo(m.mnt_type))
			continue;
		o = json_object();
		json_object_set_new(o, "path", reel_json_name(m.mnt_dir));
		json_object_set_new(o, "type", reel_json_name(m.mnt_type));
		json_object_set_new(o, "source", reel_json_name(m.mnt_fsname));
		json_array_append_new(list, o);
	}
	if (f)
		endmntent(f);
	return list;
}

json_t *record_job_begin(const struct reel_record_options *opt, char **argv,
			 bool hooks, struct reel_error *err)
{
	json_t *job = json_object(), *o;
	char cwd[PATH_MAX];

	if (!job) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		return NULL;
	}
	json_object_set_new(job, "command", word_list(argv));
	if (getcwd(cwd, sizeof(cwd)))
		json_object_set_new(job, "cwd", reel_json_name(cwd));
	json_object_set_new(job, "start_real_ns",
			    json_integer(record_clock_ns(CLOCK_REALTIME)));
	json_object_set_new(job, "host", host_object());
	json_object_set_new(job, "environment", environment_object());
	json_object_set_new(job, "mounts", mount_list());
	o = json_object();
	json_object_set_new(o, "all", json_boolean(opt->all));
	json_object_set_new(o, "include", glob_list(&opt->include));
	json_object_set_new(o, "exclude", glob_list(&opt->exclude));
	json_object_set_new(o, "hooks", json_boolean(hooks));
	json_object_set_new(job, "options", o);
	if (opt->path_root)
		json_object_set_new(job, "path_root",
				    reel_json_name(opt->path_root));
	if (opt->launchers)
		json_object_set(job, "launchers", opt->launchers);
	o = json_object();
	json_object_set_new(o, "ioreel", json_string(REEL_VERSION));
	json_object_set_new(
		o, "trace",
		json_sprintf("%d.%d", REEL_TRACE_MAJOR, REEL_TRACE_MINOR));
	json_object_set_new(job, "versions", o);
	return job;
}

void record_job_ended(json_t *job, const struct reel_record_result *res)
{
	int w = res->wait_status;

	json_object_set_new(job, "end_real_ns",
			    json_integer(record_clock_ns(CLOCK_REALTIME)));
	json_object_set_new(job, "wall_ns", json_integer(res->wall_ns));
	json_object_set_new(job, "exit_status",
			    WIFEXITED(w) ? json_integer(WEXITSTATUS(w))
					 : json_null());
	json_object_set_new(job, "exit_signal",
			    WIFSIGNALED(w) ? json_integer(WTERMSIG(w))
					   : json_null());
	if (res->cpu.has)
		json_object_set_new(job, "processor",
				    cpu_usage_json(&res->cpu));
	if (res->cpu.limit.millicpus)
		json_object_set_new(job, "cpu_limit",
				    cpu_limit_json(&res->cpu.limit));
}

static void add_counts(json_t *o, const struct record_summary *s,
		       enum reel_counter first, enum reel_counter last,
		       size_t prefix)
{
	unsigned int i;

	for (i = first; i <= last; i++)
		json_object_set_new(o, reel_counter_name(i) + prefix,
				    json_integer((json_int_t)s->lost[i]));
}

int record_job_end(json_t *job, const char *dir,
		   const struct reel_record_result *res, struct reel_error *err)
{
	json_t *lost = json_object(), *code = json_object(),
	       *hooks = json_object();
	const struct record_summary *s = &res->summary;
	int i;

	json_object_set_new(job, "running", json_integer(res->running));
	if (res->summed) {
		json_object_set_new(
			job, "processes",
			json_integer(s->processes + s->launcher_processes));
		add_counts(lost, s, 0, REEL_CODE_OPENS - 1, 0);
		add_counts(code, s, REEL_CODE_OPENS, REEL_CODE_WRITE_BYTES,
			   strlen("code_"));
	}
	json_object_set_new(job, "lost", lost);
	json_object_set_new(job, "code", code);
	for (i = 0; i < s->hooks.n; i++)
		json_object_set_new(hooks, s->hooks.hook[i].name,
				    reel_json_name(s->hooks.hook[i].state));
	if (res->summed && s->walked)
		json_object_set(job, "hooks", hooks);
	json_decref(hooks);
	return record_job_write(job, dir, err);
}

int record_json_write(const json_t *j, const char *path, struct reel_error *err)
{
	char *dump = json_dumps(j, JSON_INDENT(1));
	struct reel_buf b = REEL_BUF_INIT;
	int rc = -1;

	if (!dump)
		reel_fail(err, REEL_E_MEMORY, "out of memory");
	else if (!reel_buf_puts(&b, dump, err) && !reel_buf_puts(&b, "\n", err))
		rc = reel_buf_write_file(&b, path, err);
	free(dump);
	reel_buf_fini(&b);
	return rc;
}

int record_job_write(const json_t *job, const char *dir, struct reel_error *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/job.json", dir) >= PATH_MAX)
		return reel_fail_io(err, "write to", dir, ENAMETOOLONG);
	return record_json_write(job, path, err);
}
