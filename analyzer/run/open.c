/* SPDX-License-Identifier: MIT */
/* A command's RUN, a store or a trace: either way what it gets is a store. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/load/load.h"

static int load_temporary(struct reel_store **out, const char *dir,
			  struct reel_error *err)
{
	struct reel_store *st = NULL;

	if (reel_store_temporary(&st, dir, err))
		return -1;
	if (reel_load(st, dir, err) < 0 || reel_store_finish(st, err)) {
		reel_store_close(st);
		return -1;
	}
	*out = st;
	return 0;
}

int reel_run_open(struct reel_store **out, const char *run,
		  struct reel_error *err)
{
	struct stat st;

	if (stat(run, &st))
		return reel_fail(err, REEL_E_IO, "cannot open '%s': %s", run,
				 strerror(errno));
	if (S_ISDIR(st.st_mode) && reel_trace_is(run))
		return load_temporary(out, run, err);
	return reel_store_open(out, run, err); /* it says what it is not */
}
