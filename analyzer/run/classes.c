/* SPDX-License-Identifier: MIT */
/* The store is copied without the other calls, so that every metric fits. */
#include "analyzer/run/classes.h"

#include <stdbool.h>
#include <string.h>

#include "lib/error.h"
#include "lib/store/event.h"
#include "lib/store/file_class.h"
#include "lib/store/store.h"

#include "analyzer/join/join.h"

/* The class of the @n characters at @word; REEL_CLASS_NONE: there is none. */
static enum reel_class class_of(const char *word, size_t n)
{
	for (int i = REEL_CLASS_DATA; i < REEL_CLASSES; i++) {
		const char *name = reel_class_name((enum reel_class)i);

		if (strlen(name) == n && !memcmp(name, word, n))
			return (enum reel_class)i;
	}
	return REEL_CLASS_NONE;
}

int reel_run_parse_classes(const char *words, uint32_t *out,
			   struct reel_error *err)
{
	*out = !strcmp(words, "all") ? REEL_RUN_ALL_CLASSES : 0;
	if (*out)
		return 0;
	for (;; words++) {
		size_t n = strcspn(words, ",");
		enum reel_class c = class_of(words, n);

		if (c == REEL_CLASS_NONE)
			return reel_fail(err, REEL_E_USAGE,
					 "'%.*s' is no class of files: data, "
					 "checkpoint, log, code, system, pipe; "
					 "or all alone",
					 (int)(n < 100 ? n : 100), words);
		*out |= 1u << c;
		words += n;
		if (!*words)
			return 0;
	}
}

int reel_run_default_classes(struct reel_store *const *st, size_t n,
			     uint32_t *out, struct reel_error *err)
{
	size_t made = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t is;
		bool has;

		if (reel_store_int(st[i],
				   "SELECT job_json = '" REEL_RUN_BENCHMARK
				   "' FROM run",
				   &is, &has, err))
			return -1;
		made += has && is;
	}
	*out = made > 0 && made < n
		       ? 1u << REEL_CLASS_DATA | 1u << REEL_CLASS_CHECKPOINT
		       : REEL_RUN_ALL_CLASSES;
	return 0;
}

static bool is_kept(void *arg, struct reel_event *ev)
{
	const uint32_t *classes = arg;

	return (*classes >> ev->class_ & 1) != 0;
}

int reel_run_keep_classes(struct reel_store **st, uint32_t classes,
			  struct reel_error *err)
{
	struct join_source source = {
		.st = *st, .name = (*st)->path, .format = "ioreel"};
	struct join_patch patch = {.event = is_kept, .arg = &classes};
	struct join_options options = {.patch = &patch};
	struct reel_store *copy = NULL;

	if (reel_store_temporary(&copy, (*st)->path, err))
		return -1;
	if (reel_join(copy, &source, 1, &options, err) < 0 ||
	    reel_store_finish(copy, err)) {
		reel_store_close(copy);
		return -1;
	}
	reel_store_close(*st);
	*st = copy;
	return 0;
}
