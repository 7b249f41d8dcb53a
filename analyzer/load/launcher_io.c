/* SPDX-License-Identifier: MIT */
/* Table launcher_io: the launchers and their files, apart from the job's. */
#include <string.h>

#include "lib/buf.h"

#include "analyzer/load/internal.h"

int load_launcher_event(struct load *l, const struct reel_event *ev,
			struct reel_error *err)
{
	enum metric_op op = metric_op(ev);

	if (!ev->file || metric_failed(ev) ||
	    (op != METRIC_READ && op != METRIC_WRITE && op != METRIC_MAPPED &&
	     ev->call != REEL_CALL_MMAP))
		return 0;
	return reel_intmap_get(&l->launcher_files, ev->file, err) ==
			       REEL_NO_INDEX
		       ? -1
		       : 0;
}

/* Usually a few; damaged traces may have more. */
#define NAMES_MOST 16

/* Add @name to the @n names unless it is there. The new number. */
static int add_name(const char *seen[static NAMES_MOST], int n,
		    const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(seen[i], name))
			return n;
	if (n < NAMES_MOST)
		seen[n++] = name;
	return n;
}

int load_launcher_row(struct load *l, struct reel_error *err)
{
	struct reel_buf names = REEL_BUF_INIT;
	struct reel_insert out = {0};
	const char *seen[NAMES_MOST];
	int64_t processes = 0;
	int n = 0, rc = -1;

	for (int i = 0; i < l->processes; i++) {
		if (!l->process[i].launcher)
			continue;
		processes++;
		n = add_name(seen, n, l->process[i].launcher);
	}
	if (!n)
		return 0;
	for (int i = 0; i < n; i++)
		if (reel_buf_printf(&names, err, "%s%s", i ? ", " : "",
				    seen[i]))
			goto out;
	if (reel_insert_open(&out, l->st,
			     "INSERT INTO launcher_io VALUES (?, ?, ?)", err))
		goto out;
	reel_insert_text(&out, reel_buf_text(&names));
	reel_insert_int(&out, processes);
	reel_insert_int(&out, l->launcher_files.used);
	rc = reel_insert_close(&out, reel_insert_done(&out, err));
out:
	reel_buf_fini(&names);
	return rc;
}
