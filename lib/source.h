/* SPDX-License-Identifier: MIT */
/*
 * A file as a stream of bytes, decompressed on the way: gzip, bzip2 (both of any
 * number of members) and Zstandard by their first bytes, anything else as it is. The
 * byte order mark of UTF-8 at its beginning is left out.
 */
#ifndef LIB_SOURCE_H
#define LIB_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reel_error;
struct reel_source;

/* Gives *@out for reel_source_close(). 0, or -1 with @err: REEL_E_IO, or
 * REEL_E_FORMAT for a compression that is not read. */
int reel_source_open(struct reel_source **out, const char *path,
		     struct reel_error *err);
void reel_source_close(struct reel_source *s); /* NULL too */

/*
 * Fill @to. The number of bytes: less than @n at the end, before a gap, and before
 * damage, which the next call reports; 0 at the end. -1 with @err: REEL_E_IO, or REEL_E_FORMAT
 * with file and offset where the compressed data is damaged or cut off.
 */
int64_t reel_source_read(struct reel_source *s, void *to, size_t n,
			 struct reel_error *err);

struct reel_source_watch {
	/* A source ends in @bytes bytes that are no member of its gzip or bzip2, and
	 * were left out. */
	void (*ignored)(void *arg, const char *path, uint64_t bytes);
	/* A source is damaged. True: it ends there, without an error. @wrong: its
	 * decompressor refuses it, often far behind the damage: bytes that were given
	 * may be wrong. */
	bool (*damaged)(void *arg, const char *path, bool wrong);
	/* A reader goes on behind damage, and leaves out the @bytes bytes at @offset
	 * of the decompressed data. NULL: none does. */
	void (*skipped)(void *arg, const char *path, uint64_t offset,
			uint64_t bytes);
	/* A source goes on behind damaged members or frames: the @bytes bytes at @offset
	 * of the compressed file. NULL: none does; damage is an error. */
	void (*lost)(void *arg, const char *path, uint64_t offset,
		     uint64_t bytes);
	void *arg;
	/* Another thread may decompress what is read next. The functions above are
	 * called by the reader's thread all the same. */
	bool ahead;
};

/* Watch the sources of this thread; NULL: no longer. */
void reel_source_watch(const struct reel_source_watch *watch);

/*
 * A reader of @s failed with @err: if it is REEL_E_FORMAT and the watcher takes the
 * damage for the end, clear @err and end @s. Did it?
 */
bool reel_source_stop(struct reel_source *s, struct reel_error *err);
/* A reader failed with @err, or NULL: will do so: may it go on behind the damage?
 * Then it says so by reel_source_skipped(). */
bool reel_source_skips(const struct reel_error *err);
void reel_source_skipped(const struct reel_source *s, uint64_t offset,
			 uint64_t bytes);
/* A reader can use all of @s, whose end is missing: the watcher counts the damage. */
void reel_source_cut(const struct reel_source *s);
/* Did it end before damage? What it gave last may be cut off. */
bool reel_source_stopped(const struct reel_source *s);

/* Are the bytes of the last read behind a gap? Then the first one is a newline that
 * is not in the file, and a line begins behind it. */
bool reel_source_behind_gap(const struct reel_source *s);

/* Bytes of the file (compressed as it is) that were used so far. */
uint64_t reel_source_offset(const struct reel_source *s);
/* The name it was opened by. Borrowed. */
const char *reel_source_path(const struct reel_source *s);

#endif
