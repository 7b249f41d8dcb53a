/* SPDX-License-Identifier: MIT */
/*
 * Issues the calls on streams of stdio. A stream belongs to the slot of its
 * descriptor.
 *
 * getline() and fgets() return lines of the recorded lengths, because the files
 * were rebuilt with newlines at the recorded places.
 */
#include "replay/engine/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/syscall.h"

#include "lib/calls.h"

#include "replay/engine/beneath.h"
#include "replay/engine/fdtable.h"

/* The mode string for fopen(), from the open flags that the shim recorded. */
static const char *mode_string(const struct call_spec *s, char out[8])
{
	int flags = s->flags;
	bool both = (flags & O_ACCMODE) == O_RDWR;
	char *m = out;

	if (s->m->err == EINVAL)
		return "";
	*m++ = flags & O_APPEND ? 'a' : flags & O_TRUNC ? 'w' : 'r';
	if (both)
		*m++ = '+';
	if (flags & O_EXCL)
		*m++ = 'x';
	if (flags & O_CLOEXEC)
		*m++ = 'e';
	*m = '\0';
	return out;
}

static bool standard_closed[3]; /* by fclose(): not to be used again */

/* A function of libc itself, which the shim does not record. */
static void *libc_symbol(const char *name)
{
	int err = errno;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *symbol = libc ? dlsym(libc, name) : NULL;

	errno = err;
	return symbol;
}

/* The job's fdopen() was not recorded either. */
static FILE *open_silently(int fd, const struct call_spec *s)
{
	static FILE *(*libc_fdopen)(int, const char *);

	if (!libc_fdopen)
		*(void **)&libc_fdopen = libc_symbol("fdopen");
	return libc_fdopen ? libc_fdopen(fd, plan_is_write(s->r) ? "w" : "r")
			   : NULL;
}

static FILE *standard_stream(int fd)
{
	FILE *const all[] = {stdin, stdout, stderr};

	return fd < 0 || fd > 2 || standard_closed[fd] ? NULL : all[fd];
}

static bool is_standard(const FILE *f)
{
	return f == stdin || f == stdout || f == stderr;
}

static void flush_silently(FILE *f)
{
	static int (*libc_fflush)(FILE *);

	if (!libc_fflush)
		*(void **)&libc_fflush = libc_symbol("fflush");
	if (libc_fflush)
		libc_fflush(f);
}

/*
 * Another process reads the bytes from the file. Write them, but leave them in
 * the buffer, where the shim looks for them at the next call on the stream.
 */
static void write_through(FILE *f)
{
	long at = raw(SYS_lseek, fileno(f), 0, SEEK_CUR);
	ptrdiff_t n = f->_IO_write_ptr - f->_IO_write_base;

	if (raw(SYS_fcntl, fileno(f), F_GETFL) & O_APPEND)
		flush_silently(f);
	else if (at >= 0 && n > 0)
		raw(SYS_pwrite64, fileno(f), f->_IO_write_base, n,
		    at - (f->_IO_read_end - f->_IO_write_base));
}

/* Is it a pipe or a socket, from which written bytes have to be drained? */
static bool is_message(const struct engine *e, const struct slot *slot)
{
	return slot->object != PLAN_NONE &&
	       e->plan->object[slot->object].kind <= PLAN_OBJECT_SOCKET;
}

/*
 * Flush @f so that the shim records the buffered bytes. When all streams are
 * flushed, the shim looks at stdout only, unless a stream had a recorded call.
 * So @f stands in for stdout, and the other streams seem to be empty.
 */
static void flush_recorded(FILE *f)
{
	FILE *const all[] = {stdin, stdout, stderr};
	FILE *keep = stdout;
	char *end[3];

	for (int i = 0; i < 3; i++) {
		end[i] = all[i]->_IO_write_ptr;
		if (all[i] != f)
			all[i]->_IO_write_ptr = all[i]->_IO_write_base;
	}
	stdout = f;
	fflush(NULL);
	stdout = keep;
	for (int i = 0; i < 3; i++)
		if (all[i] != f)
			all[i]->_IO_write_ptr = end[i];
}

/* Do buffers hold bytes that another process wrote before a fork? */
static bool holds_other_bytes(const struct player_process *q)
{
	for (uint32_t i = 0; i < q->engine->plan->head->fds; i++) {
		const struct slot *slot = &q->slot[i];

		if (slot->file && slot->writer != q->index + 1 &&
		    __fpending(slot->file))
			return true;
	}
	return false;
}

