/* SPDX-License-Identifier: MIT */
/*
 * The reads of the data files as a Markov chain of size and stride, where the usual
 * reader of their format would read them otherwise, or where there is none.
 *
 * A read that goes to the end of its file has the size that it asked for, as the
 * benchmark cuts it there, too; one of the whole file is the largest read of all.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/array.h"
#include "lib/error.h"
#include "lib/intmap.h"
#include "lib/store/view.h"

#include "replay/fit/internal.h"
#include "replay/workload/workload.h"

#define KINDS_MOST 65536 /* reads that differ */
#define STATES_EXACT 47	 /* the most frequent ones; the others share BINS */
#define BINS 16
#define STATES (STATES_EXACT + BINS)
#define PLACE 0xbf58476d1ce4e5b9u /* of the hash */
#define SHARE_LEAST 1.005	  /* of the bytes of files */
#define PIECE 262144		  /* of TensorFlow's records and of pandas */
#define SIZE_MOST (INT64_C(1) << 50)
/* A file of hdf5 has more samples, and a read of one is less than such a part of it. */
#define FEW_SAMPLES 8
#define PARTS 4
#define USUAL_LEAST                                                            \
	0.9 /* of the bytes, by reads as the format's reader makes them */

/* A read of one size at one distance from the end of the last one. */
struct kind {
	int64_t bytes, stride;
	uint64_t count, firsts; /* reads; those that begin a visit */
	uint32_t index, state;
};

/* A visit of a file as it goes on. */
struct visit {
	int64_t process_id, open_id, end;
	uint64_t reads;
	bool any, look;
};

struct chain_fit {
	struct fit *f;
	struct reel_intmap seen; /* of size and stride: index of kind */
	struct kind *kind;
	uint32_t kinds, room;
	int64_t whole; /* size of the largest file */
	int64_t most; /* bytes of a read by the format's reader; of hdf5 alone */
	/* Kinds are of one place in the sequence of a visit: those of torch.load() are
	 * the same for each file, where a tensor has the size of another one. */
	bool by_place;
	uint64_t reads;
	double bytes, usual; /* of all reads; of those that the format makes */
	double sum[STATES][2], weight[STATES]; /* bytes and stride of a state */
	int64_t major[STATES]; /* bytes of most of its reads; 0: of no size */
	double next[STATES][STATES];
	uint32_t states, last; /* their number; that of the last read */
	bool began;	       /* there was a read before */
};

/* --- kinds of reads ------------------------------------------------------- */

static bool is_gzip(const struct fit_file *file)
{
	size_t len = strlen(file->path);

	return len > 3 && !strcasecmp(file->path + len - 3, ".gz");
}

/* Would the reader of the format, which reads @most bytes at once, make a read of @file
 * like this? */
static bool is_usual(int format, const struct fit_file *file, int64_t bytes,
		     int64_t asked, int64_t most)
{
	switch (format) {
	case WORKLOAD_RAW: /* it has none */
		return false;
	case WORKLOAD_TFRECORD:
	case WORKLOAD_CSV:
		if (is_gzip(file)) /* Python's gzip has a buffer of its own */
			return asked % 4096 == 0 && asked <= PIECE;
		/* A loop over the lines of a file has a smaller buffer. */
		return asked == PIECE || (bytes == file->size && asked < PIECE);
	case WORKLOAD_JPEG:
	case WORKLOAD_PNG:
	case WORKLOAD_TAR:
		return asked % 4096 == 0 && asked <= 65536;
	case WORKLOAD_NPZ:
		return bytes <= 4096 || (asked % 4096 == 0 && asked <= 262144);
	case WORKLOAD_HDF5: /* an array at once, instead of its samples */
		return bytes <= most;
	default:
		return true;
	}
}

/* The kind of the read in @v, which continues @at; NULL with the error of the fit,
 * of a look, or when there are too many kinds. */
