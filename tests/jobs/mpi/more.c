/* SPDX-License-Identifier: MIT */
/*
 * Further features of MPI. Arguments: the folder of the files, another
 * for the log of each process with a line per transfer of MPI-IO,
 * "CALL OFFSET ASKED MOVED", computed here without ioreel; then the case.
 * An offset that only MPI knows is "-".
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIG 100000
#define ALL MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL

static int rank, ranks;
static char buf[1 << 17];
static const char *folder;
static char **self;
static FILE *told;

static void say(const char *call, long offset, long asked, long moved)
{
	if (offset < 0)
		fprintf(told, "MPI_File_%s - %ld %ld\n", call, asked, moved);
	else
		fprintf(told, "MPI_File_%s %ld %ld %ld\n", call, offset, asked,
			moved);
}

static void must(int code)
{
	if (code)
		MPI_Abort(MPI_COMM_WORLD, 9);
}

static MPI_File open_file(MPI_Comm comm, const char *name)
{
	char path[4096];
	MPI_File fh;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	must(MPI_File_open(comm, path, ALL, &fh));
	return fh;
}

static int count(MPI_Status *status)
{
	int n = 0;

	MPI_Get_count(status, MPI_BYTE, &n);
	return n;
}

/* Both halves of each; in the middle a message. */
static void split(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "split");
	long at = (long)rank * BIG;
	MPI_Status s;

	must(MPI_File_write_at_all_begin(fh, at, buf, BIG, MPI_BYTE));
	say("write_at_all_begin", at, BIG, BIG);
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_write_at_all_end(fh, buf, &s));
	must(MPI_File_seek(fh, at + 10, MPI_SEEK_SET));
	must(MPI_File_write_all_begin(fh, buf, 1000, MPI_INT));
	say("write_all_begin", at + 10, 4000, 4000);
	must(MPI_File_write_all_end(fh, buf, MPI_STATUS_IGNORE));
	must(MPI_File_write_all(fh, buf, 7, MPI_BYTE, MPI_STATUS_IGNORE));
	say("write_all", at + 4010, 7, 7);
	must(MPI_File_sync(fh));
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_sync(fh));
	must(MPI_File_read_at_all_begin(fh, at, buf, BIG, MPI_BYTE));
	say("read_at_all_begin", at, BIG, BIG);
	must(MPI_File_read_at_all_end(fh, buf, &s));
	must(MPI_File_close(&fh));
}

/* The shared pointer; the order of ranks is known for the ordered ones. */
static void shared(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "shared");
	MPI_Request q;
	MPI_Status s;

	must(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
	must(MPI_File_write_shared(fh, buf, 500 + rank, MPI_BYTE, &s));
	say("write_shared", -1, 500 + rank, 500 + rank);
	must(MPI_File_iwrite_shared(fh, buf, 64, MPI_BYTE, &q));
	say("iwrite_shared", -1, 64, 64);
	must(MPI_Wait(&q, &s));
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_write_ordered_begin(fh, buf, 100, MPI_BYTE));
	say("write_ordered_begin", -1, 100, 100);
	must(MPI_File_write_ordered_end(fh, buf, &s));
	must(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
	must(MPI_File_read_ordered(fh, buf, 50, MPI_BYTE, &s));
	say("read_ordered", -1, 50, count(&s));
	must(MPI_File_read_shared(fh, buf, 1 << 16, MPI_BYTE, &s));
	say("read_shared", -1, 1 << 16, count(&s));
	must(MPI_File_close(&fh));
}

