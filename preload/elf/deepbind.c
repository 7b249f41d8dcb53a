/* SPDX-License-Identifier: MIT */
/*
 * Finds the wrapper of a libc function: for objects that were opened with
 * RTLD_DEEPBIND, whose calls the loader bound to libc. The wrapper is the
 * shim's own exported symbol of the same name, so this file needs no list of
 * the rooms' functions, and the program pays for the table only if such an
 * object is loaded.
 */
#include "preload/elf/deepbind.h"

#include "preload/core/symbols.h"
#include "preload/elf/object.h"

/* The names of struct shim_real's first members, in their order. */
static const char names[] =
#define CALL(id, NAME, layer, group, traits, ret, fails, fn, ...) #fn "\0"
#define ALSO(NAME, ret, fails, fn, ...) #fn "\0"
#define BY_HAND(id, NAME, layer, group, traits, ret, fn, params) #fn "\0"
#define ALSO_BY_HAND(NAME, ret, fn, params) #fn "\0"
#include "schemas/calls.def"
	;

#define WRAPPED (offsetof(struct shim_real, _exit) / sizeof(void *))
#define LIBC_REACH (4 << 20) /* the greatest distance of two of its functions */

/*
 * A filter before the search: most functions of libc have no wrapper, and a
 * library calls hundreds of them.
 */
#define FILTER_BITS 4096
static uint64_t filter[FILTER_BITS / 64];
static void *wrapper[WRAPPED];
static bool is_filled;

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static void *real_function(size_t i)
{
	return ((void *const *)&real)[i];
}

static uint32_t filter_bit(const void *function)
{
	return ((uintptr_t)function >> 4) % FILTER_BITS;
}

static void fill_tables(void)
{
	struct link_map own = {.l_addr = (ElfW(Addr))__ehdr_start,
			       .l_name = (char *)"",
			       .l_ld = _DYNAMIC};
	struct shim_object shim_itself;
	const char *name = names;

	shim_object_of_map(&shim_itself, &own);
	for (size_t i = 0; i < WRAPPED; i++) {
		uint32_t bit = filter_bit(real_function(i));

		filter[bit / 64] |= 1ull << bit % 64;
		wrapper[i] = shim_object_defined(&shim_itself, name);
		name += __builtin_strlen(name) + 1;
	}
	is_filled = true;
}

void *shim_wrapper_of(void *function)
{
	intptr_t far = (intptr_t)function - (intptr_t)(void *)real.close;
	uint32_t bit = filter_bit(function);

	if (far > LIBC_REACH || far < -LIBC_REACH)
		return NULL;
	if (!is_filled)
		fill_tables();
	if (!(filter[bit / 64] >> bit % 64 & 1))
		return NULL;
	for (size_t i = 0; i < WRAPPED; i++)
		if (real_function(i) == function)
			return wrapper[i];
	return NULL;
}
