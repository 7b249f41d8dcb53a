/* SPDX-License-Identifier: MIT */
/*
 * Find the shim and the Python hooks, and make the environment of the job.
 *
 * In nested recordings the inner one wins: its shim replaces the outer one in
 * LD_PRELOAD, and its hooks replace the outer ones in PYTHONPATH.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/launcher.h"

#include "lib/buf.h"
#include "lib/error.h"

#include "record/internal.h"

#define SHIM_NAME "libioreel.so"
#define GLOBS_MOST 8191 /* the shim's copy has 8,192 bytes */

/* A variable that record sets, or removes when its value is empty. */
struct variable {
	const char *name;
	const char *value; /* NULL: the caller's */
	/* The words of the caller's value that follow, except those of @skip. */
	const char *separators;
	bool (*skip)(const char *word, size_t n);
	const struct reel_opt_list *globs; /* the value; of the option @value */
};
#define VARIABLES_MOST 16

/* The folder of this program's file. */
static int own_folder(char out[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return -1;
	out[n] = '\0';
	slash = strrchr(out, '/');
	if (!slash)
		return -1;
	*slash = '\0';
	return 0;
}

/* Find @name in the first of @places, relative to the program's folder. */
static bool find_beside_program(char out[static PATH_MAX],
				const char *const *places, const char *name)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (own_folder(folder))
		return false;
	for (; *places; places++) {
		int n = snprintf(path, sizeof(path), "%s/%s%s", folder, *places,
				 name);
		char *slash;

		if (n < 0 || n >= PATH_MAX || access(path, R_OK))
			continue;
		if (!realpath(path, out))
			continue;
		slash = strrchr(out, '/');
		if (*name && slash && !strcmp(name, "sitecustomize.py"))
			*slash = '\0'; /* the caller needs the folder */
		return true;
	}
	return false;
}

int record_find_shim(char out[static PATH_MAX], struct reel_error *err)
{
	static const char *const places[] = {"", "../lib/ioreel/",
					     "../lib64/ioreel/", NULL};
	const char *given = getenv("IOREEL_SHIM");

	if (given && *given) {
		if (!access(given, R_OK) && realpath(given, out))
			return 0;
		return reel_fail(err, REEL_E_IO,
				 "cannot use IOREEL_SHIM '%s': %s", given,
				 strerror(errno));
	}
	if (find_beside_program(out, places, SHIM_NAME))
		return 0;
	return reel_fail(
		err, REEL_E_IO,
		"cannot find " SHIM_NAME " beside the program or in "
		"../lib/ioreel; try: make install, or set IOREEL_SHIM");
}

bool record_find_hooks(char out[static PATH_MAX])
{
	/* In the build folder (a link made by make); installed. */
	static const char *const places[] = {"python/",
					     "../share/ioreel/python/", NULL};
	const char *given = getenv("IOREEL_HOOKS");

	if (given && *given)
		return realpath(given, out) != NULL;
	return find_beside_program(out, places, "sitecustomize.py");
}

void record_env_free(char **env)
{
	char **p;

	for (p = env; p && *p; p++)
		free(*p);
	free(env);
}

/* Gives "NAME=" and the text of @b. */
static char *assignment(const char *name, const struct reel_buf *b,
			struct reel_error *err)
{
	char *s = NULL;

	if (asprintf(&s, "%s=%s", name, reel_buf_text(b)) < 0) {
		reel_fail(err, REEL_E_MEMORY, "out of memory");
		return NULL;
	}
	return s;
}

/* Append the words of @list, split at @seps, to @b, except those of @skip. */
static int add_words(struct reel_buf *b, const char *list, const char *seps,
		     bool (*skip)(const char *, size_t), struct reel_error *err)
{
	bool more = b->len; /* an empty word is valid: it means the cwd */

	if (!list || !*list)
		return 0;
	for (;;) {
		size_t n = strcspn(list, seps);

		if (!skip(list, n)) {
			if (reel_buf_puts(b, more ? ":" : "", err) ||
			    reel_buf_add(b, list, n, err))
				return -1;
			more = true;
		}
		if (!list[n])
			return 0;
		list += n + 1;
	}
}

static bool is_shim(const char *word, size_t n)
{
	size_t k = strlen(SHIM_NAME);

	return !n || (n > k && word[n - k - 1] == '/' &&
		      !memcmp(word + n - k, SHIM_NAME, k));
}

/* True for a folder of our hooks, of this or another installation. */
static bool is_hooks(const char *word, size_t n)
{
	static const char *const mark[] = {"sitecustomize.py",
					   "ioreel/__init__.py"};
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < 2; i++) {
		int k = snprintf(path, sizeof(path), "%.*s/%s",
				 n < PATH_MAX ? (int)n : 0, word, mark[i]);

		if (!n || k < 0 || k >= PATH_MAX || access(path, F_OK))
			return false;
	}
	return true;
}

/*
 * Append a pattern in the form that the shim matches: absolute if it has a
 * slash. "FOLDER/" becomes "FOLDER/" and "*", the files in it.
 */
static int add_glob(struct reel_buf *b, const char *glob,
		    struct reel_error *err)
{
	bool slash = glob[strlen(glob) - 1] == '/'; /* never empty */
	char cwd[PATH_MAX];
	size_t dots;

