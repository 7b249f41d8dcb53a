/* SPDX-License-Identifier: MIT */
/*
 * Streams of time intervals in bounded memory. Each stream is a union, for
 * example of the calls of a thread: written as the calls end, read in the order
 * of start. Several streams can be read as one.
 */
#ifndef ANALYZER_METRIC_INTERVAL_LOG_H
#define ANALYZER_METRIC_INTERVAL_LOG_H

#include "lib/merge_heap.h"

#include "analyzer/metric/interval_union.h"

struct reel_spill_log;
struct reel_spill_reader;

/* Zeroed: a stream that was not begun. Its address must not change. */
struct reel_interval_stream {
	struct reel_union u;
	struct reel_spill_log *log;
	uint32_t id;
	int64_t logged_ns; /* end of the last interval in the log */
};

/*
 * Begin the stream @id of @log, which it borrows. When it holds @limit
 * intervals, the lower half goes to the log; later intervals below them are
 * kept in memory, so nothing is lost.
 */
void reel_interval_stream_begin(struct reel_interval_stream *s,
				struct reel_spill_log *log, uint32_t id,
				uint32_t limit);
static inline int reel_interval_stream_add(struct reel_interval_stream *s,
					   const struct reel_interval *iv,
					   struct reel_error *err)
{
	return reel_union_add(&s->u, iv, err);
}
/* End the stream; then it can be read. */
int reel_interval_stream_end(struct reel_interval_stream *s,
			     struct reel_error *err);
/* The length of its intervals after the end, late parts on their own. */
int64_t reel_interval_stream_ns(const struct reel_interval_stream *s);
void reel_interval_stream_fini(struct reel_interval_stream *s);

struct reel_interval_source;

/* Zeroed: a merge of nothing. */
struct reel_interval_merge {
	struct reel_interval_source *source;
	struct reel_merge_heap heap; /* index of source, by next start */
	uint32_t sources, source_room, heap_room;
	bool lent; /* the interval of the first source */
};

/* Add @s to the merge; its intervals get @tag. All streams are added before the
 * first interval is read. Borrows @s. */
int reel_interval_merge_add(struct reel_interval_merge *m,
			    const struct reel_interval_stream *s, uint32_t tag,
			    struct reel_error *err);
/* The next interval by start, *@iv, which is lent until the next call. Intervals
 * of different streams may overlap, and of one stream with late parts. 1; 0 at the
 * end; -1. */
int reel_interval_merge_next(struct reel_interval_merge *m,
			     const struct reel_interval **iv, uint32_t *tag,
			     struct reel_error *err);
void reel_interval_merge_fini(struct reel_interval_merge *m);
/* The length of the union of all remaining intervals; -1 with @err. */
int64_t reel_interval_merge_union_ns(struct reel_interval_merge *m,
				     struct reel_error *err);

/* A merge of disjoint streams, read in a moving window. */
struct reel_interval_window {
	struct reel_interval_merge m;
	struct reel_interval *iv; /* in order */
	uint32_t first, n, room;  /* the window is iv[first .. n) */
	int64_t read_ns;	  /* start of the last one read */
	bool ended;
};

/* Move @w to the intervals that overlap [@start_ns, @end_ns). Starts must not
 * decrease from call to call. 0 or -1. */
int reel_interval_window_move(struct reel_interval_window *w, int64_t start_ns,
			      int64_t end_ns, struct reel_error *err);
void reel_interval_window_fini(struct reel_interval_window *w);

#endif
