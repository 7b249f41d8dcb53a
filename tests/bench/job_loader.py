# SPDX-License-Identifier: MIT
"""A training's input: job_loader.py make|run|turns DIR [EPOCHS]. PyTorch's DataLoader
with two forked workers over 3,000 small files, half of them .npy.

epochs.py describes the output of "run" and "turns". malloc keeps its memory: else
half of the CPU time would be page faults, whose number varies."""
import ctypes
import os
import sys

import numpy

from epochs import HOW

FILES = 3000


def make(folder):
    os.makedirs(folder, exist_ok=True)
    rng = numpy.random.default_rng(1)
    for i in range(FILES):
        data = rng.integers(0, 255, 20000 + i % 7 * 8000, dtype=numpy.uint8)
        if i % 2:
            numpy.save("%s/%d.npy" % (folder, i), data)
        else:
            data.tofile("%s/%d.bin" % (folder, i))


def keep_memory():
    for option in (-1, -3):  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
        ctypes.CDLL(None).mallopt(option, 1 << 30)


def run(folder, epochs):
    keep_memory()
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Files(Dataset):
        def __len__(self):
            return FILES

        def __getitem__(self, i):
            if i % 2:
                a = numpy.load("%s/%d.npy" % (folder, i))
            else:
                with open("%s/%d.bin" % (folder, i), "rb") as f:
                    a = numpy.frombuffer(f.read(), numpy.uint8)
            return torch.from_numpy(a[:4096].astype(numpy.float32)).view(64, 64)

    torch.set_num_threads(1)
    model = torch.nn.Conv2d(1, 8, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    loader = DataLoader(Files(), batch_size=32, num_workers=2,
                        multiprocessing_context="fork")
    for _ in epochs:
        for x in loader:
            optimizer.zero_grad()
            model(x.unsqueeze(1)).square().mean().backward()
            optimizer.step()


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        run(sys.argv[2], HOW[sys.argv[1]](int(sys.argv[3])))