	if (strchr(glob, '/') && !strchr("/*?", glob[0]) &&
	    getcwd(cwd, sizeof(cwd))) {
		while ((dots = strspn(glob, ".")) && dots <= 2 &&
		       glob[dots] == '/') {
			if (dots == 2)
				*strrchr(cwd, '/') = '\0';
			if (!*cwd)
				strcpy(cwd, "/");
			glob += dots + strspn(glob + dots, "/");
		}
		if (reel_buf_printf(b, err, "%s/", strcmp(cwd, "/") ? cwd : ""))
			return -1;
	}
	return reel_buf_puts(b, glob, err) ||
	       reel_buf_puts(b, slash ? "*" : "", err);
}

static int add_globs(struct reel_buf *b, const struct reel_opt_list *list,
		     const char *option, struct reel_error *err)
{
	int i;

	for (i = 0; i < list->n; i++) {
		if (!*list->item[i] || strchr(list->item[i], '\n'))
			return reel_fail(err, REEL_E_USAGE,
					 "--%s '%s' is no pattern", option,
					 list->item[i]);
		if (reel_buf_puts(b, i ? "\n" : "", err) ||
		    add_glob(b, list->item[i], err))
			return -1;
	}
	if (b->len > GLOBS_MOST)
		return reel_fail(
			err, REEL_E_USAGE,
			"--%s: the patterns are %zu bytes long; at most %d fit",
			option, b->len, GLOBS_MOST);
	return 0;
}

/*
 * The library that NVTX loads in the job: the user's tool if there is one, else
 * our shim. The shim of an outer recording is replaced.
 */
static const char *nvtx_library(const struct reel_record_options *opt,
				const char *shim)
{
	const char *given = getenv("NVTX_INJECTION64_PATH");

	if (given && !is_shim(given, strlen(given)))
		return given;
	return opt->no_hooks ? "" : shim;
}

static const char *const launcher[] = {REEL_LAUNCHER_NAMES};
#define LAUNCHER (sizeof(launcher) / sizeof(launcher[0]))

bool record_is_launched(void)
{
	for (size_t i = 0; i < LAUNCHER; i++)
		if (getenv(launcher[i]))
			return true;
	return false;
}

/* The launcher variables of this process, a line each. */
static int add_launcher(struct reel_buf *b, struct reel_error *err)
{
	for (size_t i = 0; i < LAUNCHER; i++) {
		const char *s = getenv(launcher[i]);

		if (s && reel_buf_printf(b, err, "%s%s=%s", b->len ? "\n" : "",
					 launcher[i], s))
			return -1;
	}
	return 0;
}

/* Put the value of @v into @b. */
static int fill_variable(struct reel_buf *b, const struct variable *v,
			 struct reel_error *err)
{
	const char *kept = getenv(v->name);

	if (!strcmp(v->name, REEL_LAUNCHER))
		return add_launcher(b, err);
	if (v->globs)
		return add_globs(b, v->globs, v->value, err);
	if (v->skip)
		return reel_buf_puts(b, v->value, err) ||
		       add_words(b, kept, v->separators, v->skip, err);
	return reel_buf_puts(b, v->value ? v->value : kept ? kept : "", err);
}

static bool is_ours(const char *entry, const struct variable *v)
{
	size_t n = strcspn(entry, "=");

	for (; v->name; v++)
		if (strlen(v->name) == n && !memcmp(v->name, entry, n))
			return true;
	return false;
}

/* The environment of this process, without the variables @v, and then these. */
static char **replace_variables(const struct variable *v,
				struct reel_error *err)
{
	struct reel_buf b = REEL_BUF_INIT;
	size_t n = 0, at = 0;
	char **env, **result = NULL;

	while (environ && environ[n])
		n++;
	env = reel_alloc(n + VARIABLES_MOST + 1, sizeof(*env), err);
	if (!env)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (is_ours(environ[i], v))
			continue;
		env[at] = reel_strdup(environ[i], err);
		if (!env[at++])
			goto out;
	}
	for (; v->name; v++) {
		reel_buf_reset(&b);
		if (fill_variable(&b, v, err))
			goto out;
		if (!b.len)
			continue;
		env[at] = assignment(v->name, &b, err);
		if (!env[at++])
			goto out;
	}
	result = env;
	env = NULL;
out:
	record_env_free(env);
	reel_buf_fini(&b);
	return result;
}

char **record_env(const struct reel_record_options *opt, const char *dir,
		  const char *shim, const char *hooks, struct reel_error *err)
{
	const struct variable ours[VARIABLES_MOST] = {
		{"LD_PRELOAD", shim, ": ", is_shim, NULL},
		{"IOREEL_DIR", .value = dir},
		{"IOREEL_ALL", .value = opt->all ? "1" : ""},
		{"IOREEL_INCLUDE", .value = "include", .globs = &opt->include},
		{"IOREEL_EXCLUDE", .value = "exclude", .globs = &opt->exclude},
		{"PYTHONPATH", hooks ? hooks : "", ":", is_hooks, NULL},
		{REEL_LAUNCHER, .value = NULL},
		{"IOREEL_FOLLOW", .value = opt->follow_env ? "1" : NULL},
		{"IOREEL_EVENTS", .value = opt->events},
		{"IOREEL_MMAP", .value = opt->mmap_faults ? "faults" : NULL},
		{"IOREEL_STACKS", .value = opt->stacks},
		{"IOREEL_COMPLETE", .value = opt->complete ? "1" : NULL},
		{"IOREEL_PROFILE_STEPS", .value = opt->profile_steps},
		{"NVTX_INJECTION64_PATH", .value = nvtx_library(opt, shim)},
	};

	return replace_variables(ours, err);
}
