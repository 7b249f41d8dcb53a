/* SPDX-License-Identifier: MIT */
/*
 * The STDIO calls of a job. A stream belongs to the slot of its descriptor.
 *
 * getline() and fgets() get the lines that they got because the files were
 * rebuilt with newlines in the right places.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/calls.h"

#include "replay/engine/beneath.h"
#include "replay/engine/player.h"
#include "replay/model/syscall.h"

/* fopen's mode from the open flags that the shim made of it, or none. */
static const char *mode_of(const struct step *s, char out[8])
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

static bool standard_closed[3]; /* by fclose(): never to be touched again */

/* libc's own, past the shim. */
static void *libc_symbol(const char *name)
{
	int err = errno;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *symbol = libc ? dlsym(libc, name) : NULL;

	errno = err;
	return symbol;
}

/* The job's fdopen() was not recorded either. */
static FILE *open_silently(int fd, const struct step *s)
{
	static FILE *(*libc_fdopen)(int, const char *);

	if (!libc_fdopen)
		*(void **)&libc_fdopen = libc_symbol("fdopen");
	return libc_fdopen ? libc_fdopen(fd, plan_is_write(s->r) ? "w" : "r")
			   : NULL;
}

static FILE *standard(int fd)
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
 * Who waits for the bytes reads the file. They stay in the buffer, where the
 * shim has to see them at the stream's next call.
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

/* Is it a pipe or a socket, whose bytes have to be taken out again? */
static bool is_message(const struct engine *e, const struct slot *slot)
{
	return slot->object != PLAN_NONE &&
	       e->plan->object[slot->object].kind <= PLAN_OBJECT_SOCKET;
}

/*
 * The shim has to see what waits in the buffer, and of a stream that no recorded
 * call has met it looks at stdout alone, when all are flushed. Their turn comes.
 */
static void flush_seen(FILE *f)
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

/* Are there bytes in buffers that are not this process's to write? */
static bool holds_others(const struct player_process *q)
{
	for (uint32_t i = 0; i < q->engine->plan->head->fds; i++) {
		const struct slot *slot = &q->slot[i];

		if (slot->file && slot->writer != q->index + 1 &&
		    __fpending(slot->file))
			return true;
	}
	return false;
}

/*
 * Somebody waits for what was printed, to read it or to print behind it where
 * the position is shared.
 */
static void printed(struct player *p, const struct step *s, FILE *f)
{
	const struct player_process *q = p->process;

	if (is_standard(f) && !is_message(p->engine, s->slot) &&
	    p->engine->plan->process[q->index].streams == 1 && !holds_others(q))
		flush_seen(f);
	else
		write_through(f);
}

void engine_stdio_exit(struct player_process *q)
{
	uint32_t fds = q->engine->plan->head->fds;
	bool others = holds_others(q);

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
			flush_seen(slot->file);
		else
			flush_silently(slot->file);
	}
}

/* The stream of the slot; a program is born with three. */
static FILE *file_of(const struct step *s)
{
	int n = s->r->fd;

	if (s->slot && !s->slot->file && s->slot->fd >= 0) {
		s->slot->file = s->slot->fd == n ? standard(n) : NULL;
		if (!s->slot->file)
			s->slot->file = open_silently(s->slot->fd, s);
	}
	if (!s->slot || !s->slot->file) {
		errno = EBADF;
		return NULL;
	}
	return s->slot->file;
}

static void forget_standard(const FILE *f)
{
	standard_closed[0] |= f == stdin;
	standard_closed[1] |= f == stdout;
	standard_closed[2] |= f == stderr;
}

static int64_t after_open(struct player *p, const struct step *s, FILE *f)
{
	struct slot *slot = descriptors_slot(p->process, s->m->fd2);
	int64_t fd = descriptors_after(p, s, f ? fileno(f) : -1);

	if (f && slot)
		slot->file = f;
	return fd;
}

