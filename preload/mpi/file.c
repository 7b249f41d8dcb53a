/* SPDX-License-Identifier: MIT */
/*
 * MPI-IO: every call that opens, transfers, or changes a file.
 *
 * A record has the bytes requested (count times size of the datatype) and the
 * bytes transferred, from the status; the offset in the file, which MPI
 * computes if the view is not plain; arg: enum reel_mpi; arg2: bytes of the
 * datatype. An open file has a descriptor id like any other, with the number
 * -1: the MPI library uses descriptors of its own below it.
 *
 * Before a call the shim queries MPI only for handles that MPI returned and
 * that are not closed, so that it never triggers an error handler of the
 * program.
 */
#include <string.h>

#include "preload/core/counters.h"
#include "preload/mpi/mpi.h"

FIELDS_MAY_REPEAT

#define FILES 1024 /* at a time, a power of two: others have no id */

/* MPI_MODE_*, equal in all libraries before MPI 5. */
#define MODE_CREATE 1
#define MODE_RDONLY 2
#define MODE_WRONLY 4
#define MODE_EXCL 64
#define MODE_SEQUENTIAL 256
/* MPI_SEEK_SET; MPI_SEEK_CUR and _END follow in steps of two. */
#define SEEK_FIRST 600
/* MPI 5: MPI_SEEK_CUR, then _END, then _SET. */
#define STANDARD_SEEK_FIRST 401

struct mpi_file {
	void *fh;      /* NULL: free */
	uint32_t desc; /* 0: counted only */
	bool sequential;
	bool plain; /* the view is disp + etype * n */
	int64_t disp, etype;
};

static struct mpi_file files[FILES];

/* The mode with the bits of libraries before MPI 5. */
static int usual_mode(int amode)
{
	static const short bit[] = {
		128, MODE_CREATE,     16, MODE_EXCL,  MODE_RDONLY,
		8,   MODE_SEQUENTIAL, 32, MODE_WRONLY};
	int mode = 0;

	if (mpi.kind != MPI_STANDARD)
		return amode;
	for (size_t i = 0; i < sizeof(bit) / sizeof(bit[0]); i++)
		mode |= amode >> i & 1 ? bit[i] : 0;
	return mode;
}

/* SEEK_SET, SEEK_CUR, SEEK_END. */
static int usual_whence(int whence)
{
	return mpi.kind == MPI_STANDARD ? (whence - STANDARD_SEEK_FIRST + 1) % 3
					: (whence - SEEK_FIRST) / 2;
}

static struct mpi_file *find_file(const void *fh)
{
	uint32_t at = (uint32_t)((uintptr_t)fh >> 4) * 2654435761u >> 22;

	for (uint32_t i = 0; fh && i < FILES; i++) {
		struct mpi_file *f = &files[(at + i) % FILES];

		if (__atomic_load_n(&f->fh, __ATOMIC_ACQUIRE) == fh)
			return f;
		if (i > 32)
			break;
	}
	return NULL;
}

