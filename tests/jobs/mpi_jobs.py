#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MPI jobs of the tests: mpi_jobs.py mpi4py|h5py DIR, under mpirun.

Rank 0 prints the bytes that each rank asked of MPI-IO, computed without ioreel.
"""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD


def by_mpi4py(folder):
    """Interleaved blocks of the ranks, written and read collectively."""
    block = np.full(65536, comm.rank, "f8")
    f = MPI.File.Open(comm, folder + "/blocks.bin",
                      MPI.MODE_CREATE | MPI.MODE_RDWR)
    for i in range(4):
        f.Write_at_all((i * comm.size + comm.rank) * block.nbytes, block)
    f.Sync()
    f.Seek(comm.rank * block.nbytes)
    got = np.empty_like(block)
    f.Read(got)
    f.Close()
    assert (got == block).all()
    return 4 * block.nbytes, block.nbytes


def by_h5py(folder):
    """One data set, a row per rank, written and read collectively."""
    import h5py
    row = np.full(1 << 18, comm.rank, "f4")
    with h5py.File(folder + "/rows.h5", "w", driver="mpio", comm=comm) as f:
        data = f.create_dataset("rows", (comm.size, len(row)), dtype="f4")
        with data.collective:
            data[comm.rank, :] = row
    with h5py.File(folder + "/rows.h5", "r", driver="mpio", comm=comm) as f:
        with f["rows"].collective:
            got = f["rows"][comm.rank, :]
    assert (got == row).all()
    return row.nbytes, row.nbytes


if __name__ == "__main__":
    job = {"mpi4py": by_mpi4py, "h5py": by_h5py}[sys.argv[1]]
    moved = job(sys.argv[2])
    comm.Barrier()
    if comm.rank == 0:
        print("wrote %d read %d" % moved)
