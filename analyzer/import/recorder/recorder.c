/* SPDX-License-Identifier: MIT */
/*
 * Import Recorder's folders: calls of POSIX, stdio, MPI-IO, MPI, HDF5 and NetCDF
 * with their arguments.
 *
 * Recorder keeps no results. Bytes are those asked for, as in its own tools, and
 * offsets follow from lseek and from these bytes; both are too large after a read
 * at the end of a file. Files have names instead of descriptors: two opens of one
 * file at a time make its offsets unknown.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/calls.h"
#include "lib/error.h"
#include "lib/intmap.h"

#include "analyzer/import/common/call_names.h"
#include "analyzer/import/common/gather.h"
#include "analyzer/import/common/run_name.h"
#include "analyzer/import/recorder/recorder_log.h"
#include "analyzer/import/common/table.h"

/* A file in a process: opened by name, or an MPI handle. */
struct position {
	uint32_t file;
	uint32_t opens; /* that are not closed */
	int64_t at;	/* REEL_NO_OFFSET: not known */
	bool viewed;	/* offsets of MPI-IO are in units of a view */
};

struct import {
	struct reel_writer *writer;
	struct import_gather *gather;
	struct reel_intmap by_position, by_handle;
	struct position *position, *handle;
	uint32_t position_room, handle_room;
	uint32_t process, rank;
	int64_t start_ns; /* of the folder */
	uint64_t no_result, bad, missing, events;
};

/* --- arguments -------------------------------------------------------------- */

/*
 * Arguments of calls with numbers; those of other calls are searched for paths.
 *   p path   h handle of MPI-IO   s bytes   n size of an item   i items
 *   o offset   w whence   f flags   m mode   M fopen's mode   t MPI type   - other
 *   z bytes of a string and its NUL
 */
static const struct {
	const char *names; /* each with a space before and behind it */
	const char *letters;
} arguments[] = {
	{" open open64 ", "pfm"},
	{" creat creat64 ", "pm"},
	{" fopen fopen64 fdopen ", "pM"},
	{" read write ", "p-s"},
	{" pread pread64 pwrite pwrite64 ", "p-so"},
	{" readv writev ", "ps-"},
	{" vfprintf ", "pz"},
	{" fread fwrite ", "-nip"},
	{" lseek lseek64 fseek fseeko ", "pow"},
	{" truncate ftruncate ", "po"},
	{" mmap mmap64 ", "-s--po"},
	{" MPI_File_open ", "-pf-h"},
	{" MPI_File_close MPI_File_sync MPI_File_set_size MPI_File_set_view ",
	 "h"},
	{" MPI_File_seek MPI_File_seek_shared ", "how"},
	{" MPI_File_read_at MPI_File_read_at_all MPI_File_read_at_all_begin "
	 "MPI_File_iread_at MPI_File_write_at MPI_File_write_at_all "
	 "MPI_File_write_at_all_begin MPI_File_iwrite_at ",
	 "ho-it"},
	{" MPI_File_read MPI_File_read_all MPI_File_read_all_begin "
	 "MPI_File_read_shared MPI_File_read_ordered "
	 "MPI_File_read_ordered_begin MPI_File_iread MPI_File_iread_shared "
	 "MPI_File_write MPI_File_write_all MPI_File_write_all_begin "
	 "MPI_File_write_shared MPI_File_write_ordered "
	 "MPI_File_write_ordered_begin MPI_File_iwrite MPI_File_iwrite_shared ",
	 "h-it"},
};

static const char *letters_of(const char *name)
{
	char key[64];

	if (snprintf(key, sizeof(key), " %s ", name) >= (int)sizeof(key))
		return NULL;
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		if (strstr(arguments[i].names, key))
			return arguments[i].letters;
	return NULL;
}

/* Bytes of a type with a name; 0: not known. */
static int64_t type_bytes(const char *name)
{
	static const struct {
		const char *name;
		int bytes;
	} types[] = {
		{"MPI_BYTE", 1},	  {"MPI_CHAR", 1},
		{"MPI_SIGNED_CHAR", 1},	  {"MPI_UNSIGNED_CHAR", 1},
		{"MPI_SHORT", 2},	  {"MPI_UNSIGNED_SHORT", 2},
		{"MPI_INT", 4},		  {"MPI_UNSIGNED", 4},
		{"MPI_FLOAT", 4},	  {"MPI_LONG", 8},
		{"MPI_UNSIGNED_LONG", 8}, {"MPI_LONG_LONG_INT", 8},
		{"MPI_LONG_LONG", 8},	  {"MPI_DOUBLE", 8},
		{"MPI_INT8_T", 1},	  {"MPI_UINT8_T", 1},
		{"MPI_INT32_T", 4},	  {"MPI_UINT32_T", 4},
		{"MPI_INT64_T", 8},	  {"MPI_UINT64_T", 8},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return types[i].bytes;
	return 0;
}

/* A number; @none where @text is none (a pattern of Recorder's, "???"). */
static int64_t number(const char *text, int64_t none)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	return end != text && !*end ? n : none;
}

