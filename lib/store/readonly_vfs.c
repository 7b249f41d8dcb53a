/* SPDX-License-Identifier: MIT */
/*
 * A VFS that opens files with a name for reading only.
 *
 * SQLite opens the files of ATTACH and VACUUM INTO with the rights of the
 * store. The temporary store of a trace is writable, so a mistyped name would
 * create an empty file. Temporary files have no name and stay writable.
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
