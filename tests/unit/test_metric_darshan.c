/* SPDX-License-Identifier: MIT */
/*
 * Darshan's counters, recomputed from its trace: the DXT segments of a log are
 * fed as events, and sizes, SEQ and CONSEC must equal Darshan's. Needs Darshan
 * logs in the directory IOREEL_DATA.
 */
#include <inttypes.h>

#include "lib/intmap.h"

#include "tests/unit/test_metric.h"

static FILE *open_gz(const char *name)
{
	const char *data = getenv("IOREEL_DATA");
	char cmd[4096];

	snprintf(cmd, sizeof(cmd), "gzip -dc '%s/%s' 2>/dev/null", data, name);
	return popen(cmd, "r");
}

/* The segments of a record are adjacent, reads after writes, each in order. */
static int64_t feed_dxt(struct job *j, const char *name)
{
	struct reel_intmap *ids = calloc(1, sizeof(*ids));
	FILE *f = open_gz(name);
	uint32_t file = 0;
	int64_t n = 0;
	char line[8192];

	while (f && fgets(line, sizeof(line), f)) {
		char op[16];
		int64_t offset, len, segment;
		uint64_t id;
		int rank;
		struct reel_event ev;

		if (sscanf(line, "# DXT, file_id: %" SCNu64, &id) == 1)
			file = reel_intmap_get(ids, id, &j->err) + 1;
		if (sscanf(line, "# DXT, rank: %d", &rank) == 1) {
			ev = event(REEL_CALL_OPEN, n, 1);
			ev.process = ev.thread = (uint32_t)rank + 1;
			ev.file = file;
			job_feed(j, ev);
		}
		if (sscanf(line,
			   " X_POSIX %d %15s %" SCNd64 " %" SCNd64 " %" SCNd64,
			   &rank, op, &segment, &offset, &len) != 5)
			continue;
		ev = moved(op[0] == 'r' ? REEL_CALL_PREAD : REEL_CALL_PWRITE, n,
			   1, offset, len);
		ev.process = ev.thread = (uint32_t)rank + 1;
		ev.file = file;
		job_feed(j, ev);
		n++;
	}
	if (f)
		pclose(f);
	reel_intmap_fini(ids);
	free(ids);
	return n;
}

/* total_NAME of darshan-parser --total. */
static int64_t counter(const char *log, const char *name)
{
	char file[256], line[1024], want[256];
	int64_t v = -1;
	FILE *f;

	snprintf(file, sizeof(file), "darshan/%s.total.txt.gz", log);
	snprintf(want, sizeof(want), "total_%s: ", name);
	f = open_gz(file);
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, want, strlen(want)))
			v = strtoll(line + strlen(want), NULL, 10);
	if (f)
		pclose(f);
	return v;
}

static void check_sizes(struct job *j, const char *log, const char *op,
			const char *OP)
{
	static const char *const bin[] = {
		"0_100", "100_1K", "1K_10K",   "10K_100K", "100K_1M",
		"1M_4M", "4M_10M", "10M_100M", "100M_1G",  "1G_PLUS",
	};
	char name[64], sql[128];
	int i;

	for (i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "POSIX_SIZE_%s_%s", OP, bin[i]);
		snprintf(sql, sizeof(sql),
			 "SELECT calls + eof_reads FROM darshan_size "
			 "WHERE op = '%s' AND bin = %d",
			 op, i);
		is(job_int(j, sql), counter(log, name), "%s: %s", log, name);
	}
}

static void check_log(const char *log)
{
	char file[256];
	struct job j;
	int64_t apart, fed;

	snprintf(file, sizeof(file), "darshan/%s.dxt.txt.gz", log);
	job_begin(&j);
	fed = feed_dxt(&j, file);
	job_finish(&j);
	if (!fed) {
		tap_ok(1, __FILE__, __LINE__, "%s # SKIP not there", log);
		job_end(&j);
		return;
	}
	check_sizes(&j, log, "read", "READ");
	check_sizes(&j, log, "write", "WRITE");
	is(job_int(&j, "SELECT sum(seq) FROM darshan_sequence "
		       "WHERE op = 'read'"),
	   counter(log, "POSIX_SEQ_READS"), "%s: SEQ_READS", log);
	is(job_int(&j, "SELECT sum(seq) FROM darshan_sequence "
		       "WHERE op = 'write'"),
	   counter(log, "POSIX_SEQ_WRITES"), "%s: SEQ_WRITES", log);
	/* An open resets Darshan's position, and DXT has no opens: one file of
	 * these logs was opened twice. */
	apart = job_int(&j, "SELECT sum(consec) FROM darshan_sequence "
			    "WHERE op = 'read'") -
		counter(log, "POSIX_CONSEC_READS");
	ok(apart == 0 || apart == 1, "%s: CONSEC_READS", log);
	is(job_int(&j, "SELECT sum(consec) FROM darshan_sequence "
		       "WHERE op = 'write'"),
	   counter(log, "POSIX_CONSEC_WRITES"), "%s: CONSEC_WRITES", log);
	job_end(&j);
}

