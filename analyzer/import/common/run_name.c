/* SPDX-License-Identifier: MIT */
/* The row of a run whose format has no command. */
#include "analyzer/import/common/run_name.h"

#include <stdio.h>
#include <string.h>

#include "lib/job_name.h"

struct reel_writer_run import_run_unknown(void)
{
	return (struct reel_writer_run){.command = "",
					.wall_ns = REEL_NO_OFFSET,
					.exit_status = REEL_NO_OFFSET,
					.exit_signal = REEL_NO_OFFSET,
					.clock_error_ns = REEL_NO_OFFSET,
					.job_json = "{}"};
}

/* Cut off the last suffix; a name that begins with the dot keeps it. */
static void drop_suffix(char *name, bool compressed)
{
	char *dot = strrchr(name, '.');

	if (dot && dot > name &&
	    (!compressed || !strcmp(dot, ".gz") || !strcmp(dot, ".zst")))
		*dot = '\0';
}

const char *import_run_name(const char *path, const char *suffix,
			    char out[static 256])
{
	char *end;

	snprintf(out, 256, "%s", reel_path_base(path));
	end = suffix ? strstr(out, suffix) : NULL;
	if (end > out) {
		*end = '\0';
		return out;
	}
	drop_suffix(out, true);
	drop_suffix(out, false);
	return out;
}
