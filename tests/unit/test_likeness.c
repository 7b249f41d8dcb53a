/* SPDX-License-Identifier: MIT */
/* Likeness: the paper's cosine, differences, and call sequences. */
#include "analyzer/compare/likeness.h"

#include "tests/unit/test_metric.h"

static void cosine_of(struct job *a, struct job *b, struct reel_likeness *l)
{
	if (reel_compare(&a->st, &b->st, l, &a->err))
		ok(0, "compare: %s", a->err.text);
}

static const struct reel_factor *factor(const struct reel_likeness *l,
					const char *name)
{
	int i;

	for (i = 0; i < l->factors; i++)
		if (!strcmp(l->factor[i].name, name))
			return &l->factor[i];
	return NULL;
}

/* A job of one file: @n reads of @bytes, each @dur_ns long. */
static void small_job(struct job *j, int n, int64_t bytes, int64_t dur_ns)
{
	int i;

	job_begin(j);
	job_process(j, 1, 0, "main", 1000);
	job_file(j, 1, "/a", "file");
	job_feed(j, event(REEL_CALL_OPEN, 0, 10));
	for (i = 0; i < n; i++)
		job_feed(j, moved(REEL_CALL_READ, 10 + i * dur_ns, dur_ns,
				  i * bytes, bytes));
	job_finish(j);
}

static void cosine(void)
{
	struct reel_likeness l;
	struct job a, b;

	small_job(&a, 10, 1000, 100);
	small_job(&b, 10, 1000, 100);
	cosine_of(&a, &b, &l);
	ok(l.has_cosine && l.cosine > 1 - 1e-12, "a run is like itself");
	ok(l.max_abs_d == 0 && l.worst == -1, "without a difference");
	ok(!factor(&l, "bytes written")->used, "0/0 is left out");
	ok(!factor(&l, "bytes read")->d, "d = 0");
	is(l.threads_same, 1, "the same calls");
	ok(l.call_tv == 0, "the same counts");
	job_end(&a);
	job_end(&b);

	/* Ten times slower and smaller: the cosine is too high. */
	small_job(&a, 10, 1000, 100);
	small_job(&b, 10, 100, 100);
	cosine_of(&a, &b, &l);
	ok(fabs(factor(&l, "bytes read")->d - 0.9) < 1e-12,
	   "d = (a - b) / max, signed");
	ok(fabs(l.max_abs_d - 0.9) < 1e-12, "the largest difference");
	is(l.threads_same, 0, "other sizes make another sequence");
	ok(l.call_tv == 0, "with the same counts");
	job_end(&b);

	job_begin(&b); /* no event */
	job_finish(&b);
	cosine_of(&a, &b, &l);
	ok(!l.has_cosine, "a vector of norm 0 has no cosine");
	ok(l.max_abs_d == 1, "and the largest difference");
	ok(l.has_same && l.same_sequence_share == 0 && l.call_tv == 1,
	   "no call is the same");
	job_end(&a);
	job_end(&b);
}

/* A read through MPI-IO, submitting an operation, a mapping that was read:
 * what a thread did that made no call beneath. */
static void upper_job(struct job *j, uint16_t call, int n)
{
	struct reel_event ev;

	job_begin(j);
	job_process(j, 1, 0, "main", 1000);
	job_file(j, 1, "/a", "file");
	job_file(j, 2, "/b", "file");
	job_feed(j, moved(REEL_CALL_READ, 10, 5, 0, 100));
	for (int i = 0; i < n; i++) {
		ev = moved(call, 20 + 10 * i, 5, 4096 * i, 100);
		ev.file = 1 + (uint32_t)i % 2;
		job_feed(j, ev);
	}
	job_finish(j);
}

