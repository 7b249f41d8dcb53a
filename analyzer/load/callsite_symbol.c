/* SPDX-License-Identifier: MIT */
/*
 * From frames to source lines. addr2line runs as a separate process, so that a
 * hostile binary can crash only that process.
 */
#include "analyzer/load/callsite_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct frame {
	const char *text; /* behind "py " or "c " */
	size_t len;
	bool python, library;
};

static bool has_part(const char *s, size_t len, const char *part)
{
	return memmem(s, len, part, strlen(part)) != NULL;
}

static bool begins(const char *s, size_t len, const char *with)
{
	return len >= strlen(with) && !memcmp(s, with, strlen(with));
}

static struct frame frame_of(const char *line, size_t len)
{
	struct frame f = {.python = begins(line, len, "py ")};
	size_t skip = f.python ? 3 : begins(line, len, "c ") ? 2 : 0;

	f.text = line + skip;
	f.len = len - skip;
	if (f.python)
		f.library = begins(f.text, f.len, "<frozen") ||
			    has_part(f.text, f.len, "/lib/python") ||
			    has_part(f.text, f.len, "-packages/");
	else
		f.library = begins(f.text, f.len, "/lib") ||
			    begins(f.text, f.len, "/usr/lib") ||
			    has_part(f.text, f.len, ".so");
	return f;
}

/* Program frames before library frames, Python before C, inner before outer. */
static int rank_of(const struct frame *f)
{
	return (f->library ? 2 : 0) + (f->python ? 0 : 1);
}

/* Lowest virtual address of a loaded ELF file: offsets are relative to it. */
static bool elf_base(const char *path, uint64_t *base)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr head;
	bool found = false;

	if (fd < 0)
		return false;
	if (read(fd, &head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof(Elf64_Phdr))
		goto out;
	for (unsigned int i = 0; i < head.e_phnum && !found; i++) {
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p),
			  (off_t)(head.e_phoff + i * sizeof(p))) !=
		    (ssize_t)sizeof(p))
			break;
		found = p.p_type == PT_LOAD;
		*base = p.p_vaddr & ~(uint64_t)4095;
	}
out:
	close(fd);
	return found;
}

/* The output of command @argv, into @out; its length, 0 on failure. */
static size_t output_of(char *const argv[], char *out, size_t room)
{
	posix_spawn_file_actions_t to;
	int pipes[2], status = 1;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return 0;
	posix_spawn_file_actions_init(&to);
	posix_spawn_file_actions_adddup2(&to, pipes[1], 1);
	posix_spawn_file_actions_addopen(&to, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &to, NULL, argv, environ) != 0)
		pid = -1;
	posix_spawn_file_actions_destroy(&to);
	close(pipes[1]);
	while (pid > 0 && n < room - 1 &&
	       (got = read(pipes[0], out + n, room - 1 - n)) > 0)
		n += (size_t)got;
	close(pipes[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	out[n] = '\0';
	return status == 0 ? n : 0;
}

/* "FILE:LINE FUNCTION" of "MODULE+0xOFFSET ..." into @out. */
static bool source_line(const struct frame *f, char *out, size_t room)
{
	char module[4096], address[24], said[4096], *line, *end;
	const char *plus = memmem(f->text, f->len, "+0x", 3);
	char *const argv[] = {"addr2line", "-C",    "-f", "-e",
			      module,	   address, NULL};
	uint64_t base, offset;

	if (!plus || f->text[0] != '/' ||
	    (size_t)(plus - f->text) >= sizeof(module))
		return false;
	memcpy(module, f->text, (size_t)(plus - f->text));
	module[plus - f->text] = '\0';
	offset = strtoull(plus + 3, NULL, 16);
	if (!elf_base(module, &base))
		return false;
	snprintf(address, sizeof(address), "%" PRIx64, base + offset);
	if (!output_of(argv, said, sizeof(said)))
		return false;
	line = strchr(said, '\n');
	if (!line || line[1] == '?')
		return false;
	*line++ = '\0';
	end = strpbrk(line, "\n(");
	if (end) {
		while (end > line && end[-1] == ' ')
			end--;
		*end = '\0';
	}
	snprintf(out, room, "%s %s", line, said);
	return true;
}

void reel_site_place(const char *frames, char *out, size_t room)
{
	struct frame best = {.text = "", .len = 0};
	int rank = 4;

	while (*frames) {
		size_t len = strcspn(frames, "\n");
		struct frame f = frame_of(frames, len);

		if (rank_of(&f) < rank) {
			rank = rank_of(&f);
			best = f;
		}
		frames += len + (frames[len] == '\n');
	}
	if (rank == 1 && source_line(&best, out, room))
		return;
	snprintf(out, room, "%.*s", (int)(best.len < room ? best.len : room),
		 best.text);
}
