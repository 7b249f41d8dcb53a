/* SPDX-License-Identifier: MIT */
/*
 * The MPI library of the process, as bind.c found it, and its error codes.
 */
#include "preload/mpi/mpi.h"

struct shim_mpi_real mpi_real;
struct shim_mpi mpi;

int shim_mpi_errno(int code)
{
	/* MPICH's class, Open MPI's and MPI 5's, ours */
	static const int class_of[][3] = {
		{20, 20, EACCES}, /* ACCESS */
		{25, 28, EEXIST}, /* FILE_EXISTS */
		{36, 41, ENOSPC}, /* NO_SPACE */
		{37, 42, ENOENT}, /* NO_SUCH_FILE */
		{39, 44, EDQUOT}, /* QUOTA */
		{40, 45, EROFS},  /* READ_ONLY */
	};
	int class_ = 0;

	if (!code)
		return 0;
	if (mpi.Error_class && mpi.Error_class(code, &class_))
		class_ = 0;
	for (size_t i = 0; i < sizeof(class_of) / sizeof(class_of[0]); i++)
		if (class_ == class_of[i][mpi.kind != MPI_MPICH])
			return class_of[i][2];
	return EIO;
}
