/* SPDX-License-Identifier: MIT */
/*
 * Stores the MPI wrappers in the import slots of each object, once an MPI
 * library is loaded, and in that library's own symbol table, where dlsym()
 * looks; and libc's wrappers in objects that RTLD_DEEPBIND bound past us.
 *
 * New objects announce themselves by __gmon_start__, which the startup code of
 * every object calls, if it is defined, before the object's constructors. In
 * dlopen() the loader's lock is held then, so no object is unloaded meanwhile
 * and only one thread runs here. The loader looks up no name and dlopen() is
 * not wrapped. Slots change after the relocation of an object and before its
 * code runs, so a call reaches its former target or our wrapper.
 */
#include <elf.h>
#include <string.h>

#include "preload/elf/deepbind.h"
#include "preload/elf/object.h"
#include "preload/mpi/mpi.h"

#define OBJECTS 4096

#if defined(__x86_64__)
#define SLOT_JUMP R_X86_64_JUMP_SLOT
#define SLOT_DATA R_X86_64_GLOB_DAT
#define SLOT_WORD R_X86_64_64
#else
#define SLOT_JUMP R_AARCH64_JUMP_SLOT
#define SLOT_DATA R_AARCH64_GLOB_DAT
#define SLOT_WORD R_AARCH64_ABS64
#endif

static struct shim_object object[OBJECTS]; /* [0, objects): of this scan */
static uint32_t objects;

static struct {
	unsigned long long adds, subs; /* of the loader, at the last scan */
	uint32_t seen;		       /* objects then */
	uint32_t first;		       /* objects before any dlopen() */
	uint32_t libraries;	       /* loaded MPI libraries */
	struct shim_object lib;	       /* the MPI library that is wrapped */
} bound;

/*
 * The first object that defines @name, which may be another tool: the loader
 * searches in the order of its list. object[] must have all objects.
 */
static const struct shim_object *first_defining(const char *name)
{
	for (uint32_t i = 0; i < objects; i++)
		if (shim_object_symbol(&object[i], name))
			return &object[i];
	return NULL;
}

static void *find_real(const char *name)
{
	const struct shim_object *o = first_defining(name);

	return o ? shim_object_defined(o, name) : NULL;
}

/* One wrapped function. */
struct binding {
	const char *name; /* without MPI_ */
	void *ours;
	void **real;
};

static const struct binding binding[] = {
#define EACH(fn, params) {#fn, (void *)shim_mpi_##fn, (void **)&mpi_real.fn},
	MPI_ALL
#undef EACH
};
#define BINDINGS (sizeof(binding) / sizeof(binding[0]))

static const struct binding *find_binding(const char *name)
{
	for (size_t i = 0; i < BINDINGS; i++)
		if (!strcmp(binding[i].name, name))
			return &binding[i];
	return NULL;
}

/* Open MPI's handles are data, which the program may have a copy of. */
static void *handle_of(const char *object_name, uintptr_t mpich,
		       uintptr_t standard)
{
	return mpi.kind == MPI_OPEN    ? find_real(object_name)
	       : mpi.kind == MPI_MPICH ? (void *)mpich
				       : (void *)standard;
}

/* The ABI of MPI 5 has handle values of its own. */
static bool is_standard(const struct shim_object *o)
{
	return strstr(o->path, "mpi_abi") != NULL;
}

/* An entry that is ours already stays. False: a tool defines the function. */
static bool take_function(const struct binding *b,
			  const struct shim_object *lib)
{
	const struct shim_object *o;
	char name[64] = "MPI_";
	void *now;

	strcpy(name + 4, b->name);
	o = first_defining(name);
	now = o ? shim_object_defined(o, name) : NULL;
	if (now == b->ours)
		return true;
	*b->real = now;
	if (o)
		shim_object_store_symbol(o, shim_object_symbol(o, name),
					 b->ours);
	return !o || o->base == lib->base;
}

/* The PMPI_ name, which a program may look up too. */
static void take_profiling(const struct binding *b,
			   const struct shim_object *lib)
{
	const ElfW(Sym) * s;
	char name[64] = "PMPI_";

	strcpy(name + 5, b->name);
	s = shim_object_symbol(lib, name);
	if (s && *b->real && (void *)(lib->base + s->st_value) == *b->real)
		shim_object_store_symbol(lib, s, b->ours);
}

static bool is_ours(const void *function)
{
	for (size_t i = 0; i < BINDINGS; i++)
		if (binding[i].ours == function)
			return true;
	return false;
}

/* A function that the shim calls itself; a symbol that is ours stays. */
static void take_own(const struct shim_object *lib, const char *name, void **to)
{
	void *now = shim_object_defined(lib, name);

	if (!is_ours(now))
		*to = now;
}

