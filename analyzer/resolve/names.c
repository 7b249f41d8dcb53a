/* SPDX-License-Identifier: MIT */
/*
 * The resolver's files: interned absolute paths, and their inodes.
 *
 * Ten million names must stay linear: one arena of text, one array of files,
 * one table of ids. The hash is seeded against hostile traces.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/error.h"
#include "lib/prefetch.h"
#include "lib/store/file_class.h"

#include "analyzer/resolve/internal.h"

#define FIRST_SLOTS 1024

int files_init(struct files *f, struct reel_error *err)
{
	f->slots = FIRST_SLOTS;
	f->slot = reel_alloc(f->slots, sizeof(*f->slot), err);
	if (!f->slot)
		return -1;
	if (getrandom(&f->seed, sizeof(f->seed), GRND_NONBLOCK) !=
	    sizeof(f->seed))
		f->seed = (uint64_t)(uintptr_t)f->slot;
	return 0;
}

void files_fini(struct files *f)
{
	free(f->file);
	free(f->arena);
	free(f->slot);
	free(f->size);
	reel_intmap_fini(&f->above.hash);
	reel_intmap_fini(&f->used_dirs.hash);
}

static uint32_t hash_of(uint64_t seed, const char *p, size_t len)
{
	const uint64_t k = 0x9e3779b97f4a7c15ull;
	uint64_t h = seed ^ len * k, w;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * k;
		h ^= h >> 29;
	}
	w = 0;
	memcpy(&w, p, len);
	h = (h ^ w) * k;
	h ^= h >> 32;
	h *= k;
	return (uint32_t)(h >> 32);
}

static int slots_grow(struct files *f, struct reel_error *err)
{
	uint32_t slots = f->slots * 2;
	uint32_t *slot = reel_alloc(slots, sizeof(*slot), err);

	if (!slot)
		return -1;
	for (uint32_t id = 1; id <= f->n; id++) {
		uint32_t i = f->file[id].hash & (slots - 1);

		while (slot[i])
			i = (i + 1) & (slots - 1);
		slot[i] = id;
	}
	free(f->slot);
	f->slot = slot;
	f->slots = slots;
	return 0;
}

static int room_for(struct files *f, size_t len, struct reel_error *err)
{
	if (f->n + 1 >= f->room) {
		uint32_t room = f->room ? f->room + f->room / 2 : 1024;

		if (f->n >= UINT32_MAX / 2)
			return reel_fail(err, REEL_E_MEMORY, "too many files");
		if (reel_grow(&f->file, room, sizeof(*f->file), err))
			return -1;
		f->room = room;
	}
	if (f->arena_len + len + 1 > f->arena_room) {
		uint64_t room = f->arena_room + f->arena_room / 2 + len + 65536;

		if (reel_grow(&f->arena, room, 1, err))
			return -1;
		f->arena_room = room;
	}
	if (f->n + 1 > f->slots / 8 * 5)
		return slots_grow(f, err);
	return 0;
}

/* A new inode of unknown size; 0: no memory, with @err. */
static uint32_t new_inode(struct files *f, struct reel_error *err)
{
	if (f->inodes + 1 >= f->inode_room) {
		uint32_t room = f->inode_room
					? f->inode_room + f->inode_room / 2
					: 1024;

		if (f->inodes >= UINT32_MAX / 2)
			return reel_fail(err, REEL_E_MEMORY, "too many files"),
			       0;
		if (reel_grow(&f->size, room, sizeof(*f->size), err))
			return 0;
		f->inode_room = room;
	}
	f->size[++f->inodes] = -1;
	return f->inodes;
}

int files_unlinked(struct files *f, uint32_t id, struct reel_error *err)
{
	uint32_t inode = new_inode(f, err);

	if (!inode)
		return -1;
	f->file[id].inode = inode;
	f->file[id].live = false;
	f->file[id].removed = true;
	return 0;
}

/* The length of the directory part of @path, which is @n bytes long. */
static size_t dir_len(const char *path, size_t n)
{
	while (n && path[--n] != '/')
		;
	return n;
}

/* Add the directory @path and those above it. */
static void add_dirs(const struct files *f, struct dir_set *d, const char *path,
		     size_t n)
{
	for (;; n = dir_len(path, n)) {
		uint32_t known = d->hash.used;

		if (reel_intmap_get(&d->hash, hash_of(f->seed, path, n),
				    NULL) == REEL_NO_INDEX)
			d->all = true;
		if (!n || d->all || d->hash.used == known)
			return; /* those above a known one are known */
	}
}

static bool has_dir(const struct dir_set *d, uint32_t hash)
{
	return d->all || reel_intmap_find(&d->hash, hash) != REEL_NO_INDEX;
}

/* Remember the directories above @id: a rename of one moves @id. */
static void note_above(struct files *f, uint32_t id)
{
	const char *path = files_path(f, id);

	add_dirs(f, &f->above, path, dir_len(path, f->file[id].path_len));
}