static void upper(void)
{
	static const struct {
		uint16_t call;
		int one, other;
		bool same, counts;
		const char *what;
	} t[] = {
		{REEL_CALL_MPI_FILE_READ, 2, 2, true, true, "MPI-IO"},
		{REEL_CALL_MPI_FILE_READ, 0, 1, false, false, "MPI-IO"},
		{REEL_CALL_MPI_FILE_READ, 1, 2, false, false, "MPI-IO"},
		{REEL_CALL_AIO_READ, 1, 2, false, false, "async"},
		{REEL_CALL_IO_URING_ENTER, 0, 2, false, false, "io_uring"},
		{REEL_CALL_MMAP, 0, 1, false, false, "mmap"},
		{REEL_CALL_MAP_READ, 0, 1, false, false, "pages read"},
		{REEL_CALL_MAP_READ, 1, 2, false, false, "of two files"},
		{REEL_CALL_MAP_READ, 2, 4, true, false, "more of them"},
		{REEL_CALL_MAP_WRITE, 0, 1, false, false, "pages written"},
	};
	struct reel_likeness l;
	struct job a, b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		upper_job(&a, t[i].call, t[i].one);
		upper_job(&b, t[i].call, t[i].other);
		cosine_of(&a, &b, &l);
		is(l.threads_same, t[i].same, "%d and %d, %s: the sequence",
		   t[i].one, t[i].other, t[i].what);
		is(l.call_tv == 0, t[i].counts, "the counts");
		/* Call counts of parts of a mapping are compared as before. */
		job_sql(&b,
			"INSERT INTO note VALUES (1, 1, 'replay.thread', '1')");
		cosine_of(&a, &b, &l);
		is(l.threads_same, t[i].call != REEL_CALL_MMAP,
		   "of a replay the calls beneath alone");
		job_end(&a);
		job_end(&b);
	}
}

static void changes(void)
{
	static const struct {
		double a, b, d, change;
	} t[] = {
		{100, 100, 0, 0},
		{100, 150, -1 / 3., 0.5},
		{150, 100, 1 / 3., -1 / 3.},
		{100, 0, 1, -1},
		{1, 1000, -0.999, 999},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		ok(fabs(reel_change(t[i].d) - t[i].change) <=
			   1e-9 * fmax(1, fabs(t[i].change)),
		   "from %g to %g: %+g", t[i].a, t[i].b, t[i].change);
	ok(isinf(reel_change(-1)), "from 0: infinite");
}

struct change {
	const char *what;
	bool same;
	void (*change)(struct reel_event *ev);
};

static void nothing(struct reel_event *ev)
{
}

static void later(struct reel_event *ev)
{
	ev->start_ns += 12345;
	ev->dur_ns *= 7;
}

static void other_offset(struct reel_event *ev)
{
	ev->offset += 1;
}

static void other_fd(struct reel_event *ev)
{
	ev->fd += 1;
}

static void shorter(struct reel_event *ev)
{
	ev->result -= 1;
}

static void failed(struct reel_event *ev)
{
	ev->err = 4;
	ev->result = -1;
}

static void other_call(struct reel_event *ev)
{
	ev->call = REEL_CALL_PREAD;
}

static void other_file(struct reel_event *ev)
{
	ev->file = 3;
}

/* Files 1 and 2 have swapped ids in run b; file 3 differs. */
static void sequence_job(struct job *j, bool swap, const struct change *c)
{
	struct reel_event ev;
	uint32_t one = swap ? 2 : 1, two = swap ? 1 : 2;

	job_begin(j);
	job_process(j, 1, 0, "main", 1000);
	job_file(j, (int)one, "/a", "file");
	job_file(j, (int)two, "/b", "file");
	job_file(j, 3, "/c", "file");
	job_file(j, 4, swap ? "pipe:[77]" : "pipe:[66]", "pipe");
	ev = event(REEL_CALL_OPEN, 0, 10);
	ev.file = one;
	job_feed(j, ev);
	ev = moved(REEL_CALL_READ, 10, 10, 0, 100);
	ev.file = two;
	if (c)
		c->change(&ev);
	job_feed(j, ev);
	ev = moved(REEL_CALL_WRITE, 30, 10, REEL_NO_OFFSET, swap ? 5 : 6);
	ev.file = 4;
	ev.kind = REEL_KIND_PIPE;
	job_feed(j, ev);
	ev = event(REEL_CALL_MMAP, 50, 1);
	ev.file = one;
	ev.asked = 4096;
	ev.result = swap ? 0x7f0000001000 : 0x7e0000005000;
	job_feed(j, ev);
	job_finish(j);
}

static void sequences(void)
{
	static const struct change change[] = {
		{"nothing", true, nothing},
		{"times", true, later},
		{"an offset", false, other_offset},
		{"the number of a descriptor", true, other_fd},
		{"a short read", false, shorter},
		{"an error", false, failed},
		{"another call", false, other_call},
		{"another file", false, other_file},
	};
	struct reel_likeness l;
	struct job a, b;
	size_t i;

	for (i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		sequence_job(&a, false, NULL);
		sequence_job(&b, true, &change[i]);
		cosine_of(&a, &b, &l);
		is(l.threads_same, change[i].same, "changed: %s",
		   change[i].what);
		job_end(&a);
		job_end(&b);
	}
}

/* Two temporary files whose letters differ from run to run; @odd: the second is
 * renamed, not the first; @plain: opened under a name of the program's. */
static void temporary_job(struct job *j, const char *one, const char *two,
			  bool odd, bool plain)
{
	struct reel_event ev;

	job_begin(j);
	job_process(j, 1, 0, "main", 1000);
	job_file(j, 1, one, "file");
	job_file(j, 2, two, "file");
	job_file(j, 3, "/d/saved", "file");
	for (uint32_t i = 1; i <= 2; i++) {
		ev = event(plain ? REEL_CALL_OPEN : REEL_CALL_MKSTEMP, 10 * i,
			   1);
		ev.file = i;
		job_feed(j, ev);
	}
	ev = event(REEL_CALL_RENAME, 40, 1);
	ev.file = odd ? 2 : 1;
	ev.file2 = 3;
	job_feed(j, ev);
	job_finish(j);
}

static void temporary(void)
{
	static const struct {
		const char *one, *two;
		bool odd, plain, same;
		const char *what;
	} t[] = {
		{"/d/saveKkq1b2", "/d/saveZ9z8y7", false, false, true,
		 "letters that mkstemp made up"},
		{"/d/saveKkq1b2", "/d/saveZ9z8y7", true, false, false,
		 "which of two temporary files"},
		{"/d/sortKkq1b2", "/d/saveZ9z8y7", false, false, false,
		 "the name before the letters"},
		{"/d/saveKkq1b2", "/d/saveZ9z8y7", false, true, false,
		 "a name that the program chose"},
	};
	struct reel_likeness l;
	struct job a, b;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		temporary_job(&a, "/d/saveAAAAAA", "/d/saveBBBBBB", false,
			      t[i].plain);
		temporary_job(&b, t[i].one, t[i].two, t[i].odd, t[i].plain);
		cosine_of(&a, &b, &l);
		is(l.threads_same, t[i].same, "changed: %s", t[i].what);
		job_end(&a);
		job_end(&b);
	}
}

