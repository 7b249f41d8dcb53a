/* SPDX-License-Identifier: MIT */
/*
 * The files that posix_spawn() opens for its child. libc opens them between
 * vfork and exec without calling a wrapper, so they are read from the file
 * actions after the spawn succeeded. The new image records the descriptors as
 * it uses them; the opens are recorded here, by the caller, each closed at
 * once. Actions have glibc's internal layout, which never changed; an unknown
 * kind ends the reading and is counted.
 */
#include <string.h>

#include "preload/core/counters.h"
#include "preload/core/dir.h"
#include "preload/core/symbols.h"
#include "preload/core/types.h"
#include "preload/exec/traceable.h"

enum { CLOSE, DUP2, OPEN, CHDIR, FCHDIR, CLOSEFROM, TCSETPGRP, KINDS };

struct action {
	int kind;
	union {
		struct {
			int fd;
			const char *path;
			int flags;
			mode_t mode;
		} open;
		const char *chdir;
		int fchdir;
	};
};
_Static_assert(sizeof(struct action) == 32,
	       "not glibc's struct __spawn_action");

/* The child's working directory: @text, of @len bytes. */
struct child_cwd {
	size_t len;
	char text[REEL_PATH_BYTES];
};

/* Append @path to the directory, or replace it; false: no room. */
static bool enter_path(struct child_cwd *w, const char *path)
{
	size_t n = strlen(path), at = path[0] == '/' ? 0 : w->len;

	if (at + n + 2 > sizeof(w->text))
		return false;
	if (at)
		w->text[at++] = '/';
	memcpy(w->text + at, path, n + 1);
	return true;
}

static void record_open(struct child_cwd *w, const struct action *a,
			uint64_t when)
{
	struct shim_event ev = {SHIM_EVENT_NONE, .call = CALL_OPEN},
			  closed = {SHIM_EVENT_NONE, .call = CALL_CLOSE};
	char dir[REEL_PATH_BYTES];
	size_t n;

	memcpy(dir, w->text, w->len);
	if (!enter_path(w, a->open.path)) {
		shim_count(REEL_LOST_LIMIT, 1);
		return;
	}
	n = strlen(w->text);
	if (shim_is_code(w->text, n, (a->open.flags & O_ACCMODE) == O_RDONLY)) {
		shim_count(REEL_CODE_OPENS, 1);
	} else {
		ev.newdesc = shim_desc_new(-1); /* the number is the child's */
		ev.newfd = -1;
		ev.path = w->text;
		ev.arg = a->open.flags;
		ev.arg2 = a->open.mode;
		if (ev.newdesc)
			shim_record_full(&ev, when, when, a->open.fd, 0);
		closed.desc = ev.newdesc;
		/* A counted descriptor stands for its path: no close. */
		if (ev.newdesc && !shim_counting)
			shim_record_full(&closed, when, when, 0, 0);
	}
	memcpy(w->text, dir, w->len);
	w->text[w->len] = '\0';
}

void shim_spawn_opens(const posix_spawn_file_actions_t *actions, uint64_t when)
{
	struct child_cwd w = {.len = 0};
	const struct action *a;

	if (!actions)
		return;
	a = (const void *)actions->__actions;
	for (int i = 0; i < actions->__used; i++, a++) {
		if ((unsigned int)a->kind >= KINDS) {
			shim_count(REEL_LOST_LIMIT, 1);
			return;
		}
		if (a->kind == OPEN) {
			record_open(&w, a, when);
		} else if (a->kind == FCHDIR) {
			if (shim_dir_path(a->fchdir, ".", w.text))
				w.len = strlen(w.text);
		} else if (a->kind == CHDIR && enter_path(&w, a->chdir)) {
			w.len = strlen(w.text);
		}
	}
}
