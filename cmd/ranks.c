/* SPDX-License-Identifier: MIT */
/* Refuse the ranks of a launcher where a verb is started once. */
#include "cmd/ranks.h"

#include <stdlib.h>

#include "schemas/launcher.h"

#include "lib/cli.h"

/* The launcher of this process, which says how many ranks it started; NULL: none.
 * Ranks of torchrun are programs of Python. */
static const struct reel_launcher *find_launcher(void)
{
	for (size_t i = 0; i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->kind != REEL_LAUNCHER_TORCH && l->size &&
		    getenv(l->size) && (!l->needs || getenv(l->needs)))
			return l;
	}
	return NULL;
}

bool ranks_refuse(const struct reel_command *cmd, const char *instead,
		  int *status)
{
	const struct reel_launcher *l = find_launcher();
	int size = l ? atoi(getenv(l->size)) : 1;
	const char *rank = l ? getenv(l->rank) : NULL;

	if (size < 2)
		return false;
	*status = 0;
	if (!rank || !atoi(rank))
		*status = reel_cli_usage(cmd,
					 "each of %d ranks would do all of the "
					 "work (%s=%d): %s",
					 size, l->size, size, instead);
	return true;
}