static struct kind *kind_of(struct chain_fit *c, struct reel_view *v,
			    const struct fit_file *file, struct visit *at,
			    bool *begins)
{
	int64_t bytes = reel_view_int(v, "bytes");
	int64_t asked = reel_view_known(v, "asked");
	int64_t offset = reel_view_known(v, "offset"), stride = 0;
	int64_t process = reel_view_exact(v, "process_id");
	int64_t open = reel_view_exact(v, "open_id");
	uint32_t index;

	*begins = !at->any || at->process_id != process || at->open_id != open;
	if (*begins)
		*at = (struct visit){
			process,
			open,
			0,
			0,
			true,
			fit_is_look(c->f, process, reel_view_exact(v, "start_ns"))};
	if (at->look)
		return NULL;
	if (offset < 0) /* not known: behind the last one */
		offset = at->end;
	if (bytes)
		stride = *begins ? 0 : offset - at->end;
	asked = asked < bytes ? bytes : asked;
	c->bytes += (double)bytes;
	if (is_usual(c->f->w->dataset.format, file, bytes, asked, c->most))
		c->usual += (double)bytes;
	if (bytes) {
		at->end = offset + bytes;
		if (at->end == file->size)
			bytes = offset ? asked : c->whole;
	}
	bytes = bytes < SIZE_MOST ? bytes : SIZE_MOST;
	if (stride > SIZE_MOST || stride < -SIZE_MOST)
		stride = 0;
	index = reel_intmap_get(
		&c->seen,
		((uint64_t)bytes * 0x9e3779b97f4a7c15u ^ (uint64_t)stride) +
			(c->by_place ? at->reads++ * PLACE : 0),
		c->f->err);
	if (index == REEL_NO_INDEX ||
	    index >= (c->by_place ? STATES_EXACT : KINDS_MOST) ||
	    reel_array_reach(&c->kind, &c->room, index, sizeof(*c->kind),
			     c->f->err))
		return NULL;
	if (index == c->kinds) {
		c->kind[c->kinds++] = (struct kind){
			.bytes = bytes, .stride = stride, .index = index};
	}
	return &c->kind[index];
}

/* Call @take for each read of a file of the data set, visit by visit. 0; 1 where
 * there are too many kinds; -1. */
static int each_read(struct chain_fit *c,
		     void (*take)(struct chain_fit *, struct kind *kind,
				  bool begins))
{
	struct fit *f = c->f;
	struct visit at = {.any = false};
	struct reel_view v;
	int rc = 0;

	if (!reel_view_open(
		    &v, f->st,
		    "SELECT path, process_id, open_id, start_ns, offset, "
		    "asked, bytes FROM v_event WHERE class = 'data' AND "
		    "call_group = 'read' AND bytes >= 0 ORDER BY "
		    "process_id, open_id, start_ns",
		    f->err))
		while (!rc && reel_view_next(&v)) {
			const char *path = reel_view_text(&v, "path");
			const struct fit_file *file = fit_find(f, path);
			struct kind *kind;
			bool begins;

			if (!file)
				continue;
			kind = kind_of(c, &v, file, &at, &begins);
			if (kind)
				take(c, kind, begins);
			else
				rc = !at.look;
		}
	if (reel_view_close(&v) || f->err->code)
		return -1;
	return rc;
}

static void count_kind(struct chain_fit *c, struct kind *kind, bool begins)
{
	kind->count++;
	kind->firsts += begins;
	c->reads++;
}

/* --- states --------------------------------------------------------------- */

static int by_firsts(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return (x->firsts < y->firsts) - (x->firsts > y->firsts);
}

