/* SPDX-License-Identifier: MIT */
/* The table of importers: a new one is a file and a row. */
#include "analyzer/import/import.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/pool.h"
#include "lib/source.h"
#include "lib/text.h"

#include "analyzer/import/common/table.h"
#include "analyzer/import/unknown.h"
#include "analyzer/write/writer.h"

const struct reel_importer *const reel_importers[] = {
	&reel_importer_darshan,
	&reel_importer_darshan_text,
	&reel_importer_dftracer,
	&reel_importer_dlio,
	&reel_importer_fio,
	&reel_importer_kineto,
	&reel_importer_kv_trace,
	&reel_importer_timelogger,
	&reel_importer_recorder,
	&reel_importer_strace,
	&reel_importer_xplane,
	&reel_importer_nsys,
	&reel_importer_csv,    /* with --map only */
	&reel_importer_chrome, /* after the tools that write its JSON */
	NULL,
};

#define HEAD_BYTES 16384 /* of a file, for detect() */
#define SMALL_BYTES (1 << 20)
#define FILES_MOST 1000000

const struct reel_importer *reel_importer_find(const char *name,
					       struct reel_error *err)
{
	struct reel_buf names = REEL_BUF_INIT;

	for (int i = 0; reel_importers[i]; i++) {
		if (!strcmp(reel_importers[i]->name, name)) {
			reel_buf_fini(&names);
			return reel_importers[i];
		}
		reel_buf_printf(&names, NULL, "%s%s", i ? ", " : "",
				reel_importers[i]->name);
	}
	reel_fail(err, REEL_E_USAGE, "no importer '%s' (there are: %s)", name,
		  reel_buf_text(&names));
	reel_buf_fini(&names);
	return NULL;
}

/* --- the files ------------------------------------------------------------ */

static void input_fini(struct import_input *in)
{
	for (int i = 0; i < in->paths; i++)
		free(in->path[i]);
	free(in->path);
}

static int add_path(struct import_input *in, const char *path,
		    struct reel_error *err)
{
	int n = in->paths;

