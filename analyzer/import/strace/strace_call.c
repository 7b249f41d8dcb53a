/* SPDX-License-Identifier: MIT */
/*
 * System calls: a row each, and one reader of arguments for all.
 *
 * Letters of a row, an argument each:
 *   d descriptor        a, b directory of the path, of the second path
 *   p path              q second path, or a symbolic link's target
 *   s bytes asked       v iovec: bytes asked       o offset
 *   f open flags        F struct open_how          m arg         n arg2
 *   t struct stat       x struct statx             r result behind a pointer
 *   - nothing
 */
#include "analyzer/import/strace/strace_call.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/calls.h"

#define COPY_MOST 0x7ffff000 /* bytes that the kernel copies in a call */

#define IO(name, ID, args)                                                     \
	{                                                                      \
		name, STRACE_IO, REEL_CALL_##ID, args                          \
	}
#define OTHER(name, effect)                                                    \
	{                                                                      \
		name, effect, 0, ""                                            \
	}

/* By name, for bsearch(). */
static const struct strace_call_info calls[] = {
	IO("_llseek", LSEEK, "dorm"),
	OTHER("accept", STRACE_SOCKET),
	OTHER("accept4", STRACE_SOCKET),
	IO("access", ACCESS, "pm"),
	IO("chdir", CHDIR, "p"),
	OTHER("clone", STRACE_FORK),
	OTHER("clone3", STRACE_FORK),
	IO("close", CLOSE, "d"),
	IO("close_range", CLOSE_RANGE, "mn-"),
	{"copy_file_range", STRACE_COPY, REEL_CALL_COPY_FILE_RANGE, "do--s-"},
	IO("creat", CREAT, "p-"),
	IO("dup", DUP, "d"),
	IO("dup2", DUP2, "d-"),
	IO("dup3", DUP3, "d-f"),
	OTHER("epoll_create", STRACE_QUIET),
	OTHER("epoll_create1", STRACE_QUIET),
	OTHER("eventfd", STRACE_QUIET),
	OTHER("eventfd2", STRACE_QUIET),
	{"execve", STRACE_EXEC, REEL_CALL_EXECVE, "p--"},
	{"execveat", STRACE_EXEC, REEL_CALL_EXECVEAT, "ap--m"},
	IO("faccessat", FACCESSAT, "apmn"),
	IO("faccessat2", FACCESSAT, "apmn"),
	IO("fadvise64", POSIX_FADVISE, "donm"),
	IO("fadvise64_64", POSIX_FADVISE, "donm"),
	IO("fallocate", FALLOCATE, "dmon"),
	IO("fchdir", FCHDIR, "d"),
	IO("fcntl", FCNTL, "dmn"),
	IO("fcntl64", FCNTL, "dmn"),
	IO("fdatasync", FDATASYNC, "d"),
	IO("flock", FLOCK, "dm"),
	OTHER("fork", STRACE_FORK),
	IO("fstat", FSTAT, "dt"),
	IO("fstat64", FSTAT, "dt"),
	IO("fstatat64", FSTATAT, "aptm"),
	IO("fstatfs", FSTATFS, "d-"),
	IO("fstatfs64", FSTATFS, "d--"),
	IO("fsync", FSYNC, "d"),
	IO("ftruncate", FTRUNCATE, "do"),
	IO("ftruncate64", FTRUNCATE, "do"),
	IO("getdents", GETDENTS64, "d-s"),
	IO("getdents64", GETDENTS64, "d-s"),
	OTHER("inotify_init", STRACE_QUIET),
	OTHER("inotify_init1", STRACE_QUIET),
	OTHER("io_submit", STRACE_ASYNC),
	OTHER("io_uring_enter", STRACE_ASYNC),
	OTHER("io_uring_setup", STRACE_QUIET),
	OTHER("ioctl", STRACE_CLOEXEC),
	IO("link", LINK, "pq"),
	IO("linkat", LINKAT, "apbqm"),
	IO("lseek", LSEEK, "dom"),
	IO("lstat", LSTAT, "pt"),
	IO("lstat64", LSTAT, "pt"),
	IO("memfd_create", MEMFD_CREATE, "p-"),
	IO("mkdir", MKDIR, "pm"),
	IO("mkdirat", MKDIRAT, "apm"),
	IO("mknod", MKNOD, "pm-"),
	IO("mknodat", MKNODAT, "apm-"),
	IO("mmap", MMAP, "-smndo"),
	IO("mmap2", MMAP, "-smndo"),
	IO("name_to_handle_at", NAME_TO_HANDLE_AT, "ap--m"),
	IO("newfstatat", FSTATAT, "aptm"),
	IO("open", OPEN, "pf-"),
	IO("open_by_handle_at", OPEN_BY_HANDLE_AT, "--f"),
	IO("openat", OPENAT, "apf-"),
	IO("openat2", OPENAT, "apF-"),
	OTHER("perf_event_open", STRACE_QUIET),
	OTHER("pidfd_open", STRACE_QUIET),
	OTHER("pipe", STRACE_PIPE),
	OTHER("pipe2", STRACE_PIPE),
	IO("pread64", PREAD, "d-so"),
	IO("preadv", PREADV, "dv-o"),
	IO("preadv2", PREADV2, "dv-om"),
	IO("pwrite64", PWRITE, "d-so"),
	IO("pwritev", PWRITEV, "dv-o"),
	IO("pwritev2", PWRITEV2, "dv-om"),
	IO("read", READ, "d-s"),
	IO("readahead", READAHEAD, "don"),
	IO("readlink", READLINK, "p-s"),
	IO("readlinkat", READLINKAT, "ap-s"),
	IO("readv", READV, "dv-"),
	IO("rename", RENAME, "pq"),
	IO("renameat", RENAMEAT, "apbq"),
	IO("renameat2", RENAMEAT2, "apbqm"),
	IO("rmdir", RMDIR, "p"),
	{"sendfile", STRACE_COPY, REEL_CALL_SENDFILE, "-dos"},
	{"sendfile64", STRACE_COPY, REEL_CALL_SENDFILE, "-dos"},
	OTHER("signalfd", STRACE_QUIET),
	OTHER("signalfd4", STRACE_QUIET),
	OTHER("socket", STRACE_SOCKET),
	OTHER("socketpair", STRACE_PAIR),
	{"splice", STRACE_COPY, REEL_CALL_SPLICE, "do--s-"},
	IO("stat", STAT, "pt"),
	IO("stat64", STAT, "pt"),
	IO("statfs", STATFS, "p-"),
	IO("statfs64", STATFS, "p--"),
	IO("statx", STATX, "apm-x"),
	IO("symlink", SYMLINK, "qp"),
	IO("symlinkat", SYMLINKAT, "qap"),
	IO("sync", SYNC, ""),
	IO("sync_file_range", SYNC_FILE_RANGE, "donm"),
	IO("syncfs", SYNCFS, "d"),
	{"tee", STRACE_COPY, REEL_CALL_TEE, "d-s-"},
	OTHER("timerfd_create", STRACE_QUIET),
	IO("truncate", TRUNCATE, "po"),
	IO("truncate64", TRUNCATE, "po"),
	IO("unlink", UNLINK, "p"),
	IO("unlinkat", UNLINKAT, "apm"),
	OTHER("unshare", STRACE_UNSHARE),
	OTHER("vfork", STRACE_FORK),
	IO("vmsplice", VMSPLICE, "dv-m"),
	IO("write", WRITE, "d-s"),
	IO("writev", WRITEV, "dv-"),
};

