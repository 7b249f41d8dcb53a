/* SPDX-License-Identifier: MIT */
/* Resolve paths as text: working directory, ".", ".." and a root directory. */
#include "lib/path.h"

#include <string.h>

#include "schemas/path_clean.h"

size_t reel_path_resolve(char out[static REEL_PATH_ROOM], const char *base,
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
	if (out[0] == '/' && !reel_path_is_clean(out, n))
		n = reel_path_clean(out, n);
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
