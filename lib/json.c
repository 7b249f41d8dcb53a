/* SPDX-License-Identifier: MIT */
/* Write JSON documents with strings of any bytes. */
#include "lib/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/text.h"

json_t *reel_json_text(const char *text, size_t len)
{
	json_t *s = json_stringn(text, len);
	char *shown;

	if (s)
		return s;
	shown = malloc(4 * len + 1);
	if (!shown)
		return NULL;
	reel_text_escape(shown, 4 * len + 1, text, len);
	s = json_string(shown);
	free(shown);
	return s;
}

json_t *reel_json_name(const char *name)
{
	return name ? reel_json_text(name, strlen(name)) : json_null();
}

/* jansson begins each line in the first column: indent the lines after it. */
static int write_indented(const char *text, size_t len, void *columns)
{
	const char *end = text + len;

	while (text < end) {
		const char *line = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((line ? line + 1 : end) - text);

		if (fwrite(text, 1, n, stdout) != n ||
		    (line && printf("%*s", *(int *)columns, "") < 0))
			return -1;
		text += n;
	}
	return 0;
}

int reel_json_put(json_t *value, int columns, struct reel_error *err)
{
	int rc, why;

	if (!value)
		return reel_fail(err, REEL_E_MEMORY,
				 "out of memory for the document");
	errno = 0;
	rc = json_dump_callback(value, write_indented, &columns,
				JSON_INDENT(2) | JSON_REAL_PRECISION(15) |
					JSON_ENCODE_ANY);
	why = errno;
	json_decref(value);
	if (rc && why != EPIPE)
		return reel_fail(err, REEL_E_IO,
				 "cannot write to standard output: %s",
				 strerror(why ? why : EIO));
	return 0;
}

int reel_json_print(json_t *doc, struct reel_error *err)
{
	if (reel_json_put(doc, 0, err))
		return -1;
	putchar('\n');
	return 0;
}
