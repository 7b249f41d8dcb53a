# SPDX-License-Identifier: MIT
"""MPI-IO through ctypes. Arguments: the folder of the data, the library."""
import ctypes
import sys

mpi = ctypes.CDLL(sys.argv[2])


def handle(name, number):
    """Handles are addresses in Open MPI and numbers in MPICH."""
    try:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
    except ValueError:
        return ctypes.c_int(number)


world = handle("ompi_mpi_comm_world", 0x44000000)
byte = handle("ompi_mpi_byte", 0x4c00010d)
info = handle("ompi_mpi_info_null", 0x1c000000)
rank, fh = ctypes.c_int(), ctypes.c_void_p()
buf, status = ctypes.create_string_buffer(8192), ctypes.create_string_buffer(64)
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
assert not mpi.MPI_File_open(world, (sys.argv[1] + "/ctypes").encode(), 1 | 8,
                             info, ctypes.byref(fh))
at = ctypes.c_longlong(rank.value * 8192)
assert not mpi.MPI_File_write_at_all(fh, at, buf, 8192, byte, status)
assert not mpi.MPI_File_read_at(fh, at, buf, 1000, byte, status)
mpi.MPI_File_close(ctypes.byref(fh))
mpi.MPI_Barrier(world)
# In one write: lines of two ranks must not mix.
sys.stdout.write("%d wrote 8192 read 1000\n" % rank.value)
sys.stdout.flush()
mpi.MPI_Finalize()