static void add_file(void *fh, uint32_t desc, bool sequential)
{
	uint32_t at = (uint32_t)((uintptr_t)fh >> 4) * 2654435761u >> 22;

	for (uint32_t i = 0; i <= 32; i++) {
		struct mpi_file *f = &files[(at + i) % FILES];
		void *empty = NULL;

		if (!__atomic_compare_exchange_n(&f->fh, &empty, (void *)f,
						 false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		f->desc = desc;
		f->sequential = sequential;
		f->plain = true;
		f->disp = 0;
		f->etype = 1;
		__atomic_store_n(&f->fh, fh, __ATOMIC_RELEASE);
		return;
	}
}

static int64_t type_size(void *type)
{
	int64_t n = -1;

	if (!mpi.Type_size_x || mpi.Type_size_x(type, &n) || n < 0)
		return NONE;
	return n;
}

/* The offset in the file of @off in the view. */
static int64_t file_offset(const struct mpi_file *f, int64_t off)
{
	int64_t at = NONE;

	if (f->plain) {
		if (__builtin_mul_overflow(off, f->etype, &at) ||
		    __builtin_add_overflow(at, f->disp, &at))
			return NONE;
		return at;
	}
	if (!mpi.File_get_byte_offset ||
	    mpi.File_get_byte_offset(f->fh, off, &at))
		return NONE;
	return at;
}

static int64_t file_pointer(const struct mpi_file *f)
{
	int64_t off;

	if (f->sequential || !mpi.File_get_position ||
	    mpi.File_get_position(f->fh, &off))
		return NONE;
	return file_offset(f, off);
}

/* --- reads and writes ----------------------------------------------------- */

enum where { NOWHERE, POINTER, EXPLICIT };

struct transfer {
	struct shim_event ev;
	struct mpi_file *file;
	void *ours; /* the program's status, or own if it ignores it */
	uint64_t own[16];
	uint64_t start;
	bool skip; /* a file that is counted only */
	bool has_status;
};

/*
 * Before the call. An ignored status is replaced by ours, which alone shows the
 * bytes of a read at the end of the file.
 */
static void begin_transfer(struct transfer *t, uint32_t call, void *fh,
			   enum where where, int64_t off, int64_t flags,
			   void *status)
{
	int saved = errno;

	t->ev = (struct shim_event){SHIM_EVENT_NONE, .call = call};
	t->file = find_file(fh);
	t->skip = t->file && !t->file->desc;
	t->ours = status;
	if (t->skip)
		return;
	t->has_status = !(flags & (REEL_MPI_NONBLOCKING | REEL_MPI_SPLIT)) &&
			mpi.Get_elements_x;
	if (t->has_status && (status == NULL || status == (void *)1)) {
		memset(t->own, 0, sizeof(t->own));
		t->ours = t->own;
	}
	t->ev.arg = flags;
	t->ev.desc = t->file ? t->file->desc : 0;
	if (t->file && where == POINTER)
		t->ev.offset = file_pointer(t->file);
	else if (t->file && where == EXPLICIT)
		t->ev.offset = file_offset(t->file, off);
	errno = saved;
	t->start = shim_clock();
}

/* The bytes in @status, or @asked if it has none. */
static int64_t status_bytes(void *status, int64_t asked)
{
	int64_t n = -1;

	if (mpi.Get_elements_x(status, mpi.byte, &n) || n < 0 || n > asked)
		return asked == INT64_MAX ? 0 : asked;
	return n;
}

static void end_transfer(struct transfer *t, int64_t count, void *type,
			 int code)
{
	uint64_t end = shim_clock();
	int saved = errno;
	int64_t result = -1;

	if (t->skip) {
		shim_count(REEL_CODE_CALLS, 1);
		return;
	}
	if (!code && type) {
		t->ev.arg2 = type_size(type);
		if (t->ev.arg2 == NONE || count < 0 ||
		    __builtin_mul_overflow(count, t->ev.arg2, &t->ev.size))
			t->ev.size = NONE;
		result = t->ev.size == NONE ? 0 : t->ev.size;
	}
	if (!code && t->has_status)
		result = status_bytes(t->ours, type ? result : INT64_MAX);
	shim_record_full(&t->ev, t->start, end, result, shim_mpi_errno(code));
	errno = saved;
}

#define ARGS_RW(out) fh, buf, n, type, out
#define ARGS_RW_AT(out) fh, off, buf, n, type, out
#define ARGS_BEGIN(out) fh, buf, n, type
#define ARGS_BEGIN_AT(out) fh, off, buf, n, type
#define OUT_RW out
#define OUT_RW_AT out
#define OUT_BEGIN NULL
#define OUT_BEGIN_AT NULL
#define OFF_RW 0
#define OFF_RW_AT off
#define OFF_BEGIN 0
#define OFF_BEGIN_AT off

#define X(CALL, fn, shape, count, flags, where)                                \
	int shim_mpi_File_##fn MPI_##shape(count)                              \
	{                                                                      \
		struct transfer t;                                             \
		int r;                                                         \
                                                                               \
		if (!shim_hot.on)                                              \
			return mpi_real.File_##fn(ARGS_##shape(OUT_##shape));  \
		begin_transfer(&t, CALL_MPI_FILE_##CALL, fh, where,            \
			       OFF_##shape, flags, OUT_##shape);               \
		r = mpi_real.File_##fn(ARGS_##shape(t.ours));                  \
		end_transfer(&t, n, type, r);                                  \
		return r;                                                      \
	}
MPI_TRANSFERS(X)
#undef X

/* The first half records the bytes requested, this one those transferred. */
#define X(CALL, fn)                                                            \
	int shim_mpi_File_##fn MPI_END_ARGS                                    \
	{                                                                      \
		struct transfer t;                                             \
		int r;                                                         \
                                                                               \
		if (!shim_hot.on)                                              \
			return mpi_real.File_##fn(fh, buf, out);               \
		begin_transfer(&t, CALL_MPI_FILE_##CALL, fh, NOWHERE, 0,       \
			       REEL_MPI_COLLECTIVE, out);                      \
		r = mpi_real.File_##fn(fh, buf, t.ours);                       \
		end_transfer(&t, NONE, NULL, r);                               \
		return r;                                                      \
	}
MPI_ENDS(X)
#undef X

/* --- the rest ------------------------------------------------------------- */

/* Record a call on @f; NULL: the handle is unknown. */
static void record_call(struct shim_event *ev, const struct mpi_file *f,
			uint64_t start, int64_t result, int code)
{
	uint64_t end = shim_clock();
	int saved = errno;

	if (f && !f->desc) {
		shim_count(REEL_CODE_CALLS, 1);
		return;
	}
	if (!ev->desc)
		ev->desc = f ? f->desc : 0;
	shim_record_full(ev, start, end, code ? -1 : result,
			 shim_mpi_errno(code));
	errno = saved;
}

/* The path without the name of a ROMIO driver before it. */
static const char *without_driver(const char *path)
{
	static const char driver[][8] = {"ufs:",  "nfs:",   "xfs:",   "lustre:",
					 "gpfs:", "panfs:", "testfs:"};

	for (size_t i = 0; i < sizeof(driver) / sizeof(driver[0]); i++)
		if (!strncmp(path, driver[i], strnlen(driver[i], 8)))
			return path + strnlen(driver[i], 8);
	return path;
}

static int64_t open_flags(int amode)
{
	int64_t flags = amode & MODE_RDONLY   ? O_RDONLY
			: amode & MODE_WRONLY ? O_WRONLY
					      : O_RDWR;

	return flags | (amode & MODE_CREATE ? O_CREAT : 0) |
	       (amode & MODE_EXCL ? O_EXCL : 0);
}

/* A note for each hint that affects transfers. */
static void note_hints(void *fh, const char *path)
{
	static const char key[][24] = {
		"romio_cb_read",   "romio_cb_write", "romio_ds_read",
		"romio_ds_write",  "cb_nodes",	     "cb_buffer_size",
		"striping_factor", "striping_unit",  "collective_buffering",
	};
	char name[40], text[64 + 256], value[64];
	size_t len = strlen(path), from = len > 200 ? len - 200 : 0;
	void *info = NULL;

	if (!mpi.File_get_info || !mpi.Info_get || !mpi.Info_free ||
	    mpi.File_get_info(fh, &info))
		return;
	for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++) {
		int found = 0;

		memset(value, 0, sizeof(value));
		if (mpi.Info_get(shim_mpi_handle(info), key[i],
				 sizeof(value) - 1, value, &found) ||
		    !found)
			continue;
		strcpy(stpcpy(name, "mpi_hint:"), key[i]);
		strcpy(stpcpy(stpcpy(text, value), " "), path + from);
		shim_note_text(name, text);
	}
	mpi.Info_free(&info);
}

static void record_open(struct shim_event *ev, void *comm, int amode, void *fh,
			uint64_t start, int code)
{
	uint64_t end = shim_clock();
	int size = 0, rank = 0;

	if (shim_is_code(ev->path, strlen(ev->path), amode & MODE_RDONLY)) {
		shim_count(REEL_CODE_OPENS, 1);
		if (!code)
			add_file(fh, 0, false);
		return;
	}
	ev->arg = open_flags(amode);
	ev->arg2 = amode;
	if (!code) {
		if (mpi.Comm_size && !mpi.Comm_size(comm, &size))
			ev->arg2 |= (int64_t)size << 16;
		ev->newdesc = shim_desc_new(-1);
		ev->newfd = -1;
	}
	shim_record_full(ev, start, end, code ? -1 : 0, shim_mpi_errno(code));
	if (!code)
		add_file(fh, shim_counted_desc(ev->newdesc),
			 amode & MODE_SEQUENTIAL);
	if (!code && mpi.Comm_rank && !mpi.Comm_rank(comm, &rank) && !rank)
		note_hints(fh, ev->path);
}

int shim_mpi_File_open(void *comm, const char *path, int amode, void *info,
		       void **fh)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_FILE_OPEN};
	uint64_t start = shim_clock();
	int saved, r = mpi_real.File_open(comm, path, amode, info, fh);

	if (!shim_hot.on || shim_null(path))
		return r;
	saved = errno;
	ev.path = without_driver(path);
	record_open(&ev, comm, usual_mode(amode), r ? NULL : *fh, start, r);
	errno = saved;
	return r;
}

