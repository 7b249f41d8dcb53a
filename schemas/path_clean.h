/* SPDX-License-Identifier: MIT */
/*
 * Clean an absolute path: the shim and the resolver must agree on the result,
 * so that a path filter and the analysis see the same names. Needs no memory
 * and is async-signal-safe.
 */
#ifndef SCHEMAS_PATH_CLEAN_H
#define SCHEMAS_PATH_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* True for a path like /a/b.c: no "//", no "/." and no trailing "/". */
static inline bool reel_path_is_clean(const char *p, size_t len)
{
	const char *end = p + len;

	while ((p = memchr(p, '/', (size_t)(end - p)))) {
		p++;
		if (p == end || *p == '/' || *p == '.')
			return false;
	}
	return true;
}

/*
 * Resolve ".", "..", "//" and a trailing "/" in the absolute path @p of @len
 * bytes, in place and without the file system. Returns the new length, at
 * least 1; adds no NUL.
 */
static inline size_t reel_path_clean(char *p, size_t len)
{
	size_t in = 0, out = 0;

	while (in < len) {
		size_t start, n;

		while (in < len && p[in] == '/')
			in++;
		start = in;
		while (in < len && p[in] != '/')
			in++;
		n = in - start;
		if (!n || (n == 1 && p[start] == '.'))
			continue;
		if (n == 2 && p[start] == '.' && p[start + 1] == '.') {
			while (out && p[--out] != '/')
				;
			continue;
		}
		p[out++] = '/';
		memmove(p + out, p + start, n);
		out += n;
	}
	if (!out)
		p[out++] = '/';
	return out;
}

#endif
