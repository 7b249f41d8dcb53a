/* SPDX-License-Identifier: MIT */
/* Reads the dynamic section of loaded objects, and changes their slots. */
#include "preload/elf/object.h"

#include <string.h>
#include <sys/mman.h>

#include "schemas/syscall.h"

#define PAGE ((uintptr_t)4096)

/* Some loaders relocate these pointers of the dynamic section in place. */
static uintptr_t absolute_address(const struct shim_object *o, uintptr_t p)
{
	return p < o->base ? p + o->base : p;
}

static void read_dynamic(struct shim_object *o, const ElfW(Dyn) * d)
{
	uintptr_t jump = 0, rela = 0;

	for (; d->d_tag != DT_NULL; d++) {
		uintptr_t p = absolute_address(o, (uintptr_t)d->d_un.d_ptr);

		if (d->d_tag == DT_STRTAB)
			o->strings = (const char *)p;
		else if (d->d_tag == DT_SYMTAB)
			o->symbol = (const ElfW(Sym) *)p;
		else if (d->d_tag == DT_GNU_HASH)
			o->hash = (const uint32_t *)p;
		else if (d->d_tag == DT_HASH)
			o->old_hash = (const uint32_t *)p;
		else if (d->d_tag == DT_RELA)
			rela = p;
		else if (d->d_tag == DT_JMPREL)
			jump = p;
		else if (d->d_tag == DT_RELASZ)
			o->relas = d->d_un.d_val / sizeof(ElfW(Rela));
		else if (d->d_tag == DT_PLTRELSZ)
			o->jumps = d->d_un.d_val / sizeof(ElfW(Rela));
	}
	o->rela = (const ElfW(Rela) *)rela;
	o->jump = (const ElfW(Rela) *)jump;
}

/* The protection of the pages that hold the symbols; 0: unknown. */
static long symbol_protection(const struct shim_object *o,
			      const struct dl_phdr_info *info)
{
	uintptr_t want = (uintptr_t)o->symbol;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = o->base + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && want >= at &&
		    want < at + ph->p_memsz)
			return (ph->p_flags & PF_R ? PROT_READ : 0) |
			       (ph->p_flags & PF_W ? PROT_WRITE : 0) |
			       (ph->p_flags & PF_X ? PROT_EXEC : 0);
	}
	return 0;
}

void shim_object_read(struct shim_object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;

	memset(o, 0, sizeof(*o));
	o->base = info->dlpi_addr;
	o->path = info->dlpi_name;
	o->low = UINTPTR_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t at = o->base + ph->p_vaddr;

		if (ph->p_type == PT_LOAD) {
			o->low = at < o->low ? at : o->low;
			if (at + ph->p_memsz > o->high)
				o->high = at + ph->p_memsz;
		} else if (ph->p_type == PT_GNU_RELRO) {
			o->relro = at & ~(PAGE - 1);
			o->relro_end = (at + ph->p_memsz) & ~(PAGE - 1);
		} else if (ph->p_type == PT_DYNAMIC) {
			dynamic = (const ElfW(Dyn) *)at;
		}
	}
	if (dynamic)
		read_dynamic(o, dynamic);
	o->symbol_prot = symbol_protection(o, info);
}

void shim_object_of_map(struct shim_object *o, const struct link_map *map)
{
	memset(o, 0, sizeof(*o));
	o->base = map->l_addr;
	o->path = map->l_name;
	read_dynamic(o, map->l_ld);
}

static bool named_in(const struct shim_object *o, const ElfW(Rela) * r,
		     size_t n, const char *name)
{
	for (; r && n; r++, n--)
		if (!strcmp(o->strings +
				    o->symbol[ELF64_R_SYM(r->r_info)].st_name,
			    name))
			return true;
	return false;
}

bool shim_object_imports(const struct shim_object *o, const char *name)
{
	return o->symbol && o->strings &&
	       (named_in(o, o->jump, o->jumps, name) ||
		named_in(o, o->rela, o->relas, name));
}

static bool defines_symbol(const struct shim_object *o, const ElfW(Sym) * s,
			   const char *name)
{
	return s->st_shndx != SHN_UNDEF && s->st_value &&
	       !strcmp(o->strings + s->st_name, name);
}

static const ElfW(Sym) *
	find_by_old_hash(const struct shim_object *o, const char *name)
{
	const uint32_t *t = o->old_hash, *chain = t + 2 + t[0];
	uint32_t h = 0;

	for (const char *p = name; *p; p++) {
		h = (h << 4) + (unsigned char)*p;
		h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t i = t[0] ? t[2 + h % t[0]] : 0; i && i < t[1];
	     i = chain[i])
		if (defines_symbol(o, &o->symbol[i], name))
			return &o->symbol[i];
	return NULL;
}

const ElfW(Sym) *
	shim_object_symbol(const struct shim_object *o, const char *name)
{
	const uint32_t *t = o->hash, *bucket, *chain;
	const ElfW(Addr) * bloom;
	uint32_t h = 5381, i;

	if (!o->symbol || !o->strings)
		return NULL;
	if (!t || !t[0])
		return o->old_hash ? find_by_old_hash(o, name) : NULL;
	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	bloom = (const ElfW(Addr) *)(t + 4);
	bucket = (const uint32_t *)(bloom + t[2]);
	chain = bucket + t[0];
	if (!(bloom[h / 64 & (t[2] - 1)] >> h % 64 & 1))
		return NULL;
	for (i = bucket[h % t[0]]; i >= t[1] && i; i++) {
		if ((chain[i - t[1]] | 1) == (h | 1) &&
		    defines_symbol(o, &o->symbol[i], name))
			return &o->symbol[i];
		if (chain[i - t[1]] & 1)
			break;
	}
	return NULL;
}

void *shim_object_defined(const struct shim_object *o, const char *name)
{
	const ElfW(Sym) *s = shim_object_symbol(o, name);

	return s ? (void *)(o->base + s->st_value) : NULL;
}

void shim_object_store_symbol(const struct shim_object *o, const ElfW(Sym) * s,
			      void *at)
{
	ElfW(Addr) *value = (ElfW(Addr) *)&s->st_value;
	uintptr_t page = (uintptr_t)value & ~(PAGE - 1);

	if (!o->symbol_prot ||
	    raw(SYS_mprotect, page, PAGE, o->symbol_prot | PROT_WRITE))
		return;
	__atomic_store_n(value, (uintptr_t)at - o->base, __ATOMIC_RELEASE);
	raw(SYS_mprotect, page, PAGE, o->symbol_prot);
}

void shim_object_store_slot(const struct shim_object *o, void **slot,
			    void *value)
{
	uintptr_t page = (uintptr_t)slot & ~(PAGE - 1);
	bool sealed =
		(uintptr_t)slot >= o->relro && (uintptr_t)slot < o->relro_end;

	if (sealed && raw(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE))
		return;
	__atomic_store_n(slot, value, __ATOMIC_RELEASE);
	if (sealed)
		raw(SYS_mprotect, page, PAGE, PROT_READ);
}