/* Many requests of files and a message at once. */
static void requests(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "requests");
	MPI_Status s[8];
	MPI_Request q[8];
	int n = 0, got = 0;

	for (int i = 0; i < 4; i++) {
		long at = (long)(rank * 4 + i) * 3000;

		must(MPI_File_iwrite_at(fh, at, buf + i, 3000, MPI_BYTE,
					&q[n++]));
		say("iwrite_at", at, 3000, 3000);
	}
	must(MPI_File_seek(fh, BIG + rank * 800, MPI_SEEK_SET));
	must(MPI_File_iwrite(fh, buf, 400, MPI_BYTE, &q[n++]));
	say("iwrite", BIG + rank * 800, 400, 400);
	MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD,
		  &q[n++]);
	MPI_Isend(&rank, 1, MPI_INT, (rank + ranks - 1) % ranks, 3,
		  MPI_COMM_WORLD, &q[n++]);
	must(MPI_Waitall(n, q, s));
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_seek(fh, rank * 12000, MPI_SEEK_SET));
	must(MPI_File_iread(fh, buf, 2000, MPI_BYTE, &q[0]));
	say("iread", rank * 12000L, 2000, 2000);
	must(MPI_File_iread_at_all(fh, rank * 12000, buf + 4000, 1500, MPI_BYTE,
				   &q[1]));
	say("iread_at_all", rank * 12000L, 1500, 1500);
	must(MPI_Waitall(2, q, MPI_STATUSES_IGNORE));
	must(MPI_File_close(&fh));
}

/*
 * A view whose type has holes, within it and behind, memory that
 * begins before its address, and several pieces at each step.
 */
static void views(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "views");
	MPI_Datatype strided, moved, memory, early;
	int lengths[2] = {2, 2}, at[2] = {-2, 3};
	MPI_Status s;

	MPI_Type_vector(2, 5, 10, MPI_INT, &strided);
	MPI_Type_create_resized(strided, 0, 100, &moved);
	MPI_Type_commit(&moved);
	MPI_Type_indexed(2, lengths, at, MPI_INT, &early);
	MPI_Type_commit(&early);
	MPI_Type_create_resized(early, -8, 32, &memory);
	MPI_Type_commit(&memory);
	must(MPI_File_set_view(fh, 1000 + rank * 10000, MPI_INT, moved,
			       "native", MPI_INFO_NULL));
	must(MPI_File_write(fh, buf, 10, MPI_INT, &s));
	say("write", 1000 + rank * 10000, 40, 40);
	/* 10 etypes further: the second tile, 100 bytes on */
	must(MPI_File_write_all(fh, buf + 64, 5, memory, &s));
	say("write_all", 1100 + rank * 10000, 80, 80);
	/* 7 etypes in: in the second piece of the first tile, 2 behind */
	must(MPI_File_write_at(fh, 7, buf, 3, MPI_INT, &s));
	say("write_at", 1000 + rank * 10000 + 40 + 8, 12, 12);
	MPI_Barrier(MPI_COMM_WORLD);
	must(MPI_File_read_at_all(fh, 30, buf + 64, 1, memory, &s));
	say("read_at_all", 1300 + rank * 10000, 16, count(&s));
	must(MPI_File_close(&fh));
	MPI_Type_free(&strided);
	MPI_Type_free(&moved);
	MPI_Type_free(&memory);
	MPI_Type_free(&early);
}

static void groups(void)
{
	MPI_Comm half;
	char name[32];
	MPI_File fh;
	int me;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_rank(half, &me);
	snprintf(name, sizeof(name), "half.%d", rank % 2);
	fh = open_file(half, name);
	for (int i = 0; i < 3; i++) {
		long at = (i * 8 + me) * 2048L;

		must(MPI_File_write_at_all(fh, at, buf, 2048, MPI_BYTE,
					   MPI_STATUS_IGNORE));
		say("write_at_all", at, 2048, 2048);
		MPI_Barrier(half);
	}
	must(MPI_File_close(&fh));
	MPI_Comm_free(&half);
}

static void *one_thread(void *arg)
{
	long n = (long)arg;
	MPI_File fh;
	char name[32];

	snprintf(name, sizeof(name), "thread.%d.%ld", rank, n);
	fh = open_file(MPI_COMM_SELF, name);
	for (int i = 0; i < 50; i++)
		must(MPI_File_write_at(fh, i * 100L, buf, 100, MPI_BYTE,
				       MPI_STATUS_IGNORE));
	for (int i = 0; i < 50; i++)
		must(MPI_File_read(fh, buf + 65536 * n, 100, MPI_BYTE,
				   MPI_STATUS_IGNORE));
	must(MPI_File_close(&fh));
	return NULL;
}

