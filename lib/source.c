/* SPDX-License-Identifier: MIT */
/* A file as a stream of bytes, decompressed on the way. */
#include "lib/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include "lib/error.h"
#include "lib/pool.h"

#define IN_BYTES (256u << 10)
#define PROBE_BYTES 4096u /* of data that a member must give to be one */
#define REWIND_BYTES (1u << 20)
#define AHEAD_BYTES (512u << 10) /* of a block: as a reader of JSON asks for */
#define AHEAD_BLOCKS 3u
#define AHEAD_SOURCES 2u /* at once: a reader may have thousands open */

/* Blocks that another thread decompresses. The source is its own but for these. */
struct source_ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ahead_block {
		size_t n;
		uint64_t offset; /* of the file, behind it */
		uint8_t data[AHEAD_BYTES];
	} block[AHEAD_BLOCKS];
	unsigned int made, used; /* blocks */
	bool ended, stop;
	struct reel_error failure; /* behind the last block */
	size_t at;		   /* of the block that is used: the reader's */
	uint64_t offset;	   /* the same: behind the block before */
};

struct reel_source {
	char *path;
	int fd;
	enum form { PLAIN, GZIP, BZIP2, ZSTD } form;
	uint8_t *in;
	size_t at, n;		    /* of in: next byte, end */
	uint64_t in_offset;	    /* in the file, of in[0] */
	bool ended;		    /* the file has no more bytes */
	bool inside;		    /* a member or frame */
	bool first;		    /* no member was begun */
	bool begun;		    /* bytes were given, or a mark left out */
	bool stopped;		    /* before damage, by the watcher */
	bool refused;		    /* by the decompressor, inside a member */
	struct reel_error failure;  /* reported by the next read */
	uint64_t ignored;	    /* bytes at the end, to be reported */
	struct source_ahead *ahead; /* NULL: the reader decompresses */
	z_stream z;
	bz_stream bz;
	ZSTD_DStream *zstd;
	/* State of members, to go on behind damage. */
	uint64_t rewound;     /* bytes that were searched again */
	bool last_member;     /* no member follows the one that is damaged */
	bool gap, behind_gap; /* the next byte, the last bytes are behind one */
	bool dropping; /* up to the end of a line whose beginning is lost */
	bool lines, no_lines; /* whole members ended with a line, or did not */
	uint8_t last;	      /* byte of the data */
};

static _Thread_local struct reel_source_watch watch;
static _Thread_local unsigned int aheads; /* sources of this thread */

void reel_source_watch(const struct reel_source_watch *w)
{
	watch = w ? *w : (struct reel_source_watch){0};
}

/* The first bytes of compressed data, in the order of enum form; program: of the forms
 * that are not read. */
static const struct magic {
	uint8_t bytes[6], n;
	enum form form;
	const char *program;
} magics[] = {
	{{0x1f, 0x8b}, 2, GZIP, NULL},
	{{'B', 'Z', 'h'}, 3, BZIP2, NULL},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, ZSTD, NULL},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, PLAIN, "xz"},
	{{0x04, 0x22, 0x4d, 0x18}, 4, PLAIN, "lz4"},
};
#define MAGIC_MOST 6

static int damaged(const struct reel_source *s, const char *why,
		   struct reel_error *err)
{
	return reel_fail(err, REEL_E_FORMAT,
			 "'%s' is damaged at offset %llu: %s", s->path,
			 (unsigned long long)(s->in_offset + s->at), why);
}

/* The decompressor @by refuses the member, of which it may have given bytes. */
static int refuse(struct reel_source *s, const char *by, struct reel_error *err)
{
	char why[32];

	s->refused = true;
	snprintf(why, sizeof(why), "bytes that %s refuses", by);
	return damaged(s, why, err);
}

/* Read on where all of s->in is used. 0, or -1. */
static int fill(struct reel_source *s, struct reel_error *err)
{
	ssize_t n;

	if (s->at < s->n || s->ended)
		return 0;
	s->in_offset += s->n;
	s->at = s->n = 0;
	n = read(s->fd, s->in, IN_BYTES);
	if (n < 0)
		return reel_fail_io(err, "read", s->path, errno);
	s->n = (size_t)n;
	s->ended = !n;
	return 0;
}

