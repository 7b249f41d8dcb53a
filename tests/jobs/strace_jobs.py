# SPDX-License-Identifier: MIT
"""Deterministic jobs for the oracle: strace_jobs.py JOB DIR."""
import multiprocessing
import os
import sys

FILES = 3000


def make(folder):
    for i in range(FILES):
        with open("%s/f%04d" % (folder, i), "wb") as f:
            f.write(bytes(1000 + i * 7))


def read_share(args):
    folder, share = args
    total = 0
    for i in range(share, FILES, 2):
        with open("%s/f%04d" % (folder, i), "rb") as f:
            total += len(f.read())
    return total


def workers(folder):
    """Two forked workers, each with half of the files."""
    ctx = multiprocessing.get_context("fork")
    with ctx.Pool(2, maxtasksperchild=1) as pool:
        print(sum(pool.map(read_share, [(folder, 0), (folder, 1)], 1)))


def raw(folder):
    """os.open and friends, and children that leave without cleaning up."""
    for i in range(5):
        pid = os.fork()
        if pid == 0:
            fd = os.open("%s/raw%d" % (folder, i), os.O_RDWR | os.O_CREAT)
            for k in range(100 * i):
                os.write(fd, bytes(k))
            os.lseek(fd, 0, os.SEEK_SET)
            while os.read(fd, 512):
                pass
            os._exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    {"make": make, "workers": workers, "raw": raw}[sys.argv[1]](sys.argv[2])
