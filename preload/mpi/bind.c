/* SPDX-License-Identifier: MIT */
/*
 * Puts the MPI wrappers where programs call MPI: into the import slots of each
 * object, when an MPI library is in the process, and into that library's own
 * table of symbols, where dlsym() looks; and those of libc's functions where
 * the loader was told to look past us.
 *
 * We hear of new objects through __gmon_start__, which the start-up code of
 * every object calls, if there is one, before the object's constructors: in
 * dlopen() the loader's lock is held then, so nothing is unloaded under us
 * and no two threads are here. No name is looked up by the loader and dlopen()
 * is not wrapped. An object's slots are changed after it was relocated and
 * before it runs, so a call finds either what it would have found, or us.
 */
#include <elf.h>
#include <string.h>

#include "preload/anchors/spans.h"
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

static struct shim_object object[OBJECTS]; /* [0, objects): the new ones */
static uint32_t objects;

static struct {
	unsigned long long adds, subs; /* of the loader, when we last looked */
	uint32_t seen;		       /* objects then */
	uint32_t first;		       /* those that no dlopen() brought */
	uint32_t libraries;	       /* of MPI, that are there */
	struct shim_object lib;	       /* the one that is wrapped */
} bound;

/*
 * The loader's order of search is that of its list: the first that defines
 * @name, which may be another tool. All objects are in object[].
 */
static const struct shim_object *first_with(const char *name)
{
	for (uint32_t i = 0; i < objects; i++)
		if (shim_object_symbol(&object[i], name))
			return &object[i];
	return NULL;
}

static void *find_real(const char *name)
{
	const struct shim_object *o = first_with(name);

	return o ? shim_object_defined(o, name) : NULL;
}

/* One wrapped function. */
struct binding {
	const char *name; /* without MPI_ */
	void *ours;
	void **real;
};

#define BIND(fn) {#fn, (void *)shim_mpi_##fn, (void **)&mpi_real.fn},
static const struct binding binding[] = {
#define X(CALL, fn, ...) BIND(File_##fn)
	MPI_TRANSFERS(X) MPI_ENDS(X)
#undef X
#define X(fn, ...) BIND(File_##fn)
		MPI_FILES(X)
#undef X
#define X(CALL, fn, ...) BIND(fn)
			MPI_COLLECTIVES(X) MPI_STARTED(X) MPI_TOLD_OF(X)
#undef X
#define X(fn, ...) BIND(fn)
				MPI_WAITS(X) MPI_LIFE(X)
#undef X
};
#define BINDINGS (sizeof(binding) / sizeof(binding[0]))

static const struct binding *find_binding(const char *name)
{
	for (size_t i = 0; i < BINDINGS; i++)
		if (!strcmp(binding[i].name, name))
			return &binding[i];
	return NULL;
}

/* A program may have been linked to keep Open MPI's objects in itself. */
static void *handle_of(const char *object_name, uintptr_t mpich,
		       uintptr_t standard)
{
	return mpi.kind == MPI_OPEN    ? find_real(object_name)
	       : mpi.kind == MPI_MPICH ? (void *)mpich
				       : (void *)standard;
}

/* MPI 5 gave handles numbers of its own. */
static bool is_standard(const struct shim_object *o)
{
	return strstr(o->path, "mpi_abi") != NULL;
}

/* What is ours there already, was taken before. False: a tool's. */
static bool take_function(const struct binding *b,
			  const struct shim_object *lib)
{
	const struct shim_object *o;
	char name[64] = "MPI_";
	void *now;

	strcpy(name + 4, b->name);
	o = first_with(name);
	now = o ? shim_object_defined(o, name) : NULL;
	if (now == b->ours)
		return true;
	*b->real = now;
	if (o)
		shim_object_store_symbol(o, shim_object_symbol(o, name),
					 b->ours);
	return !o || o->base == lib->base;
}

/* Its second name, which a program may look for too. */
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

/* What we call ourselves; what leads to us was taken before. */
static void take_own(const struct shim_object *lib, const char *name, void **to)
{
	void *now = shim_object_defined(lib, name);

	if (!is_ours(now))
		*to = now;
}

