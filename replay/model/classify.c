/* SPDX-License-Identifier: MIT */
/* Classes that are lists of calls. A new call by path may belong to both. */
#include "replay/model/classify.h"

#include <fcntl.h>

bool is_nofollow(const struct reel_event *ev)
{
	int64_t flags = ev->arg == REEL_NO_OFFSET ? 0 : ev->arg;

	switch (ev->call) {
	case REEL_CALL_LSTAT:
	case REEL_CALL_READLINK:
	case REEL_CALL_READLINKAT:
	case REEL_CALL_UNLINK:
	case REEL_CALL_UNLINKAT:
	case REEL_CALL_REMOVE:
	case REEL_CALL_MKDIR:
	case REEL_CALL_MKDIRAT:
	case REEL_CALL_RMDIR:
	case REEL_CALL_MKFIFO:
	case REEL_CALL_MKFIFOAT:
	case REEL_CALL_MKNOD:
	case REEL_CALL_MKNODAT:
		return true;
	case REEL_CALL_FSTATAT:
	case REEL_CALL_STATX:
		return flags & AT_SYMLINK_NOFOLLOW;
	}
	return ev->group == REEL_GROUP_OPEN && flags & (O_NOFOLLOW | O_EXCL);
}

bool is_probe(uint16_t call)
{
	switch (call) {
	case REEL_CALL_STAT:
	case REEL_CALL_LSTAT:
	case REEL_CALL_FSTATAT:
	case REEL_CALL_STATX:
	case REEL_CALL_ACCESS:
	case REEL_CALL_FACCESSAT:
	case REEL_CALL_UNLINK:
	case REEL_CALL_UNLINKAT:
	case REEL_CALL_REMOVE:
		return true;
	}
	return false;
}