/*
 * Make @lib the MPI of this process. object[] must have all objects. Lookups by
 * name find our wrappers from now on: dlsym() by Python's ctypes and by
 * programs that choose their MPI at run time, and lazy binding. The PMPI_ names
 * change only where there is no tool, which would call us instead of MPI.
 */
static void take_library(const struct shim_object *lib)
{
	bool tools = false;

	bound.lib = *lib;
#define X(fn, params) take_own(lib, "PMPI_" #fn, (void **)&mpi.fn);
	MPI_OURS(X)
#undef X
	mpi.kind = is_standard(lib) ? MPI_STANDARD
		   : shim_object_defined(lib, "ompi_mpi_comm_world")
			   ? MPI_OPEN
			   : MPI_MPICH;
	mpi.world = handle_of("ompi_mpi_comm_world", 0x44000000, 0x101);
	mpi.byte = handle_of("ompi_mpi_byte", 0x4c00010d, 0x247);
	mpi.bor = handle_of("ompi_mpi_op_bor", 0x58000008, 0x29);
	mpi.no_comm = handle_of("ompi_mpi_comm_null", 0x04000000, 0x100);
	mpi.no_status = mpi.kind == MPI_MPICH ? (void *)1 : NULL;
	for (size_t i = 0; i < BINDINGS; i++)
		tools |= !take_function(&binding[i], lib);
	for (size_t i = 0; i < BINDINGS && !tools; i++)
		take_profiling(&binding[i], lib);
}

/* Does @o interpose MPI_ functions? It calls PMPI_ itself. */
static bool is_tool(const struct shim_object *o)
{
	for (size_t i = 0; i < BINDINGS; i++) {
		char name[64] = "MPI_";

		strcpy(name + 4, binding[i].name);
		if (shim_object_symbol(o, name))
			return true;
	}
	return false;
}

/* A component of Open MPI: its calls are not the program's. */
static bool is_component(const struct shim_object *o)
{
	const char *base = strrchr(o->path, '/');

	return !strncmp(base ? base + 1 : o->path, "mca_", 4);
}

/* The object whose slots are bound. */
struct binder {
	const struct shim_object *o;
	bool own;      /* part of MPI: it bypasses our wrappers */
	int is_a_tool; /* -1: unknown yet */
	bool noted;    /* there is a note of calls that bypass us */
};

/*
 * A call by the PMPI_ name of a function that a tool interposes, as in MPI's
 * Fortran library: it bypasses the tool, and our wrapper would call the tool.
 */
static void note_bypass(struct binder *k, const struct binding *b)
{
	static const char why[] = " (past another tool)";
	uintptr_t target = (uintptr_t)*b->real;
	const char *path = k->o->path[0] ? k->o->path : "the program";
	char text[512 + sizeof(why)];

	if (k->noted || (target >= bound.lib.low && target < bound.lib.high))
		return;
	k->noted = true;
	if (strlen(path) > 512)
		path += strlen(path) - 512;
	shim_note_text("mpi_not_recorded", strcat(strcpy(text, path), why));
}

/*
 * A resolved slot points to its function; an unresolved one points into the
 * object itself and is bound if there is one MPI only. A slot that points to
 * another function than the real one (a second MPI's, a tool's) stays, and so
 * does an unresolved weak reference.
 */
static void bind_slot(struct binder *k, void **slot, const char *name)
{
	bool profiling = name[0] == 'P';
	const struct binding *b = find_binding(name + profiling + 4);
	void *now = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	uintptr_t at = (uintptr_t)now;
	bool inside = at >= k->o->low && at < k->o->high, ours;

	if (!b || !now || !*b->real)
		return;
	ours = profiling && shim_object_defined(&bound.lib, name) == b->ours;
	if (k->own) {
		if (profiling && !ours)
			return;
		if (now != *b->real && (now == b->ours || inside))
			shim_object_store_slot(k->o, slot, *b->real);
		return;
	}
	if (now == b->ours)
		return;
	/* MPI's Fortran library calls these names, and so do some programs. */
	if (profiling) {
		if (k->is_a_tool < 0)
			k->is_a_tool = is_tool(k->o);
		if (k->is_a_tool)
			return;
		if (!ours &&
		    *b->real != shim_object_defined(&bound.lib, name)) {
			note_bypass(k, b);
			return;
		}
	}
	if (now != *b->real && (!inside || bound.libraries > 1))
		return;
	shim_object_store_slot(k->o, slot, b->ours);
}