static const struct magic *find_magic(const struct reel_source *s)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (s->n - s->at >= magics[i].n &&
		    !memcmp(s->in + s->at, magics[i].bytes, magics[i].n))
			return &magics[i];
	return NULL;
}

/* A frame of zstd that has no data, as pzstd writes in front of each other one. */
static const struct magic *find_skippable(const struct reel_source *s)
{
	static const struct magic skippable = {{0}, 0, ZSTD, NULL};
	const uint8_t *at = s->in + s->at;

	return s->n - s->at > 8 && at[0] >> 4 == 5 && at[1] == 0x2a &&
			       at[2] == 0x4d && at[3] == 0x18
		       ? &skippable
		       : NULL;
}

/* Choose the form by the first bytes. 0, or -1. */
static int set_form(struct reel_source *s, struct reel_error *err)
{
	const struct magic *m = find_magic(s);

	s->first = true;
	if (!m)
		m = find_skippable(s);
	if (!m)
		return 0;
	if (m->program)
		return reel_fail(err, REEL_E_FORMAT,
				 "'%s' is compressed by %s, which ioreel does "
				 "not read: unpack it first (%s -dk FILE)",
				 s->path, m->program, m->program);
	s->form = m->form;
	if (s->form == ZSTD && !(s->zstd = ZSTD_createDStream()))
		return reel_fail(err, REEL_E_MEMORY, "out of memory");
	return 0;
}

int reel_source_open(struct reel_source **out, const char *path,
		     struct reel_error *err)
{
	struct reel_source *s = reel_alloc(1, sizeof(*s), err);

	if (!s)
		return -1;
	s->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		reel_fail_io(err, "open", path, errno);
	s->path = reel_strdup(path, err);
	s->in = reel_alloc(IN_BYTES, 1, err);
	if (s->fd < 0 || !s->path || !s->in || fill(s, err) || set_form(s, err))
		goto fail;
	*out = s;
	return 0;
fail:
	reel_source_close(s);
	return -1;
}

/* Decode no more of the member. */
static void leave_member(struct reel_source *s)
{
	if (s->form == GZIP && s->inside)
		inflateEnd(&s->z);
	if (s->form == BZIP2 && s->inside)
		BZ2_bzDecompressEnd(&s->bz);
	if (s->form == ZSTD)
		ZSTD_DCtx_reset(s->zstd, ZSTD_reset_session_only);
	s->inside = false;
}

void reel_source_close(struct reel_source *s)
{
	if (!s)
		return;
	if (s->ahead) {
		pthread_mutex_lock(&s->ahead->lock);
		s->ahead->stop = true;
		pthread_cond_signal(&s->ahead->changed);
		pthread_mutex_unlock(&s->ahead->lock);
		pthread_join(s->ahead->thread, NULL);
		free(s->ahead);
		aheads--;
	}
	leave_member(s);
	ZSTD_freeDStream(s->zstd);
	if (s->fd >= 0)
		close(s->fd);
	free(s->in);
	free(s->path);
	free(s);
}

/* A member is whole: did it end with a line? */
static void note_end(struct reel_source *s)
{
	s->inside = false;
	s->lines |= s->last == '\n';
	s->no_lines |= s->last != '\n';
}

/* Each puts bytes at @to and uses bytes of s->in. The number put, or -1. */
static int64_t inflate_some(struct reel_source *s, uint8_t *to, size_t n,
			    struct reel_error *err)
{
	int rc;

	if (!s->inside) {
		memset(&s->z, 0, sizeof(s->z));
		if (inflateInit2(&s->z, 15 + 16) != Z_OK)
			return reel_fail(err, REEL_E_MEMORY, "out of memory");
		s->inside = true;
	}
	s->z.next_in = s->in + s->at;
	s->z.avail_in = (unsigned int)(s->n - s->at);
	s->z.next_out = to;
	s->z.avail_out = n < IN_BYTES ? (unsigned int)n : IN_BYTES;
	rc = inflate(&s->z, Z_NO_FLUSH);
	s->at = s->n - s->z.avail_in;
	if (s->z.next_out > to)
		s->last = s->z.next_out[-1];
	if (rc == Z_STREAM_END) {
		inflateEnd(&s->z);
		note_end(s);
	} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
		return refuse(s, "zlib", err);
	}
	return s->z.next_out - to;
}