struct arguments {
	const char *path, *path2, *handle, *mode;
	int64_t asked, item, items, type, offset, whence, flags, bits;
};

static void read_argument(struct arguments *a, char letter, const char *text)
{
	switch (letter) {
	case 'p':
		a->path = text;
		break;
	case 'h':
		a->handle = text;
		break;
	case 's':
		a->asked = number(text, REEL_NO_SIZE);
		break;
	case 'z': /* the NUL is not written */
		a->asked = number(text, 0) - 1;
		break;
	case 'n':
		a->item = number(text, -1);
		break;
	case 'i':
		a->items = number(text, -1);
		break;
	case 'o':
		a->offset = number(text, REEL_NO_OFFSET);
		break;
	case 'w':
		a->whence = number(text, -1);
		break;
	case 'f':
		a->flags = number(text, 0);
		break;
	case 'm':
		a->bits = number(text, 0);
		break;
	case 'M':
		a->mode = text;
		break;
	case 't':
		a->item = type_bytes(text) ?: -1;
		break;
	default:
		break;
	}
}

static void read_arguments(struct arguments *a, const struct recorder_call *c)
{
	const char *letters = letters_of(c->name);

	*a = (struct arguments){.asked = REEL_NO_SIZE,
				.item = -1,
				.items = -1,
				.offset = REEL_NO_OFFSET,
				.whence = -1};
	for (unsigned int i = 0; letters && letters[i] && i < c->args; i++)
		read_argument(a, letters[i], c->arg[i]);
	for (unsigned int i = 0; !letters && i < c->args; i++) {
		if (c->arg[i][0] != '/')
			continue;
		if (!a->path)
			a->path = c->arg[i];
		else if (!a->path2)
			a->path2 = c->arg[i];
	}
	if (a->items >= 0 &&
	    (a->item < 0 ||
	     __builtin_mul_overflow(a->item, a->items, &a->asked)))
		a->asked = REEL_NO_SIZE;
}

/* --- files and positions ------------------------------------------------------ */

static uint64_t hash(uint64_t h, uint64_t n)
{
	return (h ^ n) * 0x9e3779b97f4a7c15u;
}

static struct position *find(struct reel_intmap *map, struct position **list,
			     uint32_t *room, uint64_t key,
			     struct reel_error *err)
{
	uint32_t before = map->used, i = reel_intmap_get(map, key, err);

	if (i == REEL_NO_INDEX ||
	    reel_array_reach(list, room, i, sizeof(**list), err))
		return NULL;
	if (i == before)
		(*list)[i] = (struct position){.at = REEL_NO_OFFSET};
	return &(*list)[i];
}

/* The handle @text of MPI-IO in the rank; NULL with @err. */
static struct position *find_handle(struct import *im, const char *text,
				    struct reel_error *err)
{
	uint64_t key = im->process;

	for (; *text; text++)
		key = hash(key, (unsigned char)*text);
	return find(&im->by_handle, &im->handle, &im->handle_room, key, err);
}

/* An open with the position 0; @known: it is. */
static void note_open(struct position *p, bool known)
{
	p->opens++;
	p->at = known && p->opens == 1 ? 0 : REEL_NO_OFFSET;
}

/* Follow lseek; where it is not known, neither is the position. */
static void note_seek(struct position *p, struct reel_event *to,
		      const struct arguments *a)
{
	if (p->opens > 1 || a->offset == REEL_NO_OFFSET)
		p->at = REEL_NO_OFFSET;
	else if (a->whence == SEEK_SET)
		p->at = a->offset;
	else if (a->whence != SEEK_CUR || p->at < 0 ||
		 __builtin_add_overflow(p->at, a->offset, &p->at) || p->at < 0)
		p->at = REEL_NO_OFFSET;
	to->offset = p->at;
	to->result = p->at >= 0 ? p->at : 0;
}

