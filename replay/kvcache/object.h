/* SPDX-License-Identifier: MIT */
/*
 * An object of the cache: an npy of bytes, a row for each token.
 *
 * Source: strace of NumPy 2.4's np.save() and np.load() on a file that Python opened.
 */
#ifndef REPLAY_KVCACHE_OBJECT_H
#define REPLAY_KVCACHE_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct io;
struct reel_error;

struct object_shape {
	uint64_t tokens, bytes_per_token;
};

/*
 * open(path, "wb"), np.save() of the bytes at @from, and with @sync fsync(), close().
 * *@sync_ns is the time of fsync(). 0, or -1 with @err (REEL_E_IO).
 */
int object_save(struct io *io, const char *path,
		const struct object_shape *shape, const void *from, bool sync,
		int64_t *sync_ns, struct reel_error *err);
/* Ask the kernel to drop its pages, through a descriptor of its own. */
int object_drop(struct io *io, const char *path, struct reel_error *err);
/* np.load(): all bytes into @to. */
int object_load(struct io *io, const char *path,
		const struct object_shape *shape, void *to,
		struct reel_error *err);
uint64_t object_bytes(const struct object_shape *shape);

#endif