CALL_OF(fopen)
{
	char mode[8];
	FILE *f;

	descriptors_before(p, s);
	f = fopen(s->path, mode_of(s, mode));
	return after_open(p, s, f);
}

CALL_OF(fdopen)
{
	char mode[8];
	FILE *f = fdopen(s->fd, mode_of(s, mode));

	if (f && s->slot)
		s->slot->file = f;
	return f ? s->fd : -1;
}

CALL_OF(freopen)
{
	struct slot *slot = descriptors_slot(p->process, s->m->fd2);
	char mode[8];
	FILE *f;

	if (slot && !slot->file && (slot->fd < 0 || slot->fd == s->m->fd2))
		slot->file = standard(s->m->fd2);
	if (!slot || !slot->file)
		return do_fopen(p, s);
	descriptors_take_turn(p);
	f = freopen(s->path, mode_of(s, mode), slot->file);
	return after_open(p, s, f);
}

/* libc's would be in /tmp, outside the sandbox: a nameless one inside it. */
CALL_OF(tmpfile)
{
	long fd;
	FILE *f;

	descriptors_before(p, s);
	fd = raw(SYS_openat, beneath_on(p) ? p->process->root_fd : AT_FDCWD,
		 beneath_on(p) ? "." : p->engine->sandbox.root,
		 O_TMPFILE | O_RDWR | O_EXCL, 0600);
	f = fd >= 0 ? fdopen((int)fd, "w+") : NULL;
	return after_open(p, s, f);
}

CALL_OF(fclose)
{
	FILE *f = file_of(s);
	int64_t r;

	if (!f)
		return -1;
	forget_standard(f);
	descriptors_take_turn(p);
	r = fclose(f);
	descriptors_closed(p, s->r->fd);
	return r ? -1 : 0;
}

/* A stream that is not for it moves nothing, and says why. */
static int64_t moved(const struct step *s, size_t n)
{
	return !n && s->m->err ? -1 : (int64_t)n;
}

CALL_OF(fread)
{
	FILE *f = file_of(s);

	if (!f)
		return -1;
	return moved(s, fread(p->in, 1, (size_t)s->size, f));
}

/*
 * What has no record is seen while it is in the buffer, and libc's own calls
 * write it at once where putc() writes each byte: stderr gets a buffer.
 */
static bool stderr_held;

static void hold(FILE *f)
{
	static char buffer[BUFSIZ];

	if (f != stderr || stderr_held || __fbufsize(f) > 1)
		return;
	stderr_held = !setvbuf(f, buffer, _IOFBF, sizeof(buffer));
}

CALL_OF(fwrite)
{
	FILE *f = file_of(s);
	int64_t n;

	if (!f)
		return -1;
	s->slot->writer = p->process->index + 1;
	n = moved(s, fwrite(p->out, 1, (size_t)s->size, f));
	if (f == stderr && stderr_held)
		flush_silently(f);
	return n;
}

/*
 * It is told when the stream is next seen, and that may be after a seek of the
 * descriptor: a stream that has read nothing yet reads where the job's did.
 */
static void begin_there(const struct step *s, FILE *f)
{
	if (s->offset >= 0 && f->_IO_read_ptr == f->_IO_read_end &&
	    f->_IO_write_ptr == f->_IO_write_base)
		raw(SYS_lseek, fileno(f), s->offset, SEEK_SET);
}

/* By calls that have no record, like those of the job. */
CALL_OF(stdio_read)
{
	FILE *f = file_of(s);
	int64_t n = 0;

	if (!f)
		return -1;
	begin_there(s, f);
	while (n < s->want && getc_unlocked(f) != EOF)
		n++;
	return n;
}

CALL_OF(stdio_write)
{
	FILE *f = file_of(s);
	int64_t n = 0;

	if (!f)
		return -1;
	s->slot->writer = p->process->index + 1;
	hold(f);
	while (n < s->want && putc_unlocked(newlines_byte(p, s, n), f) != EOF)
		n++;
	if (s->r->flags & PLAN_F_POST)
		printed(p, s, f);
	return n;
}

