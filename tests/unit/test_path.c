/* SPDX-License-Identifier: MIT */
/* Paths as text: cleaned as in the shim, and resolved as in the resolver. */
#include <string.h>

#include "schemas/hash.h"
#include "schemas/path_clean.h"

#include "lib/path.h"

#include "tests/lib/tap.h"

static void clean_paths(void)
{
	static const struct {
		const char *path, *clean;
	} t[] = {
		{"/", "/"},
		{"//", "/"},
		{"/.", "/"},
		{"/..", "/"},
		{"/../..//a", "/a"},
		{"/a", "/a"},
		{"/a/", "/a"},
		{"/a//b", "/a/b"},
		{"/a/./b/.", "/a/b"},
		{"/a/../b", "/b"},
		{"/a/b/../../c/", "/c"},
		{"/.a/..b/...", "/.a/..b/..."},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char path[64];
		size_t len = strlen(t[i].path);

		strcpy(path, t[i].path);
		if (strcmp(path, t[i].clean))
			ok(!reel_path_is_clean(path, len), "'%s' is not clean",
			   path);
		len = reel_path_clean(path, len);
		path[len] = '\0';
		ok(!strcmp(path, t[i].clean), "'%s' becomes '%s'", t[i].path,
		   t[i].clean);
	}
	ok(reel_path_is_clean("/a/b.c", 6), "a plain path is clean");
}

static void resolve(const char *base, const char *path, const char *root,
		    const char *want)
{
	char out[REEL_PATH_ROOM];
	size_t n = reel_path_resolve(out, base, base ? strlen(base) : 0, path,
				     strlen(path), root, strlen(root));

	ok(n == strlen(want) && !strncmp(out, want, n), "'%s' resolves to '%s'",
	   path, want);
}

static void long_path(void)
{
	static char path[REEL_PATH_BYTES + 1];
	char out[REEL_PATH_ROOM];

	memset(path, 'a', REEL_PATH_BYTES);
	is(reel_path_resolve(out, NULL, 0, path, REEL_PATH_BYTES, "", 0), 0,
	   "a path that is too long has no result");
	is(reel_path_resolve(out, NULL, 0, "", 0, "", 0), 0,
	   "nor has an empty path");
}

int main(void)
{
	clean_paths();
	resolve("/work", "data/../a", "", "/work/a");
	resolve("/work", "/data", "", "/data");
	resolve(NULL, "a/../b", "", "a/../b");
	resolve("/work", "/root/a", "/root", "/a");
	resolve("/work", "/root", "/root", "/");
	resolve("/work", "/rootless/a", "/root", "/rootless/a");
	long_path();
	ok(reel_fnv1a(REEL_FNV_SEED, "a", 1) == 0xaf63dc4c8601ec8cull,
	   "FNV-1a of 'a', as published");
	return done();
}
