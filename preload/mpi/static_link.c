/* SPDX-License-Identifier: MIT */
/*
 * An MPI that is linked into the program: its calls use no import slot that we
 * could change. It is detected by symbols in the program's file, unless that is
 * stripped. They are searched only if a launcher's environment shows that this
 * is a rank.
 */
#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "schemas/launcher.h"
#include "schemas/syscall.h"

#include "preload/mpi/mpi.h"

#define CHUNK 4096
#define OVERLAP 16		 /* of chunks: longer than a name */
#define STRINGS_MOST (32u << 20) /* some 5 ms */
#define NAMES 4
#define SECTIONS 64

extern char **environ;

static const char init[] = "MPI_Init"; /* with its NUL */

bool shim_mpi_launched;

static bool is_rank(void)
{
	for (size_t i = 0; i < REEL_LAUNCHERS; i++) {
		const struct reel_launcher *l = &reel_launchers[i];

		if (l->kind != REEL_LAUNCHER_TORCH &&
		    (shim_env(environ, l->rank) ||
		     (l->local_rank && shim_env(environ, l->local_rank))))
			return true;
	}
	return false;
}

/* String table offsets of MPI_Init and PMPI_Init; strings may share ends. */
struct names {
	uint32_t at[2 * NAMES];
	int n;
};

static void find_names(int fd, uint64_t from, uint64_t bytes, struct names *f)
{
	char buf[CHUNK];
	uint64_t at = 0;

	f->n = 0;
	while (bytes <= STRINGS_MOST && at < bytes) {
		uint64_t want = bytes - at < CHUNK ? bytes - at : CHUNK;
		long n = raw(SYS_pread64, fd, buf, want, from + at);
		const char *p = buf;

		if (n <= OVERLAP)
			return;
		while ((p = memmem(p, (size_t)(buf + n - p), init,
				   sizeof(init))) &&
		       f->n < 2 * NAMES - 1) {
			f->at[f->n++] = (uint32_t)(at + (uint64_t)(p - buf));
			if (p > buf && p[-1] == 'P') {
				f->at[f->n] = f->at[f->n - 1] - 1;
				f->n++;
			}
			p++;
		}
		if (at + (uint64_t)n >= bytes)
			return;
		at += (uint64_t)n - OVERLAP;
	}
}

static bool has_definition(int fd, uint64_t from, uint64_t bytes,
			   const struct names *f)
{
	Elf64_Sym sym[CHUNK / sizeof(Elf64_Sym)];
	long n;

	for (uint64_t at = 0; at < bytes; at += (uint64_t)n) {
		n = raw(SYS_pread64, fd, sym,
			bytes - at < sizeof(sym) ? bytes - at : sizeof(sym),
			from + at);
		n -= n > 0 ? n % (long)sizeof(*sym) : 0;
		if (n <= 0)
			return false;
		for (size_t i = 0; i < (size_t)n / sizeof(*sym); i++)
			for (int k = 0; k < f->n; k++)
				if (sym[i].st_name == f->at[k] &&
				    sym[i].st_shndx != SHN_UNDEF)
					return true;
	}
	return false;
}

static bool has_mpi(int fd)
{
	Elf64_Shdr s[SECTIONS];
	struct names found;
	Elf64_Ehdr e;
	long n;

	if (raw(SYS_pread64, fd, &e, sizeof(e), 0) != (long)sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_shentsize != sizeof(*s))
		return false;
	n = raw(SYS_pread64, fd, s, sizeof(s), e.e_shoff) / (long)sizeof(*s);
	for (long i = 0; i < n && i < e.e_shnum; i++) {
		const Elf64_Shdr *names = &s[s[i].sh_link % SECTIONS];

		if (s[i].sh_type != SHT_SYMTAB || s[i].sh_link >= n)
			continue;
		find_names(fd, names->sh_offset, names->sh_size, &found);
		return found.n &&
		       has_definition(fd, s[i].sh_offset, s[i].sh_size, &found);
	}
	return false;
}

void shim_mpi_note_linked(void)
{
	static const char why[] = " (linked into the program)";
	char path[REEL_PATH_BYTES];
	long n = raw(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path,
		     sizeof(path) - sizeof(why));

	if (n < 0)
		n = 0;
	memcpy(path + n, why, sizeof(why));
	shim_note_text("mpi_not_recorded", path);
}

void shim_mpi_see_launch(void)
{
	shim_mpi_launched = is_rank();
}

void shim_mpi_scan_program(void)
{
	long fd;
	bool has;

	if (!shim_mpi_launched)
		return;
	fd = raw(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC,
		 0);
	if (fd < 0)
		return;
	has = has_mpi((int)fd);
	raw(SYS_close, fd);
	if (has)
		shim_mpi_note_linked();
}
