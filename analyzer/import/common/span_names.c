/* SPDX-License-Identifier: MIT */
/* The meaning of ranges, by the names in use. */
#include "analyzer/import/common/span_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/trace_format.h"

#define NAME_BYTES 96 /* a longer name is none of these */

struct known_name {
	const char *text;
	uint32_t kind;
};

/* Whole names, after plain_name(). */
static const struct known_name whole[] = {
	{"profilerstep", REEL_SPAN_STEP},
	{"step", REEL_SPAN_STEP},
	{"train_step", REEL_SPAN_STEP},
	{"training_step", REEL_SPAN_STEP},
	{"global_step", REEL_SPAN_STEP},
	{"iteration", REEL_SPAN_STEP},
	{"iter", REEL_SPAN_STEP},
	{"train_iteration", REEL_SPAN_STEP},
	{"training_iteration", REEL_SPAN_STEP},
	{"[pl][profile]run_training_batch", REEL_SPAN_STEP},
	{"epoch", REEL_SPAN_EPOCH},
	{"train_epoch", REEL_SPAN_EPOCH},
	{"training_epoch", REEL_SPAN_EPOCH},
	{"dataloader", REEL_SPAN_FETCH},
	{"data_loader", REEL_SPAN_FETCH},
	{"data_loading", REEL_SPAN_FETCH},
	{"dataloading", REEL_SPAN_FETCH},
	{"data_load", REEL_SPAN_FETCH},
	{"load_data", REEL_SPAN_FETCH},
	{"fetch", REEL_SPAN_FETCH},
	{"fetch_data", REEL_SPAN_FETCH},
	{"data_fetch", REEL_SPAN_FETCH},
	{"next_batch", REEL_SPAN_FETCH},
	{"get_batch", REEL_SPAN_FETCH},
	{"load_batch", REEL_SPAN_FETCH},
	{"wait_for_data", REEL_SPAN_FETCH},
	{"data_wait", REEL_SPAN_FETCH},
	{"backward", REEL_SPAN_BACKWARD},
	{"backward_pass", REEL_SPAN_BACKWARD},
	{"optimizer", REEL_SPAN_OPTIMIZER},
	{"optimizer_step", REEL_SPAN_OPTIMIZER},
	{"opt.step()", REEL_SPAN_OPTIMIZER},
	{"optimizer.step", REEL_SPAN_OPTIMIZER},
	{"optimizer.step()", REEL_SPAN_OPTIMIZER},
	{"checkpoint", REEL_SPAN_CHECKPOINT},
	{"save_checkpoint", REEL_SPAN_CHECKPOINT},
	{"eval", REEL_SPAN_EVAL},
	{"evaluate", REEL_SPAN_EVAL},
	{"evaluation", REEL_SPAN_EVAL},
	{"validation", REEL_SPAN_EVAL},
};

/* Beginnings: frameworks add the class of the object. */
static const struct known_name begins[] = {
	{"enumerate(dataloader)_", REEL_SPAN_FETCH},
	{"optimizer.step_", REEL_SPAN_OPTIMIZER},
};

/* Parts, as Lightning names the loader's owner before it. */
static const struct known_name parts[] = {
	{"dataloader_next", REEL_SPAN_FETCH},
	{"dataloaderiter.__next__", REEL_SPAN_FETCH},
};

/* The length of @name without the place that VizTracer adds, as "step 3 (train.py:9)". 0:
 * the place is in a package, whose functions have such names, too. */
static size_t length_of(const char *name)
{
	const char *place = strrchr(name, '('), *line = strrchr(name, ':');
	size_t n = strlen(name);

	if (!place || place < name + 2 || place[-1] != ' ' || !line ||
	    line < place || line[1 + strspn(line + 1, "0123456789")] != ')' ||
	    name[n - 1] != ')')
		return n;
	return strstr(place, "/site-packages/") || strstr(place, "/lib/python")
		       ? 0
		       : (size_t)(place - 1 - name);
}

/* @name in lower case, separators as "_"; a number at its end goes to
 * *@number. */
static bool plain_name(const char *name, char out[static NAME_BYTES],
		       int64_t *number)
{
	size_t n = length_of(name), digits;

	*number = -1;
	if (!n || n >= NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = strchr(" -:#=", name[i])
				 ? '_'
				 : (char)tolower((unsigned char)name[i]);
	out[n] = '\0';
	for (digits = n; digits && isdigit((unsigned char)out[digits - 1]);)
		digits--;
	if (digits && digits < n && n - digits <= 18) {
		*number = strtoll(out + digits, NULL, 10);
		while (digits && out[digits - 1] == '_')
			digits--;
		out[digits] = '\0';
	}
	return *out;
}

static uint32_t kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(name, whole[i].text))
			return whole[i].kind;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (!strncmp(name, begins[i].text, strlen(begins[i].text)))
			return begins[i].kind;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(name, parts[i].text))
			return parts[i].kind;
	return REEL_SPAN_USER;
}

struct span_meaning span_names_meaning(const char *name)
{
	struct span_meaning m = {REEL_SPAN_USER, -1};
	char plain[NAME_BYTES];
	int64_t number;

	/* In it Horovod waits for the data of a tensor. */
	if (!strcmp(name, "WAIT_FOR_DATA") || !plain_name(name, plain, &number))
		return m;
	m.kind = kind_of(plain);
	if (m.kind == REEL_SPAN_STEP || m.kind == REEL_SPAN_EPOCH)
		m.number = number;
	return m;
}
