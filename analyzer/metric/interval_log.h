/* SPDX-License-Identifier: MIT */
/*
 * Streams of time intervals in bounded memory: each the union of the calls of
 * one thread, say, written as they end and read in the order of their starts.
 * Several are read as one.
 */
#ifndef ANALYZER_METRIC_INTERVAL_LOG_H
#define ANALYZER_METRIC_INTERVAL_LOG_H

#include "analyzer/metric/interval_union.h"

struct reel_spill_log;
struct reel_spill_reader;

/* Zeroed, a stream that was never begun. Its address must not change. */
struct reel_interval_stream {
	struct reel_union u;
	struct reel_spill_log *log;
	uint32_t id;
	int64_t logged_ns; /* end of the last interval in the log */
};

/*
 * Begin the stream @id of @log, which it borrows. @most intervals are held
 * before the lower half goes to the log; what begins below them is kept apart,
 * so nothing is lost, at the cost of memory.
 */
void reel_interval_stream_begin(struct reel_interval_stream *s,
				struct reel_spill_log *log, uint32_t id,
				uint32_t most);
static inline int reel_interval_stream_add(struct reel_interval_stream *s,
					   const struct reel_interval *iv,
					   struct reel_error *err)
{
	return reel_union_add(&s->u, iv, err);
}
/* No more is added; from here on it can be read. */
int reel_interval_stream_end(struct reel_interval_stream *s,
			     struct reel_error *err);
void reel_interval_stream_fini(struct reel_interval_stream *s);

struct reel_interval_source;

/* Zeroed, a merge of nothing. */
struct reel_interval_merge {
	struct reel_interval_source *source;
	uint32_t *heap; /* of sources that have more, by their next start */
	uint32_t sources, source_room, heaped, heap_room;
};

/* Read @s, too, and call its intervals @tag. All are added before the first is
 * taken. Borrows @s. */
int reel_interval_merge_add(struct reel_interval_merge *m,
			    const struct reel_interval_stream *s, uint32_t tag,
			    struct reel_error *err);
/* The next interval by start; those of different streams may overlap, those of
 * one where something began late. 1; 0 at the end; -1. */
int reel_interval_merge_next(struct reel_interval_merge *m,
			     struct reel_interval *iv, uint32_t *tag,
			     struct reel_error *err);
void reel_interval_merge_fini(struct reel_interval_merge *m);
/* The measure of the union of all that is left in @m; -1 with @err. */
int64_t reel_interval_merge_union_ns(struct reel_interval_merge *m,
				     struct reel_error *err);

/* A merge of disjoint streams, read in a window that moves on. */
struct reel_interval_window {
	struct reel_interval_merge m;
	struct reel_interval *iv; /* in order */
	uint32_t first, n, room;  /* of iv: from first to before n */
	int64_t read_ns;	  /* start of the last of them */
	bool ended;
};

/* Hold in @w the intervals that reach into [@start_ns, @end_ns). Starts do not
 * decrease from call to call. 0 or -1. */
int reel_interval_window_move(struct reel_interval_window *w, int64_t start_ns,
			      int64_t end_ns, struct reel_error *err);
void reel_interval_window_fini(struct reel_interval_window *w);

#endif
