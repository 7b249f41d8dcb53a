#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs for the oracle that copy files below a folder in different ways: shutil,
a server that uses sendfile, splice between pipes."""
import os
import shutil
import socket
import sys


def make(folder):
    os.makedirs(folder + "/tree/sub")
    for i in range(12):
        with open("%s/tree/%sf%02d" % (folder, "sub/" * (i % 2), i), "wb") as f:
            f.write(bytes(range(256)) * (37 * i))
    os.symlink("f00", folder + "/tree/link")
    os.mkdir(folder + "/to")


def copies(folder):
    tree, to = folder + "/tree", folder + "/to"
    shutil.copyfile(tree + "/f10", to + "/one")
    shutil.copy2(tree + "/f02", to + "/two")
    shutil.copytree(tree, to + "/tree", symlinks=True)
    shutil.move(to + "/tree", folder + "/moved")
    shutil.rmtree(folder + "/moved")


def serve(folder):
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        parts = list(iter(lambda: theirs.recv(65536), b""))
        with open(folder + "/to/received", "wb", buffering=0) as f:
            f.write(b"".join(parts))
        os._exit(0)
    theirs.close()
    for name in sorted(os.listdir(folder + "/tree")):
        path = folder + "/tree/" + name
        if not os.path.isfile(path):
            continue
        with open(path, "rb", buffering=0) as f:
            size, at = os.fstat(f.fileno()).st_size, 0
            while at < size:
                at += os.sendfile(ours.fileno(), f.fileno(), at, 3000)
    ours.close()
    os.wait()


def splice(folder):
    r, w = os.pipe()
    with open(folder + "/tree/f10", "rb", buffering=0) as f, \
            open(folder + "/to/spliced", "wb", buffering=0) as to:
        while True:
            n = os.splice(f.fileno(), w, 4096)
            if not n:
                break
            while n:
                n -= os.splice(r, to.fileno(), n)
        os.copy_file_range(f.fileno(), to.fileno(), 1000, offset_src=7)


if __name__ == "__main__":
    globals()[sys.argv[1]](os.path.realpath(sys.argv[2]))