/* Make printed bytes visible to a reader, or a writer behind them. */
static void publish_printed(struct player *p, const struct call_spec *s,
			    FILE *f)
{
	const struct player_process *q = p->process;

	if (is_standard(f) && !is_message(p->engine, s->slot) &&
	    p->engine->plan->process[q->index].streams == 1 &&
	    !holds_other_bytes(q))
		flush_recorded(f);
	else
		write_through(f);
}

void call_stdio_exit(struct player_process *q)
{
	uint32_t fds = q->engine->plan->head->fds;
	bool others = holds_other_bytes(q);

	for (uint32_t i = 0; i < fds; i++) {
		struct slot *slot = &q->slot[i];

		if (slot->file && slot->writer == q->index + 1 &&
		    is_message(q->engine, slot))
			raw(SYS_dup3, q->engine->null, slot->fd, 0);
	}
	for (uint32_t i = 0; i < fds; i++) {
		struct slot *slot = &q->slot[i];

		if (!slot->file || slot->writer != q->index + 1)
			continue;
		if (!others && !is_message(q->engine, slot) &&
		    is_standard(slot->file) && __fpending(slot->file))
			flush_recorded(slot->file);
		else
			flush_silently(slot->file);
	}
}

/* The stream of the slot; the standard ones exist from the start. */
static FILE *file_of(const struct call_spec *s)
{
	int n = s->r->fd;

	if (s->slot && !s->slot->file && s->slot->fd >= 0) {
		s->slot->file = s->slot->fd == n ? standard_stream(n) : NULL;
		if (!s->slot->file)
			s->slot->file = open_silently(s->slot->fd, s);
	}
	if (!s->slot || !s->slot->file) {
		errno = EBADF;
		return NULL;
	}
	return s->slot->file;
}

/* The same as CALL_OF() with the stream of the call as @f; -1 without one. */
#define STREAM_CALL(NAME)                                                      \
	static int64_t on_stream_##NAME(struct player *p,                      \
					const struct call_spec *s, FILE *f);   \
	CALL_WITH(NAME, FILE *f = file_of(s),                                  \
		  f ? on_stream_##NAME(p, s, f) : -1)                          \
	static int64_t on_stream_##NAME(struct player *p,                      \
					const struct call_spec *s, FILE *f)

static void forget_standard(const FILE *f)
{
	standard_closed[0] |= f == stdin;
	standard_closed[1] |= f == stdout;
	standard_closed[2] |= f == stderr;
}

static int64_t after_open(struct player *p, const struct call_spec *s, FILE *f)
{
	struct slot *slot = fdtable_slot(p->process, s->m->fd2);
	int64_t fd = fdtable_after_open(p, s, f ? fileno(f) : -1);

	if (f && slot)
		slot->file = f;
	return fd;
}

CALL_OF(FOPEN)
{
	char mode[8];

	fdtable_before_open(p, s);
	return after_open(p, s, fopen(s->path, mode_string(s, mode)));
}

CALL_OF(FDOPEN)
{
	char mode[8];
	FILE *f = fdopen(s->fd, mode_string(s, mode));

	if (f && s->slot)
		s->slot->file = f;
	return f ? s->fd : -1;
}

CALL_OF(FREOPEN)
{
	struct slot *slot = fdtable_slot(p->process, s->m->fd2);
	char mode[8];

	if (slot && !slot->file && (slot->fd < 0 || slot->fd == s->m->fd2))
		slot->file = standard_stream(s->m->fd2);
	if (!slot || !slot->file)
		return issue_FOPEN(p, s);
	fdtable_take_turn(p);
	return after_open(p, s,
			  freopen(s->path, mode_string(s, mode), slot->file));
}

/* libc would create the file in /tmp, outside the sandbox. */
CALL_OF(TMPFILE)
{
	long fd;

	fdtable_before_open(p, s);
	fd = raw(SYS_openat, beneath_on(p) ? p->process->root_fd : AT_FDCWD,
		 beneath_on(p) ? "." : p->engine->sandbox.root,
		 O_TMPFILE | O_RDWR | O_EXCL, 0600);
	return after_open(p, s, fd >= 0 ? fdopen((int)fd, "w+") : NULL);
}

STREAM_CALL(FCLOSE)
{
	int64_t r;

	forget_standard(f);
	fdtable_take_turn(p);
	r = fclose(f);
	fdtable_closed(p, s->r->fd);
	return r ? -1 : 0;
}

CALL_IS(PCLOSE, issue_FCLOSE(p, s))

/* The result of a call that moved @n bytes; -1 if it failed in the job. */
static int64_t transfer_result(const struct call_spec *s, size_t n)
{
	return !n && s->m->err ? -1 : (int64_t)n;
}

STREAM_CALL(FREAD)
{
	return transfer_result(s, fread(p->in, 1, (size_t)s->size, f));
}