static void pairing(void)
{
	struct reel_likeness l;
	struct job a, b;
	int run, t;

	/* Threads 1, 2, 3 of a are 12, 11, 13 of b, which reads other files. */
	for (run = 0; run < 2; run++) {
		struct job *j = run ? &b : &a;

		job_begin(j);
		job_file(j, 1, "/a", "file");
		for (t = 1; t <= 3; t++) {
			int id = run ? (t == 3 ? 13 : 13 - t) : t;
			struct reel_event ev =
				moved(REEL_CALL_READ, t, 1, 0, 100 * t);

			job_process(j, id, 0, "main", 100);
			ev.process = ev.thread = (uint32_t)id;
			job_feed(j, ev);
		}
		job_finish(j);
	}
	cosine_of(&a, &b, &l);
	is(l.threads_same, 1, "by thread_index: only the third is the same");
	for (t = 1; t <= 3; t++)
		job_sqlf(&b,
			 "INSERT INTO note VALUES (1, %d, 'replay.thread', "
			 "'%d')",
			 t == 3 ? 13 : 13 - t, t);
	cosine_of(&a, &b, &l);
	is(l.threads_same, 3, "by the replay's notes: all three");
	cosine_of(&b, &a, &l);
	is(l.threads_same, 3, "with the runs swapped too");
	job_end(&a);
	job_end(&b);
}

