/* SPDX-License-Identifier: MIT */
/*
 * Launchers: programs that find the job's program, start it, and have no other
 * purpose. A shim of pyenv forks fifty shells for it. Compilers that a job in Python
 * starts, as torch.compile() does, are kept apart like them: they are no I/O of the
 * job, and one precompiled header is written in millions of calls.
 *
 * An image is marked by the program or script that it runs, never by its I/O,
 * and only if the job's program follows: a user who records "pyenv install", or
 * a script that ends in "exec python", sees that. The rules are in
 * ioreel-store(5), "Launchers": change both together.
 */
#include "analyzer/load/launcher.h"

#include <stdlib.h>
#include <string.h>

#include "lib/error.h"
#include "lib/trace/reader.h"

/* Rounds of spread_marks(): a helper of a helper of a helper ... */
#define ROUNDS 32
/* Images of one process that may all belong to a launcher. */
#define CHAIN_MOST 16

enum runner { PROGRAM, SHELL, PYTHON };

/*
 * EXECS: becomes the job by exec; all its earlier children are helpers. STAYS:
 * the job is its child, or it has no other child. HELPS: starts no job.
 */
enum launcher_kind { NONE, EXECS, STAYS, HELPS };

static const struct launcher {
	const char *name;
	enum runner runner;
	enum launcher_kind kind;
	const char *verb; /* first word after it; "x." begins it; NULL: any */
} launchers[] = {
	/* in the start files of shells */
	{"pyenv", SHELL, HELPS, "init"},
	{"pyenv", SHELL, HELPS, "virtualenv-init"},
	{"pyenv", SHELL, HELPS, "rehash"},
	{"rbenv", SHELL, HELPS, "init"},
	{"nodenv", SHELL, HELPS, "init"},
	{"goenv", SHELL, HELPS, "init"},
	{"jenv", SHELL, HELPS, "init"},
	/* before a program */
	{"pyenv", SHELL, EXECS, NULL},
	{"rbenv", SHELL, EXECS, NULL},
	{"nodenv", SHELL, EXECS, NULL},
	{"goenv", SHELL, EXECS, NULL},
	{"jenv", SHELL, EXECS, NULL},
	{"asdf", SHELL, EXECS, NULL},
	{"poetry", PYTHON, EXECS, "run"},
	{"pipenv", PYTHON, EXECS, "run"},
	{"conda", PYTHON, STAYS, "run"},
	{"conda", PYTHON, STAYS, "shell."},
	{"mamba", PYTHON, STAYS, "run"},
	{"mamba", PYTHON, STAYS, "shell."},
	{"uv", PROGRAM, STAYS, "run"},
	{"uvx", PROGRAM, STAYS, NULL},
	{"env", PROGRAM, STAYS, NULL},
	{"time", PROGRAM, STAYS, NULL},
	{"nice", PROGRAM, STAYS, NULL},
	{"ionice", PROGRAM, STAYS, NULL},
	{"chrt", PROGRAM, STAYS, NULL},
	{"taskset", PROGRAM, STAYS, NULL},
	{"numactl", PROGRAM, STAYS, NULL},
	{"stdbuf", PROGRAM, STAYS, NULL},
	{"timeout", PROGRAM, STAYS, NULL},
	{"setsid", PROGRAM, STAYS, NULL},
};
#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

/* Programs that scripts like pyenv's run and that rarely are a job: the trace
 * does not show a fork without a recorded call before its exec. */
static const char *const tools[] = {
	"readlink", "greadlink", "realpath", "basename", "dirname", "uname",
};

/* Without the machine in front of their names and the version behind. */
static const char *const compilers[] = {
	"gcc",	     "g++",   "cc",	  "c++",	 "cpp",	      "cc1plus",
	"as",	     "ld",    "ld.bfd",	  "ld.gold",	 "ld.lld",    "lld",
	"ar",	     "lto",   "collect2", "lto-wrapper", "clang",     "clang++",
	"nvcc",	     "cicc",  "ptxas",	  "cudafe++",	 "fatbinary", "nvlink",
	"cuobjdump", "hipcc", "ninja",	  "make",
};
#define COMPILERS "compilers"
#define ANCESTORS_MOST 64

