/* SPDX-License-Identifier: MIT */
/*
 * Names of files in counting mode. The more names a process has used, the more
 * files share one, so that its trace does not grow with its files.
 */
#include "preload/core/counted_name.h"

#include <string.h>

#include "schemas/hash.h"

#include "preload/core/symbols.h"
#include "preload/core/types.h"

#define FILES 8192 /* of the process, a power of two */
/* Number of names after which less of each is kept: a pattern for the first
 * names, then the ending, then the directory. */
#define NAMES_PATTERN 64
#define NAMES_ENDING 1024
#define NAMES_DIR 4096

struct known_file {
	uint64_t hash;
	uint32_t desc;
};

static struct known_file known[FILES];
static uint32_t known_n;

void shim_names_forget(void)
{
	memset(known, 0, sizeof(known));
	known_n = 0;
}

static struct known_file *find_file(uint64_t hash)
{
	for (uint32_t i = 0; i < FILES; i++) {
		struct known_file *f = &known[(hash + i) & (FILES - 1)];
		uint64_t h = __atomic_load_n(&f->hash, __ATOMIC_ACQUIRE);

		if (h == hash || !h)
			return f;
	}
	return NULL;
}

uint32_t shim_name_desc(uint64_t hash, uint32_t desc)
{
	struct known_file *f = find_file(hash);
	uint64_t none = 0;

	if (!f)
		return 0;
	if (f->hash == hash)
		return __atomic_load_n(&f->desc, __ATOMIC_ACQUIRE);
	if (!desc || known_n >= FILES / 2 ||
	    !__atomic_compare_exchange_n(&f->hash, &none, hash, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_add(&known_n, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&f->desc, desc, __ATOMIC_RELEASE);
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The name with a star for each number; a very long name ends in one. */
static size_t fold_digits(char *out, const char *base, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n; i++) {
		if (len == SHIM_BASE_BYTES - 1) {
			out[len - 1] = '*';
			break;
		}
		if (!is_digit(base[i]))
			out[len++] = base[i];
		else if (!len || out[len - 1] != '*')
			out[len++] = '*';
	}
	return len;
}

/* A star and the ending, if it has letters only: digits number files. */
static size_t fold_ending(char *out, const char *base, size_t n)
{
	size_t dot = n;

	while (dot && n - dot < 12 &&
	       ((base[dot - 1] | 32) >= 'a' && (base[dot - 1] | 32) <= 'z'))
		dot--;
	out[0] = '*';
	if (!dot || base[dot - 1] != '.')
		return 1;
	memcpy(out + 1, base + dot - 1, n - dot + 1);
	return n - dot + 2;
}

bool shim_opens_directory(const struct shim_event *ev)
{
	if (ev->call == MARK_DESC)
		return ev->arg == REEL_KIND_DIR;
	if (ev->call == CALL_OPEN || ev->call == CALL_OPENAT)
		return ev->arg != NONE && ev->arg & O_DIRECTORY;
	return ev->call == CALL_OPENDIR;
}

void shim_name_fold(struct shim_folded *f, const struct shim_event *ev,
		    const char *path)
{
	size_t n = strlen(path), dir = n;
	uint32_t used = known_n;

	f->base_len = 0;
	if (ev->call == MARK_DESC && *path != '/') /* "pipe:[123]" */
		dir = strcspn(path, "[");
	else if (!shim_opens_directory(ev))
		while (dir && path[dir - 1] != '/')
			dir--;
	if (used >= NAMES_DIR)
		dir = *path == '/';
	f->dir = dir;
	if (dir == n || used >= NAMES_ENDING || *path == '\0' ||
	    (ev->call == MARK_DESC && *path != '/'))
		goto out;
	f->base_len = used < NAMES_PATTERN
			      ? fold_digits(f->base, path + dir, n - dir)
			      : fold_ending(f->base, path + dir, n - dir);
out:
	f->hash = REEL_FNV_SEED;
	if (*path != '/' && ev->call != MARK_DESC) {
		if (ev->at != AT_FDCWD)
			f->hash ^= (uint64_t)shim_fd(ev->at) << 32;
		else
			f->hash =
				reel_fnv1a(f->hash, shim.cwd, strlen(shim.cwd));
		f->hash = reel_fnv1a(f->hash, "/", 1);
	}
	f->hash = reel_fnv1a(f->hash, path, dir);
	f->whole = reel_fnv1a(f->hash, path + dir, n - dir);
	f->hash = reel_fnv1a(f->hash, f->base, f->base_len);
	f->hash += !f->hash;
}

void shim_name_seen(uint64_t hash)
{
	uint8_t *at, zeros, was;

	if (!shim.counts)
		return;
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	hash ^= hash >> 32;
	at = &shim.counts->file[hash >> 53];
	zeros = (uint8_t)(1 + __builtin_clzll(hash << 11 | 1u << 10));
	was = __atomic_load_n(at, __ATOMIC_RELAXED);
	while (was < zeros &&
	       !__atomic_compare_exchange_n(at, &was, zeros, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