/* The store of a run whose vector is given. */
static void vector_job(struct job *j, const double v[8])
{
	int i;

	job_begin(j);
	for (i = 0; reel_metrics[i]; i++)
		reel_metric_free(reel_metrics[i], j->state[i]);
	job_sql(j, "DROP TABLE file_io; CREATE TABLE file_io (file_id, shared, "
		   "opens, reads, "
		   "writes, meta_calls, errors, eof_reads, read_bytes, "
		   "write_bytes, read_ns, write_ns, meta_ns, mapped_bytes)");
	job_sqlf(j,
		 "INSERT INTO io_time VALUES (NULL, 'io', 1, %lld, 1, 0, 1, 0, "
		 "0)",
		 (long long)(v[0] * 1e9));
	for (i = 0; i < (int)(v[1] * 100 + 0.5); i++) {
		job_sqlf(j,
			 "INSERT INTO file VALUES (%d, '/%d', 'file', "
			 "'data', NULL)",
			 i + 1, i);
		job_sqlf(j,
			 "INSERT INTO file_io VALUES (%d, 1, 1, 1, 1, 0, 0, "
			 "0, 0, 0, 0, 0, 0, 0)",
			 i + 1);
	}
	job_sqlf(j,
		 "INSERT INTO darshan_sequence VALUES (1, 'POSIX', 'read', "
		 "1000000000, %lld, %lld)",
		 (long long)(v[2] * 1e9), (long long)(v[3] * 1e9));
	/* Bytes and extremes equal; no writes. */
	job_sqlf(j,
		 "INSERT INTO transfer_size VALUES ('read', 1, 5, 0, 5, 5, "
		 "5, 5, 5, 5, 5, 5, 5, 1), ('write', 0, 0, NULL, NULL, NULL, "
		 "NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1), ('all', 1, "
		 "%lld, 0, 5, %lld, 5, 5, 5, %lld, 5, 5, 5, 1)",
		 (long long)(v[5] * 1e9), (long long)(v[5] * 1e9),
		 (long long)(v[4] * 1e9));
	job_sqlf(j,
		 "INSERT INTO call_io (call_id, message, calls, asked_bytes, "
		 "bytes, dur_ns, errors, eof_reads) "
		 "VALUES (%d, 0, 1, 5, 5, 1, 0, 0)",
		 REEL_CALL_READ);
	job_sqlf(j,
		 "INSERT INTO call_bandwidth VALUES ('all', 1, 1, 1, %lld, "
		 "1, 1, %lld, 1, 1)",
		 (long long)(v[7] * 1e9), (long long)(v[6] * 1e9));
}

/* Figure 8 of the DLIO paper: differences printed, similarity printed. */
static void paper(void)
{
	const char *data = getenv("IOREEL_DATA");
	char path[4096], line[1024], app[64];
	double d[8], a[8], b[8], printed, cos8, cos11;
	struct reel_likeness l;
	struct job ja, jb;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "%s/similarity/fig8_cosine_truth.csv",
		 data ? data : "");
	f = data ? fopen(path, "r") : NULL;
	if (!f)
		tap_ok(1, __FILE__, __LINE__,
		       "the paper's figure # SKIP "
		       "IOREEL_DATA is not set");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "%63[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,"
			   "%lf,%lf",
			   app, &d[0], &d[1], &d[2], &d[3], &d[4], &d[5], &d[6],
			   &d[7], &printed, &cos8, &cos11) != 12)
			continue;
		for (i = 0; i < 8; i++) {
			a[i] = d[i] >= 0 ? 1 : 1 + d[i];
			b[i] = d[i] >= 0 ? 1 - d[i] : 1;
		}
		vector_job(&ja, a);
		vector_job(&jb, b);
		cosine_of(&ja, &jb, &l);
		/* The factors of the figure, bytes read and largest transfer:
		 * ten; the smallest is 0/0, written bytes too. */
		i = 0;
		for (int k = 0; k < l.factors; k++)
			i += l.factor[k].used;
		is(i, 10, "%s: factors", app);
		ok(fabs(factor(&l, "sequential")->d - d[2]) < 1e-6,
		   "%s: a difference comes back", app);
		job_end(&ja);
		job_end(&jb);
		/* Misprints: no choice of factors gives the printed value. */
		if (!strcmp(app, "FFN") || !strcmp(app, "FRNN"))
			continue;
		ok(fabs(l.cosine - printed) <= 0.0015,
		   "%s: cosine %.4f, printed %.2f", app, l.cosine, printed);
		ok(l.cosine > cos8 && l.cosine < cos11,
		   "%s: between that of 8 and that of 11 factors", app);
	}
	if (f)
		fclose(f);
}

int main(void)
{
	cosine();
	upper();
	changes();
	sequences();
	temporary();
	pairing();
	paper();
	return done();
}
