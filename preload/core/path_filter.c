/* SPDX-License-Identifier: MIT */
/*
 * Tells code from data. Importing a framework opens thousands of files that are
 * not the job's data: they are counted and not recorded, so that they never
 * displace a data file. In doubt a file is data.
 *
 * Runs for each call on a path: the last byte of the ending and the first bytes
 * of the path decide most of them.
 */
#include "preload/core/path_filter.h"

#include <string.h>

/* Comparisons with a literal are inlined: a table of strings would cost a
 * memcmp() for each. Most paths differ in the first bytes. */
#define LEN(literal) (sizeof(literal) - 1)
static inline __attribute__((always_inline)) bool
has_prefix(const char *p, const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && p[i] == text[i])
		i++;
	return i == n;
}
#define BEGINS(p, literal) has_prefix(p, literal, LEN(literal))
#define ENDS(p, n, literal)                                                    \
	((n) > LEN(literal) &&                                                 \
	 !memcmp((p) + (n)-LEN(literal), literal, LEN(literal)))

/* Is @path the folder @dir itself, or in it? */
static inline __attribute__((always_inline)) bool
is_under(const char *path, size_t len, const char *dir, size_t n)
{
	return len >= n && !memcmp(path, dir, n) &&
	       (path[n] == '/' || !path[n]);
}
#define UNDER(p, n, literal) is_under(p, n, literal, LEN(literal))

/* "libz.so.1.2": ".so." and then digits and dots. */
static bool is_versioned_so(const char *path, size_t len)
{
	size_t i = len;

	while (i && (path[i - 1] == '.' ||
		     (path[i - 1] >= '0' && path[i - 1] <= '9')))
		i--;
	return i < len && i >= 3 && path[i] == '.' &&
	       !memcmp(path + i - 3, ".so", 3);
}

/* Endings of code, whatever the directory. */
static bool has_code_ending(const char *path, size_t n)
{
	switch (path[n - 1]) {
	case 'y':
		return ENDS(path, n, ".py");
	case 'c':
		return ENDS(path, n, ".pyc");
	case 'i':
		return ENDS(path, n, ".pyi");
	case 'o':
		return ENDS(path, n, ".so") || ENDS(path, n, ".pyo");
	case 'b':
		return ENDS(path, n, ".dylib");
	case '0' ... '9':
		return is_versioned_so(path, n);
	}
	return false;
}

/*
 * Endings of data: they win over a code directory, not over /proc and /dev. A
 * table is fast enough, because only paths in a code directory are looked up.
 */
static bool has_data_ending(const char *path, size_t n)
{
	static const char *const ends[] = {
		".npy",	 ".npz",       ".h5",	       ".hdf5",	 ".tfrecord",
		".csv",	 ".tfrecords", ".parquet",     ".arrow", ".tsv",
		".bin",	 ".jpg",       ".jpeg",	       ".png",	 ".ppm",
		".pt",	 ".ckpt",      ".safetensors", ".tar",	 ".wav",
		".flac", ".mp4",       ".jsonl",       ".idx",	 ".raw",
		".dat",	 ".webp",      ".keras",       ".mdb",	 ".nc",
		".zarr",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t k = strlen(ends[i]);

		if (n > k && !memcmp(path + n - k, ends[i], k))
			return true;
	}
	return false;
}

/* System folders. No data set is there, except for files in /dev/shm. */
static bool is_system_path(const char *p, size_t n)
{
	switch (p[1]) {
	case 'p':
		return UNDER(p, n, "/proc");
	case 's':
		return UNDER(p, n, "/sys");
	case 'e':
		return UNDER(p, n, "/etc");
	case 'r':
		return UNDER(p, n, "/run");
	case 'd':
		if (!UNDER(p, n, "/dev"))
			return false;
		if (!UNDER(p, n, "/dev/shm"))
			return true;
		p += LEN("/dev/shm");
		/* Shared memory of libraries. */
		return BEGINS(p, "/sem.") || BEGINS(p, "/torch_") ||
		       BEGINS(p, "/psm_") || BEGINS(p, "/pymp-") ||
		       BEGINS(p, "/pym-") || BEGINS(p, "/vader_segment") ||
		       BEGINS(p, "/ompi") || BEGINS(p, "/sm_segment.") ||
		       BEGINS(p, "/ucx_shm_") || BEGINS(p, "/mpich_shar") ||
		       BEGINS(p, "/psm2_shm.") || BEGINS(p, "/nccl-");
	}
	return false;
}

/* Is it part of an installed program, by its folder? */
static bool is_installed(const char *p, size_t n)
{
	switch (p[1]) {
	case 'u':
		if (!BEGINS(p, "/usr/"))
			return false;
		p += LEN("/usr");
		n -= LEN("/usr");
		return UNDER(p, n, "/lib") || UNDER(p, n, "/share") ||
		       UNDER(p, n, "/bin") || UNDER(p, n, "/sbin") ||
		       UNDER(p, n, "/lib64") || UNDER(p, n, "/lib32") ||
		       UNDER(p, n, "/libexec") || UNDER(p, n, "/include") ||
		       UNDER(p, n, "/local/lib") || UNDER(p, n, "/local/bin");
	case 'l':
		return UNDER(p, n, "/lib") || UNDER(p, n, "/lib64") ||
		       UNDER(p, n, "/lib32");
	case 'b':
		return UNDER(p, n, "/bin");
	case 's':
		return UNDER(p, n, "/sbin");
	}
	return false;
}

/* Is @p a session directory of Open MPI: "ompi.HOST.UID", from version 5 on
 * "prterun.HOST.PID.UID" or of another of its programs? */
