/* SPDX-License-Identifier: MIT */
/* Made the sample merged3 under Recorder and program.strace under strace. */
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int rank, ranks, value[1000];
	char name[64], text[4096];
	MPI_File fh;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int i = 0; i < 1000; i++)
		value[i] = i * (rank + 1);
	snprintf(name, sizeof(name), "rank%d.bin", rank);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 50; i++)
		if (write(fd, value, 400) != 400)
			return 1;
	lseek(fd, 800, SEEK_SET);
	for (int i = 0; i < 20; i++)
		if (read(fd, text, 1000) != (i < 19 ? 1000 : 200))
			break;
	if (pread(fd, text, 100, 5000) != 100)
		return 1;
	if (pwrite(fd, text, 100, 20000) != 100)
		return 1;
	fsync(fd);
	close(fd);
	FILE *f = fopen(name, "r");
	while (fread(text, 8, 100, f) == 100)
		;
	fclose(f);
	MPI_File_open(MPI_COMM_WORLD, "shared.bin",
		      MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh);
	MPI_File_write_at_all(fh, rank * 4000, value, 1000, MPI_INT,
			      MPI_STATUS_IGNORE);
	MPI_File_read_at(fh, rank * 4000, value, 1000, MPI_INT,
			 MPI_STATUS_IGNORE);
	MPI_File_close(&fh);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		hsize_t n = 1000;
		hid_t file = H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT,
				       H5P_DEFAULT);
		hid_t space = H5Screate_simple(1, &n, NULL);
		hid_t set = H5Dcreate2(file, "set", H5T_NATIVE_INT, space,
				       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
			 value);
		H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
			value);
		H5Dclose(set);
		H5Sclose(space);
		H5Fclose(file);
	}
	unlink(name);
	MPI_Finalize();
	return 0;
}
