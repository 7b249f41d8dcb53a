/* SPDX-License-Identifier: MIT */
/*
 * Processes that MPI starts for the program. The launcher starts them with its
 * own environment: if it started "ioreel record" too, instead of the other way
 * round, they have no shim and only this process can count them.
 */
#include <string.h>

#include "schemas/launcher.h"

#include "preload/exec/traceable.h"
#include "preload/mpi/mpi.h"

extern char **environ;

/* Is "@name=@value" a line of @list? */
static bool has_line(const char *list, const char *name, const char *value)
{
	size_t n = strlen(name), len = strlen(value);

	for (const char *p = list; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (!strncmp(p, name, n) && p[n] == '=' &&
		    !strncmp(p + n + 1, value, len) &&
		    (!p[n + 1 + len] || p[n + 1 + len] == '\n'))
			return true;
	}
	return false;
}

/* Is there no launcher between "ioreel record" and this process? */
static bool launched_with_record(void)
{
	static const char *const name[] = {REEL_LAUNCHER_NAMES};
	const char *record = shim_env(environ, REEL_LAUNCHER);

	if (!record)
		return false;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		const char *ours = shim_env(environ, name[i]);

		if (ours && !has_line(record, name[i], ours))
			return false;
	}
	return true;
}

/* All members make the call, but only the arguments of @root count. */
static bool counts_here(void *comm, int root)
{
	int rank = -1;

	return shim_hot.on && mpi.Comm_rank && !mpi.Comm_rank(comm, &rank) &&
	       rank == root && launched_with_record();
}

static void count_untraced(const char *command, int n)
{
	if (!command || n <= 0)
		return;
	shim_untraced(REEL_UNTRACED_ENV, command);
	shim_count(REEL_UNTRACED_ENV, (uint64_t)n - 1);
}

int shim_mpi_Comm_spawn(const char *command, char **argv, int n, void *info,
			int root, void *comm, void **children, int *codes)
{
	int r = mpi_real.Comm_spawn(command, argv, n, info, root, comm,
				    children, codes);
	int saved = errno;

	if (!r && counts_here(comm, root))
		count_untraced(command, n);
	errno = saved;
	return r;
}

int shim_mpi_Comm_spawn_multiple(int kinds, char **command, char ***argvs,
				 const int *n, const void *infos, int root,
				 void *comm, void **children, int *codes)
{
	int r = mpi_real.Comm_spawn_multiple(kinds, command, argvs, n, infos,
					     root, comm, children, codes);
	int saved = errno;

	if (!r && counts_here(comm, root))
		for (int i = 0; i < kinds; i++)
			count_untraced(command[i], n[i]);
	errno = saved;
	return r;
}