	/* doubles at powers of two */
	if (!(n & (n - 1)) &&
	    reel_grow(&in->path, n ? 2 * (size_t)n : 1, sizeof(*in->path), err))
		return -1;
	in->path[n] = reel_strdup(path, err);
	if (!in->path[n])
		return -1;
	in->paths++;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is @path the JSON of a profile that lies beside it as xplane.pb? @has: one does. */
static bool is_of_xplane(const char *path, bool has)
{
	static const char json[] = ".trace.json.gz";
	struct reel_buf twin = REEL_BUF_INIT;
	bool found;

	if (reel_text_ends(path, "/perfetto_trace.json.gz"))
		return has;
	if (!reel_text_ends(path, json))
		return false;
	found = !reel_buf_printf(&twin, NULL, "%.*s.xplane.pb",
				 (int)(strlen(path) - strlen(json)), path) &&
		!access(reel_buf_text(&twin), F_OK);
	reel_buf_fini(&twin);
	return found;
}

/* TensorFlow and JAX write a profile as xplane.pb, and perhaps as JSON beside it,
 * which would count as a run more: drop it from the paths from @first on. */
static void prefer_xplane(struct import_input *in, int first)
{
	bool has = false;
	int n = first;

	for (int i = first; i < in->paths; i++)
		has |= reel_text_ends(in->path[i], ".xplane.pb");
	for (int i = first; i < in->paths; i++)
		if (is_of_xplane(in->path[i], has))
			free(in->path[i]);
		else
			in->path[n++] = in->path[i];
	in->paths = n;
}

/* The regular files in the folder @dir, by name; hidden ones are left out. */
static int add_folder(struct import_input *in, const char *dir,
		      struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	int first = in->paths, rc = 0;
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;

	if (!d)
		return reel_fail_io(err, "open", dir, errno);
	while (!rc && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		reel_buf_reset(&path);
		rc = reel_buf_printf(&path, err, "%s/%s", dir, e->d_name);
		if (rc || stat(reel_buf_text(&path), &st) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (in->paths - first == FILES_MOST)
			rc = reel_fail(err, REEL_E_FORMAT,
				       "'%s' holds more than 1,000,000 files",
				       dir);
		else
			rc = add_path(in, reel_buf_text(&path), err);
	}
	closedir(d);
	reel_buf_fini(&path);
	if (in->paths - first > 1)
		qsort(in->path + first, (size_t)(in->paths - first),
		      sizeof(*in->path), by_text);
	prefer_xplane(in, first);
	return rc;
}

static int set_text(struct reel_buf *b, const char *text,
		    struct reel_error *err)
{
	reel_buf_reset(b);
	return reel_buf_puts(b, text, err);
}

/* The last subfolder of @dir by name. 1, 0: there is none; -1 with @err. */
static int last_subfolder(struct reel_buf *out, const char *dir,
			  struct reel_error *err)
{
	struct reel_buf path = REEL_BUF_INIT;
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(dir);
	int rc = 0;

	reel_buf_reset(out);
	if (!d)
		return 0;
	while (rc >= 0 && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		reel_buf_reset(&path);
		if (reel_buf_printf(&path, err, "%s/%s", dir, e->d_name))
			rc = -1;
		else if (!stat(reel_buf_text(&path), &st) &&
			 S_ISDIR(st.st_mode) &&
			 (!rc ||
			  strcmp(reel_buf_text(&path), reel_buf_text(out)) > 0))
			rc = set_text(out, reel_buf_text(&path), err) ? -1 : 1;
	}
	closedir(d);
	reel_buf_fini(&path);
	return rc;
}

/* A log folder of TensorBoard, or a folder in it: the newest profile, as TensorFlow
 * names them by their dates. */
static int add_profile(struct import_input *in, const char *dir,
		       struct reel_error *err)
{
	static const struct {
		const char *in, *place;
	} known[] = {{"", "plugins/profile"},
		     {"", "train/plugins/profile"},
		     {"", "validation/plugins/profile"},
		     {"/plugins", "profile"},
		     {"/plugins/profile", "."}};
	struct reel_buf path = REEL_BUF_INIT, newest = REEL_BUF_INIT;
	char *full = realpath(dir, NULL);
	int rc = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !rc; i++) {
		if (!reel_text_ends(full ? full : dir, known[i].in))
			continue;
		reel_buf_reset(&path);
		if (reel_buf_printf(&path, err, "%s/%s", dir, known[i].place))
			rc = -1;
		else
			rc = last_subfolder(&newest, reel_buf_text(&path), err);
	}
	free(full);
	if (rc > 0)
		rc = add_folder(in, reel_buf_text(&newest), err);
	reel_buf_fini(&path);
	reel_buf_fini(&newest);
	return rc;
}

static int add_input(struct import_input *in, const char *path,
		     struct reel_error *err)
{
	int before = in->paths;
	struct stat st;

	if (stat(path, &st))
		return reel_fail_io(err, "open", path, errno);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' is neither a file nor a folder", path);
	if (S_ISREG(st.st_mode))
		return add_path(in, path, err);
	if (add_profile(in, path, err) ||
	    (in->paths == before && add_folder(in, path, err)))
		return -1;
	return in->paths > before
		       ? 0
		       : reel_fail(err, REEL_E_FORMAT,
				   "'%s' is a folder without files (subfolders "
				   "are not searched)",
				   path);
}

/* --- formats -------------------------------------------------------------- */

/* The first bytes of @path, decompressed; or -1 with @err. */
static int read_head(const char *path, char head[static HEAD_BYTES],
		     struct reel_error *err)
{
	struct reel_source *source = NULL;
	int64_t n = -1;

