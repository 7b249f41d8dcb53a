# SPDX-License-Identifier: MIT
"""Jobs whose results depend on the order of their threads, or on unusual files:
thread_jobs.py JOB, in an empty folder."""
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time


def in_turn(steps):
    """Run each step in a thread of its own, one after the other, many times."""
    turn = [threading.Semaphore(0) for _ in steps]

    def run(i):
        for k in range(30):
            turn[i].acquire()
            steps[i](k)
            turn[(i + 1) % len(steps)].release()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(steps))]
    for t in threads:
        t.start()
    turn[0].release()
    for t in threads:
        t.join()


def truncate():
    """One thread truncates and writes, another reads through a third one's descriptor.
    None is closed: a reuse of its number would order the calls, too."""
    held = {}

    def write(k):
        with open("f", "wb", buffering=0) as f:
            f.write(bytes(400 + k))

    def open_file(k):
        held[k] = os.open("f", os.O_RDONLY)

    def reads(k):
        for i in range(40):
            os.pread(held[k], 300 + i, 0)

    in_turn([write, open_file, reads])


def mapping():
    """One thread maps, a second one changes, a third one unmaps."""
    held = {}

    def makes(k):
        fd = os.open("m%d" % k, os.O_RDWR | os.O_CREAT)
        os.posix_fallocate(fd, 0, 65536)
        held[k] = fd, mmap.mmap(fd, 65536)

    def changes(k):
        held[k][1][5000:5010] = b"x" * 10
        os.pread(held[k][0], 65536, 0)

    def ends(k):
        fd, m = held.pop(k)
        m.close()
        os.close(fd)

    in_turn([makes, changes, ends])


def hole():
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, b"x" * 4096, 1 << 20)
    print(os.lseek(fd, 0, os.SEEK_DATA), os.lseek(fd, 1 << 20, os.SEEK_HOLE))


def links():
    for name in "abc", "l", "m":
        with open(name, "w") as f:
            f.write(name)
    subprocess.run(["sh", "-c", "ln -s l n"], check=True)
    os.symlink("abc", "latest")
    print(os.readlink("latest"), os.readlink("n"), open("latest").read())
    os.mkdir("d")
    os.rename("abc", "d/abc")
    os.symlink("d/abc", "below")
    print(os.readlink("below"), open("below").read())


def missing_names():
    """An empty and a missing name, and the empty name for a descriptor."""
    for path in "", "nothing":
        try:
            os.stat(path)
        except OSError as e:
            print(e.errno)
    fd = os.open(".", os.O_RDONLY)
    os.stat(fd)


def reused_fd():
    """A pipe gets the number of a thread's closed file, and a child inherits it."""
    with open("big", "wb") as f:
        f.write(bytes(1 << 20))

    opened, used, fds = threading.Event(), threading.Event(), []

    def reader():
        fds.append(os.open("big", os.O_RDONLY))
        opened.set()
        used.wait()
        for _ in range(400):
            os.pread(fds[0], 1 << 20, 0)
        os.close(fds[0])

    thread = threading.Thread(target=reader)
    thread.start()
    opened.wait()
    os.fsync(fds[0])  # so that this thread follows the other's open
    used.set()
    thread.join()
    r, w = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(w)
        os._exit(os.read(r, 4) != b"next")
    os.close(r)
    os.write(w, b"next")
    os.waitpid(pid, 0)


def inherited_fd():
    """A child inherits a descriptor that a thread of its parent closes after the fork."""
    fd, forked = os.open("big", os.O_RDONLY), threading.Event()

    def closer():
        forked.wait()
        os.close(fd)

    thread = threading.Thread(target=closer)
    thread.start()
    with open("other", "rb") as f:
        for _ in range(4000):
            os.pread(f.fileno(), 100000, 0)
    pid = os.fork()
    if not pid:
        os.close(fd)
        os._exit(0)
    forked.set()
    thread.join()
    os.waitpid(pid, 0)


def bound_socket():
    """bind() makes a socket, which is not recorded; another program makes a file."""
    s = socket.socket(socket.AF_UNIX)
    os.mkdir("d")
    s.bind("d/listener")
    os.access("d/listener", os.F_OK)
    subprocess.run(["sh", "-c", ": >empty"], check=True)
    with open("empty") as f:
        f.read()