static int by_name(const void *key, const void *row)
{
	const struct strace_text *name = key;
	const char *have = ((const struct strace_call_info *)row)->name;
	int order = strncmp(name->at, have, name->len);

	return order ? order : have[name->len] ? -1 : 0;
}

const struct strace_call_info *strace_call_find(struct strace_text name)
{
	return bsearch(&name, calls, sizeof(calls) / sizeof(calls[0]),
		       sizeof(calls[0]), by_name);
}

bool strace_call_fd(struct import_fd *out,
		    char room[static REEL_PATH_BYTES + 1],
		    struct strace_text arg)
{
	struct strace_text path;
	const char *more;
	int n;

	if (!strace_fd(arg, &out->fd, &path))
		return false;
	/* -yy: "/dev/null<char 1:3>"; < is escaped in a path */
	more = memchr(path.at, '<', path.len);
	if (more)
		path.len = (size_t)(more - path.at);
	n = path.len ? strace_unescape(path, room, REEL_PATH_BYTES + 1) : 0;
	out->path = n > 0 ? room : NULL;
	out->path_len = n > 0 ? (uint32_t)n : 0;
	return true;
}

static bool fill_path(const char **path, uint32_t *len, char *room,
		      struct strace_text arg)
{
	int n = arg.len && *arg.at == '"'
			? strace_unescape(arg, room, REEL_PATH_BYTES + 1)
			: -1;

