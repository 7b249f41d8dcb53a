/* SPDX-License-Identifier: MIT */
/*
 * Whether a program that is about to be started can be traced, and if not, why.
 * The kernel has not checked the arguments yet, so they are not trusted: system
 * calls read paths and any environment that is not libc's own. Runs in vfork
 * children too: it changes counters of the process only.
 */
#include "preload/exec/traceable.h"

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/elf_note.h"
#include "schemas/syscall.h"

#include "preload/core/symbols.h"

#define HEAD_BYTES 1024
#define DEPTH 4	     /* of nested script interpreters */
#define ENV_CHUNK 64 /* pointers read at once */
#define ENV_MOST 65536
#define NAME_BYTES 16
#define KEPT_MOST 32
#define NOTES_MOST 64

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static const char preload_is[] = "LD_PRELOAD=", dir_is[] = "IOREEL_DIR=",
		  shim_name[] = "libioreel.so";

static char *kept[KEPT_MOST]; /* our variables, "NAME=value" */
static size_t kept_n;
static bool follow;
static uint32_t notes;

/* Copy @n bytes at @from of our own memory, or as many as are readable. */
static size_t copy_memory(void *to, const void *from, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)from, n};
	long got = raw(SYS_process_vm_readv, raw(SYS_getpid), (long)&here, 1,
		       (long)&there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

/* Does the LD_PRELOAD at @entry name the shim? */
static bool names_shim(const char *entry)
{
	char text[4096];
	size_t n = copy_memory(text, entry, sizeof(text) - 1), chunk = 256;

	while (!n && chunk) { /* near the end of a mapping */
		n = copy_memory(text, entry, chunk);
		chunk /= 2;
	}
	text[n] = '\0';
	return strstr(text, shim_name);
}

struct env_summary {
	bool preload; /* there is an LD_PRELOAD */
	bool shim;    /* and it names the shim */
	bool dir;     /* there is an IOREEL_DIR */
	bool other;   /* which is not ours */
	size_t n;     /* entries */
};

/* Is the IOREEL_DIR at @entry that of this recording? */
static bool is_own_dir(const char *entry)
{
	char text[REEL_PATH_BYTES + sizeof(dir_is)];

	for (size_t i = 0; i < kept_n; i++) {
		size_t n = strlen(kept[i]) + 1;

		if (!strncmp(kept[i], dir_is, sizeof(dir_is) - 1))
			return n <= sizeof(text) &&
			       copy_memory(text, entry, n) == n &&
			       !memcmp(text, kept[i], n);
	}
	return true;
}

static void scan_entry(const char *entry, struct env_summary *t)
{
	char name[NAME_BYTES] = "";

	copy_memory(name, entry, sizeof(preload_is) - 1);
	if (!memcmp(name, preload_is, sizeof(preload_is) - 1)) {
		t->preload = true;
		t->shim = names_shim(entry);
	}
	if (!memcmp(name, dir_is, sizeof(dir_is) - 1)) {
		t->dir = true;
		t->other = !is_own_dir(entry);
	}
}

/* libc reads its own environment unchecked too. */
static void scan_own_env(struct env_summary *t)
{
	for (char **e = environ; e && *e; e++, t->n++) {
		if (!strncmp(*e, preload_is, sizeof(preload_is) - 1)) {
			t->preload = true;
			t->shim = strstr(*e, shim_name);
		}
		t->dir |= !strncmp(*e, dir_is, sizeof(dir_is) - 1);
	}
}

static void scan_env(char *const env[], struct env_summary *t)
{
	char *chunk[ENV_CHUNK];
	size_t got, i;

	*t = (struct env_summary){0};
	if (env == environ) {
		scan_own_env(t);
		return;
	}
	while (env && t->n < ENV_MOST) {
		got = copy_memory(chunk, env + t->n, sizeof(chunk)) /
		      sizeof(*chunk);
		if (!got)
			got = copy_memory(chunk, env + t->n, sizeof(*chunk)) /
			      sizeof(*chunk);
		for (i = 0; i < got; i++, t->n++) {
			if (!chunk[i])
				return;
			scan_entry(chunk[i], t);
		}
		if (!got)
			return;
	}
}

static bool has_go_note(int fd, uint64_t at, uint64_t bytes)
{
	uint8_t buf[ELF_NOTE_BYTES];
	long n = raw(SYS_pread64, fd, buf,
		     bytes < sizeof(buf) ? bytes : sizeof(buf), at);

	return n > 0 && elf_note_go(buf, (size_t)n);
}

/* 0: it can be traced, or that is unknown. */
static enum reel_counter elf_reason(int fd, const uint8_t *head, size_t n)
{
	const Elf64_Ehdr *e = (const void *)head;
	bool interpreted = false, go = false;
	char loader[64] = "";

	if (n < sizeof(*e) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != MACHINE)
		return REEL_UNTRACED_ABI;
	for (unsigned int i = 0; i < e->e_phnum && i < 64; i++) {
		Elf64_Phdr p;

		if (raw(SYS_pread64, fd, &p, sizeof(p),
			e->e_phoff + (uint64_t)i * sizeof(p)) !=
		    (long)sizeof(p))
			return 0;
		if (p.p_type == PT_NOTE && !go)
			go = has_go_note(fd, p.p_offset, p.p_filesz);
		if (p.p_type != PT_INTERP)
			continue;
		interpreted = true;
		raw(SYS_pread64, fd, loader, sizeof(loader) - 1, p.p_offset);
	}
	if (!interpreted)
		return REEL_UNTRACED_STATIC;
	if (strstr(loader, "ld-musl"))
		return REEL_UNTRACED_LIBC;
	return go ? REEL_UNTRACED_RAW : 0;
}

static enum reel_counter file_reason(const char *path)
{
	char head[HEAD_BYTES + 1];
	enum reel_counter why = 0;

	for (int depth = 0; depth < DEPTH; depth++) {
		long fd = raw(SYS_openat, AT_FDCWD, path,
			      O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0),
		     n;
		struct stat st;
		char *p;

		if (fd < 0)
			return 0;
		n = raw(SYS_read, fd, head, HEAD_BYTES);
		if (raw(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode) ||
		    !(st.st_mode & 0111) || n < 4)
			n = 0;
		else if ((st.st_mode & S_ISUID &&
			  st.st_uid != (uid_t)raw(SYS_getuid)) ||
			 (st.st_mode & S_ISGID && st.st_mode & 010 &&
			  st.st_gid != (gid_t)raw(SYS_getgid)))
			why = REEL_UNTRACED_SETUID;
		else if (!memcmp(head, ELFMAG, SELFMAG))
			why = elf_reason((int)fd, (uint8_t *)head, (size_t)n);
		raw(SYS_close, fd);
		if (n < 4 || why || head[0] != '#' || head[1] != '!')
			return why;
		head[n] = '\0';
		p = head + 2 + strspn(head + 2, " \t");
		p[strcspn(p, " \t\r\n")] = '\0';
		memmove(head, p, strlen(p) + 1);
		path = head;
	}
	return 0;
}

/* As execvp() does: the first executable in PATH. */
static bool search_path(const char *name, size_t len, char *out)
{
	const char *path = shim_env(environ, "PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && n + len + 2 <= REEL_PATH_BYTES) {
			memcpy(out, path, n);
			out[n] = '/';
			memcpy(out + n + 1, name, len + 1);
			if (!raw(SYS_faccessat, AT_FDCWD, out, 1 /* X_OK */))
				return true;
		}
		path += n + (path[n] == ':');
	}
	return false;
}

