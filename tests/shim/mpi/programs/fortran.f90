! SPDX-License-Identifier: MIT
! MPI-IO from Fortran: one collective write and one read in each rank.
program fortran
  use mpi
  implicit none
  integer :: ierr, fh, rank, buf(1000), st(MPI_STATUS_SIZE)
  integer(kind=MPI_OFFSET_KIND) :: off
  character(len=400) :: name
  call get_command_argument(1, name)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_File_open(MPI_COMM_WORLD, trim(name), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, fh, ierr)
  off = rank * 4000
  buf = rank
  call MPI_File_write_at_all(fh, off, buf, 1000, MPI_INTEGER, st, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_read_at(fh, off, buf, 500, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  call MPI_File_close(fh, ierr)
  call MPI_Finalize(ierr)
end program