/* Two threads in MPI-IO at once; logged when they have ended. */
static void threads(void)
{
	pthread_t t[2];
	MPI_File fh = open_file(MPI_COMM_SELF, rank ? "first.1" : "first.0");

	/* MPICH makes an operation of its own at the first open; of two threads
	 * that do so at once, one finds it half made and aborts, now and then. */
	must(MPI_File_close(&fh));
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, one_thread, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 100; i++) {
		say("write_at", i / 2 * 100L, 100, 100);
		say("read", i / 2 * 100L, 100, 100);
	}
}

/* Forked children, unknown to MPI, while a file is open. */
static void forks(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "forks");
	char name[4096];

	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();
		int fd;

		if (!pid) {
			snprintf(name, sizeof(name), "%s/child.%d.%d", folder,
				 rank, i);
			fd = open(name, O_CREAT | O_WRONLY, 0600);
			_exit(write(fd, buf, 5000) != 5000 || close(fd));
		}
		must(MPI_File_write_at(fh, (rank * 2 + i) * 10L, buf, 10,
				       MPI_BYTE, MPI_STATUS_IGNORE));
		say("write_at", (rank * 2 + i) * 10L, 10, 10);
		waitpid(pid, NULL, 0);
	}
	must(MPI_File_close(&fh));
}

static void spawn(void)
{
	char *args[] = {self[1], self[2], "spawned", NULL};
	MPI_File fh = open_file(MPI_COMM_WORLD, "parents");
	MPI_Comm children;
	int codes[2];

	must(MPI_Comm_spawn(self[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			    &children, codes));
	must(MPI_File_write_at_all(fh, rank * 100L, buf, 100, MPI_BYTE,
				   MPI_STATUS_IGNORE));
	say("write_at_all", rank * 100L, 100, 100);
	MPI_Barrier(children);
	must(MPI_File_close(&fh));
	MPI_Comm_disconnect(&children);
}

static void spawned(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "children");
	MPI_Comm parents;

	MPI_Comm_get_parent(&parents);
	must(MPI_File_write_at_all(fh, rank * 300L, buf, 300, MPI_BYTE,
				   MPI_STATUS_IGNORE));
	say("write_at_all", rank * 300L, 300, 300);
	MPI_Barrier(parents);
	must(MPI_File_close(&fh));
	MPI_Comm_disconnect(&parents);
}

/* The last rank aborts all ranks. */
static void aborts(void)
{
	MPI_File fh = open_file(MPI_COMM_WORLD, "aborts");

	for (int i = 0; i < 20; i++) {
		must(MPI_File_write_at(fh, (i * ranks + rank) * 50L, buf, 50,
				       MPI_BYTE, MPI_STATUS_IGNORE));
		say("write_at", (i * ranks + rank) * 50L, 50, 50);
	}
	fflush(told);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == ranks - 1)
		MPI_Abort(MPI_COMM_WORLD, 7);
	MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
	const char *name;
	void (*run)(void);
} what[] = {
	{"split", split},   {"shared", shared}, {"requests", requests},
	{"views", views},   {"groups", groups}, {"threads", threads},
	{"forks", forks},   {"spawn", spawn},	{"spawned", spawned},
	{"aborts", aborts},
};

int main(int argc, char **argv)
{
	int level = MPI_THREAD_SINGLE, got;
	char name[4096];

	folder = argv[1];
	self = argv;
	/* a rank execs another program before MPI_Init */
	if (!strcmp(argv[3], "split") && !getenv("AGAIN")) {
		setenv("AGAIN", "1", 1);
		execv(argv[0], argv);
	}
	if (!strcmp(argv[3], "threads"))
		level = MPI_THREAD_MULTIPLE;
	MPI_Init_thread(&argc, &argv, level, &got);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	must(got < level);
	snprintf(name, sizeof(name), "%s/%s.%d", argv[2],
		 strcmp(argv[3], "spawned") ? "say" : "spawned", rank);
	told = fopen(name, "w");
	must(!told);
	for (int arg = 3; arg < argc; arg++)
		for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
			if (!strcmp(what[i].name, argv[arg]))
				what[i].run();
	fclose(told);
	MPI_Finalize();
	return 0;
}