/* The script of an image, or its program where there is no script. */
struct runs {
	enum runner runner;
	const char *path, *verb; /* "": none */
};

struct image {
	const struct reel_trace_process *is;
	int index;
	int64_t start_ns;
	int before;  /* index of the image that it replaced, or -1 */
	int after;   /* and of the one that replaced it */
	int from;    /* of the image that forked it, or had its parent's pid */
	bool forked; /* a fork in the trace shows it */
	enum launcher_kind kind;
	const char *name;
	struct runs runs;
};

struct images {
	struct image *image; /* by process, then by time */
	int n;
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is the last folder of @path, of @depth 1, named @name? */
static bool folder_is(const char *path, const char *name)
{
	const char *end = strrchr(path, '/');
	size_t n = strlen(name);

	return end && end - path >= (ptrdiff_t)n && !memcmp(end - n, name, n) &&
	       (end - n == path || end[-(ptrdiff_t)n - 1] == '/');
}

static enum runner runner_of(const char *program)
{
	static const char *const shells[] = {"sh", "bash", "dash", "zsh",
					     "ksh"};
	size_t python = strlen("python");

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(program, shells[i]))
			return SHELL;
	if (!strncmp(program, "python", python) &&
	    !program[python + strspn(program + python, "0123456789.")])
		return PYTHON;
	return PROGRAM;
}

/* The next word of @p's command, from @i on; "" past the last. */
static const char *word(const struct reel_trace_process *p, int *i)
{
	while (*i < p->texts)
		if (!strcmp(p->text[(*i)++].key, "arg"))
			return p->text[*i - 1].value;
	return "";
}

/* The next word that is not an option. */
static const char *plain_word(const struct reel_trace_process *p, int *i)
{
	const char *w = word(p, i);

	while (*w == '-')
		w = word(p, i);
	return w;
}

/* The script or module that an interpreter runs; "": other code. */
static const char *script_of(const struct reel_trace_process *p,
			     enum runner runner, int *i)
{
	const char *w = word(p, i);

	for (; *w == '-'; w = word(p, i)) {
		if (runner == PYTHON && !strcmp(w, "-m"))
			return word(p, i);
		if (w[1] != '-' && strchr(w, 'c'))
			return "";
		if (runner == PYTHON && (!strcmp(w, "-X") || !strcmp(w, "-W")))
			word(p, i);
	}
	return w;
}

static struct runs runs_of(const struct reel_trace_process *p)
{
	struct runs r = {.path = reel_trace_text(p, "exe")};
	int i = 0;
	const char *first = word(p, &i);

	if (!r.path)
		r.path = first;
	r.runner = runner_of(base_of(r.path));
	if (r.runner != PROGRAM)
		r.path = script_of(p, r.runner, &i);
	r.verb = plain_word(p, &i);
	return r;
}

/* libexec/pyenv and libexec/pyenv-which, of pyenv itself and of its plugins. */
static bool is_part(const char *path, const char *name)
{
	const char *base = base_of(path);
	size_t n = strlen(name);

	if (strncmp(base, name, n))
		return false;
	if (!base[n])
		return folder_is(path, "libexec") || folder_is(path, "bin");
	return base[n] == '-' &&
	       (folder_is(path, "libexec") ||
		(folder_is(path, "bin") && strstr(path, "/plugins/")));
}

static const struct launcher *launcher_of(const struct runs *r)
{
	for (size_t i = 0; i < LAUNCHERS; i++) {
		const struct launcher *l = &launchers[i];
		size_t n = l->verb ? strlen(l->verb) : 0;

		if (r->runner != l->runner)
			continue;
		if (l->runner == SHELL ? !is_part(r->path, l->name)
				       : strcmp(base_of(r->path), l->name))
			continue;
		if (!n || !strcmp(r->verb, l->verb) ||
		    (l->verb[n - 1] == '.' && !strncmp(r->verb, l->verb, n)))
			return l;
	}
	return NULL;
}

