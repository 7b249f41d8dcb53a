/* SPDX-License-Identifier: MIT */
/*
 * Find the reason why a command cannot be recorded from its file.
 *
 * LD_PRELOAD is a request to the dynamic loader. Without a loader, or if the
 * loader must ignore it, the program runs unrecorded without any message.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "schemas/elf_note.h"

#include "record/internal.h"

#define HEAD_BYTES 4096

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

static char reason[PATH_MAX + 128];
static enum reel_counter counter;

static const char *set_why(const char *path, enum reel_counter which,
			   const char *text)
{
	counter = which;
	snprintf(reason, sizeof(reason), "'%s' %s", path, text);
	return reason;
}

/* Find @name in PATH as exec does. */
static bool find_in_path(const char *name, char out[static PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(out, PATH_MAX, "%s", name) < PATH_MAX;
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (snprintf(out, PATH_MAX, "%.*s%s%s", (int)n, path,
			     n ? "/" : "", name) < PATH_MAX &&
		    !access(out, X_OK))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static const char *elf_reason(const char *path, int fd, const Elf64_Ehdr *e)
{
	bool interp = false, go = false;
	unsigned char notes[ELF_NOTE_BYTES];
	char loader[PATH_MAX] = "";
	unsigned int i;

	if (e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    (MACHINE != EM_NONE && e->e_machine != MACHINE))
		return set_why(path, REEL_UNTRACED_ABI,
			       "is built for another processor than ioreel's "
			       "shim");
	for (i = 0; i < e->e_phnum && i < 256; i++) {
		Elf64_Phdr p;
		off_t at = (off_t)(e->e_phoff + (uint64_t)i * e->e_phentsize);

		if (pread(fd, &p, sizeof(p), at) != (ssize_t)sizeof(p))
			break;
		if (p.p_type == PT_NOTE) {
			ssize_t n = pread(fd, notes,
					  p.p_filesz < sizeof(notes)
						  ? p.p_filesz
						  : sizeof(notes),
					  (off_t)p.p_offset);

			go |= n > 0 && elf_note_go(notes, (size_t)n);
		}
		if (p.p_type != PT_INTERP)
			continue;
		interp = true;
		if (p.p_filesz < sizeof(loader) &&
		    pread(fd, loader, p.p_filesz, (off_t)p.p_offset) < 0)
			loader[0] = '\0';
	}
	if (!interp)
		return set_why(path, REEL_UNTRACED_STATIC,
			       "is statically linked: no library can be put "
			       "before its own");
	if (strstr(loader, "ld-musl"))
		return set_why(path, REEL_UNTRACED_LIBC,
			       "uses the musl C library; the shim needs "
			       "glibc");
	if (go)
		return set_why(
			path, REEL_UNTRACED_RAW,
			"is written in Go, whose runtime makes its system "
			"calls itself");
	return NULL;
}

static const char *file_reason(const char *path, int depth)
{
	union {
		char text[HEAD_BYTES];
		Elf64_Ehdr elf;
	} u = {.text = ""};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const char *why = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = pread(fd, u.text, sizeof(u.text) - 1, 0);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || n < 4)
		goto out;
	if (!memcmp(u.text, ELFMAG, SELFMAG) && n >= (ssize_t)sizeof(u.elf)) {
		/* The loader ignores LD_PRELOAD only if the rights change. */
		if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
		    ((st.st_mode & S_ISGID) && st.st_gid != getgid()) ||
		    (getuid() &&
		     fgetxattr(fd, "security.capability", NULL, 0) > 0))
			why = set_why(path, REEL_UNTRACED_SETUID,
				      "runs with other rights (setuid): its "
				      "loader ignores LD_PRELOAD");
		else
			why = elf_reason(path, fd, &u.elf);
	} else if (u.text[0] == '#' && u.text[1] == '!' && depth < 4) {
		char *p = u.text + 2 + strspn(u.text + 2, " \t");

		p[strcspn(p, " \t\r\n")] = '\0';
		why = file_reason(p, depth + 1);
	}
out:
	close(fd);
	return why;
}

const char *untraceable_reason(const char *name, enum reel_counter *which)
{
	char path[PATH_MAX];

	counter = 0;
	*which = 0;
	if (!find_in_path(name, path) || !file_reason(path, 0))
		return NULL;
	*which = counter;
	return reason;
}

void untraceable_count(const char *dir, const char *name)
{
	enum reel_counter which;

	if (untraceable_reason(name, &which))
		record_counts_add(dir, which, 1);
}
