/* SPDX-License-Identifier: MIT */
/*
 * One data set in HDF5, a row for each rank: written collectively, read
 * independently. Arguments: the folder. Each rank prints the bytes it moved.
 */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

#define WIDE 65536

static float row[WIDE];

static void move(hid_t set, int rank, int write, H5FD_mpio_xfer_t how)
{
	hsize_t from[2] = {(hsize_t)rank, 0}, part[2] = {1, WIDE};
	hid_t file = H5Dget_space(set), memory, list;

	memory = H5Screate_simple(2, part, NULL);
	list = H5Pcreate(H5P_DATASET_XFER);
	H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, part, NULL);
	H5Pset_dxpl_mpio(list, how);
	if (write)
		H5Dwrite(set, H5T_NATIVE_FLOAT, memory, file, list, row);
	else
		H5Dread(set, H5T_NATIVE_FLOAT, memory, file, list, row);
	H5Pclose(list);
	H5Sclose(memory);
	H5Sclose(file);
}

int main(int argc, char **argv)
{
	hid_t list, file, space, set;
	hsize_t size[2];
	char name[4096];
	int rank, ranks;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	snprintf(name, sizeof(name), "%s/set.h5", argv[1]);
	list = H5Pcreate(H5P_FILE_ACCESS);
	H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL);
	file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, list);
	size[0] = (hsize_t)ranks;
	size[1] = WIDE;
	space = H5Screate_simple(2, size, NULL);
	set = H5Dcreate2(file, "rows", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
			 H5P_DEFAULT, H5P_DEFAULT);
	move(set, rank, 1, H5FD_MPIO_COLLECTIVE);
	H5Dclose(set);
	H5Sclose(space);
	H5Fclose(file);
	file = H5Fopen(name, H5F_ACC_RDONLY, list);
	set = H5Dopen2(file, "rows", H5P_DEFAULT);
	move(set, rank, 0, H5FD_MPIO_INDEPENDENT);
	H5Dclose(set);
	H5Fclose(file);
	H5Pclose(list);
	printf("%d wrote %zu read %zu\n", rank, sizeof(row), sizeof(row));
	MPI_Finalize();
	return 0;
}