static bool is_tool(const struct image *im)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (im->runs.runner == PROGRAM &&
		    !strcmp(base_of(im->runs.path), tools[i]))
			return true;
	return false;
}

/* x86_64-linux-gnu-g++-12 is g++; a program named tar-make is none. */
static bool is_compiler(const struct image *im)
{
	const char *base = base_of(im->runs.path);
	const char *machine = strstr(base, "-linux-");
	size_t len = strlen(base);

	if (im->runs.runner != PROGRAM)
		return false;
	while (len && strchr("-.0123456789", base[len - 1]))
		len--;
	for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
		size_t n = strlen(compilers[i]);

		if (len >= n && !memcmp(base + len - n, compilers[i], n) &&
		    (len == n || (machine && base[len - n - 1] == '-')))
			return true;
	}
	return false;
}

/* --- images and their parents --------------------------------------------- */

static int by_owner(const struct reel_head *x, const struct reel_head *y,
		    uint32_t pid)
{
	int order = memcmp(x->boot_id, y->boot_id, sizeof(x->boot_id));

	if (order)
		return order;
	return x->pid < pid ? -1 : x->pid > pid;
}

static int by_time(const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	int order = by_owner(&x->is->head, &y->is->head, y->is->head.pid);

	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The last image of process @pid beside @im that began before it, or -1. */
static int image_before(const struct images *all, const struct image *im,
			uint32_t pid)
{
	int lo = 0, hi = all->n;

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;
		const struct image *m = &all->image[mid];
		int order = by_owner(&m->is->head, &im->is->head, pid);

		if (order < 0 || (!order && m->start_ns < im->start_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || by_owner(&all->image[lo - 1].is->head, &im->is->head, pid))
		return -1;
	return lo - 1;
}

static int link_images(struct images *all, const struct reel_trace *tr,
		       struct reel_error *err)
{
	int *place = reel_alloc((size_t)all->n + 1, sizeof(*place), err);

	if (!place)
		return -1;
	for (int i = 0; i < all->n; i++) {
		struct image *im = &all->image[i];

		im->index = i;
		im->is = reel_trace_process(tr, i);
		im->start_ns = reel_trace_ns(tr, i, im->is->head.start_ticks);
		im->runs = runs_of(im->is);
	}
	qsort(all->image, (size_t)all->n, sizeof(*all->image), by_time);
	for (int i = 0; i < all->n; i++) {
		place[all->image[i].index] = i;
		all->image[i].after = -1;
	}
	for (int i = 0; i < all->n; i++) {
		struct image *im = &all->image[i];
		int parent = im->is->parent;

		im->forked = parent >= 0 && parent < all->n;
		im->before = im->forked || !i
				     ? -1
				     : image_before(all, im, im->is->head.pid);
		if (im->before >= 0)
			all->image[im->before].after = i;
		im->from = im->forked
				   ? place[parent]
				   : image_before(all, im, im->is->head.ppid);
	}
	free(place);
	return 0;
}

/* --- marks ---------------------------------------------------------------- */

/* Does @im run a part of a launcher that becomes the job? */
static const struct launcher *exec_launcher(const struct image *im)
{
	const struct launcher *l = launcher_of(&im->runs);

	return l && l->kind == EXECS ? l : NULL;
}

static bool mark_image(struct image *im, enum launcher_kind kind,
		       const char *name)
{
	im->kind = kind;
	im->name = name;
	return true;
}

/*
 * Mark the images of one process from @i on that are parts of a launcher, if a
 * program follows that is not. The image after a shim shows that it is one. A
 * process that a launcher forked runs no job: see spread_marks().
 */
static void mark_chain(struct images *all, int i)
{
	const struct launcher *l = NULL;
	int end = i, from = all->image[i].from;

	if (from >= 0 && exec_launcher(&all->image[from]))
		return;

	if (folder_is(all->image[i].runs.path, "shims") &&
	    all->image[i].runs.runner == SHELL)
		end = all->image[i].after;
	for (int k = 0; end >= 0 && exec_launcher(&all->image[end]); k++) {
		if (k == CHAIN_MOST)
			return;
		l = exec_launcher(&all->image[end]);
		end = all->image[end].after;
	}
	for (; l && end >= 0 && i != end; i = all->image[i].after)
		mark_image(&all->image[i], EXECS, l->name);
}

static void mark_by_name(struct images *all)
{
	for (int i = 0; i < all->n; i++) {
		struct image *im = &all->image[i];
		const struct launcher *l = launcher_of(&im->runs);

		if (im->kind)
			continue;
		if (l && l->kind != EXECS)
			mark_image(im, l->kind, l->name);
		else
			mark_chain(all, i);
	}
}

/* Did a Python program of the job start @im, or what started it? */
static bool is_of_python(const struct images *all, const struct image *im)
{
	for (int k = 0; k < ANCESTORS_MOST; k++) {
		int i = im->from >= 0 ? im->from : im->before;

		if (i < 0)
			return false;
		im = &all->image[i];
		if (im->runs.runner == PYTHON && !im->kind)
			return true;
	}
	return false;
}

static void mark_compilers(struct images *all)
{
	for (int i = 0; i < all->n; i++) {
		struct image *im = &all->image[i];

		if (!im->kind && is_compiler(im) && is_of_python(all, im))
			mark_image(im, HELPS, COMPILERS);
	}
}

/* conda run writes a script of this name, which activates and runs the job. */
static bool is_conda_script(const struct image *im, const struct image *from)
{
	return from->kind == STAYS && im->runs.runner == SHELL &&
	       !strncmp(base_of(im->runs.path), "tmp", 3) &&
	       (!strcmp(from->name, "conda") || !strcmp(from->name, "mamba"));
}

/* Mark the children of marked images. True: some were new. */
static bool spread_marks(struct images *all)
{
	bool any = false;

	for (int i = 0; i < all->n; i++) {
		struct image *im = &all->image[i];
		const struct image *was, *from;

		if (im->kind)
			continue;
		was = im->before >= 0 ? &all->image[im->before] : NULL;
		from = im->from >= 0 ? &all->image[im->from] : NULL;
		if (was && was->kind == HELPS)
			any |= mark_image(im, HELPS, was->name);
		else if (was && was->kind)
			continue; /* the job */
		else if (from &&
			 (from->kind == HELPS ||
			  (from->kind == EXECS && (im->forked || is_tool(im)))))
			any |= mark_image(im, HELPS, from->name);
		else if (from && is_conda_script(im, from))
			any |= mark_image(im, STAYS, from->name);
	}
	return any;
}

bool reel_launcher_is(const char *path)
{
	for (size_t i = 0; i < LAUNCHERS; i++)
		if (!strcmp(base_of(path), launchers[i].name))
			return true;
	return false;
}

const char *reel_launcher_runs(const struct reel_trace_process *p)
{
	struct runs r = runs_of(p);
	const char *exe = reel_trace_text(p, "exe");

	return *r.path ? r.path : exe ? exe : "";
}

const char **reel_launchers(const struct reel_trace *tr, struct reel_error *err)
{
	struct images all = {.n = reel_trace_processes(tr)};
	const char **name = reel_alloc((size_t)all.n + 1, sizeof(*name), err);
	int marked = 0;

	all.image = reel_alloc((size_t)all.n + 1, sizeof(*all.image), err);
	if (!name || !all.image || link_images(&all, tr, err)) {
		free(name);
		name = NULL;
		goto out;
	}
	mark_by_name(&all);
	mark_compilers(&all);
	for (int i = 0; i < ROUNDS && spread_marks(&all); i++)
		;
	for (int i = 0; i < all.n; i++)
		marked += all.image[i].kind != NONE;
	/* If every image is marked, the launcher itself is the job. */
	for (int i = 0; marked < all.n && i < all.n; i++)
		name[all.image[i].index] = all.image[i].name;
out:
	free(all.image);
	return name;
}
