# SPDX-License-Identifier: MIT
"""PyTorch jobs whose bottleneck is known: verdict_torch.py make | CASE.

storage    samples of 16 MiB, dropped from the page cache before each read
decode     samples that take CPU time to prepare
sleep      samples that sleep
writes     a step writes 2 MiB and syncs them
save       torch.save and a sync every 5 steps
numpy      numpy.savez and a sync every 5 steps
thread     the same in a thread, behind the steps
workers    a new DataLoader object, and new workers, for each epoch
compute    steps that compute, samples that cost nothing
"""
import os
import sys
import threading
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

FILES = 48
SAMPLE_BYTES = 16 << 20


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Samples(Dataset):
    def __init__(self, case, length):
        self.case = case
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if self.case == "storage":
            with open("sample%d" % (i % FILES), "rb", buffering=0) as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                f.read(SAMPLE_BYTES)
        elif self.case == "decode":
            spin(0.02)
        elif self.case == "sleep":
            time.sleep(0.05)
        return torch.ones(8) * i


def synced(path, save):
    with open(path, "wb") as f:
        save(f)
        f.flush()
        os.fsync(f.fileno())


def own_io(case, step, model, big):
    """The I/O of the stepping thread."""
    if case == "writes":
        synced("log%d" % (step % 4), lambda f: f.write(big[:2 << 20]))
    elif case == "save" and step % 5 == 0:
        synced("model.pt", lambda f: torch.save({"w": big}, f))
    elif case == "numpy" and step % 5 == 0:
        synced("model.npz", lambda f: np.savez(f, w=np.frombuffer(big, np.uint8)))
    elif case == "thread" and step % 5 == 0:
        threading.Thread(target=synced, args=(
            "model.npz", lambda f: np.savez(f, w=np.frombuffer(big, np.uint8)))).start()


def main(case):
    torch.manual_seed(0)
    big = os.urandom(16 << 20)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    samples = Samples(case, 96 if case != "workers" else 16)
    computed = {"compute": 0.05, "writes": 0.01, "workers": 0.002}.get(case, 0.02)
    if case in ("storage", "decode", "sleep"):
        computed = 0.003
    workers = {"storage": 1, "decode": 1, "sleep": 1, "workers": 4}.get(case, 0)
    loader = DataLoader(samples, batch_size=1, num_workers=workers)
    step = 0
    for epoch in range(6 if case == "workers" else 2):
        if case == "workers":
            loader = DataLoader(samples, batch_size=1, num_workers=workers)
        for batch in loader:
            loss = model(batch).mean()
            optimizer.zero_grad()
            loss.backward()
            spin(computed)
            own_io(case, step, model, big)
            optimizer.step()
            step += 1
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()


def make():
    for i in range(FILES):
        with open("sample%d" % i, "wb") as f:
            f.write(os.urandom(SAMPLE_BYTES))
            os.fsync(f.fileno())


if __name__ == "__main__":
    make() if sys.argv[1] == "make" else main(sys.argv[1])
