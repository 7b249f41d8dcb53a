# SPDX-License-Identifier: MIT
"""HDF5 files in chunks, contiguous and compressed, written, read and resized."""
import h5py
import numpy

a = numpy.arange(200000, dtype="f8").reshape(500, 400)
with h5py.File("a.h5", "w") as f:
    f["plain"] = a
    f.create_dataset("chunks", data=a, chunks=(50, 40))
    f.create_dataset("gzip", data=a, chunks=(100, 400), compression="gzip")
    f.create_dataset("grows", shape=(10, 400), maxshape=(None, 400), chunks=(10, 400))
    for i in range(1, 20):
        f["grows"].resize((10 * i, 400))
        f["grows"][10 * (i - 1):] = a[:10] * i
with h5py.File("a.h5", "r") as f:
    print(f["plain"][::50, ::40].sum(), f["chunks"][100:130, 7].sum())
    print(f["gzip"][499].sum(), f["grows"].shape)
with h5py.File("a.h5", "r+", libver="latest") as f:
    del f["plain"]
    f["chunks"][:] = 1
