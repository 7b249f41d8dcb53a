# SPDX-License-Identifier: MIT
"""Collective, independent and shared-pointer I/O of two ranks, by mpi4py."""
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
block = bytes([rank + 65]) * 50000
f = MPI.File.Open(comm, "data.bin", MPI.MODE_RDWR | MPI.MODE_CREATE)
f.Set_size(0)
for i in range(5):
    f.Write_at_all((i * size + rank) * len(block), block)
    f.Write_at((i * size + rank) * len(block) + 7, b"individual")
f.Sync()
comm.Barrier()
back = bytearray(len(block))
total = 0
for i in range(5):
    f.Read_at_all((i * size + 1 - rank) * len(block), back)
    total += sum(back)
filetype = MPI.BYTE.Create_vector(10, 100, 200).Commit()
f.Set_view(rank * 100, MPI.BYTE, filetype)
f.Write_all(b"v" * 1000)
f.Close()
try:
    MPI.File.Open(comm, "no/such/file", MPI.MODE_RDONLY)
except MPI.Exception as e:
    total += e.Get_error_class() != 0
for line in comm.gather("rank %d read %d" % (rank, total)) or []:
    print(line)
