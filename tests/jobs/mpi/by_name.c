/* SPDX-License-Identifier: MIT */
/*
 * A program that loads MPI at run time: dlopen() and dlsym(), without a
 * header of MPI. Arguments: the folder of the data, the library, the mode of
 * dlopen(): lazy, global or deep.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *from;

static void *find(const char *name)
{
	void *p = dlsym(from, name);

	if (!p) {
		printf("no %s\n", name);
		exit(1);
	}
	return p;
}

typedef int on_comm(void *, int *);
typedef int open_file(void *, const char *, int, void *, void **);
typedef int write_at(void *, int64_t, void *, int, void *, void *);

int main(int argc, char **argv)
{
	static char buf[4096];
	void *world = (void *)0x44000000, *byte = (void *)0x4c00010d;
	void *info = (void *)0x1c000000, *ignore = (void *)1, *fh;
	int flags = RTLD_LAZY | RTLD_LOCAL, rank, bad;
	char path[4096];

	if (argc > 3 && !strcmp(argv[3], "global"))
		flags = RTLD_NOW | RTLD_GLOBAL;
	if (argc > 3 && !strcmp(argv[3], "deep"))
		flags = RTLD_NOW | RTLD_DEEPBIND;
	from = dlopen(argv[2], flags);
	if (!from) {
		puts(dlerror());
		return 1;
	}
	if (flags & RTLD_GLOBAL)
		from = RTLD_DEFAULT;
	if (dlsym(from, "ompi_mpi_comm_world")) {
		world = find("ompi_mpi_comm_world");
		byte = find("ompi_mpi_byte");
		info = find("ompi_mpi_info_null");
		ignore = NULL;
	}
	((int (*)(void *, void *))find("MPI_Init"))(NULL, NULL);
	((on_comm *)find("MPI_Comm_rank"))(world, &rank);
	snprintf(path, sizeof(path), "%s/by_name", argv[1]);
	bad = ((open_file *)find("MPI_File_open"))(world, path, 1 | 8, info,
						   &fh);
	bad |= ((write_at *)find("MPI_File_write_at_all"))(fh, rank * 4096, buf,
							   4096, byte, ignore);
	bad |= ((write_at *)find("MPI_File_read_at"))(fh, rank * 4096, buf, 100,
						      byte, ignore);
	((int (*)(void **))find("MPI_File_close"))(&fh);
	((int (*)(void *))find("MPI_Barrier"))(world);
	if (!bad)
		printf("%d wrote 4096 read 100\n", rank);
	fflush(stdout);
	((int (*)(void))find("MPI_Finalize"))();
	return bad;
}
