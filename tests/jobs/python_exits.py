# SPDX-License-Identifier: MIT
"""Python jobs with all kinds of exits: python_exits.py CASE DATA.

Each does the same in every run: which process reads which file does not depend
on timing.
"""
import multiprocessing
import os
import signal
import sys
import threading
import time

FILES = 60


def make(folder):
    for i in range(FILES):
        with open("%s/f%02d" % (folder, i), "wb") as f:
            f.write(bytes(1000 + i * 7))


def read(folder, share, every):
    total = 0
    for i in range(share, FILES, every):
        with open("%s/f%02d" % (folder, i), "rb") as f:
            total += len(f.read())
    return total


def prepare(both):
    global barrier
    barrier = both


def read_half(args):
    barrier.wait()  # each worker gets one
    return read(*args)


def pool_sigterm_worker(folder):
    """Pool ends its workers with SIGTERM."""
    ctx = multiprocessing.get_context("fork")
    with ctx.Pool(2, prepare, (ctx.Barrier(2),)) as pool:
        print(pool.map(read_half, [(folder, 0, 2), (folder, 1, 2)], 1))


def worker(folder, share, end, last):
    print(read(folder, share, 3), flush=True)
    with open("%s/out%d" % (folder, share), "wb", 0) as f:
        for n in range(50):
            f.write(bytes(n))
        end()
    last()


def stay():
    time.sleep(60)


def leave():
    os._exit(7)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def ends(folder, method):
    """Workers that return, leave without cleaning up, and are killed."""
    ctx = multiprocessing.get_context(method)
    for share, end in enumerate((int, leave, die)):
        p = ctx.Process(target=worker, args=(folder, share, end, int))
        p.start()
        p.join()
        print(p.exitcode, flush=True)


def os_exit_worker(folder):
    ends(folder, "fork")


def kill9_worker(folder):
    ends(folder, "spawn")


def forkserver_worker(folder):
    ends(folder, "forkserver")


def daemon_threads_at_exit(folder):
    """Threads continue to read while the interpreter ends. They log their reads
    in a file, which the test compares."""
    done = [0] * 4
    files = [open("%s/f%02d" % (folder, i), "rb", 0) for i in range(4)]

    def run(i):
        while True:
            os.pread(files[i].fileno(), 100, 0)
            done[i] += 1

    for i in range(4):
        threading.Thread(target=run, args=(i,), daemon=True).start()
    while min(done) < 200:
        time.sleep(0.001)
    with open("%s/done" % folder, "w") as f:
        f.write("%d\n" % sum(done))
    print("the end")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
