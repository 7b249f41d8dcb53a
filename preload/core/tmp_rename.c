/* SPDX-License-Identifier: MIT */
/*
 * Names of files that were made as temporary ones (temp.h).
 *
 * A slot is owned by whoever put BUSY into its entry of desc[]: no lock, and a
 * signal handler that finds one busy goes on without it.
 */
#include "preload/core/tmp_rename.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

#define TEMPS 16 /* at a time; the oldest goes for one more */
#define BUSY 1
#define MOST 256 /* bytes of a path */
#define DELETED " (deleted)"

struct temp {
	uint32_t pid;
	char path[MOST];  /* absolute; as the program has it, if that is */
	char found[MOST]; /* as the kernel had it */
};

static uint32_t desc[TEMPS]; /* 0: free */
static uint32_t next;
static struct temp temps[TEMPS];

static bool claim(uint32_t slot, uint32_t from)
{
	return __atomic_compare_exchange_n(&desc[slot], &from, BUSY, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void release(uint32_t slot, uint32_t to)
{
	__atomic_store_n(&desc[slot], to, __ATOMIC_RELEASE);
}

/* Behind the last slash. */
static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void shim_tmp_made(int fd, uint32_t id, const char *path)
{
	uint32_t slot = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % TEMPS;
	uint32_t was = __atomic_load_n(&desc[slot], __ATOMIC_RELAXED);
	struct temp *t = &temps[slot];
	size_t len = path[0] == '/' ? strlen(path) : 0;

	if (was == BUSY || !claim(slot, was))
		return;
	t->pid = (uint32_t)raw0(SYS_getpid);
	if (len >= MOST || !shim_fd_path(fd, t->found, sizeof(t->found)) ||
	    strlen(t->found) + 1 >= sizeof(t->found)) {
		release(slot, 0);
		return;
	}
	strcpy(t->path, len ? path : t->found);
	__atomic_store_n(&desc[slot], id, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shim_hot.tmp_files, 1, __ATOMIC_SEQ_CST);
}

void shim_tmp_renamed(const char *path)
{
	for (uint32_t i = 0; i < TEMPS; i++) {
		uint32_t was = __atomic_load_n(&desc[i], __ATOMIC_RELAXED);

		if (was <= BUSY || !claim(i, was))
			continue;
		release(i, strcmp(base(temps[i].path), base(path)) ? was : 0);
	}
}

/* With its descriptor: the reader knows whether another process said so. */
static void tell(uint32_t id, const char *from, const char *to)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_RENAME};
	uint64_t now = shim_clock();

	ev.desc = id;
	ev.path = from;
	ev.path2 = to;
	shim_record_path(&ev, now, now, 0, 0);
}

/* Has the file of @fd another name in its directory? It is put into @t. */
static bool moved(int fd, struct temp *t)
{
	char now[MOST];
	const char *was = base(t->found), *is;
	char *end;

	if (t->pid != (uint32_t)raw0(SYS_getpid) ||
	    !shim_fd_path(fd, now, sizeof(now)) ||
	    strlen(now) + 1 >= sizeof(now))
		return false;
	is = base(now);
	if (is - now != was - t->found || !strcmp(is, was) ||
	    memcmp(now, t->found, (size_t)(is - now)))
		return false;
	/* One that is removed has its last name, and a word behind it. */
	if (strlen(is) > strlen(DELETED) &&
	    !strcmp(is + strlen(is) - strlen(DELETED), DELETED))
		return false;
	strcpy(t->found, t->path);
	end = t->found + (base(t->found) - t->found);
	if ((size_t)(end - t->found) + strlen(is) >= sizeof(t->found))
		return false;
	strcpy(end, is);
	return true;
}

void shim_tmp_closing(int fd, uint32_t id)
{
	for (uint32_t i = 0; i < TEMPS; i++) {
		struct temp t;
		bool is_moved;

		if (!claim(i, id))
			continue;
		t = temps[i];
		release(i, 0);
		is_moved = moved(fd, &t);
		if (is_moved)
			tell(id, t.path, t.found);
		break;
	}
	/* In this order: one that is made meanwhile says so after us. */
	__atomic_store_n(&shim_hot.tmp_files, 0, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < TEMPS; i++)
		if (__atomic_load_n(&desc[i], __ATOMIC_SEQ_CST))
			__atomic_store_n(&shim_hot.tmp_files, 1,
					 __ATOMIC_RELAXED);
}
