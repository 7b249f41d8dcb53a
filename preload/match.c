/* SPDX-License-Identifier: MIT */
/*
 * Code against data. Importing a framework opens thousands of files that no
 * one asks about; they are counted and not recorded, so that they never push a
 * data file out. In doubt a file is data.
 *
 * Runs for each call on a path, some 10 ns: the last byte of the ending and
 * the first bytes of the path decide most of them.
 */
#include "preload/match.h"

#include <string.h>

struct text {
	const char *s;
	size_t n;
};
#define T(literal) { literal, sizeof(literal) - 1 }

/* Endings of code, whatever the directory. */
static const struct text code_ends[] = { T(".py"),    T(".pyc"), T(".pyi"),
					 T(".so"),    T(".pyo"), T(".pyd"),
					 T(".dylib") };

/* Endings of data: they win over a code directory, not over /proc and /dev. */
static const struct text data_ends[] = {
	T(".npy"),   T(".npz"),      T(".h5"),      T(".hdf5"),    T(".tfrecord"),
	T(".tfrecords"), T(".parquet"), T(".arrow"), T(".csv"),    T(".tsv"),
	T(".bin"),   T(".jpg"),      T(".jpeg"),    T(".png"),     T(".ppm"),
	T(".pt"),    T(".pth"),      T(".ckpt"),    T(".safetensors"),
	T(".tar"),   T(".wav"),      T(".flac"),    T(".mp4"),     T(".jsonl"),
	T(".idx"),   T(".raw"),      T(".dat"),     T(".webp"),    T(".keras"),
	T(".mdb"),   T(".nc"),       T(".zarr"),
};

/* Never anybody's data set. */
static const struct text system_dirs[] = { T("/proc"), T("/sys"), T("/etc"),
					   T("/run"), T("/dev") };

/* Installed programs; a data ending may still be data. */
static const struct text code_dirs[] = {
	T("/usr/lib"),     T("/usr/lib64"),  T("/usr/lib32"), T("/usr/bin"),
	T("/usr/sbin"),    T("/usr/libexec"), T("/usr/include"), T("/usr/share"),
	T("/usr/local/lib"), T("/usr/local/bin"), T("/lib"),  T("/lib64"),
	T("/lib32"),       T("/bin"),        T("/sbin"),
};

/* Parts of a path that only installed code has. */
static const struct text code_parts[] = { T("/site-packages"),
					  T("/dist-packages"),
					  T("/__pycache__"), T("/lib/python"),
					  T("/lib64/python") };

/* Shared memory that libraries make for themselves under /dev/shm. */
static const struct text shm_names[] = { T("/dev/shm/sem."),
					 T("/dev/shm/torch_"),
					 T("/dev/shm/psm_"),
					 T("/dev/shm/pymp-"),
					 T("/dev/shm/vader_segment"),
					 T("/dev/shm/ompi") };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool under(const char *path, size_t len, const struct text *dir)
{
	return len >= dir->n && !memcmp(path, dir->s, dir->n) &&
	       (path[dir->n] == '/' || !path[dir->n]);
}

static bool any_dir(const char *path, size_t len, const struct text *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (under(path, len, &d[i]))
			return true;
	return false;
}

static bool any_end(const char *path, size_t len, const struct text *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (len > e[i].n && path[len - 1] == e[i].s[e[i].n - 1] &&
		    !memcmp(path + len - e[i].n, e[i].s, e[i].n))
			return true;
	return false;
}

/* "libz.so.1.2": ".so." and then digits and dots. */
static bool versioned_so(const char *path, size_t len)
{
	size_t i = len;

	if (!len || path[len - 1] < '0' || path[len - 1] > '9')
		return false;
	while (i && (path[i - 1] == '.' ||
		     (path[i - 1] >= '0' && path[i - 1] <= '9')))
		i--;
	return i < len && i >= 3 && path[i] == '.' &&
	       !memcmp(path + i - 3, ".so", 3);
}

static bool in_code_dir(const char *path, size_t len)
{
	if (path[0] == '/' && strchr("ulbs", path[1]) &&
	    any_dir(path, len, code_dirs, COUNT(code_dirs)))
		return true;
	for (const char *p = path; (p = strchr(p, '/')); p++) {
		if (!p[1] || !strchr("sd_l", p[1]))
			continue;
		for (size_t i = 0; i < COUNT(code_parts); i++)
			if (!strncmp(p, code_parts[i].s, code_parts[i].n))
				return true;
	}
	return false;
}

static bool interpreter_file(const char *path, size_t len)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	return !strcmp(base, "pyvenv.cfg") || !strcmp(base, "pybuilddir.txt") ||
	       (!strncmp(base, "python", 6) && len > 4 &&
		(!strcmp(path + len - 4, ".zip") ||
		 !strcmp(path + len - 4, "._pth")));
}

bool match_code(const char *path, size_t len, bool reading)
{
	if (path[0] == '/' && strchr("psred", path[1]) &&
	    any_dir(path, len, system_dirs, COUNT(system_dirs))) {
		if (strncmp(path, "/dev/shm", 8) || (path[8] && path[8] != '/'))
			return true;
		for (size_t i = 0; i < COUNT(shm_names); i++)
			if (!strncmp(path, shm_names[i].s, shm_names[i].n))
				return true;
		return false;
	}
	if (any_end(path, len, code_ends, COUNT(code_ends)) ||
	    versioned_so(path, len))
		return true;
	if (!reading && !strstr(path, "/__pycache__"))
		return false; /* the job writes it: its own file */
	return (in_code_dir(path, len) || interpreter_file(path, len)) &&
	       !any_end(path, len, data_ends, COUNT(data_ends));
}

/* One pattern, iteratively: on a mismatch the last "*" takes one byte more. */
static bool glob(const char *g, const char *g_end, const char *s)
{
	const char *star = NULL, *back = NULL;

	while (*s) {
		if (g < g_end && *g == '*') {
			star = g++;
			back = s;
		} else if (g < g_end && (*g == '?' || *g == *s)) {
			g++;
			s++;
		} else if (star) {
			g = star + 1;
			s = ++back;
		} else {
			return false;
		}
	}
	while (g < g_end && *g == '*')
		g++;
	return g == g_end;
}

bool match_globs(const char *globs, const char *path, size_t len)
{
	const char *base = strrchr(path, '/');

	(void)len;
	base = base ? base + 1 : path;
	while (*globs) {
		const char *end = strchr(globs, '\n');
		const char *stop = end ? end : globs + strlen(globs);
		bool whole = memchr(globs, '/', (size_t)(stop - globs)) != NULL;

		if (stop > globs && glob(globs, stop, whole ? path : base))
			return true;
		if (!end)
			break;
		globs = end + 1;
	}
	return false;
}
