/* SPDX-License-Identifier: MIT */
/*
 * The loaded objects (the program, libraries), as far as symbols go: read where
 * the loader mapped them, as no name may be looked up by the loader itself.
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

/* @o points into the object, and is good for as long as that is loaded. */
void shim_object_read(struct shim_object *o, const struct dl_phdr_info *info);

/* The same of a loader's entry, but symbols and relocations only. */
void shim_object_of_map(struct shim_object *o, const struct link_map *map);

/* Is there a relocation of @o that names @name? */
bool shim_object_imports(const struct shim_object *o, const char *name);

/* The symbol of @o that defines @name, or NULL. */
const ElfW(Sym) *
	shim_object_symbol(const struct shim_object *o, const char *name);

/* What @o defines under @name, or NULL. */
void *shim_object_defined(const struct shim_object *o, const char *name);

/* Let @s, of @o, lead to @at. Where the pages cannot be written, nothing. */
void shim_object_store_symbol(const struct shim_object *o, const ElfW(Sym) * s,
			      void *at);

/* Fill @slot of @o in with @value, also where it was made read-only. */
void shim_object_store_slot(const struct shim_object *o, void **slot,
			    void *value);

#pragma GCC visibility pop

#endif
