/* SPDX-License-Identifier: MIT */
/*
 * What a program's ELF notes say of it. For the shim and for ioreel record:
 * nothing is called, every length is checked.
 */
#ifndef SCHEMAS_ELF_NOTE_H
#define SCHEMAS_ELF_NOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>

#define ELF_NOTE_BYTES 1024 /* of a PT_NOTE that are looked at */
#define ELF_NOTE_GO_BUILD_ID 4

/*
 * Is there Go's build id among the @n bytes of a PT_NOTE segment? Go's runtime
 * makes its system calls itself, also where the program is linked to libc.
 */
static inline bool elf_note_go(const unsigned char *note, size_t n)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t name, all;

		__builtin_memcpy(&h, note, sizeof(h));
		name = ((size_t)h.n_namesz + 3) & ~(size_t)3;
		all = sizeof(h) + name +
		      (((size_t)h.n_descsz + 3) & ~(size_t)3);
		if (h.n_type == ELF_NOTE_GO_BUILD_ID && h.n_namesz == 4 &&
		    n >= sizeof(h) + 4 && note[12] == 'G' && note[13] == 'o' &&
		    !note[14])
			return true;
		if (all > n)
			return false;
		note += all;
		n -= all;
	}
	return false;
}

#endif