static void bind_list(struct binder *k, const ElfW(Rela) * r, size_t n)
{
	const struct shim_object *o = k->o;

	for (; r && n; r++, n--) {
		uint32_t type = ELF64_R_TYPE(r->r_info);
		const ElfW(Sym) *s = &o->symbol[ELF64_R_SYM(r->r_info)];
		const char *name = o->strings + s->st_name;

		if (type != SLOT_JUMP && type != SLOT_DATA && type != SLOT_WORD)
			continue;
		if ((s->st_shndx != SHN_UNDEF && !k->own) || r->r_addend)
			continue;
		if (!strncmp(name, "MPI_", 4) || !strncmp(name, "PMPI_", 5))
			bind_slot(k, (void **)(o->base + r->r_offset), name);
	}
}

static void bind_object(const struct shim_object *o)
{
	bool lib = o->base == bound.lib.base && o->symbol == bound.lib.symbol;
	struct binder k = {o, lib || is_component(o), -1, false};

	if (!o->symbol || !o->strings ||
	    (!lib && shim_object_defined(o, "PMPI_Init")))
		return;
	bind_list(&k, o->jump, o->jumps);
	bind_list(&k, o->rela, o->relas);
}

/* RTLD_DEEPBIND bound the object to libc's functions: bind it to ours. */
static void bind_deepbound(const struct shim_object *o)
{
	const ElfW(Rela) *r = o->jump;

	for (size_t n = r ? o->jumps : 0; n; r++, n--) {
		void **slot = (void **)(o->base + r->r_offset), *ours;

		if (ELF64_R_TYPE(r->r_info) != SLOT_JUMP)
			continue;
		ours = shim_wrapper_of(*slot);
		if (ours)
			shim_object_store_slot(o, slot, ours);
	}
}

struct scan {
	uint32_t at, from;
	bool changed;
};

/* Gather the objects from number @from on. */
static int gather_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scan *k = arg;

	if (!k->at && info->dlpi_adds == bound.adds &&
	    info->dlpi_subs == bound.subs)
		return 1;
	if (!k->at) {
		k->changed = true;
		k->from = info->dlpi_subs == bound.subs ? bound.seen : 0;
		bound.adds = info->dlpi_adds;
		bound.subs = info->dlpi_subs;
		objects = 0;
	}
	if (k->at++ >= k->from && objects < OBJECTS)
		shim_object_read(&object[objects++], info);
	return 0;
}

/* All objects, since now there is an MPI. */
static void gather_all(struct scan *k)
{
	bound.adds = bound.subs = 0;
	*k = (struct scan){0, 0, false};
	bound.seen = 0;
	dl_iterate_phdr(gather_object, k);
}

/* The program is the first of the objects. */
static bool is_program(const struct shim_object *o)
{
	return !o->path[0];
}

/* Note an MPI library whose calls are not recorded, or not all of them. */
static void note_unknown(const struct shim_object *o)
{
	shim_note_text("mpi_not_recorded", o->path);
}

static bool is_still_loaded(void)
{
	for (uint32_t i = 0; i < objects; i++)
		if (object[i].base == bound.lib.base &&
		    object[i].symbol == bound.lib.symbol)
			return true;
	return false;
}

static bool find_library(struct shim_object *lib)
{
	for (uint32_t i = 0; i < objects; i++) {
		*lib = object[i];
		if (shim_object_defined(lib, "PMPI_Init"))
			return true;
	}
	return false;
}

void shim_mpi_bind(void)
{
	struct scan k = {0, 0, false};
	bool had = bound.lib.base != 0;
	struct shim_object lib;

	dl_iterate_phdr(gather_object, &k);
	if (!k.changed)
		return;
	if (!k.from)
		bound.libraries = 0;
	for (uint32_t i = 0; i < objects; i++) {
		if (!shim_object_defined(&object[i], "PMPI_Init"))
			continue;
		if (is_program(&object[i]))
			shim_mpi_note_linked();
		if (bound.libraries++)
			note_unknown(&object[i]);
	}
	if (!k.from && had && !is_still_loaded()) { /* it was unloaded */
		memset(&mpi_real, 0, sizeof(mpi_real));
		memset(&bound.lib, 0, sizeof(bound.lib));
		had = false;
	}
	if (had && !k.from) { /* perhaps another copy at the same address */
		lib = bound.lib;
		take_library(&lib);
	} else if (!had && find_library(&lib)) {
		if (k.from)
			gather_all(&k);
		take_library(&lib);
	}
	if (!bound.first)
		bound.first = k.at;
	/* All objects if some were unloaded: the new ones are unknown then. */
	for (uint32_t i = 0; i < objects; i++)
		if (k.from + i >= bound.first)
			bind_deepbound(&object[i]);
	bound.seen = k.at;
	for (uint32_t i = 0; i < objects && bound.lib.base; i++)
		bind_object(&object[i]);
}

void shim_mpi_bind_first(void)
{
	shim_mpi_see_launch();
	shim_mpi_bind();
	if (shim_hot.on && !bound.libraries)
		shim_mpi_scan_program();
}