def rebound_socket():
    """A socket is found by stat(), removed and bound again, as in servers."""
    for _ in range(3):
        try:
            os.stat("listener")
            os.unlink("listener")
        except FileNotFoundError:
            pass
        socket.socket(socket.AF_UNIX).bind("listener")


def appearing_socket():
    """A socket that is missing at first, then bound, in an empty directory."""
    try:
        os.stat("listener")
    except FileNotFoundError:
        socket.socket(socket.AF_UNIX).bind("listener")
    os.stat("listener")


def unlinked_output():
    """An unlinked file is the output of a program, then the input of another."""
    with tempfile.TemporaryFile(dir=".") as f:
        subprocess.run(["sh", "-c", "echo hello; cat big; cat big"], stdout=f)
        f.seek(0)
        print(len(f.read()))
        f.seek(0)
        subprocess.run(["cat"], stdin=f, stdout=subprocess.DEVNULL)


def existing_files():
    """Existing files are opened with O_CREAT, and are longer than the written bytes."""
    fd = os.open("big", os.O_RDWR | os.O_CREAT)
    print(len(os.read(fd, 4096)), os.write(fd, b""))
    print(os.lseek(fd, 70000, os.SEEK_DATA))
    fd = os.open("other", os.O_RDWR | os.O_CREAT)
    print(os.write(fd, b"head"), len(os.read(fd, 80000)))


def seek_data():
    """SEEK_DATA before and after another process truncates the file."""
    fd = os.open("big", os.O_RDWR)
    pid = os.fork()
    if not pid:
        time.sleep(0.4)
        os.ftruncate(fd, 100)
        os._exit(0)
    for i in range(3000):
        os.lseek(fd, 50000, os.SEEK_DATA)
    os.waitpid(pid, 0)


def copytruncate():
    """A log: one thread copies and truncates it, two append, another one reads.
    Each has opened it before, and none closes it."""
    held = [os.open("log", os.O_RDWR | os.O_CREAT | os.O_APPEND) for _ in range(4)]

    def copies(k):
        for i in range(20):
            os.pread(held[0], 4096, 0)
        os.ftruncate(held[0], 0)

    def appends(k):
        os.write(held[1], b"x" * (20 + k))

    def more(k):
        os.write(held[2], b"y" * (10 + k))

    def reads(k):
        for i in range(5):
            os.pread(held[3], 100 + i, 0)

    in_turn([copies, appends, reads, more])


def write_in_flight():
    """Bytes of a large write are read before the write returns."""
    fd, size = os.open("f", os.O_CREAT | os.O_RDWR), 64 << 20
    seen = os.pread(fd, 1000, 0)
    writer = threading.Thread(target=os.pwrite, args=(fd, bytes(size), 0))
    writer.start()
    while len(seen) < 1000:
        seen = os.pread(fd, 1000, 0)
    writer.join()


def renamed_file():
    """One thread opens, a second one writes, a third one renames, a fourth one reads."""
    held = {}

    def opens(k):
        held[k] = os.open("f.tmp", os.O_CREAT | os.O_WRONLY)

    def writes(k):
        for i in range(50):
            os.write(held[k], bytes(1000))

    def reads(k):
        with open("f", "rb", buffering=0) as f:
            f.read(100000)

    in_turn([opens, writes, lambda k: os.rename("f.tmp", "f"), reads])


def renamed_dir():
    """One thread renames a directory; others use files below it, by both names."""
    def makes(k):
        os.makedirs("tmp/a/b")
        for i in range(20):
            with open("tmp/a/b/f%d" % i, "wb") as f:
                f.write(bytes(1000))

    def missed(k):
        try:
            os.stat("t/a/b/f0")
        except FileNotFoundError:
            pass

    def reads(top):
        for i in range(10):
            with open(top + "/a/b/f%d" % i, "rb") as f:
                f.read()

    def removes(k):
        for i in range(20):
            os.unlink("t/a/b/f%d" % i)
        os.removedirs("t/a/b")

    in_turn([makes, missed, lambda k: reads("tmp"), lambda k: os.rename("tmp", "t"),
             lambda k: reads("t"), removes, missed])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
