! SPDX-License-Identifier: MIT
! MPI-IO by the oldest Fortran binding, mpif.h. Argument: the folder of the data.
program blocks
	implicit none
	include 'mpif.h'
	integer :: fh, rank, ierr, status(MPI_STATUS_SIZE)
	integer(kind=MPI_OFFSET_KIND) :: at
	integer :: buf(1000)
	character(len=4096) :: folder

	call get_command_argument(1, folder)
	call MPI_INIT(ierr)
	call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
	buf = rank
	at = rank * 4000
	call MPI_FILE_OPEN(MPI_COMM_WORLD, trim(folder) // '/mpif', &
		MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
	call MPI_FILE_WRITE_AT_ALL(fh, at, buf, 1000, MPI_INTEGER, status, ierr)
	call MPI_BARRIER(MPI_COMM_WORLD, ierr)
	call MPI_FILE_READ_AT(fh, at, buf, 500, MPI_INTEGER, &
		MPI_STATUS_IGNORE, ierr)
	call MPI_FILE_CLOSE(fh, ierr)
	write (*, '(i0,a)') rank, ' wrote 4000 read 2000'
	call MPI_FINALIZE(ierr)
end program