static int set_offset(struct import *im, struct reel_event *to,
		      const struct arguments *a, struct reel_error *err)
{
	bool moves =
		to->group == REEL_GROUP_READ || to->group == REEL_GROUP_WRITE;
	struct position *p;

	if (reel_call_traits(to->call) & REEL_TRAIT_AT_OFFSET ||
	    (moves && a->handle) || to->call == REEL_CALL_TRUNCATE ||
	    to->call == REEL_CALL_FTRUNCATE) {
		to->offset = a->offset;
		return 0;
	}
	if (!to->file ||
	    (to->layer != REEL_LAYER_POSIX && to->layer != REEL_LAYER_STDIO))
		return 0;
	p = find(&im->by_position, &im->position, &im->position_room,
		 hash(hash(1, im->process), to->file), err);
	if (!p)
		return -1;
	if (to->group == REEL_GROUP_OPEN) {
		note_open(p, !(a->flags & O_APPEND) &&
				     !(a->mode && strchr(a->mode, 'a')));
	} else if (to->group == REEL_GROUP_CLOSE) {
		p->opens -= p->opens > 0;
		p->at = REEL_NO_OFFSET;
	} else if (to->group == REEL_GROUP_SEEK && a->whence >= 0) {
		note_seek(p, to, a);
	} else if (moves) {
		to->offset = p->at;
		if (p->at >= 0 &&
		    (to->asked < 0 ||
		     __builtin_add_overflow(p->at, to->asked, &p->at)))
			p->at = REEL_NO_OFFSET;
	}
	return 0;
}

static int file_id(struct import *im, const char *path, enum reel_kind kind,
		   uint32_t *id, struct reel_error *err)
{
	*id = 0;
	if (!path || !*path || !strcmp(path, "???"))
		return 0;
	*id = gather_file(im->gather, path, strlen(path), kind, err);
	return *id ? 0 : -1;
}

/* The file of the call, of MPI-IO by its handle. */
static int set_files(struct import *im, struct reel_event *to,
		     struct arguments *a, struct reel_error *err)
{
	enum reel_kind kind = to->call == REEL_CALL_OPENDIR ||
					      to->call == REEL_CALL_MKDIR ||
					      to->call == REEL_CALL_RMDIR
				      ? REEL_KIND_DIR
				      : REEL_KIND_FILE;
	struct position *h;

	if (file_id(im, a->path, kind, &to->file, err) ||
	    file_id(im, a->path2, kind, &to->file2, err))
		return -1;
	if (!a->handle)
		return 0;
	h = find_handle(im, a->handle, err);
	if (!h)
		return -1;
	if (to->call == REEL_CALL_MPI_FILE_OPEN)
		*h = (struct position){.file = to->file};
	if (to->call == REEL_CALL_MPI_FILE_SET_VIEW)
		h->viewed = true;
	if (h->viewed)
		a->offset = REEL_NO_OFFSET;
	to->file = h->file;
	return 0;
}

/* --- calls ---------------------------------------------------------------------- */

static int set_call(struct import *im, struct reel_event *to, const char *name,
		    struct reel_error *err)
{
	uint16_t known = import_call_id(name);
	enum reel_layer layer = import_call_layer(name);
	enum reel_group group = import_call_group(name);

	if (known) {
		const struct reel_call_info *info = reel_call_info(known);

		to->call = known;
		to->layer = (uint8_t)info->layer;
		to->group = (uint8_t)info->group;
		return 0;
	}
	if (layer == REEL_LAYER_OTHER) /* the others are libc's */
		layer = REEL_LAYER_POSIX;
	to->call = reel_writer_call(im->writer, name, layer, group, err);
	to->layer = (uint8_t)layer;
	to->group = (uint8_t)group;
	return to->call ? 0 : -1;
}

static int add_call(struct import *im, const struct recorder_call *c,
		    struct reel_event *to, struct reel_error *err)
{
	struct arguments a;

	if (set_call(im, to, c->name, err))
		return -1;
	read_arguments(&a, c);
	if (set_files(im, to, &a, err))
		return -1;
	to->arg = to->group == REEL_GROUP_SEEK ? a.whence : a.flags;
	to->arg2 = a.bits;
	to->asked = a.asked < 0 ? REEL_NO_SIZE : a.asked;
	if (to->group == REEL_GROUP_READ || to->group == REEL_GROUP_WRITE) {
		to->result = to->asked > 0 ? to->asked : 0;
		im->no_result++;
	}
	if (set_offset(im, to, &a, err))
		return -1;
	return gather_event(im->gather, to, err);
}

static int add_record(void *arg, const struct recorder_call *c,
		      struct reel_error *err)
{
	struct import *im = arg;
	struct reel_event to = {.fd = -1,
				.fd2 = -1,
				.asked = REEL_NO_SIZE,
				.offset = REEL_NO_OFFSET,
				.pos = REEL_NO_OFFSET};