/* VaniDL excludes paths with ".py". */
static void find_python(bool *python, uint32_t files)
{
	char line[4096], *path;
	FILE *f;
	uint32_t id;

	snprintf(line, sizeof(line), "%s/cosmictagger/cosmic_p8_files.csv",
		 getenv("IOREEL_DATA"));
	f = fopen(line, "r");
	while (f && fgets(line, sizeof(line), f)) {
		id = (uint32_t)strtoul(line, &path, 10);
		if (path != line && id < files)
			python[id] = strstr(path, ".py") != NULL;
	}
	if (f)
		fclose(f);
}

/*
 * 8 ranks of CosmicTagger, with the values of VaniDL's notebook: 95.71 %
 * sequential, 88.18 % consecutive, 2.44 GB (GiB), at most 6,553,600 B.
 */
static void check_cosmic(void)
{
	FILE *f = open_gz("cosmictagger/cosmic_p8_dxt.csv.gz");
	struct job j;
	char line[4096], op[16];
	int64_t n = 0, segment, offset, len;
	uint32_t file, last_file = 0;
	double start_s, end_s;
	int rank, last_rank = -1;
	bool python[4096] = {false};

	find_python(python, 4096);
	job_begin(&j);
	while (f && fgets(line, sizeof(line), f)) {
		struct reel_event ev;

		if (sscanf(line,
			   "%d,%15[a-z],%" SCNd64 ",%" SCNd64 ",%" SCNd64
			   ",%lf,%lf,%" SCNu32,
			   &rank, op, &segment, &offset, &len, &start_s, &end_s,
			   &file) != 8)
			continue;
		if (file >= 4096 || python[file++])
			continue;
		if (rank != last_rank || file != last_file) {
			ev = event(REEL_CALL_OPEN, n, 1);
			ev.process = ev.thread = (uint32_t)rank + 1;
			ev.file = file;
			job_feed(&j, ev);
		}
		last_rank = rank;
		last_file = file;
		ev = moved(op[0] == 'r' ? REEL_CALL_PREAD : REEL_CALL_PWRITE,
			   (int64_t)(start_s * 1e9),
			   (int64_t)((end_s - start_s) * 1e9), offset, len);
		ev.process = ev.thread = (uint32_t)rank + 1;
		ev.file = file;
		job_feed(&j, ev);
		n++;
	}
	if (f)
		pclose(f);
	job_finish(&j);
	if (n) {
		is(n, 313240, "CosmicTagger: operations");
		is(job_int(&j, "SELECT max_bytes FROM transfer_size "
			       "WHERE op = 'all'"),
		   6553600, "CosmicTagger: largest transfer");
		is(job_int(&j, "SELECT round(100 * value) FROM "
			       "v_similarity_vector WHERE name = 'sequential'"),
		   9571, "CosmicTagger: 95.71 %% sequential");
		is(job_int(&j,
			   "SELECT round(100 * value) FROM "
			   "v_similarity_vector WHERE name = 'consecutive'"),
		   8818, "CosmicTagger: 88.18 %% consecutive");
		is(job_int(&j,
			   "SELECT count(DISTINCT process_id) FROM io_time"),
		   8, "CosmicTagger: ranks");
	}
	job_end(&j);
}

int main(void)
{
	if (!getenv("IOREEL_DATA"))
		skip_all("IOREEL_DATA is not set");
	check_log("nonmpi_dxt");
	check_log("mpi_io_test_with_dxt");
	check_cosmic();
	return done();
}