static int64_t bunzip_some(struct reel_source *s, uint8_t *to, size_t n,
			   struct reel_error *err)
{
	uint8_t *end;
	int rc;

	if (!s->inside) {
		memset(&s->bz, 0, sizeof(s->bz));
		if (BZ2_bzDecompressInit(&s->bz, 0, 0) != BZ_OK)
			return reel_fail(err, REEL_E_MEMORY, "out of memory");
		s->inside = true;
	}
	s->bz.next_in = (char *)s->in + s->at;
	s->bz.avail_in = (unsigned int)(s->n - s->at);
	s->bz.next_out = (char *)to;
	s->bz.avail_out = n < IN_BYTES ? (unsigned int)n : IN_BYTES;
	rc = BZ2_bzDecompress(&s->bz);
	s->at = s->n - s->bz.avail_in;
	end = (uint8_t *)s->bz.next_out;
	if (end > to)
		s->last = end[-1];
	if (rc == BZ_STREAM_END) {
		BZ2_bzDecompressEnd(&s->bz);
		note_end(s);
	} else if (rc != BZ_OK) {
		return refuse(s, "bzip2", err);
	}
	return end - to;
}

static int64_t unzstd_some(struct reel_source *s, uint8_t *to, size_t n,
			   struct reel_error *err)
{
	ZSTD_inBuffer in = {s->in, s->n, s->at};
	ZSTD_outBuffer out = {to, n, 0};
	size_t rc = ZSTD_decompressStream(s->zstd, &out, &in);

	if (ZSTD_isError(rc))
		return refuse(s, "zstd", err);
	s->at = in.pos;
	s->inside = true;
	if (out.pos)
		s->last = to[out.pos - 1];
	if (!rc)
		note_end(s);
	return (int64_t)out.pos;
}

static int64_t copy_some(struct reel_source *s, uint8_t *to, size_t n)
{
	if (n > s->n - s->at)
		n = s->n - s->at;
	memcpy(to, s->in + s->at, n);
	s->at += n;
	return (int64_t)n;
}

static int64_t decode_some(struct reel_source *s, uint8_t *to, size_t n,
			   struct reel_error *err)
{
	switch (s->form) {
	case GZIP:
		return inflate_some(s, to, n, err);
	case BZIP2:
		return bunzip_some(s, to, n, err);
	case ZSTD:
		return unzstd_some(s, to, n, err);
	case PLAIN:
		break;
	}
	return copy_some(s, to, n);
}

/* Have at least @least bytes, unless the file ends before. 0, or -1. */
static int fill_least(struct reel_source *s, size_t least,
		      struct reel_error *err)
{
	while (s->n - s->at < least && !s->ended) {
		ssize_t n;

		memmove(s->in, s->in + s->at, s->n - s->at);
		s->in_offset += s->at;
		s->n -= s->at;
		s->at = 0;
		n = read(s->fd, s->in + s->n, IN_BYTES - s->n);
		if (n < 0)
			return reel_fail_io(err, "read", s->path, errno);
		s->n += (size_t)n;
		if (!n)
			break;
	}
	return 0;
}

/* The bytes from here to the end of the file are none of its data. */
static void ignore_rest(struct reel_source *s)
{
	uint64_t from = s->in_offset + s->at, bytes = s->n - s->at;
	struct stat st;

	if (!fstat(s->fd, &st) && (uint64_t)st.st_size > from)
		bytes = (uint64_t)st.st_size - from;
	s->at = s->n;
	s->ended = true;
	s->ignored = bytes;
}

/* Two bytes of any data look like gzip: a member gives its end or some data. */
static bool is_gzip(const uint8_t *at, size_t n)
{
	uint8_t data[PROBE_BYTES];
	z_stream z = {.next_in = (uint8_t *)(uintptr_t)at,
		      .avail_in = (unsigned int)n,
		      .next_out = data,
		      .avail_out = sizeof(data)};
	int rc;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return false;
	rc = inflate(&z, Z_NO_FLUSH);
	inflateEnd(&z);
	return rc == Z_STREAM_END || (rc == Z_OK && z.next_out > data);
}

