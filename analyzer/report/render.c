/* SPDX-License-Identifier: MIT */
/* The table of renderers. */
#include "analyzer/report/render.h"

#include <stddef.h>
#include <string.h>

static const struct report_renderer renderers[] = {
	{"text", report_text},
	{"json", report_json},
};

const struct report_renderer *report_renderer_find(const char *name)
{
	for (size_t i = 0; i < sizeof(renderers) / sizeof(renderers[0]); i++)
		if (!strcmp(renderers[i].name, name))
			return &renderers[i];
	return NULL;
}
