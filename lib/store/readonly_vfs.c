/* SPDX-License-Identifier: MIT */
/*
 * The files beneath a store that is only read: none is made, none is written.
 *
 * SQLite opens what ATTACH and VACUUM INTO name with the rights of the store, or
 * with all of them: beside a trace that was loaded on the way, whose store must
 * be written, a mistyped name became an empty file. Temporary files have no
 * name and stay as they are.
 */
#include <sqlite3.h>

#include "lib/store/store.h"

static int open_to_read(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
			int flags, int *out_flags)
{
	sqlite3_vfs *system = sqlite3_vfs_find(NULL);

	if (name) {
		flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
		flags |= SQLITE_OPEN_READONLY;
	}
	return system->xOpen(system, name, file, flags, out_flags);
}

const char *reel_store_vfs(void)
{
	static sqlite3_vfs vfs;
	const sqlite3_vfs *system;

	if (!vfs.zName && !sqlite3_initialize() &&
	    (system = sqlite3_vfs_find(NULL))) {
		vfs = *system;
		vfs.pNext = NULL;
		vfs.zName = "ioreel";
		vfs.xOpen = open_to_read;
		sqlite3_vfs_register(&vfs, 0);
	}
	return vfs.zName;
}