static const char *reason_name(enum reel_counter why)
{
	switch (why) {
	case REEL_UNTRACED_STATIC:
		return "static";
	case REEL_UNTRACED_SETUID:
		return "setuid";
	case REEL_UNTRACED_ENV:
		return "env";
	case REEL_UNTRACED_LIBC:
		return "libc";
	case REEL_UNTRACED_RAW:
		return "raw";
	case REEL_UNTRACED_SECCOMP:
		return "seccomp";
	case REEL_UNTRACED_NAMESPACE:
		return "namespace";
	case REEL_UNTRACED_RECORDING:
		return "recording";
	default:
		return "abi";
	}
}

/* Record the note "untraced=static /path". */
static void record_note(enum reel_counter why, const char *path)
{
	const char *word = reason_name(why);

	if (__atomic_fetch_add(&notes, 1, __ATOMIC_RELAXED) < NOTES_MOST &&
	    strlen("untraced= ") + strlen(word) + strlen(path) <
		    REEL_PATH_BYTES)
		shim_note_words("untraced", word, path);
}

/*
 * A process that drops its rights before exec, as su and the entry points of
 * containers do, starts a program that may not write to the trace, so we count
 * it here. A trace directory that was removed is created again: no denial.
 */
static bool trace_denied(void)
{
	static const char sub[] = "/windows";
	char path[REEL_PATH_BYTES];
	long r;

	if (shim.dir_len + sizeof(sub) > sizeof(path))
		return false;
	memcpy(path, shim.dir, shim.dir_len);
	memcpy(path + shim.dir_len, sub, sizeof(sub));
	/* Checks the real user without capabilities, as after exec. */
	r = raw(SYS_faccessat, AT_FDCWD, path, W_OK | X_OK);
	return r == -EACCES || r == -EROFS;
}

