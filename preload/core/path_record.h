/* SPDX-License-Identifier: MIT */
/*
 * Compare a path with the thread's previous path; encode only the suffix. A job
 * opens file after file of one directory, or of sibling directories: such a path
 * is data without another look at the prefix that both share.
 */
#ifndef PRELOAD_CORE_PATH_RECORD_H
#define PRELOAD_CORE_PATH_RECORD_H

#include "preload/core/path_filter.h"
#include "preload/core/shim.h"

#define SHIM_NAME_MOST 400 /* bytes of a path that is looked at in words */

struct shim_name {
	size_t same; /* bytes that it shares with the thread's previous path */
	size_t len;
	uint32_t data_dir; /* as in struct shim_thread */
};

/*
 * An aligned word of a path: it lies in the page of a byte of the path,
 * whatever else is in it. Marks of its bytes: of each kind the lowest is true,
 * those above it may be wrong. (Vectors of 16 bytes cost 10 ns more a path:
 * they are asleep after a system call.)
 */
struct shim_piece {
	uint64_t odd;	/* another byte than in the last path */
	uint64_t end;	/* NUL */
	uint64_t slash; /* '/' */
};

/* Marks of the bytes of @word that are 0. */
HOT uint64_t shim_zeros(uint64_t word)
{
	const uint64_t each = 0x0101010101010101u;

	return (word - each) & ~word & each << 7;
}

HOT struct shim_piece shim_piece(uintptr_t at, uintptr_t last)
{
	typedef uint64_t __attribute__((may_alias)) aligned;
	uint64_t word = *(const aligned *)at;

	return (struct shim_piece){
		word ^ shim_load((const char *)last),
		shim_zeros(word),
		shim_zeros(word ^ '/' * 0x0101010101010101u),
	};
}

/* The byte of the lowest mark. */
HOT size_t shim_marked(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks) / 8;
}

/* The bits below the lowest one; all, where there is none. */
HOT uint64_t shim_below(uint64_t bits)
{
	return (bits & -bits) - 1;
}

/* The first 2 and the last 4 bytes of the @n >= 4 of a name, which tell whether
 * it may be one of code. */
HOT uint64_t shim_name_ends(const char *name, size_t n)
{
	uint32_t end;
	uint16_t begin;

	__builtin_memcpy(&end, name + n - 4, 4);
	__builtin_memcpy(&begin, name, 2);
	return (uint64_t)end << 16 | begin;
}

/* Is @path data, in a directory of data of @dir bytes? The thread keeps the ends
 * of its name for the next call. */
bool shim_name_plain(struct shim_thread *t, const char *path, size_t len,
		     size_t dir);

/* shim_name_look() where @path is in another directory than the thread's
 * previous path, or its name is shorter than 4 bytes. */
bool shim_name_elsewhere(struct shim_thread *t, const char *path,
			 struct shim_name *name);

/* Is @path the directory of this trace, or below it? */
bool shim_is_own_trace(const char *path, size_t len);

/*
 * Compare @path with the thread's previous path, which was in a directory of
 * data. True: @path is data too. The words that are read begin before it and end
 * after it (in the same page), so no directory is known where shim.strict.
 */
HOT bool shim_name_look(struct shim_thread *t, const char *path,
			struct shim_name *name)
{
	const uintptr_t first = (uintptr_t)path;
	size_t before = first & 7;
	uintptr_t at = first - before, last = (uintptr_t)t->path - before;
	uint64_t ours = ~0ull << before * 8;
	size_t dir = t->data_dir - 1u, from;
	struct shim_piece p;

	if (unlikely(!t->data_dir))
		return false;
	for (;;) {
		p = shim_piece(at, last);
		p.end &= ours;
		if ((p.odd & ours) | p.end)
			break;
		ours = ~0ull;
		at += 8;
		last += 8;
		if (unlikely(at - first > SHIM_NAME_MOST))
			return false;
	}
	p.odd &= ours;
	from = shim_marked(p.odd | p.end);
	name->same = at + from - first;
	p.slash &= ~0ull << from * 8 & shim_below(p.end);
	while (unlikely(!p.end)) {
		uint64_t slash = p.slash;

		at += 8;
		if (unlikely(at - first > SHIM_NAME_MOST))
			return false;
		p = shim_piece(at, (uintptr_t)t->path);
		p.slash = slash | (p.slash & shim_below(p.end));
	}
	name->len = at + shim_marked(p.end) - first;
	if (unlikely(p.slash || name->same < dir || name->len < dir + 4))
		return shim_name_elsewhere(t, path, name);
	name->data_dir = t->data_dir;
	return likely(shim_name_ends(path + dir, name->len - dir) ==
		      t->plain_ends) ||
	       shim_name_plain(t, path, name->len, dir);
}

struct stat;

/*
 * Records of calls on a path; name.c. @self is shim_self(), asked for before
 * the call: what lies behind it is then fetched while the call's end is.
 */

/* A stat() of whatever path that filled @st; its result, 0. */
int shim_record_stat(struct shim_thread *self, uint32_t call, const char *path,
		     const struct stat *st, uint64_t start, uint64_t end);
/* One that failed, with errno; its result, -1. */
COLD int shim_record_stat_failed(uint32_t call, const char *path,
				 uint64_t start, uint64_t end);

/* An open that made no file, of a path that shim_name_look() takes. False:
 * nothing was written, the call is one for shim_opened(). */
bool shim_record_open(struct shim_thread *self, uint64_t call_flags,
		      const char *path, int fd, uint64_t start, uint64_t end);
#define SHIM_CALL_FLAGS(call, flags)                                           \
	((uint64_t)(call) << 32 | (uint32_t)(flags))

#endif
