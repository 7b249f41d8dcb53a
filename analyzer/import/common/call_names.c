/* SPDX-License-Identifier: MIT */
/* The call of a symbol, or the purpose of one that calls.def lacks. */
#include "analyzer/import/common/call_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct symbol {
	const char *name;
	uint16_t call;
};

/* Sorted by name at the first use. */
static struct symbol symbols[] = {
#define CALL(id, NAME, l, g, t, ret, fails, fn, ...) {#fn, id},
#define BY_HAND(id, NAME, l, g, t, ret, fn, ...) {#fn, id},
#define PART(id, NAME, l, g, t, name) {name, id},
#define MARK(...)
#define ALSO(NAME, ret, fails, fn, ...) {#fn, REEL_CALL_##NAME},
#define ALSO_BY_HAND(NAME, ret, fn, ...) {#fn, REEL_CALL_##NAME},
#include "schemas/calls.def"
#undef CALL
#undef BY_HAND
#undef PART
#undef MARK
#undef ALSO
#undef ALSO_BY_HAND
};

#define SYMBOLS (sizeof(symbols) / sizeof(symbols[0]))

static int by_symbol(const void *a, const void *b)
{
	return strcmp(((const struct symbol *)a)->name,
		      ((const struct symbol *)b)->name);
}

uint16_t import_call_id(const char *name)
{
	static bool sorted;
	const struct symbol key = {.name = name}, *found;

	if (!sorted)
		qsort(symbols, SYMBOLS, sizeof(key), by_symbol);
	sorted = true;
	found = bsearch(&key, symbols, SYMBOLS, sizeof(key), by_symbol);
	return found ? found->call : 0;
}

static const struct {
	const char *name;
	enum reel_group group;
} named[] = {
	/* libc's entries of before glibc 2.33, and others that move no bytes */
	{"__xstat", REEL_GROUP_STAT},	 {"__xstat64", REEL_GROUP_STAT},
	{"__lxstat", REEL_GROUP_STAT},	 {"__lxstat64", REEL_GROUP_STAT},
	{"__fxstat", REEL_GROUP_STAT},	 {"__fxstat64", REEL_GROUP_STAT},
	{"__fxstatat", REEL_GROUP_STAT}, {"__fxstatat64", REEL_GROUP_STAT},
	{"__open", REEL_GROUP_OPEN},	 {"__open64", REEL_GROUP_OPEN},
	{"seekdir", REEL_GROUP_DIR},	 {"telldir", REEL_GROUP_DIR},
	{"dirfd", REEL_GROUP_DIR},	 {"__xmknod", REEL_GROUP_META},
	{"__xmknodat", REEL_GROUP_META}, {"umask", REEL_GROUP_META},
	{"utime", REEL_GROUP_META},	 {"ftell", REEL_GROUP_SEEK},
	{"ftello", REEL_GROUP_SEEK},	 {"msync", REEL_GROUP_SYNC},
	{"mmap", REEL_GROUP_MAP},	 {"mmap64", REEL_GROUP_MAP},
	{"vfprintf", REEL_GROUP_WRITE},	 {"fprintf", REEL_GROUP_WRITE},
};

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* HDF5 names what it acts on after "H5", NetCDF after "nc_", PNetCDF "ncmpi_". */
static enum reel_group library_group(const char *verb, bool is_file)
{
	static const struct {
		const char *word;
		enum reel_group group;
	} words[] = {
		{"read", REEL_GROUP_READ},   {"get_var", REEL_GROUP_READ},
		{"write", REEL_GROUP_WRITE}, {"put_var", REEL_GROUP_WRITE},
		{"flush", REEL_GROUP_SYNC},  {"sync", REEL_GROUP_SYNC},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (has_prefix(verb, words[i].word))
			return words[i].group;
	if (!is_file)
		return REEL_GROUP_OTHER;
	if (has_prefix(verb, "open") || has_prefix(verb, "create"))
		return REEL_GROUP_OPEN;
	return has_prefix(verb, "close") ? REEL_GROUP_CLOSE : REEL_GROUP_OTHER;
}

enum reel_layer import_call_layer(const char *name)
{
	if (has_prefix(name, "H5"))
		return REEL_LAYER_HDF5;
	if (has_prefix(name, "nc_") || has_prefix(name, "ncmpi_"))
		return REEL_LAYER_NETCDF;
	if (!strncasecmp(name, "mpi_", 4))
		return REEL_LAYER_MPIIO;
	return has_prefix(name, "ftell") || has_prefix(name, "fprintf") ||
			       has_prefix(name, "vfprintf")
		       ? REEL_LAYER_STDIO
		       : REEL_LAYER_OTHER;
}

enum reel_group import_call_group(const char *name)
{
	switch (import_call_layer(name)) {
	case REEL_LAYER_HDF5: /* H5Dread: verb "read" of a data set */
		return strlen(name) < 4
			       ? REEL_GROUP_OTHER
			       : library_group(name + 3, name[2] == 'F');
	case REEL_LAYER_NETCDF:
		return library_group(strchr(name, '_') + 1, true);
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(named[i].name, name))
			return named[i].group;
	return REEL_GROUP_OTHER;
}
