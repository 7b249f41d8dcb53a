/* SPDX-License-Identifier: MIT */
/* Any kind of RUN becomes a store. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/error.h"
#include "lib/store/store.h"
#include "lib/trace/reader.h"

#include "analyzer/import/import.h"
#include "analyzer/load/load.h"
#include "analyzer/run/internal.h"
#include "analyzer/run/run.h"

int run_load_temporary(struct reel_store **out, char *const *path, int n,
		       const struct reel_importer *as, struct reel_error *err)
{
	const struct reel_import_options options = {.as = as};
	struct reel_store *st = NULL;
	int64_t events;

	if (reel_store_temporary(&st, path[0], err))
		return -1;
	events = as ? reel_import(st, path, n, &options, err)
		    : reel_load(st, path[0], NULL, err);
	if (events < 0 || reel_store_finish(st, err)) {
		reel_store_close(st);
		return -1;
	}
	*out = st;
	return 0;
}

int reel_run_open(struct reel_store **out, const char *run,
		  struct reel_error *err)
{
	char *path = (char *)run; /* borrowed */
	const struct reel_importer *as;
	struct reel_error better = {0};
	struct stat st;

	if (stat(run, &st))
		return reel_fail_io(err, "open", run, errno);
	if (S_ISDIR(st.st_mode) && reel_trace_is(run))
		return run_load_temporary(out, &path, 1, NULL, err);
	as = reel_importer_detect(run);
	if (as)
		return run_load_temporary(out, &path, 1, as, err);
	if (!reel_store_open(out, run, err))
		return 0;
	/* The error is that for all kinds: there may be a better one. */
	if (err->code == REEL_E_FORMAT)
		reel_import_unknown(run, &better);
	if (better.code)
		*err = better;
	return -1;
}
