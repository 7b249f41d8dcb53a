/* SPDX-License-Identifier: MIT */
/*
 * The entry of the shim: decides, once for each process, whether to record,
 * reads the environment, and hands core the table of the other rooms' hooks.
 * This file is above all rooms: it uses every room, and no room uses it.
 *
 * The start comes with the first object that is initialised after libc, even if
 * that is another library's: our own constructor would run after all others,
 * and their I/O would not be recorded.
 */
#include <string.h>
#include <unistd.h>

#include "schemas/launcher.h"

#include "preload/anchors/spans.h"
#include "preload/async/operations.h"
#include "preload/core/block_io.h"
#include "preload/core/counters.h"
#include "preload/core/dlfcn_compat.h"
#include "preload/core/features.h"
#include "preload/core/window.h"
#include "preload/exec/seccomp.h"
#include "preload/exec/traceable.h"
#include "preload/mmap/mappings.h"
#include "preload/mmap/page_faults.h"
#include "preload/mpi/mpi.h"
#include "preload/posix/calls.h"
#include "preload/stacks/callsite.h"
#include "preload/stdio/stream.h"

/* Weak: only glibc has it. */
const char *gnu_get_libc_version(void) __attribute__((weak));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void finish_mappings(enum shim_ending how)
{
	(void)how;
	shim_maps_finish();
}

static void finish_async(enum shim_ending how)
{
	(void)how;
	shim_async_finish();
}

static void finish_namespaces(enum shim_ending how)
{
	if (how != SHIM_ENDING_CONFINED)
		shim_note_namespaces();
}

/*
 * A process without a log does not make one for the positions of its streams,
 * unless exit() writes their buffers.
 */
static void finish_streams(enum shim_ending how)
{
	bool flushes = how == SHIM_ENDING_EXIT;
	bool fresh = shim_process_is_fresh();

	if (how == SHIM_ENDING_CONFINED || shim_process_has_log() ||
	    (flushes && fresh))
		stream_finish(flushes);
	else if (fresh)
		stream_leaving();
}

static void start_callsites(char **env)
{
	shim_sites_start(shim_env(env, "IOREEL_STACKS"));
}

static void start_streams(char **env)
{
	(void)env;
	stream_start();
}

/* In the order in which a process records its last events. */
static const struct shim_feature features[] = {
	{.start = shim_exec_keep},
	{.start = shim_faults_ask, .finish = finish_mappings},
	{.start = shim_dispatch_ask, .finish = finish_async},
	{.finish = finish_namespaces},
	{.start = start_callsites, .site = shim_site},
	{
		.start = start_streams,
		.fork_prepare = stream_forking,
		.fork_parent = stream_split,
		.fork_child = stream_forked,
		.finish = finish_streams,
	},
	{.marker = shim_marker},
};

/* The rank from the innermost launcher + 1, or 0. */
static uint32_t launcher_rank(char **env)
{
	const char *value = NULL;
	uint32_t n = 0;

	if (shim_env(env, "TORCHELASTIC_RUN_ID") ||
	    shim_env(env, "MASTER_PORT"))
		value = shim_env(env, "RANK");
	/* A batch script has a SLURM_PROCID, but it is not a task of a step. */
	for (size_t i = 0; !value && i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->kind != REEL_LAUNCHER_TORCH &&
		    (!l->needs || shim_env(env, l->needs)))
			value = shim_env(env, l->rank);
	}
	for (; value && *value >= '0' && *value <= '9' && n < 1u << 24; value++)
		n = 10 * n + (uint32_t)(*value - '0');
	return value && !*value ? n + 1 : 0;
}

/* Copy @value to @buf, because the job may change its environment. NULL: it is
 * empty or too long. */
static const char *copy_value(char *buf, size_t room, const char *value)
{
	size_t n = value ? strlen(value) : 0;

	if (!n || n >= room)
		return NULL;
	memcpy(buf, value, n + 1);
	return buf;
}

/* Is the TSC the clock? @wanted: the value of IOREEL_CLOCK. */
static bool is_tsc_trusted(const char *wanted)
{
#if defined(__x86_64__)
	char buf[16];

	if (wanted && !strcmp(wanted, "tsc"))
		return true;
	if (wanted && !strcmp(wanted, "monotonic"))
		return false;
	return shim_read_small("/sys/devices/system/clocksource/clocksource0/"
			       "current_clocksource",
			       buf, sizeof(buf)) >= 4 &&
	       !memcmp(buf, "tsc\n", 4);
#else
	return false;
#endif
}

/*
 * Does another copy of the shim (of another installation) come before this one?
 * It records; two copies would count every call twice.
 */
static bool another_copy_records(void)
{
	void *first = dlsym(RTLD_DEFAULT, "ioreel_python");
	Dl_info in;

	return first && dladdr(first, &in) && in.dli_fbase != __ehdr_start;
}

static void read_settings(char **env)
{
	static char include[8192], exclude[8192];
	const char *value;

	shim.rank = launcher_rank(env);
	shim_counting_ask(shim_env(env, "IOREEL_EVENTS"));
	shim_hot.clock = is_tsc_trusted(shim_env(env, "IOREEL_CLOCK"))
				 ? REEL_CLOCK_TSC
				 : REEL_CLOCK_MONOTONIC;
	value = shim_env(env, "IOREEL_ALL");
	shim.all = value && *value == '1';
	shim.include = copy_value(include, sizeof(include),
				  shim_env(env, "IOREEL_INCLUDE"));
	shim.exclude = copy_value(exclude, sizeof(exclude),
				  shim_env(env, "IOREEL_EXCLUDE"));
	shim.globs = shim.include || shim.exclude;
	value = shim_env(env, "LD_PRELOAD");
	shim.strict = value && strstr(value, "/vgpreload_"); /* valgrind */
}

static void start_process(char **env)
{
	static char dir[REEL_PATH_BYTES];
	static bool started;
	const char *value;
	int saved = errno;

	/* Another C library gives constructors no environment. */
	if (started || !gnu_get_libc_version)
		return;
	started = true;
	shim_resolve_all();
	shim_syscall_find();
	value = copy_value(dir, sizeof(dir) - 128, shim_env(env, "IOREEL_DIR"));
	if (!value || value[0] != '/' || another_copy_records() ||
	    !shim_process_init())
		goto out;
	shim.dir = dir;
	shim.dir_len = strlen(dir);
	read_settings(env);
	shim_map_counts();
	shim_block_io_start();
	shim_cwd_changed();
	shim_features_set(features, sizeof(features) / sizeof(features[0]));
	shim_features_start(env);
	shim_process_arm();
out:
	errno = saved;
}

/*
 * Called by the start-up code of each object, before its constructors: of
 * objects that are loaded after us, and of those that are initialised before
 * us, as soon as libc has its environment.
 */
EXPORT void __gmon_start__(void);
EXPORT void __gmon_start__(void)
{
	int saved = errno;

	if (environ)
		start_process(environ);
	if (shim_hot.on)
		shim_mpi_bind();
	errno = saved;
}

/* For a process none of whose objects called __gmon_start__. */
__attribute__((constructor)) static void construct(int argc, char **argv,
						   char **env)
{
	int saved = errno;

	(void)argc;
	(void)argv;
	start_process(env);
	if (shim_hot.on)
		shim_mpi_bind_first();
	errno = saved;
}
