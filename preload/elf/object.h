/* SPDX-License-Identifier: MIT */
/*
 * The symbols and relocations of loaded objects (the program, libraries), read
 * from the memory where the loader mapped them: in a wrapper, and while the
 * loader's lock is held, dlsym() may not be called.
 */
#ifndef PRELOAD_ELF_OBJECT_H
#define PRELOAD_ELF_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct shim_object {
	uintptr_t base, low, high; /* high: the end */
	uintptr_t relro, relro_end;
	long symbol_prot; /* of the pages of its symbols */
	const char *path, *strings;
	const ElfW(Sym) * symbol;
	const uint32_t *hash, *old_hash; /* DT_GNU_HASH, DT_HASH */
	const ElfW(Rela) * rela, *jump;
	size_t relas, jumps;
};

/* Fill @o from the program headers. It is valid while the object is loaded. */
void shim_object_read(struct shim_object *o, const struct dl_phdr_info *info);

/* Fill @o from a loader's entry: symbols and relocations only. */
void shim_object_of_map(struct shim_object *o, const struct link_map *map);

/* Has @o a relocation by the name @name? */
bool shim_object_imports(const struct shim_object *o, const char *name);

/* The symbol of @o that defines @name, or NULL. */
const ElfW(Sym) *
	shim_object_symbol(const struct shim_object *o, const char *name);

/* The address of the symbol @name that @o defines, or NULL. */
void *shim_object_defined(const struct shim_object *o, const char *name);

/* Make the symbol @s of @o resolve to @at. Does nothing if its pages cannot be
 * written. */
void shim_object_store_symbol(const struct shim_object *o, const ElfW(Sym) * s,
			      void *at);

/* Store @value in the import slot @slot of @o, even if it is read-only. */
void shim_object_store_slot(const struct shim_object *o, void **slot,
			    void *value);

#pragma GCC visibility pop

#endif
