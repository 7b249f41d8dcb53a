/* SPDX-License-Identifier: MIT */
/*
 * The names of open files that were created with O_EXCL.
 *
 * A thread owns a slot while its entry of desc[] is BUSY. There is no lock, and
 * a signal handler skips a busy slot.
 */
#include "preload/core/tmp_rename.h"

#include <string.h>

#include "schemas/syscall.h"

#include "preload/core/symbols.h"
#include "preload/core/wrap.h"

#define FILES 16 /* watched at a time; a new one replaces the oldest */
#define BUSY 1
#define PATH_BYTES 256
#define DELETED " (deleted)"

struct tmp_file {
	uint32_t pid;	       /* that created the file */
	char path[PATH_BYTES]; /* absolute: the program's or the kernel's */
	char kernel_path[PATH_BYTES]; /* of /proc/self/fd */
};

static uint32_t desc[FILES]; /* 0: free */
static uint32_t next;
static struct tmp_file files[FILES];

static bool claim_slot(uint32_t slot, uint32_t from)
{
	return __atomic_compare_exchange_n(&desc[slot], &from, BUSY, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void release_slot(uint32_t slot, uint32_t to)
{
	__atomic_store_n(&desc[slot], to, __ATOMIC_RELEASE);
}

/* The part after the last slash. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void shim_tmp_made(int fd, uint32_t id, const char *path)
{
	uint32_t slot = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % FILES;
	uint32_t was = __atomic_load_n(&desc[slot], __ATOMIC_RELAXED);
	struct tmp_file *t = &files[slot];
	size_t len = path[0] == '/' ? strlen(path) : 0;

	if (was == BUSY || !claim_slot(slot, was))
		return;
	t->pid = (uint32_t)raw(SYS_getpid);
	if (len >= PATH_BYTES ||
	    !shim_fd_path(fd, t->kernel_path, sizeof(t->kernel_path)) ||
	    strlen(t->kernel_path) + 1 >= sizeof(t->kernel_path)) {
		release_slot(slot, 0);
		return;
	}
	strcpy(t->path, len ? path : t->kernel_path);
	__atomic_store_n(&desc[slot], id, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shim_hot.tmp_files, 1, __ATOMIC_SEQ_CST);
}

void shim_tmp_renamed(const char *path)
{
	for (uint32_t i = 0; i < FILES; i++) {
		uint32_t was = __atomic_load_n(&desc[i], __ATOMIC_RELAXED);

		if (was <= BUSY || !claim_slot(i, was))
			continue;
		release_slot(i,
			     strcmp(base_name(files[i].path), base_name(path))
				     ? was
				     : 0);
	}
}

/* With its descriptor: the reader knows whether another process recorded the
 * rename. */
static void record_rename(uint32_t id, const char *from, const char *to)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_RENAME};
	uint64_t now = shim_clock();

	ev.desc = id;
	ev.path = from;
	ev.path2 = to;
	shim_record_path(&ev, now, now, 0, 0);
}

/* Has the file of @fd got another name in its directory? It is stored in
 * @t->kernel_path. */
static bool find_rename(int fd, struct tmp_file *t)
{
	char now[PATH_BYTES];
	const char *was = base_name(t->kernel_path), *is;
	char *end;

	if (t->pid != (uint32_t)raw(SYS_getpid) ||
	    !shim_fd_path(fd, now, sizeof(now)) ||
	    strlen(now) + 1 >= sizeof(now))
		return false;
	is = base_name(now);
	if (is - now != was - t->kernel_path || !strcmp(is, was) ||
	    memcmp(now, t->kernel_path, (size_t)(is - now)))
		return false;
	/* An unlinked file has its last name with a suffix. */
	if (strlen(is) > strlen(DELETED) &&
	    !strcmp(is + strlen(is) - strlen(DELETED), DELETED))
		return false;
	strcpy(t->kernel_path, t->path);
	end = t->kernel_path + (base_name(t->kernel_path) - t->kernel_path);
	if ((size_t)(end - t->kernel_path) + strlen(is) >=
	    sizeof(t->kernel_path))
		return false;
	strcpy(end, is);
	return true;
}

void shim_tmp_closing(int fd, uint32_t id)
{
	for (uint32_t i = 0; i < FILES; i++) {
		struct tmp_file t;
		bool is_renamed;

		if (!claim_slot(i, id))
			continue;
		t = files[i];
		release_slot(i, 0);
		is_renamed = find_rename(fd, &t);
		if (is_renamed)
			record_rename(id, t.path, t.kernel_path);
		break;
	}
	/* In this order: a file that is created meanwhile sets it after us. */
	__atomic_store_n(&shim_hot.tmp_files, 0, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < FILES; i++)
		if (__atomic_load_n(&desc[i], __ATOMIC_SEQ_CST))
			__atomic_store_n(&shim_hot.tmp_files, 1,
					 __ATOMIC_RELAXED);
}