static bool has_below(const struct files *f, uint32_t id)
{
	return has_dir(&f->above, f->file[id].hash);
}

void files_note_used_dir(struct files *f, const char *path, size_t len)
{
	add_dirs(f, &f->used_dirs, path, len);
}

bool files_is_used_dir(const struct files *f, uint32_t id)
{
	return has_dir(&f->used_dirs, f->file[id].hash);
}

/* An opened file may be recognized as a directory only later. */
static void note_open_dir(struct files *f, uint32_t id)
{
	if (f->file[id].opened && f->file[id].kind == REEL_KIND_DIR)
		files_note_used_dir(f, files_path(f, id), f->file[id].path_len);
}

/*
 * Following a rename costs a step for each listed file and MOVE steps for each
 * moved one. Each written file pays PAID steps into the budget. Without a
 * budget a directory of many files that is renamed many times would take
 * forever.
 */
#define MOVE 16
#define PAID 256
#define PAID_AT_FIRST 1000000

static void list(struct files *f, uint32_t id)
{
	note_above(f, id);
	f->file[id].next = f->listed;
	f->file[id].listed = true;
	f->listed = id;
}

/* A written file that was renamed is a checkpoint under both names if one of
 * the names says so: the temporary one or the final one. */
static void inherit_class(struct files *f, uint32_t from, uint32_t to)
{
	const struct file *p = f->file;

	if (p[from].written)
		files_set_written(f, to);
	if (p[from].written && (p[from].class_ == REEL_CLASS_CHECKPOINT ||
				p[to].class_ == REEL_CLASS_CHECKPOINT))
		files_set_saved(f, from);
	if (p[from].saved)
		files_set_saved(f, to);
}

static int rename_one(struct files *f, uint32_t from, uint32_t to,
		      bool exchange, struct reel_error *err)
{
	uint32_t was = f->file[to].inode, inode = f->file[from].inode;

	f->file[to].inode = inode;
	files_set_kind(f, to, (enum reel_kind)f->file[from].kind);
	if (f->size[inode] > f->file[to].size_max)
		f->file[to].size_max = f->size[inode];
	inherit_class(f, from, to);
	if (!exchange)
		return files_unlinked(f, from, err);
	f->file[from].inode = was;
	return 0;
}

size_t files_moved(const struct files *f, uint32_t from, uint32_t to,
		   const char *path, size_t len,
		   char out[static REEL_PATH_ROOM])
{
	size_t n = f->file[from].path_len;
	int all;

	if (len < n || memcmp(path, files_path(f, from), n) ||
	    (path[n] && path[n] != '/'))
		return 0;
	all = snprintf(out, REEL_PATH_ROOM, "%s%s", files_path(f, to),
		       path + n);
	return all < REEL_PATH_ROOM ? (size_t)all : 0;
}

static size_t name_below(const struct files *f, uint32_t id, uint32_t from,
			 uint32_t to, char out[static REEL_PATH_ROOM])
{
	return files_moved(f, from, to, files_path(f, id), f->file[id].path_len,
			   out);
}

/*
 * Rename the files below a renamed directory. The list holds only written
 * files: there may be millions of files that were only read, and their new
 * names are not needed. Files that are no longer live leave the list here. If
 * two directories are exchanged, only the classes of their files are followed.
 */
static int rename_below(struct files *f, uint32_t from, uint32_t to,
			bool exchange, struct reel_error *err)
{
	uint64_t paid = f->steps_paid; /* renames do not pay */
	uint32_t id, new, rest = f->listed;
	char path[REEL_PATH_ROOM];
	size_t n;

	if (f->steps > f->steps_paid + PAID_AT_FIRST)
		return 0;
	for (f->listed = 0; (id = rest);) {
		f->steps++;
		rest = f->file[id].next;
		f->file[id].listed = false;
		if (!f->file[id].live)
			continue;
		n = name_below(f, id, from, to, path);
		if (!n && exchange)
			n = name_below(f, id, to, from, path);
		if (n) {
			f->steps += MOVE;
			new = files_intern(f, path, n, err);
			if (!new)
				return -1;
			if (exchange)
				inherit_class(f, id, new);
			else if (rename_one(f, id, new, false, err))
				return -1;
		}
		if (f->file[id].live)
			list(f, id);
	}
	f->steps_paid = paid;
	return 0;
}

int files_renamed(struct files *f, uint32_t from, uint32_t to, bool exchange,
		  struct reel_error *err)
{
	if ((has_below(f, from) || (exchange && has_below(f, to))) &&
	    rename_below(f, from, to, exchange, err))
		return -1;
	return rename_one(f, from, to, exchange, err);
}

void files_soon(const struct files *f, const char *path, size_t len)
{
	uint32_t id = f->slot[hash_of(f->seed, path, len) & (f->slots - 1)];
	const struct file *first = &f->file[id]; /* mostly that of @path */

	if (!id)
		return;
	reel_prefetch_range(first, sizeof(*first));
	reel_prefetch_range(files_path(f, id), len);
	reel_prefetch(&f->size[first->inode]);
}