/* "BZh9", and the mark of a block or of the end of a stream without one. */
static bool is_bzip2(const uint8_t *at, size_t n)
{
	static const uint8_t block[] = {0x31, 0x41, 0x59, 0x26, 0x53, 0x59};
	static const uint8_t end[] = {0x17, 0x72, 0x45, 0x38, 0x50, 0x90};

	return n >= 4 + sizeof(block) && at[3] >= '1' && at[3] <= '9' &&
	       (!memcmp(at + 4, block, sizeof(block)) ||
		!memcmp(at + 4, end, sizeof(end)));
}

/* Does a member or frame begin here? */
static bool is_member(const struct reel_source *s)
{
	const struct magic *m = find_magic(s);
	const uint8_t *at = s->in + s->at;
	size_t n = s->n - s->at;

	if (!m || m->form != s->form || m->program)
		return false;
	return s->form == GZIP	  ? is_gzip(at, n)
	       : s->form == BZIP2 ? is_bzip2(at, n)
				  : ZSTD_getFrameContentSize(at, n) !=
					    ZSTD_CONTENTSIZE_ERROR;
}

static int seek_source(struct reel_source *s, uint64_t to,
		       struct reel_error *err)
{
	if (lseek(s->fd, (off_t)to, SEEK_SET) < 0)
		return reel_fail_io(err, "seek in", s->path, errno);
	s->in_offset = to;
	s->at = s->n = 0;
	s->ended = false;
	return 0;
}

/* Move to the next member at @from or behind it. 1, 0: there is none, or -1. */
static int search_member(struct reel_source *s, uint64_t from,
			 struct reel_error *err)
{
	if (seek_source(s, from, err))
		return -1;
	for (;;) {
		const uint8_t *p;

		if (fill_least(s, PROBE_BYTES, err))
			return -1;
		if (s->at == s->n)
			return 0;
		p = memchr(s->in + s->at, magics[s->form - GZIP].bytes[0],
			   s->n - s->at);
		s->at = p ? (size_t)(p - s->in) : s->n;
		if (!p)
			continue;
		if (fill_least(s, PROBE_BYTES, err))
			return -1;
		if (is_member(s))
			return 1;
		s->at++;
	}
}

/* Does a member follow these bytes, which are none? Then they were one. */
static bool has_member_behind(struct reel_source *s)
{
	uint64_t here = s->in_offset + s->at;
	struct reel_error other = {0};
	bool found = search_member(s, here, &other) > 0;

	seek_source(s, here, &other);
	return found;
}

/* Is the member at this place whole? 1, 0: it is damaged, at the place that is
 * reached, or -1. */
static int check_member(struct reel_source *s, struct reel_error *err)
{
	uint8_t data[PROBE_BYTES];
	struct reel_error why = {0};
	int64_t got = 0;
	bool whole;

	do {
		if (fill(s, &why))
			got = -1;
		else
			got = decode_some(s, data, sizeof(data), &why);
	} while (s->inside && (got > 0 || (!got && !s->ended)));
	whole = got >= 0 && !s->inside;
	leave_member(s);
	s->refused = false;
	if (why.code && why.code != REEL_E_FORMAT)
		return reel_fail(err, why.code, "%s", why.text);
	return whole;
}

/*
 * Before the next member: go on behind the damaged ones, as long as a member
 * follows. Nothing of a damaged one is given: zlib refuses it far behind the damage,
 * and makes events of the bytes in between. The search begins inside of it: where
 * bytes of it are missing, zlib took the next one for its data. So that many damaged
 * members are not read over and over, it goes back by no more bytes than the file had
 * so far, and REWIND_BYTES. 0, or -1.
 */
static int skip_damaged(struct reel_source *s, struct reel_error *err)
{
	while (!s->last_member && s->at < s->n) {
		uint64_t from = reel_source_offset(s), here;
		int rc = check_member(s, err);

		if (rc)
			return rc < 0 ? -1 : seek_source(s, from, err);
		here = reel_source_offset(s);
		s->rewound += here - from;
		rc = search_member(
			s, s->rewound > here + REWIND_BYTES ? here : from + 1,
			err);
		if (rc < 0)
			return -1;
		if (!rc) {
			s->last_member = true;
			return seek_source(s, from, err) || fill(s, err) ? -1
									 : 0;
		}
		watch.lost(watch.arg, s->path, from,
			   reel_source_offset(s) - from);
		s->gap = true;
		s->dropping = s->no_lines || !s->lines;
	}
	return 0;
}