void shim_untraced(enum reel_counter why, const char *path)
{
	shim_count(why, 1);
	record_note(why, path);
}

enum reel_counter shim_exec_note(const char *path, bool search,
				 char *const env[])
{
	char name[REEL_PATH_BYTES], found[REEL_PATH_BYTES];
	enum reel_counter why;
	struct env_summary t;
	size_t n, len;

	if (!shim_hot.on)
		return 0;
	/* In chunks within a page: the string may end with the mapping. */
	for (len = 0; len < sizeof(name) - 1; len += n) {
		size_t most = 256 - ((uintptr_t)(path + len) & 255);

		if (most > sizeof(name) - 1 - len)
			most = sizeof(name) - 1 - len;
		n = copy_memory(name + len, path + len, most);
		if (!n || memchr(name + len, '\0', n))
			break;
	}
	name[sizeof(name) - 1] = '\0';
	if (len >= sizeof(name) - 1 || !n || !name[0])
		return 0;
	len = strlen(name);
	if (search && !memchr(name, '/', len)) {
		if (!search_path(name, len, found))
			return 0;
		memcpy(name, found, strlen(found) + 1);
	} else if (raw(SYS_faccessat, AT_FDCWD, name, 1)) {
		return 0; /* the exec will fail */
	}
	why = file_reason(name);
	if (!why) {
		scan_env(env, &t);
		if (!t.shim && !follow)
			why = REEL_UNTRACED_ENV;
		else if (t.shim && t.other)
			why = REEL_UNTRACED_RECORDING;
	}
	if (!why && trace_denied()) { /* a note could not be written either */
		shim_count(REEL_LOST_START, 1);
		return REEL_LOST_START;
	}
	if (why)
		shim_untraced(why, name);
	return why;
}

void shim_exec_undo(enum reel_counter noted)
{
	if (noted)
		shim_count(noted, (uint64_t)-1);
}

size_t shim_exec_room(char *const env[])
{
	struct env_summary t;

	if (!follow || !shim_hot.on || !kept_n)
		return 0;
	scan_env(env, &t);
	/* An LD_PRELOAD that the program set is kept. */
	if (t.preload || (t.shim && t.dir))
		return 0;
	return t.n + kept_n + 1;
}

char *const *shim_exec_env(char *const env[], char **room)
{
	size_t n = 0;

	for (size_t i = 0; env && env[i]; i++)
		if (strncmp(env[i], "IOREEL_", 7))
			room[n++] = env[i];
	for (size_t i = 0; i < kept_n; i++)
		room[n++] = kept[i];
	room[n] = NULL;
	return room;
}

void shim_exec_keep(char **env)
{
	static char text[16384];
	size_t used = 0;

	for (; env && *env && kept_n < KEPT_MOST; env++) {
		size_t n = strlen(*env) + 1;

		if (!strncmp(*env, "IOREEL_FOLLOW=1", 15))
			follow = true;
		if (strncmp(*env, "IOREEL_", 7) &&
		    strncmp(*env, preload_is, sizeof(preload_is) - 1))
			continue;
		if (used + n > sizeof(text))
			break;
		kept[kept_n++] = memcpy(text + used, *env, n);
		used += n;
	}
}
