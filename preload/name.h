/* SPDX-License-Identifier: MIT */
/*
 * How a path lies to the last one of its thread. A job opens file after file of
 * one directory: such a path is known as one of data without a look at its
 * directory, and only its end is written.
 */
#ifndef PRELOAD_NAME_H
#define PRELOAD_NAME_H

#include "preload/match.h"
#include "preload/shim.h"

#define SHIM_NAME_MOST 400 /* bytes of a path that is looked at in words */

struct shim_name {
	size_t same; /* bytes that it shares with the thread's last path */
	size_t len;
};

/*
 * A piece of a path, aligned: it lies in the page of a byte of the path,
 * whatever else is in it. Marks of its bytes, SHIM_MARK bits apart; of each
 * kind the lowest is true, those above may be wrong.
 */
struct shim_piece {
	uint64_t odd;	/* another byte than in the last path */
	uint64_t end;	/* NUL */
	uint64_t slash; /* '/' */
};

#if defined(__x86_64__)
#define SHIM_PIECE 16
#define SHIM_MARK 1

/* Its vector registers are the callee's to change, and no others are used. */
HOT struct shim_piece shim_piece(uintptr_t at, uintptr_t last)
{
	uint32_t same, end, slash = '/' * 0x01010101u;

	__asm__("movd %2, %%xmm2\n\t"
		"movdqu (%4), %%xmm1\n\t"
		"pshufd $0, %%xmm2, %%xmm2\n\t"
		"movdqa (%3), %%xmm0\n\t"
		"pxor %%xmm3, %%xmm3\n\t"
		"pcmpeqb %%xmm0, %%xmm1\n\t"
		"pcmpeqb %%xmm0, %%xmm2\n\t"
		"pcmpeqb %%xmm0, %%xmm3\n\t"
		"pmovmskb %%xmm1, %0\n\t"
		"pmovmskb %%xmm2, %2\n\t"
		"pmovmskb %%xmm3, %1"
		: "=&r"(same), "=&r"(end), "+&r"(slash)
		: "r"(at), "r"(last)
		: "memory");
	return (struct shim_piece){same ^ 0xffff, end, slash};
}
#else
#define SHIM_PIECE 8
#define SHIM_MARK 8

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
#endif

/* The byte of the lowest mark. */
HOT size_t shim_marked(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks) / SHIM_MARK;
}

/* The bits below the lowest one; all, where there is none. */
HOT uint64_t shim_below(uint64_t bits)
{
	return (bits & -bits) - 1;
}

/*
 * Look at @path: true when it lies in the directory of the thread's last path,
 * which is known as one of data, and its name is none that only code has. The
 * pieces that are read begin before it and end after it (in the same page), so
 * no directory is known where shim.strict.
 */
HOT bool shim_name_look(const struct shim_thread *t, const char *path,
			struct shim_name *name)
{
	const uintptr_t first = (uintptr_t)path;
	size_t before = first & (SHIM_PIECE - 1);
	uintptr_t at = first - before, last = (uintptr_t)t->path - before;
	uint64_t ours = ~0ull << before * SHIM_MARK;
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
		at += SHIM_PIECE;
		last += SHIM_PIECE;
		if (unlikely(at - first > SHIM_NAME_MOST))
			return false;
	}
	p.odd &= ours;
	from = shim_marked(p.odd | p.end);
	name->same = at + from - first;
	p.slash &= ~0ull << from * SHIM_MARK & shim_below(p.end);
	while (unlikely(!p.end)) {
		uint64_t slash = p.slash;

		at += SHIM_PIECE;
		if (unlikely(at - first > SHIM_NAME_MOST))
			return false;
		p = shim_piece(at, (uintptr_t)t->path);
		p.slash = slash | (p.slash & shim_below(p.end));
	}
	name->len = at + shim_marked(p.end) - first;
	if (unlikely(p.slash || name->same < dir || name->len == dir))
		return false;
	return likely(!match_odd_name(path + dir, name->len - dir)) ||
	       !match_code_name(path, name->len, dir);
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
