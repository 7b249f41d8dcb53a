#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs for the oracle that name files relative to a folder's descriptor; make:
write the tree that they and the tools of strace_names.t walk."""
import os
import shutil
import socket
import stat
import subprocess
import sys

FOLDERS = ("", "one", "one/two", "one/two/three", "four", "four/share", "empty")


def make(folder):
    for i, name in enumerate(FOLDERS):
        path = os.path.join(folder, "tree", name)
        os.makedirs(path)
        for k in range(3 if name != "empty" else 0):
            with open("%s/f%d" % (path, k), "wb") as f:
                f.write(b"a word or two\n" * (100 * i + 30 * k + 1))
    os.symlink("nowhere", folder + "/tree/link")
    os.mkdir(folder + "/to")
    # Code, with data files among it.
    for name in "x", "x/y", "x/y/z":
        os.makedirs(folder + "/lib/python3/" + name)
        for k in "code", "data.npy":
            with open("%s/lib/python3/%s/%s" % (folder, name, k), "w") as f:
                f.write("a word or two\n" * 100 * len(name))


def read_at(at, name):
    fd = os.open(name, os.O_RDONLY, dir_fd=at)
    while os.read(fd, 1000):
        pass
    os.close(fd)


def fwalk(folder):
    for _top, _folders, files, at in os.fwalk(folder + "/tree"):
        for name in sorted(files):
            if stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                read_at(at, name)


def rmtree(folder):
    shutil.rmtree(folder + "/tree/one")


def copytree(folder):
    """Copy each file to a folder and rename it there, by descriptors."""
    lib = folder + "/lib/python3"
    for top, _folders, files, at in os.fwalk(lib):
        to = os.path.join(folder, "to", os.path.relpath(top, lib))
        os.makedirs(to, exist_ok=True)
        to_at = os.open(to, os.O_RDONLY | os.O_DIRECTORY)
        for name in files:
            fd = os.open(name, os.O_RDONLY, dir_fd=at)
            new = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=to_at)
            os.write(new, os.read(fd, 1 << 20))
            os.close(fd)
            os.close(new)
            os.rename(name + ".tmp", name, src_dir_fd=to_at, dst_dir_fd=to_at)
            os.stat(name, dir_fd=to_at)
        os.close(to_at)


def calls(folder):
    """Each call that takes the descriptor of a folder, by descriptors of all kinds."""
    tree = folder + "/tree"
    path = os.open(tree + "/one", os.O_PATH)
    one = os.dup(path)
    four = os.open("four", os.O_RDONLY, dir_fd=os.open(tree, os.O_RDONLY | os.O_DIRECTORY))
    read_at(path, "f0")
    read_at(one, "two/three/f1")
    read_at(one, "./two/../f2")
    read_at(four, "share/f0")
    os.mkdir("made", dir_fd=four)
    os.symlink("../f0", "made/sym", dir_fd=four)
    os.stat("made/sym", dir_fd=four)
    os.readlink("../link", dir_fd=four)
    os.link("f0", "made/hard", src_dir_fd=one, dst_dir_fd=four)
    os.rename("made/hard", "moved", src_dir_fd=four, dst_dir_fd=one)
    os.access("moved", os.R_OK, dir_fd=one)
    os.stat("moved", dir_fd=one)
    os.unlink("moved", dir_fd=one)
    os.unlink("made/sym", dir_fd=four)
    os.rmdir("made", dir_fd=four)
    os.mkfifo("pipe", dir_fd=four)
    os.unlink("pipe", dir_fd=four)
    for name, at in (("none", one), ("f0/below", one), ("below", 99)):
        try:
            read_at(at, name)
        except OSError as e:
            print(e.errno)
    print(len(os.listdir(four)), len(os.listdir(four)))
    # A descriptor number that is reused for another folder, and a dup2 over
    # one.
    os.close(four)
    again = os.open(tree + "/one/two", os.O_RDONLY)
    print(again == four)
    read_at(again, "f1")
    os.dup2(one, again)
    read_at(again, "f1")
    # A folder that is renamed while it is open.
    os.rename(tree + "/one", tree + "/five")
    read_at(again, "f1")
    os.rename(tree + "/five", tree + "/one")
    read_at(again, "f1")


def received(folder):
    """Descriptors that the process did not open: passed, and inherited by exec."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        for name in "one", "four", "one/two":
            fd = socket.recv_fds(theirs, 1, 1)[1][0]
            read_at(fd, "f1")
            print(name, os.listdir(fd) != [])
            sys.stdout.flush()
            os.close(fd)
        os._exit(0)
    for name in "one", "four", "one/two":
        fd = os.open(folder + "/tree/" + name, os.O_RDONLY)
        socket.send_fds(ours, [b"x"], [fd])
        os.close(fd)
    os.wait()
    fd = os.open(folder + "/tree/four/share", os.O_PATH)
    subprocess.run([sys.executable, "-S", __file__, "inherited", folder, str(fd)],
                   pass_fds=[fd], check=True)


def inherited(_folder):
    read_at(int(sys.argv[3]), "f2")


if __name__ == "__main__":
    globals()[sys.argv[1]](os.path.realpath(sys.argv[2]))
