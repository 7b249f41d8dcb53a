! SPDX-License-Identifier: MIT
! MPI-IO by the Fortran 2008 binding. Argument: the folder of the data.
program blocks
	use mpi_f08
	implicit none
	type(MPI_File) :: fh
	type(MPI_Status) :: status
	integer :: rank
	integer(kind=MPI_OFFSET_KIND) :: at
	integer :: buf(1000)
	character(len=4096) :: folder

	call get_command_argument(1, folder)
	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	buf = rank
	at = rank * 4000
	call MPI_File_open(MPI_COMM_WORLD, trim(folder) // '/f08', &
		MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh)
	call MPI_File_write_at_all(fh, at, buf, 1000, MPI_INTEGER, status)
	call MPI_Barrier(MPI_COMM_WORLD)
	call MPI_File_read_at(fh, at, buf, 500, MPI_INTEGER, MPI_STATUS_IGNORE)
	call MPI_File_close(fh)
	write (*, '(i0,a)') rank, ' wrote 4000 read 2000'
	call MPI_Finalize()
end program