static int by_count(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static int by_index(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Find the size that more than half of the reads of each state have: those of segments at
 * random places share a state. A few others make the mean less than a segment, and a
 * visit that is short of some bytes would take one more read. */
static void choose_majorities(struct chain_fit *c)
{
	double lead[STATES] = {0}, of[STATES] = {0};

	for (uint32_t i = 0; i < c->kinds; i++) {
		const struct kind *k = &c->kind[i];

		if (c->major[k->state] != k->bytes)
			lead[k->state] -= (double)k->count;
		else
			lead[k->state] += (double)k->count;
		if (lead[k->state] < 0) {
			c->major[k->state] = k->bytes;
			lead[k->state] = -lead[k->state];
		}
	}
	for (uint32_t i = 0; i < c->kinds; i++)
		if (c->kind[i].bytes == c->major[c->kind[i].state])
			of[c->kind[i].state] += (double)c->kind[i].count;
	for (uint32_t i = 0; i < c->states; i++)
		if (2 * of[i] <= c->weight[i])
			c->major[i] = 0;
}

/* Frequent kinds are a state each, behind the one that begins most visits; the
 * others share states by size, each a power of 4. */
static void choose_states(struct chain_fit *c)
{
	bool used[BINS] = {false};
	uint32_t bin[BINS];

	qsort(c->kind, c->kinds, sizeof(*c->kind), by_firsts);
	if (c->kinds > 1)
		qsort(c->kind + 1, c->kinds - 1, sizeof(*c->kind), by_count);
	for (uint32_t i = 0; i < c->kinds; i++) {
		struct kind *k = &c->kind[i];
		unsigned int size = 0;

		if (i < STATES_EXACT) {
			k->state = c->states++;
			continue;
		}
		while (size < BINS - 1 && k->bytes >> (2 * size + 2))
			size++;
		if (!used[size])
			bin[size] = c->states++;
		used[size] = true;
		k->state = bin[size];
	}
	for (uint32_t i = 0; i < c->kinds; i++) {
		const struct kind *k = &c->kind[i];

		c->weight[k->state] += (double)k->count;
		c->sum[k->state][0] += (double)k->count * (double)k->bytes;
		c->sum[k->state][1] += (double)k->count * (double)k->stride;
	}
	qsort(c->kind, c->kinds, sizeof(*c->kind), by_index);
	choose_majorities(c);
}

static int64_t bytes_of(const struct chain_fit *c, uint32_t state)
{
	if (c->major[state])
		return c->major[state];
	return (int64_t)(c->sum[state][0] / c->weight[state]);
}

/* The last visit ends. Reads of no bytes at its end, of which a file may have several,
 * lead to the next visit, or the chain would not end. */
static void end_visit(struct chain_fit *c)
{
	if (c->began && !bytes_of(c, c->last))
		c->next[c->last][0]++;
}

static void count_pair(struct chain_fit *c, struct kind *kind, bool begins)
{
	if (begins)
		end_visit(c);
	else
		c->next[c->last][kind->state]++;
	c->last = kind->state;
	c->began = true;
}

/* --- the chain ------------------------------------------------------------ */

/* Probabilities that add up to 1; a state that ends all its visits begins again. */
static void put_next(const struct chain_fit *c, uint32_t state, double *next)
{
	double sum = 0;

	for (uint32_t i = 0; i < c->states; i++)
		sum += c->next[state][i];
	for (uint32_t i = 0; i < c->states; i++)
		next[i] = sum > 0 ? c->next[state][i] / sum : i == 0;
}

static int put_chain(struct chain_fit *c)
{
	struct workload_access *a = &c->f->w->access;
	uint32_t n = c->states;

	a->chain = reel_alloc(n, sizeof(*a->chain), c->f->err);
	if (!a->chain)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct workload_access_state *s = &a->chain[a->chain_n++];

		s->bytes = bytes_of(c, i);
		s->stride = (int64_t)(c->sum[i][1] / c->weight[i]);
		s->next = reel_alloc(n, sizeof(*s->next), c->f->err);
		if (!s->next)
			return -1;
		s->next_n = n;
		put_next(c, i, s->next);
	}
	return 0;
}

/* A visit for a sample may read parts of its file again. */
static int put_share(struct chain_fit *c)
{
	const struct fit *f = c->f;
	double read = 0, size = 0;

	for (uint32_t i = 0; i < f->visits; i++) {
		if (f->visit[i].look)
			continue;
		read += (double)f->visit[i].bytes;
		size += (double)f->file[f->visit[i].file].size;
	}
	if (f->w->dataset.samples_per_file > 1 || size <= 0 ||
	    read < SHARE_LEAST * size)
		return 0;
	f->w->access.chain_share = read / size;
	return fit_reason(c->f, "access.chain_share", 0.9,
			  "%u visits of files read %.3f times the bytes of "
			  "these",
			  f->visits, read / size);
}

/* Reads whose sizes follow from the arrays of the file. */
static bool is_of_arrays(int format)
{
	return format == WORKLOAD_NPY || format == WORKLOAD_HDF5 ||
	       format == WORKLOAD_PARQUET || format == WORKLOAD_INDEXED ||
	       format == WORKLOAD_SAFETENSORS;
}

/* Is there something to say that the reader of the format does not do? */
static int judge(struct chain_fit *c)
{
	const struct workload_dataset *d = &c->f->w->dataset;
	double usual = c->bytes > 0 ? c->usual / c->bytes : 1;
	bool simple = c->kinds == 1 && c->kind[0].bytes == c->whole;

	if (is_of_arrays(d->format) &&
	    (d->format != WORKLOAD_HDF5 || usual >= USUAL_LEAST))
		return fit_reason(c->f, "access.chain", 0.3,
				  "not compared: reads of this format are "
				  "as large as its arrays");
	if (d->format != WORKLOAD_RAW && usual >= USUAL_LEAST)
		return fit_reason(c->f, "access.chain", usual,
				  "the reader of the format makes reads like "
				  "%.0f %% of the bytes",
				  100 * usual);
	if (!c->bytes || simple)
		return fit_reason(c->f, "access.chain", 0.9,
				  "each file is read at once");
	choose_states(c);
	/* The first state must read, or the chain has no place to begin. */
	if (c->sum[0][0] <= 0)
		return fit_reason(c->f, "access.chain", 0,
				  "most visits begin with a read of no bytes");
	if (each_read(c, count_pair))
		return -1;
	end_visit(c);
	if (put_chain(c) || put_share(c))
		return -1;
	return fit_reason(c->f, "access.chain",
			  c->kinds <= STATES_EXACT ? 0.9 : 0.6,
			  "%llu reads of %u sizes and strides",
			  (unsigned long long)c->reads, c->kinds);
}

/* Reads without a seek go on to the end of any file, wherever that is. */
static bool seeks(const struct chain_fit *c)
{
	for (uint32_t i = 0; i < c->kinds; i++)
		if (c->kind[i].stride)
			return true;
	return false;
}

/* Begin again with kinds that are of any place. */
static void forget_places(struct chain_fit *c)
{
	reel_intmap_fini(&c->seen);
	memset(&c->seen, 0, sizeof(c->seen));
	c->by_place = false;
	c->kinds = 0;
	c->reads = 0;
	c->bytes = c->usual = 0;
}

int fit_chain(struct fit *f)
{
	struct chain_fit *c = reel_alloc(1, sizeof(*c), f->err);
	int rc;

	if (!c)
		return -1;
	c->f = f;
	for (uint32_t i = 0; i < f->files; i++)
		if (f->file[i].size > c->whole)
			c->whole = f->file[i].size;
	c->most = f->arrays || f->w->dataset.samples_per_file < FEW_SAMPLES
			  ? c->whole
			  : c->whole / PARTS;
	c->by_place = true;
	rc = each_read(c, count_kind);
	if (rc > 0 && f->w->dataset.format == WORKLOAD_RAW) {
		rc = fit_sequence(f);
		if (rc)
			goto out;
		rc = 1;
	}
	if (rc > 0 || (!rc && !seeks(c))) {
		forget_places(c);
		rc = each_read(c, count_kind);
	}
	if (rc > 0)
		rc = fit_reason(f, "access.chain", 0,
				"more than %d sizes and strides of reads",
				KINDS_MOST);
	else if (!rc)
		rc = judge(c);
out:
	free(c->kind);
	reel_intmap_fini(&c->seen);
	free(c);
	return rc < 0 ? -1 : 0;
}