/*
 * Between two members of gzip or bzip2, or behind the last one: there may be
 * zeros, as of a tape's block, and then bytes of another kind, which gzip(1) and
 * bzip2(1) leave out as well. 0, or -1.
 */
static int find_member(struct reel_source *s, struct reel_error *err)
{
	const struct magic *m;
	bool zeros = false;

	if (s->first || (s->form != GZIP && s->form != BZIP2))
		return fill(s, err);
	do {
		if (fill_least(s, MAGIC_MOST, err))
			return -1;
		while (s->at < s->n && !s->in[s->at]) {
			zeros = true;
			s->at++;
		}
	} while (zeros && s->at == s->n && !s->ended && !fill(s, err) &&
		 s->at < s->n);
	if (s->at == s->n)
		return fill(s, err);
	m = find_magic(s);
	if (m && m->form == s->form && !m->program)
		return 0;
	if (has_member_behind(s))
		return watch.lost
			       ? fill(s, err)
			       : damaged(s,
					 s->form == GZIP ? "no member of gzip"
							 : "no stream of bzip2",
					 err);
	ignore_rest(s);
	return 0;
}

/* Read bytes into @to: no copy of s->in. Their number, 0 at the end, or -1. */
static int64_t read_plain(struct reel_source *s, uint8_t *to, size_t n,
			  struct reel_error *err)
{
	ssize_t got = read(s->fd, to, n);

	if (got < 0)
		return reel_fail_io(err, "read", s->path, errno);
	s->in_offset += s->n + (size_t)got;
	s->at = s->n = 0;
	s->ended = !got;
	return got;
}

/* Remove the bytes of the line whose beginning is lost, of @n at @p. The number that
 * is left. */
static int64_t drop_line(struct reel_source *s, uint8_t *p, int64_t n)
{
	const uint8_t *end = memchr(p, '\n', (size_t)n);

	if (!end)
		return 0;
	s->dropping = false;
	n -= end + 1 - p;
	memmove(p, end + 1, (size_t)n);
	return n;
}

/* Put up to @n bytes, not 0 before the end or a gap. Their number, or -1. */
static int64_t read_some(struct reel_source *s, uint8_t *to, size_t n,
			 struct reel_error *err)
{
	int64_t got = 0;

	if (s->form == PLAIN && s->at == s->n && !s->ended && n >= IN_BYTES)
		return read_plain(s, to, n, err);
	while (!got) {
		if (s->inside ? fill(s, err) : find_member(s, err))
			return -1;
		if (s->form != PLAIN && !s->inside && watch.lost &&
		    skip_damaged(s, err))
			return -1;
		if (s->gap)
			return 0;
		if (s->ended && !s->inside)
			return 0;
		got = decode_some(s, to, n, err);
		s->first = false;
		if (!got && s->ended && s->inside)
			return damaged(s, "the compressed data is cut off",
				       err);
		if (got > 0 && s->dropping)
			got = drop_line(s, to, got);
	}
	return got;
}