/*
 * Bytes without a recorded call are visible to the shim while they are in a
 * buffer. stderr has none: libc prints to it in one write, but putc() would
 * write every byte, so it gets a buffer.
 */
static bool stderr_buffered;

static void buffer_stderr(FILE *f)
{
	static char buffer[BUFSIZ];

	if (f != stderr || stderr_buffered || __fbufsize(f) > 1)
		return;
	stderr_buffered = !setvbuf(f, buffer, _IOFBF, sizeof(buffer));
}

STREAM_CALL(FWRITE)
{
	int64_t n;

	s->slot->writer = p->process->index + 1;
	n = transfer_result(s, fwrite(p->out, 1, (size_t)s->size, f));
	if (f == stderr && stderr_buffered)
		flush_silently(f);
	return n;
}

/*
 * These reads are recorded when the shim next sees the stream, perhaps after a
 * seek on the descriptor. A stream that has read nothing starts at the recorded
 * offset.
 */
static void begin_at_offset(const struct call_spec *s, FILE *f)
{
	if (s->offset >= 0 && f->_IO_read_ptr == f->_IO_read_end &&
	    f->_IO_write_ptr == f->_IO_write_base)
		raw(SYS_lseek, fileno(f), s->offset, SEEK_SET);
}

/* By functions that are not recorded, as in the job. */
STREAM_CALL(STDIO_READ)
{
	int64_t n = 0;

	begin_at_offset(s, f);
	while (n < s->want && getc_unlocked(f) != EOF)
		n++;
	return n;
}

STREAM_CALL(STDIO_WRITE)
{
	int64_t n = 0;

	s->slot->writer = p->process->index + 1;
	buffer_stderr(f);
	while (n < s->want &&
	       putc_unlocked(line_writes_byte(p, s, n), f) != EOF)
		n++;
	if (s->r->flags & PLAN_F_POST)
		publish_printed(p, s, f);
	return n;
}

#define UNTOUCHED '\1' /* in no rebuilt file */

STREAM_CALL(FGETS)
{
	char *line = (char *)p->in;
	int64_t n = s->want;
	bool within = n >= 0 && n < s->size;

	/* A line may contain NUL bytes: these two show where it ends. */
	if (within || n == s->size)
		line[n] = UNTOUCHED;
	if (within)
		line[n + 1] = UNTOUCHED;
	if (!fgets(line, (int)s->size + 1, f))
		return transfer_result(s, 0);
	if (n < 0 || n > s->size || line[n] ||
	    (within && line[n + 1] != UNTOUCHED))
		n = (int64_t)strlen(line);
	return n;
}

STREAM_CALL(GETLINE)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	n = getline(&line, &room, f);
	free(line);
	return transfer_result(s, n > 0 ? (size_t)n : 0);
}

/* The resulting position is recorded. */
STREAM_CALL(FSEEK)
{
	int64_t to = s->m->pos == PLAN_NO_OFFSET ? s->offset : s->m->pos;
	struct stat st;

	if (s->m->err)
		return fseeko(f, INT64_MIN / 2, s->flags);
	if (to == PLAN_NO_OFFSET)
		to = 0;
	else if (s->flags == SEEK_CUR)
		to -= ftello(f);
	else if (s->flags == SEEK_END)
		to -= raw(SYS_fstat, s->fd, &st) ? to : st.st_size;
	return fseeko(f, to, s->flags);
}

STREAM_CALL(REWIND)
{
	rewind(f);
	return 0;
}

STREAM_CALL(FSETPOS)
{
	fpos_t pos;

	if (fgetpos(f, &pos))
		return -1;
#ifdef __GLIBC__
	if (s->m->pos != PLAN_NO_OFFSET)
		pos.__pos = s->m->pos;
#endif
	return fsetpos(f, &pos);
}

STREAM_CALL(FFLUSH)
{
	return fflush(f);
}

bool call_stdio_sends(const struct player *p, const struct call_spec *s)
{
	const FILE *f = s->slot ? s->slot->file : NULL;

	return f && is_message(p->engine, s->slot) &&
	       s->slot->writer == p->process->index + 1 &&
	       (s->r->op == REEL_CALL_FFLUSH || s->r->op == REEL_CALL_FCLOSE ||
		s->r->op == REEL_CALL_PCLOSE || s->r->op == REEL_CALL_FREOPEN);
}

bool call_stdio_keeps(const struct call_spec *s)
{
	FILE *f = s->slot ? s->slot->file : NULL;

	return f && plan_is_write(s->r) && !__flbf(f) &&
	       s->size < (int64_t)(__fbufsize(f) - __fpending(f));
}