static bool is_mpi_session(const char *p)
{
	const char *end = strchrnul(p + 1, '/');

	return (BEGINS(p, "/ompi.") || BEGINS(p, "/prterun.") ||
		BEGINS(p, "/prted.") || BEGINS(p, "/prte.")) &&
	       end[-1] >= '0' && end[-1] <= '9';
}

/* A file of shared memory that the runtime writes there. */
static bool is_mpi_session_file(const char *path)
{
	for (const char *p = path; (p = strchr(p, '/')); p++) {
		const char *part = strchrnul(p + 1, '/');

		if (is_mpi_session(p))
			return BEGINS(p, "/ompi.")
				       ? BEGINS(part, "/pid.") ||
						 BEGINS(part, "/jf.")
				       : *part;
	}
	return false;
}

/* Does a part of a path that only installed code has begin at @p? */
static bool is_code_part(const char *p)
{
	/* Most parts begin with none of these letters: no jump through a table. */
	const uint32_t first = 1u << ('s' & 31) | 1u << ('d' & 31) |
			       1u << ('_' & 31) | 1u << ('p' & 31) |
			       1u << ('o' & 31) | 1u << ('l' & 31);

	if (!(first >> (p[1] & 31) & 1))
		return false;
	switch (p[1]) {
	case 's':
		return BEGINS(p, "/site-packages") ||
		       BEGINS(p, "/share/ioreel/");
	case 'd':
		return BEGINS(p, "/dist-packages");
	case '_':
		return BEGINS(p, "/__pycache__");
	case 'p': /* our hooks, before they are installed */
		return BEGINS(p, "/preload/python") || is_mpi_session(p);
	case 'o':
		return is_mpi_session(p);
	case 'l':
		return BEGINS(p, "/lib/python") || BEGINS(p, "/lib64/python");
	}
	return false;
}

/* Does a part of @path that begins at @from or later belong to code alone? By
 * bytes: a call of strchr() for each part costs more than the path. */
static bool has_code_part(const char *path, size_t from)
{
	for (const char *p = path + from; *p; p++)
		if (*p == '/' && is_code_part(p))
			return true;
	return false;
}

static bool is_in_code_dir(const char *path, size_t len)
{
	return (path[0] == '/' && is_installed(path, len)) ||
	       has_code_part(path, 0);
}

/* @dir: the bytes of @path before its last part. */
static bool is_interpreter_file(const char *path, size_t len, size_t dir)
{
	const char *base = path + dir;

	return base[0] == 'p' && base[1] == 'y' &&
	       (!strcmp(base, "pyvenv.cfg") ||
		!strcmp(base, "pybuilddir.txt") ||
		(!strncmp(base, "python", 6) && len > 4 &&
		 (!strcmp(path + len - 4, ".zip") ||
		  !strcmp(path + len - 4, "._pth"))));
}

/* May the name after this directory complete a part that marks code? */
static bool may_begin_code(const char *path, size_t dir)
{
	switch (path[dir - 2]) {
	case 'b':
		return ENDS(path, dir, "/lib/");
	case '4':
		return ENDS(path, dir, "/lib64/");
	case 'e':
		return ENDS(path, dir, "/share/");
	case 'd':
		return ENDS(path, dir, "/preload/");
	}
	return false;
}

enum match match_path(const char *path, size_t len, size_t dir, bool reading)
{
	bool in_code;

	if (!len)
		return MATCH_DATA;
	if ((path[0] == '/' && is_system_path(path, len)) ||
	    has_code_ending(path, len))
		return MATCH_CODE;
	in_code = is_in_code_dir(path, len);
	if (in_code && !reading && !strstr(path, "/__pycache__"))
		return is_mpi_session_file(path) ? MATCH_CODE : MATCH_DATA;
	if ((in_code || (reading && is_interpreter_file(path, len, dir))) &&
	    !has_data_ending(path, len))
		return MATCH_CODE;
	if (in_code || dir == 1 || (dir && may_begin_code(path, dir)) ||
	    (path[0] == '/' &&
	     (BEGINS(path, "/usr/") || BEGINS(path, "/dev/"))))
		return MATCH_DATA;
	return MATCH_DATA_DIR;
}

/*
 * Prefixes of code are settled by the first bytes of an absolute path. A part of
 * code has at most two components ("/lib/python"), so the test begins at the
 * component before the one that differs.
 */
#define PREFIX_MOST 8
bool match_next_dir(const char *path, size_t same, size_t *dir)
{
	size_t at = same < *dir ? same : *dir, slash = 0;

	if (path[0] == '/' && at < PREFIX_MOST)
		return false;
	for (int parts = 0; at && (parts += path[at - 1] == '/') < 2; at--)
		;
	at -= at != 0; /* at a "/", or at the beginning */
	for (; path[at]; at++) {
		if (path[at] != '/')
			continue;
		if (is_code_part(path + at))
			return false;
		slash = at + 1;
	}
	*dir = slash;
	return slash != 1 && !(slash && may_begin_code(path, slash));
}

bool match_code_name(const char *path, size_t len, size_t dir)
{
	if (len == dir)
		return false;
	return has_code_ending(path, len) ||
	       (dir && is_code_part(path + dir - 1)) ||
	       is_interpreter_file(path, len, dir);
}

/* Match one pattern without recursion: on a mismatch the last "*" takes one
 * byte more. */
static bool match_glob(const char *g, const char *g_end, const char *s)
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

		if (stop > globs &&
		    match_glob(globs, stop, whole ? path : base))
			return true;
		if (!end)
			break;
		globs = end + 1;
	}
	return false;
}