/* The id of @path, or 0. */
static uint32_t find_file(const struct files *f, const char *path, size_t len,
			  uint32_t hash)
{
	uint32_t id;

	for (uint32_t i = hash & (f->slots - 1); (id = f->slot[i]);
	     i = (i + 1) & (f->slots - 1)) {
		const struct file *have = &f->file[id];

		if (have->hash == hash && have->path_len == len &&
		    !memcmp(f->arena + have->path_at, path, len))
			return id;
	}
	return 0;
}

uint32_t files_find(const struct files *f, const char *path, size_t len)
{
	return find_file(f, path, len, hash_of(f->seed, path, len));
}

uint32_t files_intern(struct files *f, const char *path, size_t len,
		      struct reel_error *err)
{
	uint32_t hash = hash_of(f->seed, path, len);
	uint32_t i, id = find_file(f, path, len, hash), inode;
	struct file *new;

	if (id)
		return id;
	if (room_for(f, len, err))
		return 0;
	inode = new_inode(f, err);
	if (!inode)
		return 0;
	for (i = hash & (f->slots - 1); f->slot[i];)
		i = (i + 1) & (f->slots - 1);
	f->slot[i] = ++f->n;
	new = &f->file[f->n];
	*new = (struct file){.path_at = f->arena_len,
			     .path_len = (uint32_t)len,
			     .hash = hash,
			     .inode = inode,
			     .size_max = -1};
	memcpy(f->arena + f->arena_len, path, len);
	f->arena_len += len;
	f->arena[f->arena_len++] = '\0';
	new->class_ = (uint8_t)reel_file_class(files_path(f, f->n),
					       REEL_KIND_UNKNOWN, false);
	return f->n;
}

static void classify(struct files *f, uint32_t id)
{
	struct file *p = &f->file[id];

	p->class_ = (uint8_t)reel_file_class(
		files_path(f, id), (enum reel_kind)p->kind, p->written);
	if (p->saved && p->class_ == REEL_CLASS_DATA)
		p->class_ = REEL_CLASS_CHECKPOINT;
	if (p->errors && p->class_ == REEL_CLASS_DATA)
		p->class_ = REEL_CLASS_LOG;
}

void files_set_kind(struct files *f, uint32_t id, enum reel_kind kind)
{
	if (!id || f->file[id].kind == kind || kind == REEL_KIND_UNKNOWN)
		return;
	f->file[id].kind = (uint8_t)kind;
	classify(f, id);
	note_open_dir(f, id);
}

void files_set_was_opened(struct files *f, uint32_t id)
{
	if (f->file[id].opened)
		return;
	f->file[id].opened = true;
	note_open_dir(f, id);
}

void files_set_written(struct files *f, uint32_t id)
{
	struct file *p;

	if (!id || f->file[id].live)
		return;
	p = &f->file[id];
	p->live = true;
	if (!p->listed)
		list(f, id);
	if (p->written)
		return;
	p->written = true;
	f->steps_paid += PAID;
	classify(f, id);
}

void files_set_saved(struct files *f, uint32_t id)
{
	if (!id || f->file[id].saved)
		return;
	f->file[id].saved = true;
	classify(f, id);
}

void files_set_errors(struct files *f, uint32_t id)
{
	/* The job may write data by that number to a file that it opened. */
	if (!id || f->file[id].errors || f->file[id].opened)
		return;
	f->file[id].errors = true;
	classify(f, id);
}

/* An opened path counts as a file until a call shows that it is a directory. */
static bool may_be_dir(const struct file *f)
{
	return f->kind == REEL_KIND_UNKNOWN ||
	       (f->kind == REEL_KIND_FILE && !f->written);
}

/* @path exists: the paths above it are directories. */
static void find_dirs_of(struct files *f, const char *path, size_t len)
{
	while (len > 1) {
		uint32_t id;

		while (len && path[len - 1] != '/')
			len--;
		if (len < 2)
			return;
		len--;
		id = find_file(f, path, len, hash_of(f->seed, path, len));
		if (id && may_be_dir(&f->file[id]))
			files_set_kind(f, id, REEL_KIND_DIR);
	}
}

void files_find_dirs(struct files *f)
{
	const char *last = NULL;
	size_t last_len = 0;

	for (uint32_t id = 1; id <= f->n; id++) {
		const char *path = files_path(f, id), *slash;

		if ((f->file[id].kind != REEL_KIND_FILE &&
		     f->file[id].kind != REEL_KIND_DIR) ||
		    path[0] != '/')
			continue;
		slash = strrchr(path, '/');
		if (last && (size_t)(slash - path) == last_len &&
		    !memcmp(path, last, last_len))
			continue; /* in the directory of the one before */
		last = path;
		last_len = (size_t)(slash - path);
		find_dirs_of(f, path, f->file[id].path_len);
	}
}