	if (n < 0) /* NULL, a bad pointer, or cut short */
		return true;
	*path = room;
	*len = (uint32_t)n;
	return true;
}

/* "[{iov_base="..."..., iov_len=4096}, ...]": the sum of iov_len. */
static bool iov_bytes(struct strace_text arg, int64_t *bytes)
{
	struct strace_text one, len;
	int64_t n;

	*bytes = 0;
	if (!arg.len || *arg.at != '[')
		return false;
	arg.at++;
	arg.len--;
	while (strace_next_arg(&arg, &one)) {
		if (one.len >= 3 && !memcmp(one.at, "...", 3))
			return false; /* strace shows no more: not known */
		if (strace_field(one, "iov_len", &len) &&
		    (!strace_number(len, &n) || n < 0 ||
		     __builtin_add_overflow(*bytes, n, bytes)))
			return false;
		if (!arg.len || *arg.at == ']')
			break;
	}
	return true;
}

/* "4096", "[4096]" or "[4096] => [8192]"; NULL and "-1" are none. */
static bool parse_offset(struct strace_text arg, int64_t *value)
{
	const char *end;

	if (arg.len && *arg.at == '[') {
		arg.at++;
		arg.len--;
		end = memchr(arg.at, ']', arg.len);
		if (end)
			arg.len = (size_t)(end - arg.at);
		/* strace 6.1 writes "[0 => 4096]" for some calls */
		end = memchr(arg.at, ' ', arg.len);
		if (end)
			arg.len = (size_t)(end - arg.at);
	}
	return strace_number(arg, value);
}

static void fill_stat(struct reel_record *rec, struct strace_text arg,
		      const char *mode_name, const char *size_name)
{
	struct strace_text mode, size;

	if (strace_field(arg, mode_name, &mode) && mode.len >= 7 &&
	    !memcmp(mode.at, "S_IFREG", 7) &&
	    strace_field(arg, size_name, &size) &&
	    strace_number(size, &rec->pos))
		rec->has_pos = rec->pos >= 0;
}

static void fill_flags(struct reel_record *rec, struct strace_text arg)
{
	struct strace_text flags = arg;

	if (arg.len && *arg.at == '{' && !strace_field(arg, "flags", &flags))
		return;
	rec->arg = strace_flags(flags);
	rec->has_arg = true;
}

static bool fill_arg(struct import_call *out, struct strace_paths *paths,
		     char letter, struct strace_text arg)
{
	struct reel_record *rec = &out->rec;

	switch (letter) {
	case 'd':
		return strace_call_fd(&out->fd, paths->fd, arg);
	case 'a':
		return strace_call_fd(&out->at, paths->at, arg);
	case 'b':
		return strace_call_fd(&out->at2, paths->at2, arg);
	case 'p':
		return fill_path(&rec->path, &rec->path_len, paths->path, arg);
	case 'q':
		return fill_path(&rec->path2, &rec->path2_len, paths->path2,
				 arg);
	case 's':
		rec->has_size = strace_number(arg, &rec->size);
		return rec->has_size;
	case 'v':
		rec->has_size = iov_bytes(arg, &rec->size);
		return true;
	case 'o':
		rec->has_offset = parse_offset(arg, &rec->offset);
		return true;
	case 'f':
	case 'F':
		fill_flags(rec, arg);
		return true;
	case 'm':
		rec->arg = strace_flags(arg);
		rec->has_arg = true;
		return true;
	case 'n':
		rec->arg2 = strace_flags(arg);
		rec->has_arg2 = true;
		return true;
	case 'r':
		if (!rec->err)
			parse_offset(arg, &rec->result);
		return true;
	case 't':
		fill_stat(rec, arg, "st_mode", "st_size");
		return true;
	case 'x':
		fill_stat(rec, arg, "stx_mode", "stx_size");
		return true;
	default:
		return true;
	}
}

