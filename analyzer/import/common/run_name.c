/* SPDX-License-Identifier: MIT */
/* The name of a run whose format has no command. */
#include "analyzer/import/common/run_name.h"

#include <stdio.h>
#include <string.h>

#include "lib/job_name.h"

const char *import_run_name(const char *path, char out[static 256])
{
	const char *base = reel_path_base(path);
	char *dot;

	snprintf(out, 256, "%s", base);
	dot = strrchr(out, '.');
	if (dot && dot > out && (!strcmp(dot, ".gz") || !strcmp(dot, ".zst")))
		*dot = '\0';
	dot = strrchr(out, '.');
	if (dot && dot > out)
		*dot = '\0';
	return out;
}
