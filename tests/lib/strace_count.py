#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count calls on files below a directory, per process or per file.

  strace_count.py strace DIR COLUMNS FILE...   files of strace -ff -y -o F
  strace_count.py events DIR COLUMNS           ioreel sql's TSV, on stdin

Prints a sorted line of COLUMNS for each process with calls, without the process
id, which differs between two runs. With --paths first, a line for each path: DIR
then includes the directory itself, and the path of an open is strace's path of
the new descriptor. The one thing to know: strace must write a file per thread
(-ff); in one file concurrent calls are split and get lost.
"""
import os
import re
import sys

OPEN = {"open", "openat", "openat2", "creat", "mkstemp", "fopen", "freopen", "opendir"}
# Arguments of a copy: the descriptor read from, the descriptor written to.
COPY = {"copy_file_range": (0, 2), "splice": (0, 2), "sendfile": (1, 0),
        "sendfile64": (1, 0)}
READ = {"read", "pread", "pread64", "readv", "preadv", "preadv2",
        "fread", "fgets", "getline", "stdio_read"}
WRITE = {"write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev2", "fwrite",
         "stdio_write"}
SEEK = {"lseek", "_llseek"}
CLOSE = {"close", "fclose", "closedir"}
STAT = {"stat", "lstat", "fstat", "fstatat", "newfstatat", "statx"}
NAMES = {"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir",
         "mkdirat", "remove"}
LINK = {"link", "linkat", "symlink", "symlinkat"}
ACCESS = {"access", "faccessat", "faccessat2", "readlink", "readlinkat"}
SYNC = {"fsync", "fdatasync"}
TRUNCATE = {"truncate", "ftruncate"}
GROUPS = {"opens": OPEN, "reads": READ, "writes": WRITE, "seeks": SEEK,
          "closes": CLOSE, "stats": STAT, "names": NAMES, "syncs": SYNC,
          "truncates": TRUNCATE, "links": LINK, "accesses": ACCESS}

LINE = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)(<.*?>)?(?: (E[A-Z0-9]+).*| \(.*)?$")
FD = re.compile(r"^(?:-?\d+|AT_FDCWD)<((?:[^>\\]|\\.)*)>")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


class Count(dict):
    """Counts of one process."""

    def add(self, key, n=1):
        self[key] = self.get(key, 0) + n

    def copy(self, side, result):
        if result >= 0:
            self.add("copies_" + side)
            self.add("copied_%s_bytes" % side, result)

    def call(self, name, result, failed):
        for key, group in GROUPS.items():
            if name in group:
                self.add(key)
                if failed:
                    self.add("failed_" + key)
        if name in READ and result > 0:
            self.add("read_bytes", result)
        if name in WRITE and result > 0:
            self.add("write_bytes", result)


def below(folder, path, itself):
    return path.startswith(folder + "/") or (itself and path == folder)


def path_of(args):
    """The file that a call names: its descriptor's, or under it a path."""
    fd, base = FD.match(args), ""
    if fd:
        base = fd.group(1)
        args = args[fd.end():].lstrip(", ")
    text = STRING.match(args)
    if fd and not text:
        return base
    name = text.group(1) if text else ""
    return os.path.normpath(os.path.join(base or os.getcwd(), name))


def count_strace(folder, files, by_path):
    processes, leader, children = {}, {}, []
    parsed = []
    for f in files:
        tid = int(f.rsplit(".", 1)[1])
        with open(f, errors="replace") as lines:
            for line in lines:
                m = LINE.match(line.rstrip("\n"))
                if not m:
                    continue
                name, args, result = m.group(1), m.group(2), m.group(3)
                if name in ("clone", "clone3", "fork", "vfork"):
                    if "CLONE_THREAD" in args and result.isdigit():
                        children.append((int(result), tid))
                    continue
                if name in OPEN and m.group(4):
                    args = result + m.group(4)
                parsed.append((tid, name, args, result, m.group(5)))
    leader.update(children)

    def count(tid, path):
        while tid in leader:
            tid = leader[tid]
        return processes.setdefault(path if by_path else tid, Count())

    for tid, name, args, result, error in parsed:
        if name.startswith("symlink"):
            args = args.split(", ", 1)[1]  # behind the target
        if name in COPY:
            fds = [FD.match(a) for a in args.split(", ")]
            for side, i in zip(("in", "out"), COPY[name]):
                if fds[i] and below(folder, fds[i].group(1), by_path):
                    count(tid, fds[i].group(1)).copy(side, int(result, 0))
            continue
        path = path_of(args)
        if below(folder, path, by_path):
            n = int(result, 0) if result != "?" else 0
            count(tid, path).call(name, n, error)
    return processes


def count_events(folder, lines, by_path):
    processes = {}
    head = next(lines).rstrip("\n").split("\t")
    for line in lines:
        row = dict(zip(head, line.rstrip("\n").split("\t")))
        if not below(folder, row["path"], by_path):
            continue
        count = processes.setdefault(row["path" if by_path else "pid"], Count())
        if row["call"] in COPY or row["call"] == "copy_out":
            count.copy("out" if row["call"] == "copy_out" else "in",
                       int(row["result"]))
            continue
        count.call(row["call"], int(row["result"]), int(row["errno"] or 0))
    return processes


def main(argv):
    by_path = argv[1] == "--paths"
    argv = argv[by_path:]
    folder, columns = os.path.realpath(argv[2]), argv[3].split(",")
    if argv[1] == "strace":
        processes = count_strace(folder, argv[4:], by_path)
    else:
        processes = count_events(folder, sys.stdin, by_path)
    rows = ["\t".join([key] * by_path + ["%s %d" % (c, p.get(c, 0)) for c in columns])
            for key, p in processes.items()]
    print("\n".join(sorted(rows)))


if __name__ == "__main__":
    main(sys.argv)
