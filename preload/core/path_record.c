/* SPDX-License-Identifier: MIT */
/*
 * The records of calls on names that are made most: stat and open of a file in
 * the directory of the one before. They say what shim_record_full() would; the
 * fields are written in words, a longer form of a small number being valid.
 *
 * After a system call the caches and the branches' history are the kernel's:
 * each line and each guess costs nanoseconds.
 */
#include "preload/core/path_record.h"

#include <string.h>
#include <sys/stat.h>

#include "preload/core/wrap.h"

#define END_MOST 96 /* bytes of a path that are new */

__attribute__((noinline)) bool
shim_name_plain(struct shim_thread *t, const char *path, size_t len, size_t dir)
{
	const char *name = path + dir;
	size_t n = len - dir;

	if (!match_odd_name(name, n)) {
		size_t i = n;

		/* The bytes before trailing digits decide, so these ends
		 * are not kept. */
		while (i > n - 4 &&
		       ((name[i - 1] >= '0' && name[i - 1] <= '9') ||
			name[i - 1] == '.'))
			i--;
		if (i > n - 4)
			t->plain_ends = shim_name_ends(name, n);
		return true;
	}
	return !match_code_name(path, len, dir);
}

bool shim_is_own_trace(const char *path, size_t len)
{
	return len >= shim.dir_len && !memcmp(path, shim.dir, shim.dir_len) &&
	       (path[shim.dir_len] == '/' || !path[shim.dir_len]);
}

__attribute__((noinline)) bool shim_name_elsewhere(struct shim_thread *t,
						   const char *path,
						   struct shim_name *name)
{
	size_t dir = t->data_dir - 1u, len = name->len;

	if (!match_next_dir(path, name->same, &dir)) {
		for (dir = len; dir && path[dir - 1] != '/'; dir--)
			;
		if (match_path(path, len, dir, true) != MATCH_DATA_DIR)
			return false;
	}
	if (shim_is_own_trace(path, len))
		return false;
	name->data_dir = (uint32_t)dir + 1;
	return shim_name_plain(t, path, len, dir);
}

/* Numbers below 2^14 in two bytes, below 2^28 in four. */
HOT uint64_t two_bytes(uint64_t v)
{
	return (v & 0x7f) | (v & 0x3f80) << 1 | 0x80;
}

HOT uint64_t four_bytes(uint64_t v)
{
	return (v & 0x7f) | (v & 0x3f80) << 1 | (v & 0x1fc000) << 2 |
	       (v & 0xfe00000) << 3 | 0x808080;
}

/*
 * This thread's state, busy, and a look at @path; NULL: not by words, and not
 * busy.
 */
HOT struct shim_thread *begin(struct shim_thread *t, const char *path,
			      struct shim_name *name)
{
	if (unlikely(!shim_begin_short(t)))
		return NULL;
	if (likely(shim_name_look(t, path, name) &&
		   name->len - name->same < END_MOST))
		return t;
	t->limit = t->room;
	return NULL;
}

/* The last @n bytes of @len, 1 to 8. */
HOT uint64_t last_bytes(const char *path, size_t len, size_t n)
{
	uint64_t word = 0;

	if (likely(len >= 8))
		return shim_load(path + len - 8) >> (64 - 8 * n);
	while (n--)
		word = word << 8 | (uint8_t)path[--len];
	return word;
}

/* The path, to the record and to the thread's; no byte past its end is read,
 * nor one that is not 0 written past the record's. */
HOT uint8_t *put_name(struct shim_thread *t, uint8_t *p, const char *path,
		      const struct shim_name *name)
{
	size_t at = name->same, len = name->len, n = len - at;
	uint64_t word;

	shim_store32(p, (uint32_t)(two_bytes(at) | n << 16));
	p += 3;
	for (; n > 8; n -= 8, at += 8, p += 8) {
		word = shim_load(path + at);
		shim_store(p, word);
		shim_store((uint8_t *)t->path + at, word);
	}
	if (likely(n)) {
		word = last_bytes(path, len, n);
		shim_store(p, word);
		shim_store((uint8_t *)t->path + at, word);
		p += n;
	}
	t->path[len] = '\0';
	t->path_len = (uint32_t)len;
	t->data_dir = name->data_dir;
	return p;
}

COLD int shim_record_stat_failed(uint32_t call, const char *path,
				 uint64_t start, uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.path = path;
	shim_record_path(&ev, start, end, -1, errno);
	return -1;
}

static COLD int stat_unusual(uint32_t call, const char *path,
			     const struct stat *st, uint64_t start,
			     uint64_t end)
{
	struct shim_event ev = {SHIM_EVENT_NONE};

	ev.call = call;
	ev.path = path;
	ev.st = st;
	shim_record_path(&ev, start, end, 0, 0);
	return 0;
}

PLACES_BEGIN("name.0", "512");
PLACED("name.1")
__attribute__((aligned(64))) int
shim_record_stat(struct shim_thread *self, uint32_t call, const char *path,
		 const struct stat *st, uint64_t start, uint64_t end)
{
	unsigned int more = REEL_M_PATH;
	struct shim_name name;
	struct shim_thread *t = begin(self, path, &name);
	uint8_t *p;

	if (unlikely(!t))
		return stat_unusual(call, path, st, start, end);
	p = shim_put_span(t, t->p + SHIM_HEAD, start, end);
	if (likely(S_ISREG(st->st_mode))) {
		uint64_t size = (uint64_t)st->st_size;

		more |= REEL_M_POS;
		if (likely(size < 1 << 28)) {
			shim_store32(p, (uint32_t)four_bytes(size));
			p += 4;
		} else {
			p = shim_put(p, size);
		}
	}
	shim_end_short(t, put_name(t, p, path, &name), call, 0, more);
	return 0;
}

PLACED("open.1")
__attribute__((aligned(64))) bool shim_record_open(struct shim_thread *self,
						   uint64_t call_flags,
						   const char *path, int fd,
						   uint64_t start, uint64_t end)
{
	int flags = (int)(uint32_t)call_flags;
	uint64_t number = (uint64_t)fd, id;
	struct shim_name name;
	struct shim_thread *t;
	uint8_t *p;

	/* 0 is no result of the usual form. */
	if (unlikely(number - 1 >= (1 << 13) - 1 || flags < 0 ||
		     flags >= 1 << 27 ||
		     flags & (O_CREAT | O_APPEND | __O_TMPFILE)))
		return false;
	t = begin(self, path, &name);
	if (unlikely(!t))
		return false;
	id = shim_next_id(t);
	if (unlikely(id >= t->desc_end || id >= 1 << 28)) {
		t->limit = t->room;
		return false;
	}
	shim_fd_enter(fd, (uint32_t)id);
	p = shim_put_span(t, t->p + SHIM_HEAD, start, end);
	shim_store(p, two_bytes(2 * number) | four_bytes(id) << 16 |
			      two_bytes(number) << 48);
	shim_store32(p + 8, (uint32_t)four_bytes(2u * (unsigned int)flags));
	t->last_desc = (uint32_t)id;
	shim_end_short(t, put_name(t, p + 12, path, &name),
		       (uint32_t)(call_flags >> 32), REEL_F_RES_OTHER,
		       REEL_M_NEWDESC | REEL_M_ARG | REEL_M_PATH);
	return true;
}
