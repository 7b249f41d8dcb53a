/* SPDX-License-Identifier: MIT */
/* Paths as text: the working directory, ".", ".." and a root taken out. */
#include "lib/path.h"

#include <stdbool.h>
#include <string.h>

/* Nothing to do for a path like /a/b.c: no "//", no "/." and no last "/". */
static bool is_clean(const char *p, size_t len)
{
	const char *end = p + len;

	while ((p = memchr(p, '/', (size_t)(end - p)))) {
		p++;
		if (p == end || *p == '/' || *p == '.')
			return false;
	}
	return true;
}

/* Resolve ".", "..", "//" in the absolute path @p in place. */
static size_t clean(char *p, size_t len)
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

size_t path_resolve(char out[static PATH_ROOM], const char *base,
		    size_t base_len, const char *path, size_t len,
		    const char *root, size_t root_len)
{
	size_t n = 0;

	if (!len || len >= REEL_PATH_BYTES)
		return 0;
	if (path[0] != '/') {
		if (!base) {
			memcpy(out, path, len);
			out[len] = '\0';
			return len;
		}
		if (base_len >= REEL_PATH_BYTES)
			return 0;
		memcpy(out, base, base_len);
		n = base_len;
		out[n++] = '/';
	}
	memcpy(out + n, path, len);
	n += len;
	if (out[0] == '/' && !is_clean(out, n))
		n = clean(out, n);
	if (root_len && n >= root_len && !memcmp(out, root, root_len) &&
	    (n == root_len || out[root_len] == '/')) {
		n -= root_len;
		memmove(out, out + root_len, n);
		if (!n)
			out[n++] = '/';
	}
	out[n] = '\0';
	return n;
}