	if (!reel_source_open(&source, path, err))
		n = reel_source_read(source, head, HEAD_BYTES, err);
	reel_source_close(source);
	return (int)n;
}

static const struct reel_importer *importer_of_file(const char *path)
{
	char *head = malloc(HEAD_BYTES);
	const struct reel_importer *found = NULL;
	struct reel_error err = {0};
	int n = head ? read_head(path, head, &err) : -1;

	for (int i = 0; n > 0 && !found && reel_importers[i]; i++)
		if (reel_importers[i]->detect(head, (size_t)n) &&
		    (!reel_importers[i]->confirm ||
		     reel_importers[i]->confirm(path)))
			found = reel_importers[i];
	free(head);
	return found;
}

/* By the first file that one knows: a folder may hold others, too. */
static const struct reel_importer *importer_of(const struct import_input *in)
{
	const struct reel_importer *found = NULL;

	for (int i = 0; !found && i < in->paths; i++)
		found = importer_of_file(in->path[i]);
	return found;
}

const struct reel_importer *reel_importer_detect(const char *path)
{
	struct import_input in = {.name = path};
	struct reel_error err = {0};
	const struct reel_importer *found = NULL;

	if (!add_input(&in, path, &err))
		found = importer_of(&in);
	input_fini(&in);
	return found;
}

/* Files that were left out. */
struct left_out {
	uint64_t others, empty; /* others: of another format, in a folder */
};

/* The part of @path's name behind its last dot; a number is that of a process. */
static const char *suffix_of(const char *path)
{
	const char *base = strrchr(path, '/');
	const char *dot = strrchr(base ? base : path, '.');

	if (!dot || !dot[1])
		return "";
	return dot[1 + strspn(dot + 1, "0123456789")] ? dot : ".0";
}

/*
 * Drop the files of folders that are not @as: notes, scripts, our own stores. *@out
 * grows by those of other formats, and by empty ones with the suffix of the first log:
 * a process that is killed before it writes leaves one.
 */
static int keep_known(struct import_input *in, const struct reel_importer *as,
		      struct left_out *out)
{
	const char *suffix = "";
	int n = 0, first = 0;

	while (first < in->paths && importer_of_file(in->path[first]) != as)
		first++;
	if (first < in->paths)
		suffix = suffix_of(in->path[first]); /* it is kept */
	for (int i = 0; i < in->paths; i++) {
		const struct reel_importer *of = importer_of_file(in->path[i]);

		out->others += of && of != as;
		out->empty += *suffix && reel_import_is_empty(in->path[i]) &&
			      !strcmp(suffix_of(in->path[i]), suffix);
		if (of == as)
			in->path[n++] = in->path[i];
		else
			free(in->path[i]);
	}
	in->paths = n;
	return n;
}

/* The lines that may be before a trace: each is asked of all formats. */
#define BEFORE_MOST 1000

/* Fail if the lines behind the first ones of @head are of a format, as where the output
 * of the job is in front of its trace, or the first line is damaged. */
static int name_lines_before(const char *path, const char *head, size_t n,
			     struct reel_error *err)
{
	const char *at = head, *end = head + n;

	for (int lines = 1; lines <= BEFORE_MOST &&
			    (at = memchr(at, '\n', (size_t)(end - at)));
	     lines++) {
		at++;
		for (int i = 0; reel_importers[i] && at < end; i++)
			if (reel_importers[i]->detect(at, (size_t)(end - at)))
				return reel_fail(
					err, REEL_E_FORMAT,
					"'%s' is in no format that ioreel "
					"imports, but for its first %s: it is "
					"of %s from line %d on; try: tail -n "
					"+%d FILE >OTHER",
					path, lines > 1 ? "lines" : "line",
					reel_importers[i]->name, lines + 1,
					lines + 1);
	}
	return 0;
}

/* Fail if the file @path is empty, or its tool is known. 0: it is not. */
static int name_unknown(const char *path, struct reel_error *err)
{
	char *head = malloc(HEAD_BYTES);
	const struct import_unknown *unknown = NULL;
	int n = head ? read_head(path, head, err) : -1;

	if (n > 0)
		unknown = import_unknown_find(path, head, (size_t)n);
	if (n > 0 && !unknown)
		name_lines_before(path, head, (size_t)n, err);
	free(head);
	if (err->code)
		return -1;
	if (!n)
		return reel_fail(err, REEL_E_FORMAT, "'%s' is empty", path);
	if (!unknown)
		return 0;
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is in no format that ioreel imports: it is %s; "
			 "try: %s",
			 path, unknown->is, unknown->try);
}