#define UNTOUCHED '\1' /* in no file that was rebuilt */

CALL_OF(fgets)
{
	FILE *f = file_of(s);
	char *line = (char *)p->in;
	int64_t n = s->want;
	bool within = n >= 0 && n < s->size;

	if (!f)
		return -1;
	/* A line with zeros ends where one is, and nothing behind it. */
	if (within || n == s->size)
		line[n] = UNTOUCHED;
	if (within)
		line[n + 1] = UNTOUCHED;
	if (!fgets(line, (int)s->size + 1, f))
		return moved(s, 0);
	if (n < 0 || n > s->size || line[n] ||
	    (within && line[n + 1] != UNTOUCHED))
		n = (int64_t)strlen(line);
	return n;
}

CALL_OF(getline)
{
	FILE *f = file_of(s);
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (!f)
		return -1;
	n = getline(&line, &room, f);
	free(line);
	return moved(s, n > 0 ? (size_t)n : 0);
}

/* Recorded is where it led. */
CALL_OF(fseek)
{
	FILE *f = file_of(s);
	int64_t to = s->m->pos == PLAN_NO_OFFSET ? s->offset : s->m->pos;
	struct stat st;

	if (!f)
		return -1;
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

CALL_OF(rewind)
{
	FILE *f = file_of(s);

	if (!f)
		return -1;
	rewind(f);
	return 0;
}

CALL_OF(fsetpos)
{
	FILE *f = file_of(s);
	fpos_t pos;

	if (!f || fgetpos(f, &pos))
		return -1;
#ifdef __GLIBC__
	if (s->m->pos != PLAN_NO_OFFSET)
		pos.__pos = s->m->pos;
#endif
	return fsetpos(f, &pos);
}

CALL_OF(fflush)
{
	FILE *f = file_of(s);

	return f ? fflush(f) : -1;
}

static player_call *const calls[] = {
	[REEL_CALL_FOPEN] = do_fopen,
	[REEL_CALL_FDOPEN] = do_fdopen,
	[REEL_CALL_FREOPEN] = do_freopen,
	[REEL_CALL_TMPFILE] = do_tmpfile,
	[REEL_CALL_FCLOSE] = do_fclose,
	[REEL_CALL_FREAD] = do_fread,
	[REEL_CALL_FWRITE] = do_fwrite,
	[REEL_CALL_FGETS] = do_fgets,
	[REEL_CALL_GETLINE] = do_getline,
	[REEL_CALL_FSEEK] = do_fseek,
	[REEL_CALL_REWIND] = do_rewind,
	[REEL_CALL_FSETPOS] = do_fsetpos,
	[REEL_CALL_FFLUSH] = do_fflush,
	[REEL_CALL_PCLOSE] = do_fclose,
	[REEL_CALL_STDIO_READ] = do_stdio_read,
	[REEL_CALL_STDIO_WRITE] = do_stdio_write,
};

player_call *engine_stdio(uint16_t op)
{
	return op < sizeof(calls) / sizeof(calls[0]) ? calls[op] : NULL;
}

bool engine_stdio_sends(const struct player *p, const struct step *s)
{
	const FILE *f = s->slot ? s->slot->file : NULL;

	return f && is_message(p->engine, s->slot) &&
	       s->slot->writer == p->process->index + 1 &&
	       (s->r->op == REEL_CALL_FFLUSH || s->r->op == REEL_CALL_FCLOSE ||
		s->r->op == REEL_CALL_PCLOSE || s->r->op == REEL_CALL_FREOPEN);
}

bool engine_stdio_keeps(const struct step *s)
{
	FILE *f = s->slot ? s->slot->file : NULL;

	return f && plan_is_write(s->r) && !__flbf(f) &&
	       s->size < (int64_t)(__fbufsize(f) - __fpending(f));
}