/* The thread: fill blocks up to the end, a failure, or a stop. */
static void *run_ahead(void *arg)
{
	struct reel_source *s = arg;
	struct source_ahead *a = s->ahead;
	int64_t got = 1;

	pthread_mutex_lock(&a->lock);
	while (got > 0 && !a->stop) {
		struct ahead_block *b = &a->block[a->made % AHEAD_BLOCKS];

		if (a->made - a->used == AHEAD_BLOCKS) {
			pthread_cond_wait(&a->changed, &a->lock);
			continue;
		}
		pthread_mutex_unlock(&a->lock);
		b->n = 0;
		while (got > 0 && b->n < AHEAD_BYTES) {
			got = read_some(s, b->data + b->n, AHEAD_BYTES - b->n,
					&a->failure);
			b->n += got > 0 ? (size_t)got : 0;
		}
		b->offset = s->in_offset + s->at;
		pthread_mutex_lock(&a->lock);
		a->made += b->n > 0;
		a->ended = got <= 0;
		pthread_cond_signal(&a->changed);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* Before the first read: let another thread decompress all but short files. To go on
 * behind damage, the reader does it itself. */
static void start_ahead(struct reel_source *s)
{
	struct reel_error err = {0};

	if (s->ahead || !watch.ahead || watch.lost || s->form == PLAIN ||
	    !s->first || s->n < IN_BYTES || aheads == AHEAD_SOURCES)
		return;
	s->ahead = reel_alloc(1, sizeof(*s->ahead), &err);
	if (!s->ahead)
		return;
	pthread_mutex_init(&s->ahead->lock, NULL);
	pthread_cond_init(&s->ahead->changed, NULL);
	if (reel_pool_thread(&s->ahead->thread, run_ahead, s)) {
		free(s->ahead);
		s->ahead = NULL;
		return;
	}
	aheads++;
}

/* As read_some(), of what the other thread read. */
static int64_t take_ahead(struct reel_source *s, uint8_t *to, size_t n,
			  struct reel_error *err)
{
	struct source_ahead *a = s->ahead;
	struct ahead_block *b = &a->block[a->used % AHEAD_BLOCKS];
	bool ended;

	pthread_mutex_lock(&a->lock);
	if (a->at && a->at == b->n) {
		a->offset = b->offset;
		a->at = 0;
		b = &a->block[++a->used % AHEAD_BLOCKS];
		pthread_cond_signal(&a->changed);
	}
	while (a->made == a->used && !a->ended)
		pthread_cond_wait(&a->changed, &a->lock);
	ended = a->made == a->used;
	pthread_mutex_unlock(&a->lock);
	if (ended) {
		*err = a->failure;
		return err->code ? -1 : 0;
	}
	if (n > b->n - a->at)
		n = b->n - a->at;
	memcpy(to, b->data + a->at, n);
	a->at += n;
	return (int64_t)n;
}

bool reel_source_stop(struct reel_source *s, struct reel_error *err)
{
	if (err->code == REEL_E_FORMAT && watch.damaged &&
	    watch.damaged(watch.arg, s->path, s->refused)) {
		s->stopped = true;
		*err = (struct reel_error){0};
	}
	return s->stopped;
}

bool reel_source_skips(const struct reel_error *err)
{
	return (!err || err->code == REEL_E_FORMAT) && watch.skipped;
}

void reel_source_skipped(const struct reel_source *s, uint64_t offset,
			 uint64_t bytes)
{
	watch.skipped(watch.arg, s->path, offset, bytes);
}

void reel_source_cut(const struct reel_source *s)
{
	if (watch.damaged)
		watch.damaged(watch.arg, s->path, false);
}

bool reel_source_stopped(const struct reel_source *s)
{
	return s->stopped;
}

bool reel_source_behind_gap(const struct reel_source *s)
{
	return s->behind_gap;
}

/* Leave out the byte order mark of UTF-8 at the beginning @p of the data: it is no
 * part of any format. The bytes that are left of @n. */
static size_t skip_mark(struct reel_source *s, uint8_t *p, size_t n)
{
	static const uint8_t mark[] = {0xef, 0xbb, 0xbf};

	if (s->begun || n < sizeof(mark))
		return n;
	s->begun = true;
	if (memcmp(p, mark, sizeof(mark)) != 0)
		return n;
	memmove(p, p + sizeof(mark), n - sizeof(mark));
	return n - sizeof(mark);
}

int64_t reel_source_read(struct reel_source *s, void *to, size_t n,
			 struct reel_error *err)
{
	uint8_t *p = to;
	size_t done = 0;
	int64_t got = 1;

	start_ahead(s);
	s->behind_gap = false;
	while (done < n && got > 0 && !s->failure.code && !s->stopped) {
		if (s->gap && done)
			break;
		if (s->gap) {
			s->gap = false;
			s->behind_gap = s->begun = true;
			p[done++] = '\n';
		}
		if (done == n)
			break;
		got = (s->ahead ? take_ahead : read_some)(s, p + done, n - done,
							  &s->failure);
		if (got > 0)
			done = skip_mark(s, p, done + (size_t)got);
		else if (got < 0)
			reel_source_stop(s, &s->failure);
		else if (s->gap)
			got = 1;
	}
	s->begun |= done > 0;
	if (!got && s->ignored && watch.ignored)
		watch.ignored(watch.arg, s->path, s->ignored);
	if (!done && n && s->failure.code)
		return reel_fail(err, s->failure.code, "%s", s->failure.text);
	return (int64_t)done;
}

const char *reel_source_path(const struct reel_source *s)
{
	return s->path;
}

uint64_t reel_source_offset(const struct reel_source *s)
{
	return s->ahead ? s->ahead->offset : s->in_offset + s->at;
}