/*
 * Take @lib for the MPI of this process. All objects are in object[]. Whoever
 * looks for a function by its name from now on is told of ours: dlsym() for
 * Python's ctypes and for programs that choose their MPI as they run, and the
 * loader for what it binds at the first call. By the names PMPI_ only where no
 * tool is there, which would find us behind itself.
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

/* Does @o stand between programs and MPI? It calls PMPI_ for them. */
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

/* Open MPI's own: what it calls, the program did not. */
static bool is_component(const struct shim_object *o)
{
	const char *base = strrchr(o->path, '/');

	return !strncmp(base ? base + 1 : o->path, "mca_", 4);
}

/* Whose slots are looked at, and how. */
struct binder {
	const struct shim_object *o;
	bool own;      /* MPI's own: it calls past us */
	int is_a_tool; /* -1: not known yet */
	bool told;     /* that some of its calls go past us */
};

/*
 * A call by its second name, of a function that a tool stands before: the tool
 * does not see it, and through us it would. Fortran's side of MPI makes such.
 */
static void goes_past(struct binder *k, const struct binding *b)
{
	static const char why[] = " (past another tool)";
	uintptr_t behind = (uintptr_t)*b->real;
	const char *path = k->o->path[0] ? k->o->path : "the program";
	char text[512 + sizeof(why)];

	if (k->told || (behind >= bound.lib.low && behind < bound.lib.high))
		return;
	k->told = true;
	if (strlen(path) > 512)
		path += strlen(path) - 512;
	shim_note_text("mpi_not_recorded", strcat(strcpy(text, path), why));
}

/*
 * A slot that was filled in tells what it leads to; one that was not leads
 * into the object itself, and is ours where there is one MPI only. What leads
 * to a function that we do not know as the real one (a second MPI's, a tool's)
 * stays as it is; so does a weak reference to nothing.
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
	/* Fortran's side calls these names; so do programs, now and then. */
	if (profiling) {
		if (k->is_a_tool < 0)
			k->is_a_tool = is_tool(k->o);
		if (k->is_a_tool)
			return;
		if (!ours &&
		    *b->real != shim_object_defined(&bound.lib, name)) {
			goes_past(k, b);
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

/* Opened with RTLD_DEEPBIND, it found libc's functions before ours. */
static void bind_past(const struct shim_object *o)
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

struct look {
	uint32_t at, from;
	bool changed;
};

/* Gather the objects from number @from on. */
static int gather(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *k = arg;

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

/* All of them, because now there is an MPI. */
static void gather_all(struct look *k)
{
	bound.adds = bound.subs = 0;
	*k = (struct look){0, 0, false};
	bound.seen = 0;
	dl_iterate_phdr(gather, k);
}

/* The program is the first of the objects. */
static bool is_program(const struct shim_object *o)
{
	return !o->path[0];
}

/* An MPI whose calls, or some of them, are not recorded. */
static void note_unknown(const struct shim_object *o)
{
	shim_note_text("mpi_not_recorded", o->path);
}

static bool still_there(void)
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
	struct look k = {0, 0, false};
	bool had = bound.lib.base != 0;
	struct shim_object lib;

	dl_iterate_phdr(gather, &k);
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
	if (!k.from && had && !still_there()) { /* it was unloaded */
		memset(&mpi_real, 0, sizeof(mpi_real));
		memset(&bound.lib, 0, sizeof(bound.lib));
		had = false;
	}
	if (had && !k.from) { /* it may be another copy, at the same place */
		lib = bound.lib;
		take_library(&lib);
	} else if (!had && find_library(&lib)) {
		if (k.from)
			gather_all(&k);
		take_library(&lib);
	}
	if (!bound.first)
		bound.first = k.at;
	/* All of them where some are gone: which are new cannot be told then. */
	for (uint32_t i = 0; i < objects; i++)
		if (k.from + i >= bound.first)
			bind_past(&object[i]);
	bound.seen = k.at;
	for (uint32_t i = 0; i < objects && bound.lib.base; i++)
		bind_object(&object[i]);
}

void shim_mpi_bind_first(void)
{
	shim_mpi_bind();
	if (shim_hot.on && !bound.libraries)
		shim_mpi_look_inside();
}