/* Removed before the call: another thread may get the handle at once. */
int shim_mpi_File_close(void **fh)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_FILE_CLOSE};
	struct mpi_file *f = NULL, was = {0};
	uint64_t start;
	int r;

	if (shim_hot.on && !shim_null(fh))
		f = find_file(*fh);
	if (f) {
		was = *f;
		__atomic_store_n(&f->fh, NULL, __ATOMIC_RELEASE);
	}
	start = shim_clock();
	r = mpi_real.File_close(fh);
	if (shim_hot.on)
		record_call(&ev, f ? &was : NULL, start, 0, r);
	return r;
}

int shim_mpi_File_delete(const char *path, void *info)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_FILE_DELETE};
	uint64_t start = shim_clock();
	int r = mpi_real.File_delete(path, info);

	if (!shim_hot.on || shim_null(path))
		return r;
	ev.path = without_driver(path);
	if (!shim_is_code(ev.path, strlen(ev.path), false))
		record_call(&ev, NULL, start, 0, r);
	return r;
}

static void apply_view(struct mpi_file *f, struct shim_event *ev, int64_t disp,
		       void *etype, void *filetype)
{
	int64_t low, extent = NONE;

	ev->offset = disp;
	ev->arg = type_size(etype);
	ev->arg2 = type_size(filetype);
	if (mpi.Type_get_extent_x &&
	    !mpi.Type_get_extent_x(filetype, &low, &extent))
		ev->pos = extent;
	if (!f)
		return;
	f->disp = disp;
	f->etype = ev->arg;
	f->plain = disp >= 0 && ev->arg != NONE &&
		   shim_mpi_handle(etype) == shim_mpi_handle(filetype) &&
		   extent == ev->arg;
}