int reel_import_unknown(const char *path, struct reel_error *err)
{
	struct import_input in = {.name = path};
	struct stat st;
	int rc;

	if (stat(path, &st))
		return reel_fail_io(err, "open", path, errno);
	rc = add_input(&in, path, err);
	for (int i = 0; !rc && i < in.paths; i++)
		if (S_ISREG(st.st_mode) || !reel_import_is_empty(in.path[i]))
			rc = name_unknown(in.path[i], err);
	input_fini(&in);
	return rc;
}

/* No format has text in two bytes: say so before its first line is not understood. */
static int refuse_encoding(const struct import_input *in,
			   struct reel_error *err)
{
	for (int i = 0; i < in->paths; i++) {
		struct reel_error other = {0};
		char *head = malloc(HEAD_BYTES);
		int n = head ? read_head(in->path[i], head, &other) : -1;
		bool wide = n > 0 && import_unknown_is_utf16(head, (size_t)n);

		free(head);
		if (wide)
			return name_unknown(in->path[i], err);
	}
	return 0;
}

static int unknown_format(const char *path, struct reel_error *err)
{
	if (reel_import_unknown(path, err))
		return -1;
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is in no format that ioreel imports (ioreel "
			 "import --list shows them)",
			 path);
}

bool reel_import_is_empty(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

/* @forced: the user named the format, the content need not look like it. */
static int add_known(struct import_input *in, const char *path,
		     const struct reel_importer **as, bool forced,
		     struct left_out *out, struct reel_error *err)
{
	struct import_input one = {.name = path};
	const struct reel_importer *found;
	int rc;

	if (!forced && *as && reel_import_is_empty(path)) {
		out->empty++;
		return 0;
	}
	rc = add_input(&one, path, err);
	if (!rc && forced)
		rc = refuse_encoding(&one, err);

	found = rc ? NULL : importer_of(&one);
	if (!rc && !forced && !found)
		rc = unknown_format(path, err);
	if (!rc && !*as)
		*as = found;
	if (!rc && one.paths > 1 && !keep_known(&one, *as, out))
		rc = unknown_format(path, err);
	if (!rc && !forced && found != *as)
		rc = reel_fail(err, REEL_E_FORMAT,
			       "'%s' is of %s, other files are of %s", path,
			       found->name, (*as)->name);
	for (int i = 0; !rc && i < one.paths; i++)
		rc = add_path(in, one.path[i], err);
	input_fini(&one);
	return rc;
}

struct file_id {
	dev_t device;
	ino_t inode;
	int i; /* of the path */
};

static int by_file(const void *a, const void *b)
{
	const struct file_id *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->i - y->i;
}

/* A file that is named again, also by a link, would count twice: keep the first
 * name of each. */
static int keep_distinct(struct import_input *in, struct reel_error *err)
{
	struct file_id *id =
		reel_alloc((size_t)in->paths + 1, sizeof(*id), err);
	struct stat st;
	int n = 0, kept = 0;

	if (!id)
		return -1;
	for (int i = 0; i < in->paths; i++)
		if (!stat(in->path[i], &st))
			id[n++] = (struct file_id){st.st_dev, st.st_ino, i};
	qsort(id, (size_t)n, sizeof(*id), by_file);
	for (int k = 1; k < n; k++)
		if (id[k].device == id[k - 1].device &&
		    id[k].inode == id[k - 1].inode) {
			free(in->path[id[k].i]);
			in->path[id[k].i] = NULL;
		}
	for (int i = 0; i < in->paths; i++)
		if (in->path[i])
			in->path[kept++] = in->path[i];
	in->paths = kept;
	free(id);
	return 0;
}

static bool is_small(const struct import_input *in)
{
	uint64_t bytes = 0;
	struct stat st;

	for (int i = 0; i < in->paths; i++)
		if (!stat(in->path[i], &st))
			bytes += (uint64_t)st.st_size;
	return bytes < SMALL_BYTES;
}

/* Sources have the numbers of their files, from 1. */
static int put_sources(struct reel_writer *w, const struct import_input *in,
		       const struct reel_importer *as, struct reel_error *err)
{
	for (int i = 0; i < in->paths; i++) {
		struct reel_writer_source row = {.source_id = (uint32_t)i + 1,
						 .file = in->path[i],
						 .format = as->name,
						 .ranks = -1,
						 .events = -1};

		if (reel_writer_source(w, &row, err))
			return -1;
		for (int k = 0; as->missing[k] && !as->own_missing; k++)
			if (reel_writer_missing(w, row.source_id,
						as->missing[k], err))
				return -1;
	}
	return 0;
}

/* Damage of a file behind which its importer went on. */
struct skipped {
	uint64_t places, bytes, first, end;
};

/* Findings of the sources of the files. A file may be read twice. */
struct watched {
	const struct import_input *in;
	uint64_t *ignored;	 /* bytes behind the compressed data, by path */
	bool *damaged, *wrong;	 /* by path */
	struct skipped *skipped; /* by path */
	struct skipped *lost;	 /* of the compressed bytes, by path */
	bool partial, refused;
};

static void on_ignored(void *arg, const char *path, uint64_t bytes)
{
	struct watched *sees = arg;

	for (int i = 0; i < sees->in->paths; i++)
		if (!strcmp(sees->in->path[i], path))
			sees->ignored[i] = bytes;
}

static bool on_damaged(void *arg, const char *path, bool wrong)
{
	struct watched *sees = arg;

	for (int i = 0; i < sees->in->paths; i++)
		if (!strcmp(sees->in->path[i], path)) {
			sees->damaged[i] = true;
			sees->wrong[i] |= wrong;
		}
	sees->refused = !sees->partial;
	return sees->partial;
}

/* Add @bytes bytes at @offset of the file @path to those in @of. */
static void add_skipped(const struct watched *sees, struct skipped *of,
			const char *path, uint64_t offset, uint64_t bytes)
{
	for (int i = 0; i < sees->in->paths; i++) {
		struct skipped *s = &of[i];

		if (strcmp(sees->in->path[i], path) != 0 || offset < s->end)
			continue; /* less: it is read for the second time */
		if (!s->places++)
			s->first = offset;
		s->bytes += bytes;
		s->end = offset + bytes;
	}
}

static void on_skipped(void *arg, const char *path, uint64_t offset,
		       uint64_t bytes)
{
	const struct watched *sees = arg;

	add_skipped(sees, sees->skipped, path, offset, bytes);
}

static void on_lost(void *arg, const char *path, uint64_t offset,
		    uint64_t bytes)
{
	const struct watched *sees = arg;

	add_skipped(sees, sees->lost, path, offset, bytes);
}

/* Count the bytes that were skipped in each file, and add the places to @places.
 * @at: the word for the kind of their offsets. */
static int put_skipped(struct reel_writer *w, const struct watched *sees,
		       const struct skipped *of, const char *at,
		       uint64_t *places, struct reel_error *err)
{
	struct reel_buf reason = REEL_BUF_INIT;
	int rc = 0;

	for (int i = 0; !rc && i < sees->in->paths; i++) {
		const struct skipped *s = &of[i];

		if (!s->places)
			continue;
		*places += s->places;
		reel_buf_reset(&reason);
		rc = reel_buf_printf(&reason, err,
				     "damaged: %s %" PRIu64 " of %s", at,
				     s->first, sees->in->path[i]) ||
		     reel_writer_loss(w, 0, reel_buf_text(&reason), "bytes",
				      s->bytes, err);
	}
	reel_buf_fini(&reason);
	return rc ? -1 : 0;
}

static int put_losses(struct reel_writer *w, const struct watched *sees,
		      const struct left_out *out, struct reel_error *err)
{
	uint64_t bytes = 0, damaged = 0, wrong = 0, places = 0;

	for (int i = 0; i < sees->in->paths; i++) {
		bytes += sees->ignored[i];
		damaged += sees->damaged[i];
		wrong += sees->wrong[i];
	}
	if (put_skipped(w, sees, sees->skipped, "offset", &places, err) ||
	    put_skipped(w, sees, sees->lost, "compressed offset", &places, err))
		return -1;
	const struct reel_writer_loss losses[] = {
		{"damaged", "places", places},
		{"trailing_bytes", "bytes", bytes},
		{"partial", "files", damaged},
		{"unreliable", "files", wrong},
		{"other_format", "files", out->others},
		{"empty", "files", out->empty},
	};
	return reel_writer_losses(w, losses, sizeof(losses) / sizeof(losses[0]),
				  err);
}

static void name_partial(struct reel_error *err)
{
	const struct reel_error damage = *err;

	err->code = REEL_OK;
	reel_fail(err, damage.code, "%s; try: ioreel import --partial",
		  damage.text);
}

/* Load @in, and put the losses that no importer sees. */
static int load_input(struct reel_writer *w, const struct import_input *in,
		      const struct reel_importer *as, bool partial, bool ahead,
		      const struct left_out *out, struct reel_error *err)
{
	struct watched sees = {.in = in, .partial = partial && as->partial};
	const struct reel_source_watch watch = {on_ignored,
						on_damaged,
						sees.partial ? on_skipped
							     : NULL,
						sees.partial ? on_lost : NULL,
						&sees,
						ahead};
	size_t n = (size_t)in->paths + 1;
	int rc = -1;

	sees.ignored = reel_alloc(n, sizeof(*sees.ignored), err);
	sees.damaged = reel_alloc(n, sizeof(*sees.damaged), err);
	sees.wrong = reel_alloc(n, sizeof(*sees.wrong), err);
	sees.skipped = reel_alloc(n, sizeof(*sees.skipped), err);
	sees.lost = reel_alloc(n, sizeof(*sees.lost), err);
	if (sees.ignored && sees.damaged && sees.wrong && sees.skipped &&
	    sees.lost) {
		reel_source_watch(&watch);
		rc = as->load(w, in, err);
		reel_source_watch(NULL);
		if (rc && sees.refused && as->partial)
			name_partial(err);
	}
	if (!rc)
		rc = put_losses(w, &sees, out, err);
	free(sees.ignored);
	free(sees.damaged);
	free(sees.wrong);
	free(sees.skipped);
	free(sees.lost);
	return rc;
}

int64_t reel_import(struct reel_store *st, char *const *path, int n,
		    const struct reel_import_options *options,
		    struct reel_error *err)
{
	static const struct reel_import_options defaults;
	const struct reel_importer *as;
	struct import_input in = {.name = path[0]};
	struct reel_writer_options for_writer = {0};
	struct reel_writer *w = NULL;
	struct left_out left_out = {0};
	int64_t rc = -1;
	bool forced;

	options = options ? options : &defaults;
	as = options->as;
	forced = as;
	in.map = options->map;

	for (int i = 0; i < n; i++)
		if (add_known(&in, path[i], &as, forced, &left_out, err))
			goto out;
	if (keep_distinct(&in, err))
		goto out;
	for_writer.small = is_small(&in);
	for_writer.threads =
		reel_pool_threads_for(options->threads, for_writer.small);
	if (!reel_writer_new(&w, st, &for_writer, err) &&
	    !put_sources(w, &in, as, err) &&
	    !load_input(w, &in, as, options->partial, for_writer.threads > 1,
			&left_out, err))
		rc = (int64_t)reel_writer_events(w);
out:
	reel_writer_free(w);
	input_fini(&in);
	return rc;
}