/* A descriptor that the call made is its result. */
static void fill_made(struct import_call *out, struct strace_paths *paths,
		      const struct strace_line *line)
{
	struct reel_record *rec = &out->rec;
	const struct reel_call_info *info = reel_call_info(rec->call);
	bool dup = rec->call == REEL_CALL_DUP || rec->call == REEL_CALL_DUP2 ||
		   rec->call == REEL_CALL_DUP3 ||
		   (rec->call == REEL_CALL_FCNTL &&
		    (rec->arg == F_DUPFD || rec->arg == F_DUPFD_CLOEXEC));
	int n;

	if (rec->err || line->result < 0 || line->result > INT32_MAX ||
	    (!dup && info->group != REEL_GROUP_OPEN))
		return;
	out->made.fd = line->result;
	n = line->result_path.len
		    ? strace_unescape(line->result_path, paths->made,
				      sizeof(paths->made))
		    : 0;
	out->made.path = n > 0 ? paths->made : NULL;
	out->made.path_len = n > 0 ? (uint32_t)n : 0;
	if (dup && out->made.fd == out->fd.fd)
		out->made.fd = JOB_NO_FD; /* dup2(3, 3) */
	out->cloexec = rec->call == REEL_CALL_FCNTL
			       ? rec->arg == F_DUPFD_CLOEXEC
			       : rec->has_arg && rec->arg & O_CLOEXEC;
	if (rec->call == REEL_CALL_CREAT) {
		rec->arg = O_CREAT | O_WRONLY | O_TRUNC;
		rec->has_arg = true;
	}
}

static void init_call(struct import_call *out, uint16_t call,
		      const struct strace_line *line)
{
	*out = (struct import_call){
		.rec = {.call = call,
			.count = 1,
			.result = line->result,
			.err = line->err},
		.fd = {JOB_NO_FD, NULL, 0},
		.at = {JOB_NO_FD, NULL, 0},
		.at2 = {JOB_NO_FD, NULL, 0},
		.made = {JOB_NO_FD, NULL, 0},
	};
}

bool strace_call_fill(struct import_call *out, struct strace_paths *paths,
		      const struct strace_call_info *info,
		      const struct strace_line *line)
{
	struct strace_text args = line->args, arg;

	init_call(out, info->call, line);
	for (const char *letter = info->args; *letter; letter++)
		if (strace_next_arg(&args, &arg) &&
		    !fill_arg(out, paths, *letter, arg))
			return false;
	/* as a recording has it: callers that copy a whole file ask for more */
	if (info->effect == STRACE_COPY && out->rec.size > COPY_MOST)
		out->rec.size = COPY_MOST;
	fill_made(out, paths, line);
	/* -y prints the path of a handle beside the result. */
	if (out->rec.call == REEL_CALL_OPEN_BY_HANDLE_AT &&
	    line->result_path.len) {
		int n = strace_unescape(line->result_path, paths->path,
					sizeof(paths->path));

		out->rec.path = n > 0 ? paths->path : NULL;
		out->rec.path_len = n > 0 ? (uint32_t)n : 0;
	}
	return true;
}

bool strace_call_copy_out(struct import_call *out, struct strace_paths *paths,
			  const struct strace_call_info *info,
			  const struct strace_line *line)
{
	/* sendfile(to, from, ...), tee(from, to, ...), else (from, offset, to,
	 * offset, ...) */
	const char *letters = info->call == REEL_CALL_SENDFILE ? "d--"
			      : info->call == REEL_CALL_TEE    ? "-d"
							       : "--do";
	struct strace_text args = line->args, arg;
	struct reel_record in = out->rec;

	init_call(out, REEL_CALL_COPY_OUT, line);
	out->rec.has_size = in.has_size;
	out->rec.size = in.size;
	for (; *letters; letters++)
		if (!strace_next_arg(&args, &arg) ||
		    !fill_arg(out, paths, *letters, arg))
			return false;
	return true;
}
