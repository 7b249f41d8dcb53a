/* SPDX-License-Identifier: MIT */
/*
 * Import DFTracer's logs: POSIX and STDIO events as calls, those of applications
 * as spans.
 *
 * Logs of before 1.0 hold host and file name in each event, later ones hashes:
 * the names are in metadata events, which may come after their first use or be in
 * another file of the job. The names of all files are read first, then, as soon as
 * a hash is met without its name. Logs of 2.0 and later are lines without an array,
 * their phases are numbers, and their calls have no descriptors.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/buf.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/dftracer_names.h"
#include "analyzer/import/dftracer_steps.h"
#include "analyzer/import/common/call_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/importer.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/common/seen_events.h"
#include "analyzer/import/common/table.h"
#include "analyzer/import/common/trace_events.h"

/* The position of a descriptor in a process and file. */
struct position {
	uint32_t thread, opens; /* opens: of a file without descriptors */
	int64_t at;		/* REEL_NO_OFFSET: not known */
};

#define CALLS_KNOWN 256 /* names whose calls are kept */
#define HOST_BYTES 64	/* of a host that is compared with that before */

struct known_call {
	char *name;
	uint16_t id;
	enum reel_layer asked, layer; /* of the event's category; of the call */
	enum reel_group group;
};

struct import {
	struct known_call call[CALLS_KNOWN]; /* by hash */
	const struct import_input *in;
	struct reel_writer *writer;
	struct import_gather *gather;
	struct dftracer_marks marks;
	struct dftracer_names names;
	struct reel_intmap by_position;
	struct seen_events seen;
	struct position *position;
	uint32_t positions, position_room;
	uint64_t copies, bad, phases, no_size, summed;
	int64_t first_ns;
	int64_t unit_ns; /* the coarsest unit of times; at least us, in which
			  * DFTracer measures */
	/* The process of the event before, its pid and host. */
	uint32_t process;
	int64_t pid;
	char host[HOST_BYTES];
	size_t host_len; /* HOST_BYTES: none, or too long */
	bool host_hashed;
};

/* The arguments that calls have; NULL: absent. */
struct args {
	const struct trace_text *hhash, *hostname, *fhash, *fname;
	const struct trace_text *newpath_hash, *newpath;
	const struct trace_text *ret, *count, *size, *offset, *length;
	const struct trace_text *fd, *flags, *mode, *whence;
};