	if (!*c->name || c->end_ns < c->start_ns) {
		im->bad++;
		return 0;
	}
	to.thread =
		gather_thread(im->gather, im->process, (int64_t)c->tid, err);
	if (!to.thread)
		return -1;
	to.start_ns = im->start_ns + c->start_ns;
	to.dur_ns = c->end_ns - c->start_ns;
	im->events++;
	if (c->user) {
		struct reel_span_event sp = {.start_ns = to.start_ns,
					     .dur_ns = to.dur_ns,
					     .thread = to.thread,
					     .kind = REEL_SPAN_USER,
					     .detail = -1};

		return gather_span(im->gather, &sp, c->name, err);
	}
	return add_call(im, c, &to, err);
}

/* --- folders ----------------------------------------------------------------------- */

static int read_rank(struct import *im, struct recorder_log *log, int rank,
		     uint32_t folder, struct reel_error *err)
{
	uint64_t missing = 0;
	struct reel_writer_process *row;
	int rc;

	im->process = gather_process(
		im->gather, (uint64_t)folder << 32 | (uint32_t)rank, err);
	if (!im->process)
		return -1;
	row = gather_process_row(im->gather, im->process);
	row->pid = rank;
	row->rank = recorder_log_ranks(log) > 1 ? rank : -1;
	rc = recorder_log_rank(log, rank, add_record, im, &missing, err);
	im->missing += missing;
	return rc;
}

static int read_folder(struct import *im, const char *mt, uint32_t folder,
		       struct reel_writer_run *run, struct reel_error *err)
{
	struct recorder_log *log = NULL;
	int rc = gather_source(im->gather, folder + 1, err) ||
		 recorder_log_open(&log, mt, err);

	if (!rc) {
		im->start_ns = recorder_log_start_ns(log);
		if (recorder_log_tick_ns(log) > run->clock_error_ns)
			run->clock_error_ns = recorder_log_tick_ns(log);
		if (recorder_log_ranks(log) > run->ranks)
			run->ranks = recorder_log_ranks(log);
		if (im->start_ns &&
		    (!run->start_real_ns || im->start_ns < run->start_real_ns))
			run->start_real_ns = im->start_ns;
	}
	for (int i = 0; !rc && i < recorder_log_ranks(log); i++)
		rc = read_rank(im, log, i, folder, err);
	recorder_log_close(log);
	return rc;
}

static int put_losses(struct import *im, struct reel_writer_run *run,
		      struct reel_error *err)
{
	struct reel_writer *w = im->writer;

	run->lost = (int64_t)(im->bad + im->missing);
	if (im->bad &&
	    reel_writer_loss(w, 0, "not_understood", "events", im->bad, err))
		return -1;
	if (im->missing &&
	    reel_writer_loss(w, 0, "cut off", "processes", im->missing, err))
		return -1;
	return im->no_result ? reel_writer_loss(w, 0, "no_result", "events",
						im->no_result, err)
			     : 0;
}

static void import_fini(struct import *im)
{
	reel_intmap_fini(&im->by_position);
	reel_intmap_fini(&im->by_handle);
	free(im->position);
	free(im->handle);
	gather_free(im->gather);
}

/* The name of the folder of @mt. */
static void name_run(const char *mt, char out[static 256])
{
	const char *end = strrchr(mt, '/'), *base;

	if (!end || end == mt) {
		snprintf(out, 256, "recorder");
		return;
	}
	base = memrchr(mt, '/', (size_t)(end - mt));
	base = base ? base + 1 : mt;
	snprintf(out, 256, "%.*s", (int)(end - base < 255 ? end - base : 255),
		 base);
}

static int load(struct reel_writer *w, const struct import_input *in,
		struct reel_error *err)
{
	struct import im = {.writer = w};
	struct reel_writer_run run = import_run_unknown();
	char name[256];
	int rc = gather_new(&im.gather, w, err);

	for (int i = 0; !rc && i < in->paths; i++)
		rc = read_folder(&im, in->path[i], (uint32_t)i, &run, err);
	if (!rc && !im.events)
		rc = reel_fail(err, REEL_E_FORMAT,
			       "'%s' has no calls of Recorder", in->name);
	if (!rc)
		rc = put_losses(&im, &run, err);
	if (!rc) {
		name_run(in->path[0], name);
		run.name = name;
		rc = gather_finish(im.gather, &run, err);
	}
	import_fini(&im);
	return rc ? -1 : 0;
}

const struct reel_importer reel_importer_recorder = {
	.name = "recorder",
	.about = "folders of Recorder 2.3 to 3, by their recorder.mt",
	.missing = {"results and errors of calls (bytes are those asked for)",
		    "descriptors", "pids", "hosts",
		    "offsets of files opened twice", NULL},
	.detect = recorder_log_detect,
	.load = load,
};