int shim_mpi_File_set_view(void *fh, int64_t disp, void *etype, void *filetype,
			   const char *rep, void *info)
{
	struct shim_event ev = {SHIM_EVENT_NONE,
				.call = CALL_MPI_FILE_SET_VIEW};
	struct mpi_file *f = find_file(fh);
	uint64_t start = shim_clock();
	int saved, r;

	r = mpi_real.File_set_view(fh, disp, etype, filetype, rep, info);
	if (!shim_hot.on)
		return r;
	saved = errno;
	if (!r)
		apply_view(f, &ev, disp, etype, filetype);
	record_call(&ev, f, start, 0, r);
	errno = saved;
	return r;
}

int shim_mpi_File_get_size(void *fh, int64_t *size)
{
	struct shim_event ev = {SHIM_EVENT_NONE,
				.call = CALL_MPI_FILE_GET_SIZE};
	uint64_t start = shim_clock();
	int r = mpi_real.File_get_size(fh, size);

	if (!shim_hot.on)
		return r;
	if (!r && *size >= 0)
		ev.pos = *size;
	record_call(&ev, find_file(fh), start, 0, r);
	return r;
}

/* The result of a seek is the new position; that of the shared pointer is
 * unknown, since other ranks move it too. */
int shim_mpi_File_seek(void *fh, int64_t off, int whence)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_MPI_FILE_SEEK,
				.offset = off, .arg = usual_whence(whence)};
	uint64_t start = shim_clock();
	int r = mpi_real.File_seek(fh, off, whence);
	struct mpi_file *f;
	int64_t at = NONE;
	int saved;

	if (!shim_hot.on)
		return r;
	saved = errno;
	f = find_file(fh);
	if (!r && f)
		at = file_pointer(f);
	record_call(&ev, f, start, at == NONE ? 0 : at, r);
	errno = saved;
	return r;
}

#define ON_FILE(CALL, fn, params, args, ...)                                   \
	int shim_mpi_File_##fn params                                          \
	{                                                                      \
		struct shim_event ev = {SHIM_EVENT_NONE,                       \
					.call = CALL_MPI_FILE_##CALL,          \
					__VA_ARGS__};                          \
		uint64_t start = shim_clock();                                 \
		int r = mpi_real.File_##fn args;                               \
                                                                               \
		if (shim_hot.on)                                               \
			record_call(&ev, find_file(fh), start, 0, r);          \
		return r;                                                      \
	}
ON_FILE(SET_SIZE, set_size, (void *fh, int64_t size), (fh, size),
	.offset = size)
ON_FILE(PREALLOCATE, preallocate, (void *fh, int64_t size), (fh, size),
	.offset = size)
ON_FILE(SET_ATOMICITY, set_atomicity, (void *fh, int flag), (fh, flag),
	.arg = flag)
ON_FILE(SET_INFO, set_info, (void *fh, void *info), (fh, info), .size = NONE)
ON_FILE(SYNC, sync, (void *fh), (fh), .size = NONE)
ON_FILE(SEEK_SHARED, seek_shared, (void *fh, int64_t off, int whence),
	(fh, off, whence), .arg = usual_whence(whence), .arg2 = off)
