/* SPDX-License-Identifier: MIT */
/*
 * Starting programs. An exec that succeeds ends the image, whose window stays,
 * and the new image records its own start. Recorded here: failed execs, spawns,
 * and the streams of popen(). A vfork child shares its parent's memory and has
 * no state of its own: its calls pass through.
 */
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/core/dir.h"
#include "preload/core/symbols.h"
#include "preload/core/wrap.h"
#include "preload/exec/traceable.h"
#include "preload/stdio/stream.h"

static bool is_unrecorded(void)
{
	return unlikely(!shim_hot.on || shim_vfork_child());
}

/* @file if it is a readable path; NULL for a name that is searched in PATH. */
static const char *path_of_file(uint32_t call, const char *file, int err)
{
	bool searched = call == CALL_EXECVP || call == CALL_POSIX_SPAWNP;

	if (shim_null(file) || !shim_readable_path(file, err) ||
	    (searched && !strchr(file, '/')))
		return NULL;
	return file;
}

COLD static void record_below_dir(struct shim_event *ev, uint64_t start,
				  uint64_t end, int r, int err)
{
	char path[REEL_PATH_BYTES];

	shim_dir_put(&ev->at, &ev->path, path);
	shim_record_full(ev, start, end, r, err);
}

/* The exec returned: record the failure. */
static int record_exec(struct shim_event *ev, const char *path, uint64_t start,
		       int r)
{
	uint64_t end = shim_clock();
	int err = errno;

	ev->path = path_of_file(ev->call, path, err);
	if (shim_dir_below(ev->at, ev->path))
		record_below_dir(ev, start, end, r, err);
	else
		shim_record_full(ev, start, end, r, err);
	return r;
}

/* Add the shim to the program's environment, on the stack. */
#define WITH_SHIM(env)                                                         \
	size_t room = shim_exec_room(env);                                     \
	char *more[room + 1];                                                  \
	if (unlikely(room))                                                    \
	env = shim_exec_env(env, more)

/* The exec that was noted failed. */
static int undo_note(enum reel_counter noted, int r)
{
	shim_exec_undo(noted);
	return r;
}

/* With libc's own environment, to which the shim is added if it lacks it. */
static int run_path(const char *path, char *const argv[])
{
	size_t room = shim_exec_room(environ);
	char *more[room + 1];

	NEED(execv);
	NEED(execve);
	return room ? real.execve(path, argv, shim_exec_env(environ, more))
		    : real.execv(path, argv);
}

static int run_search(const char *file, char *const argv[])
{
	size_t room = shim_exec_room(environ);
	char *more[room + 1];

	NEED(execvp);
	NEED(execvpe);
	return room ? real.execvpe(file, argv, shim_exec_env(environ, more))
		    : real.execvp(file, argv);
}

#define EXEC(fn, params, run, id, file, search, env, ...)                      \
	EXPORT int fn params                                                   \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = id,           \
					__VA_ARGS__};                          \
		enum reel_counter noted = shim_exec_note(file, search, env);   \
		uint64_t start;                                                \
                                                                               \
		if (is_unrecorded())                                           \
			return undo_note(noted, run);                          \
		start = shim_clock();                                          \
		return undo_note(noted, record_exec(&ev, file, start, run));   \
	}
#define EXEC_ENV(fn, params, args, id, file, noted_file, search, ...)          \
	EXPORT int fn params                                                   \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = id,           \
					__VA_ARGS__};                          \
		enum reel_counter noted =                                      \
			shim_exec_note(noted_file, search, env);               \
		uint64_t start;                                                \
                                                                               \
		WITH_SHIM(env);                                                \
		NEED(fn);                                                      \
		if (is_unrecorded())                                           \
			return undo_note(noted, real.fn args);                 \
		start = shim_clock();                                          \
		return undo_note(noted,                                        \
				 record_exec(&ev, file, start, real.fn args)); \
	}
FIELDS_MAY_REPEAT
EXEC_ENV(execve, (const char *path, char *const argv[], char *const env[]),
	 (path, argv, env), CALL_EXECVE, path, path, false, .size = NONE)
EXEC(execv, (const char *path, char *const argv[]), run_path(path, argv),
     CALL_EXECVE, path, false, environ, .size = NONE)
EXEC(execvp, (const char *file, char *const argv[]), run_search(file, argv),
     CALL_EXECVP, file, true, environ, .size = NONE)
EXEC_ENV(execvpe, (const char *file, char *const argv[], char *const env[]),
	 (file, argv, env), CALL_EXECVP, file, file, true, .size = NONE)
EXEC_ENV(execveat,
	 (int at, const char *path, char *const argv[], char *const env[],
	  int flags),
	 (at, path, argv, env, flags), CALL_EXECVEAT, path,
	 at == AT_FDCWD ? path : NULL, false, .at = at, .arg = flags)
EXEC_ENV(fexecve, (int fd, char *const argv[], char *const env[]),
	 (fd, argv, env), CALL_FEXECVE, NULL, NULL, false,
	 .desc = shim_known(fd))