static const struct trace_text **arg_place(struct args *args,
					   const struct trace_arg *arg)
{
#define PLACE(name)                                                            \
	if (trace_key_is(arg, #name))                                          \
		return &args->name;
	PLACE(ret)
	PLACE(fhash)
	PLACE(hhash)
	PLACE(count)
	PLACE(fd)
	PLACE(offset)
	PLACE(fname)
	PLACE(hostname)
	PLACE(whence)
	PLACE(size)
	PLACE(flags)
	PLACE(mode)
	PLACE(length)
	PLACE(newpath_hash)
	PLACE(newpath)
#undef PLACE
	return NULL;
}

/* All arguments in one pass; the first one of a name counts. */
static struct args find_args(const struct trace_event *ev)
{
	struct args args = {NULL};

	for (unsigned int i = ev->args; i--;) {
		const struct trace_text **place = arg_place(&args, &ev->arg[i]);

		if (place)
			*place = &ev->arg[i].value;
	}
	return args;
}

/* --- small tables --------------------------------------------------------- */

static uint64_t hash_text(uint64_t h, const struct trace_text *t)
{
	return reel_hash_bytes(h, t->s, t->len);
}

/* --- processes and files -------------------------------------------------- */

static int set_host(struct import *im, struct reel_writer_process *row,
		    const struct trace_text *host, bool hashed,
		    struct reel_error *err)
{
	const char *text = host->s;

	if (hashed) {
		const struct dftracer_name *n =
			dftracer_find_name(&im->names, 'H', host, err);

		if (!n)
			return -1;
		text = n->text;
	}
	if (!text || !*text)
		return 0;
	row->host_id = gather_host(im->gather, text, err);
	return row->host_id ? 0 : -1;
}

/* Is the process that of the event before? */
static bool is_process(const struct import *im, const struct trace_text *host,
		       bool hashed, int64_t pid)
{
	return im->process && pid == im->pid && host &&
	       host->len < HOST_BYTES && host->len == im->host_len &&
	       hashed == im->host_hashed &&
	       !memcmp(host->s, im->host, host->len);
}

/* The process of an event: a host and a pid, which may be a rank of MPI. */
static uint32_t process_of(struct import *im, const struct args *args,
			   int64_t pid, struct reel_error *err)
{
	bool hashed = args->hhash;
	const struct trace_text *host = hashed ? args->hhash : args->hostname;
	struct reel_writer_process *row;
	uint32_t before = gather_processes(im->gather), id;
	uint64_t key;

	if (is_process(im, host, hashed, pid))
		return im->process;
	key = reel_hash_number(host ? hash_text(REEL_HASH_FIRST ^ hashed, host)
				    : 0,
			       (uint64_t)pid);
	id = gather_process(im->gather, key, err);
	if (!id)
		return 0;
	row = gather_process_row(im->gather, id);
	row->pid = pid;
	if (id > before && host && set_host(im, row, host, hashed, err))
		return 0;
	im->process = id;
	im->pid = pid;
	im->host_hashed = hashed;
	im->host_len = host && host->len < HOST_BYTES ? host->len : HOST_BYTES;
	if (im->host_len < HOST_BYTES)
		memcpy(im->host, host->s, host->len);
	return id;
}

/* The text that the argument @key of @ev is a hash of, which lives as long as the
 * import. *@out NULL: not known. 0 or -1. */
static int text_of(struct import *im, const struct trace_event *ev,
		   const char *key, char type, const char **out,
		   struct reel_error *err)
{
	const struct trace_text *hash = trace_event_arg(ev, key);
	const struct dftracer_name *n;

	*out = NULL;
	if (!hash || !hash->len)
		return 0;
	n = dftracer_find_name(&im->names, type, hash, err);
	if (!n)
		return -1;
	*out = n->text && *n->text ? gather_keep(im->gather, n->text, err)
				   : NULL;
	return n->text && *n->text && !*out ? -1 : 0;
}

/* The words of the command stand between semicolons. */
static int command_of(struct import *im, const struct trace_event *ev,
		      const char **out, struct reel_error *err)
{
	struct reel_buf text = REEL_BUF_INIT;
	const char *words;
	int rc = text_of(im, ev, "cmd_hash", 'S', &words, err);

	for (const char *p = words; !rc && p && *p; p++)
		rc = reel_buf_add(&text, *p == ';' ? " " : p, 1, err);
	if (!rc && text.len) {
		*out = gather_keep(im->gather, reel_buf_text(&text), err);
		rc = *out ? 0 : -1;
	}
	reel_buf_fini(&text);
	return rc;
}

/* The first event of a process says what it runs, and its parent. */
static int describe_process(struct import *im, const struct trace_event *ev,
			    uint32_t process, struct reel_error *err)
{
	struct reel_writer_process *row =
		gather_process_row(im->gather, process);
	int64_t parent;

	if (!trace_text_is(&ev->category, "dftracer") ||
	    !trace_text_is(&ev->name, "start") || row->command)
		return 0;
	if (trace_text_int(trace_event_arg(ev, "ppid"), &parent) && parent > 0)
		gather_parent(im->gather, process, parent);
	return command_of(im, ev, &row->command, err) ||
	       text_of(im, ev, "cwd", 'F', &row->cwd, err);
}

/* The file whose name has @hash. -1 with @err. */
static int64_t hashed_file(struct import *im, const struct trace_text *hash,
			   enum reel_kind kind, struct reel_error *err)
{
	struct dftracer_name *n =
		dftracer_find_name(&im->names, 'F', hash, err);
	char unknown[64];

	if (!n)
		return -1;
	if (!n->id) {
		const char *path = n->text;

		if (!path) {
			snprintf(unknown, sizeof(unknown), "dftracer:%.40s",
				 hash->s);
			path = unknown;
		}
		n->id = gather_file(im->gather, path, strlen(path), kind, err);
	}
	return n->id ? (int64_t)n->id : -1;
}

/* The file of @hash or of @name; 0 without either. -1 with @err. */
static int64_t file_of(struct import *im, const struct trace_text *hash,
		       const struct trace_text *name, enum reel_kind kind,
		       struct reel_error *err)
{
	uint32_t id;

	if (hash && hash->len)
		return hashed_file(im, hash, kind, err);
	if (!name || !name->len)
		return 0;
	id = gather_file(im->gather, name->s, name->len, kind, err);
	return id ? (int64_t)id : -1;
}

/* --- calls ---------------------------------------------------------------- */

static int64_t int_of(const struct trace_text *text, int64_t otherwise)
{
	int64_t n;

	return trace_text_int(text, &n) ? n : otherwise;
}

static bool moves_bytes(const struct reel_event *ev)
{
	return ev->group == REEL_GROUP_READ || ev->group == REEL_GROUP_WRITE;
}

/* Sizes. fread and fwrite have items: their size and number, those moved. */
static void set_sizes(struct import *im, struct reel_event *to,
		      const struct args *args)
{
	int64_t size = int_of(args->size, 1);

	to->result = int_of(args->ret, REEL_NO_OFFSET);
	to->asked = int_of(args->count, REEL_NO_SIZE);
	if (to->result == REEL_NO_OFFSET) {
		im->no_size++;
		to->result = 0;
	} else if (to->asked < 0) {
		to->asked = to->result < 0 ? 0 : to->result;
	}
	if (to->call != REEL_CALL_FREAD && to->call != REEL_CALL_FWRITE)
		return;
	if (size < 0 || __builtin_mul_overflow(to->result, size, &to->result) ||
	    __builtin_mul_overflow(to->asked, size, &to->asked)) {
		im->bad++;
		to->result = 0;
		to->asked = REEL_NO_SIZE;
	}
}

/* The position of @to's descriptor. NULL: none, or no memory (@err). */
static struct position *find_position(struct import *im,
				      const struct reel_event *to,
				      struct reel_error *err)
{
	uint64_t key = reel_hash_number(
		reel_hash_number(reel_hash_number(REEL_HASH_FIRST, im->process),
				 (uint64_t)to->fd),
		to->file);
	uint32_t i;
	struct position *p;

	i = reel_intmap_get(&im->by_position, key, err);
	if (i == REEL_NO_INDEX)
		return NULL;
	if (i == im->positions) {
		if (reel_array_reach(&im->position, &im->position_room, i,
				     sizeof(*p), err))
			return NULL;
		im->position[im->positions++].at = REEL_NO_OFFSET;
	}
	p = &im->position[i];
	if (p->thread != to->thread) /* shared, or another process's */
		p->at = REEL_NO_OFFSET;
	p->thread = to->thread;
	return p;
}

static bool is_open_call(uint16_t call)
{
	return call == REEL_CALL_OPEN || call == REEL_CALL_OPENAT ||
	       call == REEL_CALL_CREAT;
}

/* Move @p by a call of 2.0 and later, which records lseek but no descriptors: of
 * a file that is open twice in a process the position is not known. */
static void move_file(struct position *p, const struct reel_event *to)
{
	if (is_open_call(to->call)) {
		p->at = !p->opens++ && !(to->arg & O_APPEND) ? 0
							     : REEL_NO_OFFSET;
	} else if (to->call == REEL_CALL_CLOSE) {
		p->opens -= p->opens > 0;
		p->at = REEL_NO_OFFSET;
	}
	if (p->opens > 1)
		p->at = REEL_NO_OFFSET;
}

/*
 * Offsets of reads and writes follow from the last lseek of the same thread,
 * descriptor and file. Without an lseek they are unknown: early DFTracer does not
 * record it, so a file that was just opened need not be at its beginning.
 */
static int set_offset(struct import *im, struct reel_event *to,
		      const struct args *args, char phase,
		      struct reel_error *err)
{
	unsigned int at_offset =
		reel_call_traits(to->call) & REEL_TRAIT_AT_OFFSET;
	struct position *p;

	to->offset = REEL_NO_OFFSET;
	if (to->call == REEL_CALL_TRUNCATE || to->call == REEL_CALL_FTRUNCATE)
		to->offset = int_of(args->length, REEL_NO_OFFSET);
	if (at_offset && moves_bytes(to))
		to->offset = int_of(args->offset, REEL_NO_OFFSET);
	if (to->offset < 0)
		to->offset = REEL_NO_OFFSET;
	if (at_offset || !to->file ||
	    (to->fd < 0 && phase != DFTRACER_PHASE_2_EVENT))
		return 0;
	if (to->result < 0 && is_open_call(to->call))
		return 0;
	if (to->call != REEL_CALL_LSEEK && to->call != REEL_CALL_READ &&
	    to->call != REEL_CALL_WRITE && to->call != REEL_CALL_CLOSE &&
	    !is_open_call(to->call))
		return 0;
	p = find_position(im, to, err);
	if (!p)
		return -1;
	if (to->call == REEL_CALL_LSEEK) {
		p->at = to->result >= 0 ? to->result : REEL_NO_OFFSET;
		to->offset = p->at;
	} else if (moves_bytes(to)) {
		to->offset = p->at;
		if (p->at >= 0 && to->result > 0 &&
		    __builtin_add_overflow(p->at, to->result, &p->at))
			p->at = REEL_NO_OFFSET;
	} else {
		p->at = REEL_NO_OFFSET; /* opened, closed */
	}
	if (to->fd < 0)
		move_file(p, to);
	return 0;
}

/* The call of the name, which keeps its name where calls.def lacks it. NULL with
 * @err. */
static const struct known_call *find_call(struct import *im,
					  const struct trace_text *name,
					  enum reel_layer layer,
					  struct reel_error *err)
{
	uint64_t hash = hash_text(REEL_HASH_FIRST ^ layer, name);
	struct known_call *k = &im->call[hash % CALLS_KNOWN];
	const struct reel_call_info *info;

	if (k->name && k->asked == layer && !strcmp(k->name, name->s))
		return k;
	free(k->name);
	*k = (struct known_call){.name = reel_strdup(name->s, err),
				 .asked = layer,
				 .layer = layer,
				 .id = import_call_id(name->s)};
	if (!k->name)
		return NULL;
	info = reel_call_info(k->id);
	k->group = info ? info->group : import_call_group(name->s);
	if (info)
		k->layer = info->layer;
	else
		k->id = reel_writer_call(im->writer, name->s, layer, k->group,
					 err);
	return k->id ? k : NULL;
}

static int set_call(struct import *im, struct reel_event *to,
		    const struct trace_event *ev, struct reel_error *err)
{
	enum reel_layer layer = trace_text_is(&ev->category, "STDIO")
					? REEL_LAYER_STDIO
					: REEL_LAYER_POSIX;
	const struct known_call *k = find_call(im, &ev->name, layer, err);

	if (!k)
		return -1;
	to->call = k->id;
	to->layer = (uint8_t)k->layer;
	to->group = (uint8_t)k->group;
	return 0;
}

static int add_call(struct import *im, const struct trace_event *ev,
		    const struct args *args, uint32_t thread,
		    struct reel_error *err)
{
	struct reel_event to = {.fd = -1,
				.fd2 = -1,
				.thread = thread,
				.start_ns = ev->ts_ns,
				.dur_ns = ev->dur_ns,
				.asked = REEL_NO_SIZE,
				.pos = REEL_NO_OFFSET};
	enum reel_kind kind;
	int64_t file, file2, fd;

	if (set_call(im, &to, ev, err))
		return -1;
	kind = to.call == REEL_CALL_OPENDIR ? REEL_KIND_DIR : REEL_KIND_FILE;
	file = file_of(im, args->fhash, args->fname, kind, err);
	if (file < 0)
		return -1;
	file2 = file_of(im, args->newpath_hash, args->newpath, kind, err);
	if (file2 < 0)
		return -1;
	to.file = (uint32_t)file;
	to.file2 = (uint32_t)file2;
	to.result = int_of(args->ret, 0);
	if (moves_bytes(&to))
		set_sizes(im, &to, args);
	fd = int_of(args->fd, -1);
	if (is_open_call(to.call)) {
		fd = int_of(args->ret, -1);
		to.arg = int_of(args->flags, 0);
		to.arg2 = int_of(args->mode, 0);
	} else if (to.call == REEL_CALL_LSEEK || to.call == REEL_CALL_FSEEK) {
		to.arg = int_of(args->whence, 0);
	}
	to.fd = fd >= 0 && fd < INT32_MAX ? (int32_t)fd : -1;
	if (set_offset(im, &to, args, ev->phase, err))
		return -1;
	return gather_event(im->gather, &to, err);
}

/* --- files of the job ----------------------------------------------------- */

/* Has this very event come before? A process that forks copies the events that
 * it has not written, and the child writes them, too. 1, 0, or -1 with @err. */
static int is_copy(struct import *im, const struct trace_event *ev, int64_t tid,
		   struct reel_error *err)
{
	uint64_t series, content;
	int64_t number;
	bool text;

	if (!ev->id.len)
		return 0;
	text = !trace_text_int(&ev->id, &number);
	if (text)
		number = (int64_t)hash_text(REEL_HASH_FIRST, &ev->id);
	/* The numbers are a thread's; since 2.0, a process's. */
	series = reel_hash_number(REEL_HASH_FIRST, im->process);
	content = reel_hash_number(series, (uint64_t)tid);
	if (ev->phase != DFTRACER_PHASE_2_EVENT)
		series = content;
	content =
		reel_hash_number(reel_hash_number(content, (uint64_t)ev->ts_ns),
				 (uint64_t)ev->dur_ns);
	if (text)
		content = hash_text(content, &ev->id);
	content = hash_text(content, &ev->name);
	return seen_events_add(&im->seen, series, (uint64_t)number, content,
			       err);
}

static int add_event(struct import *im, const struct trace_event *ev,
		     struct reel_error *err)
{
	const struct args args = find_args(ev);
	int64_t pid, tid;
	uint32_t process, thread;
	int copy;

	if (!ev->has_ts || !ev->has_dur || ev->dur_ns < 0 || !ev->name.len ||
	    !trace_text_int(&ev->pid, &pid) ||
	    !trace_text_int(&ev->tid, &tid)) {
		im->bad++;
		return 0;
	}
	process = process_of(im, &args, pid, err);
	if (!process)
		return -1;
	copy = is_copy(im, ev, tid, err);
	if (copy) {
		im->copies += copy > 0;
		return copy > 0 ? 0 : -1;
	}
	thread = gather_thread(im->gather, process, tid, err);
	if (!thread)
		return -1;
	if (ev->ts_ns < im->first_ns)
		im->first_ns = ev->ts_ns;
	if (trace_text_is(&ev->category, "POSIX") ||
	    trace_text_is(&ev->category, "STDIO"))
		return add_call(im, ev, &args, thread, err);
	if (describe_process(im, ev, process, err))
		return -1;
	return dftracer_add_span(&im->marks, im->gather, ev, thread, err);
}

/* The unit of times is US, unless a metadata event names another. */
static void set_time_unit(struct import *im, struct trace_events *t,
			  const struct trace_event *ev)
{
	static const struct {
		const char *name;
		int digits;
		int64_t ns;
	} units[] = {{"NS", 0, 1},
		     {"US", 3, 1000},
		     {"MS", 6, 1000000},
		     {"SEC", 9, 1000000000}};
	const struct trace_text *name = trace_event_arg(ev, "name");
	const struct trace_text *value = trace_event_arg(ev, "value");

	if (!name || !value || strcmp(ev->name.s, "CM") != 0 ||
	    strcmp(name->s, "time_metric") != 0)
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(value->s, units[i].name)) {
			trace_events_time_digits(t, units[i].digits);
			if (units[i].ns > im->unit_ns)
				im->unit_ns = units[i].ns;
		}
}

static int read_file(struct import *im, int i, struct reel_error *err)
{
	struct trace_events *t = NULL;
	struct trace_event ev;
	int64_t n;
	int rc = gather_source(im->gather, (uint32_t)i + 1, err);

	if (!rc)
		rc = dftracer_open(&t, im->in->path[i], err);
	while (!rc && (rc = trace_events_next(t, &ev, err)) > 0)
		switch (dftracer_phase_of(&ev)) {
		case DFTRACER_PHASE_EVENT:
			rc = add_event(im, &ev, err);
			break;
		case DFTRACER_PHASE_METADATA:
			set_time_unit(im, t, &ev);
			rc = dftracer_read_name(&im->names, &ev, err);
			break;
		case DFTRACER_PHASE_SUM:
			n = int_of(trace_event_arg(&ev, "dft_cnt"), 1);
			im->summed += n > 0 && n < INT32_MAX ? (uint64_t)n : 1;
			rc = 0;
			break;
		default:
			im->phases++;
			rc = 0;
		}
	trace_events_close(t);
	return rc;
}

static int put_losses(struct import *im, struct reel_writer_run *run,
		      struct reel_error *err)
{
	const struct reel_writer_loss all[] = {
		{"not_understood", "events", im->bad},
		{"only_sums", "events", im->summed},
		{"other_phases", "events", im->phases},
		{"no_size", "calls", im->no_size}};
	char text[32];

	run->lost += (int64_t)(im->bad + im->summed);
	if (im->copies) {
		snprintf(text, sizeof(text), "%" PRIu64, im->copies);
		if (reel_writer_note(im->writer, 1, 0, "dftracer.copies", text,
				     err))
			return -1;
	}
	return reel_writer_losses(im->writer, all, sizeof(all) / sizeof(all[0]),
				  err);
}

/* The file's name without its folder and suffixes. */
static void name_run(const char *path, char out[static 256])
{
	size_t n = strlen(path);
	const char *base;

	while (n > 1 && path[n - 1] == '/')
		n--;
	base = memrchr(path, '/', n);
	base = base ? base + 1 : path;
	n -= (size_t)(base - path);
	snprintf(out, 256, "%.*s", (int)(n < 255 ? n : 255), base);
	base = strstr(out, ".pfw");
	if (base && base > out)
		out[base - out] = '\0';
}

static void import_fini(struct import *im)
{
	for (size_t i = 0; i < CALLS_KNOWN; i++)
		free(im->call[i].name);
	dftracer_names_fini(&im->names);
	free(im->position);
	dftracer_marks_fini(&im->marks);
	seen_events_fini(&im->seen);
	reel_intmap_fini(&im->by_position);
	gather_free(im->gather);
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import *im = reel_alloc(1, sizeof(*im), err);
	struct reel_writer_run run = import_run_unknown();
	char name[256];
	int rc;

	if (!im)
		return -1;
	*im = (struct import){.in = in,
			      .names.in = in,
			      .writer = w,
			      .first_ns = INT64_MAX,
			      .unit_ns = 1000};
	rc = gather_new(&im->gather, w, err);
	if (!rc)
		gather_fetches_of_loop(im->gather);
	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_file(im, i, err);
	if (!rc && im->first_ns == INT64_MAX)
		rc = reel_fail(err, REEL_E_FORMAT,
			       im->summed
				       ? "'%s' has sums of events only, made "
					 "by DFTracer's aggregation"
				       : "'%s' has no events of DFTracer",
			       in->name);
	if (!rc)
		rc = dftracer_add_steps(&im->marks, im->gather, err);
	if (!rc)
		rc = put_losses(im, &run, err);
	if (!rc) {
		name_run(in->name, name);
		run.name = name;
		run.command = "";
		run.start_real_ns = im->first_ns;
		run.clock_error_ns = im->unit_ns;
		rc = gather_finish(im->gather, &run, err);
	}
	import_fini(im);
	free(im);
	return rc ? -1 : 0;
}

static bool has_text(const char *bytes, size_t n, const char *text)
{
	return memmem(bytes, n, text, strlen(text));
}

/* Events whose first begins with its id, or since 2.0 is metadata, and DFTracer's
 * own names. Its generators of traces leave out the category of metadata. */
static bool detect(const char *bytes, size_t n)
{
	const char *p = bytes, *end = bytes + n;

	while (p < end && strchr(" \t\r\n", *p))
		p++;
	if (p < end && *p == '[')
		p++;
	while (p < end && strchr(" \t\r\n,", *p))
		p++;
	if ((end - p < 6 || memcmp(p, "{\"id\":", 6) != 0) &&
	    (end - p < 8 || memcmp(p, "{\"name\":", 8) != 0 ||
	     (!has_text(p, (size_t)(end - p), "\"cat\":\"dftracer\"") &&
	      !has_text(p, (size_t)(end - p), "\"ph\":4,\"type\":1") &&
	      !has_text(p, (size_t)(end - p), "\"args\":{\"hhash\":"))))
		return false;
	n = (size_t)(end - p);
	return has_text(p, n, "\"ph\":") &&
	       (has_text(p, n, "\"hostname\":") ||
		has_text(p, n, "\"hhash\":") ||
		has_text(p, n, "\"cat\":\"dftracer\"") ||
		has_text(p, n, "\"name\":\"HH\"") ||
		has_text(p, n, "\"name\":\"FH\""));
}

const struct reel_importer reel_importer_dftracer = {
	.name = "dftracer",
	.about = "DFTracer's logs .pfw and .pfw.gz, of all its versions; a "
		 "folder of those of a job",
	.missing = {"errno", "ranks", "results of stat before 1.0",
		    "results of opens since 2.0", "offsets without lseek",
		    "bytes of mappings", NULL},
	.partial = true,
	.detect = detect,
	.load = load,
};