/*
 * The arguments become a vector on the stack, as in libc's own function: a
 * vfork child may call it.
 */
#define EXECL(fn, id, room, run)                                               \
	EXPORT int fn(const char *path, const char *arg, ...)                  \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = id};          \
		const char *next = arg;                                        \
		size_t n = 0, i = 0;                                           \
		uint64_t start;                                                \
		enum reel_counter noted;                                       \
		va_list ap;                                                    \
                                                                               \
		va_start(ap, arg);                                             \
		for (; next; n++)                                              \
			next = va_arg(ap, const char *);                       \
		va_end(ap);                                                    \
		char *argv[n + 1 + (room)];                                    \
		va_start(ap, arg);                                             \
		for (argv[0] = (char *)arg; i < n + (room);)                   \
			argv[++i] = va_arg(ap, char *);                        \
		va_end(ap);                                                    \
		noted = shim_exec_note(path, (id) == CALL_EXECVP,              \
				       (room) ? (char **)argv[n + 1]           \
					      : environ);                      \
		if (is_unrecorded())                                           \
			return undo_note(noted, run);                          \
		start = shim_clock();                                          \
		return undo_note(noted, record_exec(&ev, path, start, run));   \
	}

static int run_env(const char *path, char **argv, char *env)
{
	NEED(execve);
	return real.execve(path, argv, (char **)env);
}
EXECL(execl, CALL_EXECVE, 0, run_path(path, argv))
EXECL(execlp, CALL_EXECVP, 0, run_search(path, argv))
/* The environment follows the NULL that ends the arguments. */
EXECL(execle, CALL_EXECVE, 1, run_env(path, argv, argv[n + 1]))

#define SPAWN(fn, id)                                                          \
	EXPORT int fn(pid_t *pid, const char *path,                            \
		      const posix_spawn_file_actions_t *actions,               \
		      const posix_spawnattr_t *attr, char *const argv[],       \
		      char *const env[])                                       \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE, .call = id};          \
		enum reel_counter noted =                                      \
			shim_exec_note(path, (id) == CALL_POSIX_SPAWNP, env);  \
		uint64_t start, end;                                           \
		int err;                                                       \
                                                                               \
		WITH_SHIM(env);                                                \
		NEED(fn);                                                      \
		if (is_unrecorded())                                           \
			return real.fn(pid, path, actions, attr, argv, env);   \
		stream_forking();                                              \
		TIMED(err = real.fn(pid, path, actions, attr, argv, env));     \
		if (err)                                                       \
			undo_note(noted, err);                                 \
		else                                                           \
			shim_spawn_opens(actions, start);                      \
		ev.path = path_of_file(id, path, err);                         \
		if (!err && pid)                                               \
			ev.arg = *pid;                                         \
		shim_record_full(&ev, start, end, err ? -1 : 0, err);          \
		return err;                                                    \
	}
SPAWN(posix_spawn, CALL_POSIX_SPAWN)
SPAWN(posix_spawnp, CALL_POSIX_SPAWNP)

/*
 * A child that shares memory and thread-local storage but has a process id and
 * an fd table of its own: its calls must not change the parent's state, so they
 * are counted, not recorded.
 */
EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	const unsigned int kind = CLONE_VM | CLONE_THREAD | CLONE_SETTLS;
	void *more[3]; /* parent_tid, tls, child_tid */
	va_list ap;

	va_start(ap, arg);
	for (int i = 0; i < 3; i++)
		more[i] = va_arg(ap, void *);
	va_end(ap);
	NEED(clone);
	if (shim_hot.on && ((unsigned int)flags & kind) == CLONE_VM &&
	    !shim_vfork_child())
		shim_cloned();
	return real.clone(fn, stack, flags, arg, more[0], more[1], more[2]);
}

/* Its handlers may do I/O: ours, registered first, runs last: process.c. */
EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
	NEED(quick_exit);
	real.quick_exit(status);
}

/* Not recorded: the child records itself. */
EXPORT int system(const char *command)
{
	NEED(system);
	if (!is_unrecorded())
		stream_forking();
	return real.system(command);
}

/* The stream's descriptor is a pipe, identified as one that no call opened. */
EXPORT FILE *popen(const char *command, const char *mode)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_POPEN};
	uint64_t start, end;
	FILE *f;

	PASS_WHEN(is_unrecorded(), popen, (command, mode));
	stream_forking();
	TIMED(f = real.popen(command, mode));
	if (f) {
		shim_fd_take(f->_fileno);
		ev.desc = shim_known(f->_fileno);
	}
	shim_record_full(&ev, start, end, f ? 0 : -1, f ? 0 : errno);
	return f;
}

EXPORT int pclose(FILE *f)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_PCLOSE};
	uint64_t start, end;
	int r;

	PASS_WHEN(is_unrecorded() || shim_null(f), pclose, (f));
	ev.desc = shim_stream_closing(f);
	TIMED(r = real.pclose(f));
	if (ev.desc)
		shim_record_full(&ev, start, end, r, r < 0 ? errno : 0);
	return r;
}
