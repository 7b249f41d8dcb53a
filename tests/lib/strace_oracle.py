# SPDX-License-Identifier: MIT
"""Compare ioreel's records with strace's, of the same processes in the same
run: oracle.py DIR EVENTS STRACE-FILE...

EVENTS is ioreel sql's TSV of QUERY (printed by "oracle.py query"); the strace
files are those of "strace -ff -ttt -y -s 0". Files below DIR count, except in
.reel directories. Transfers are compared by process, path, offset and bytes,
other calls by number. The one thing to know: offsets of read and write are
computed here from every open, dup, fork and seek, with a model of open file
descriptions.

Prints one line for each difference, and at the end the numbers compared.
"""
import collections
import os
import re
import sys

QUERY = """SELECT pid, tid, call, layer, path, offset, result, errno, calls, path2, arg
FROM v_event WHERE layer IN ('POSIX', 'STDIO', 'ASYNC')"""
READ = {"read", "pread64", "readv", "preadv", "preadv2"}
WRITE = {"write", "pwrite64", "writev", "pwritev", "pwritev2"}
AT_OFFSET = {"pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2"}
OPEN = {"open", "openat", "creat"}
# One name for each call, for the names of the C library and the kernel.
SAME = {"pread64": "pread", "pwrite64": "pwrite", "openat": "open", "creat": "open",
        "openat2": "open", "mkstemp": "open", "newfstatat": "stat", "lstat": "stat",
        "fstat": "stat", "fstatat": "stat", "statx": "stat", "unlinkat": "unlink",
        "rmdir": "unlink", "remove": "unlink", "renameat": "rename",
        "renameat2": "rename", "mkdirat": "mkdir", "linkat": "link",
        "symlinkat": "symlink", "readlinkat": "readlink", "faccessat": "access",
        "faccessat2": "access", "getdents64": "readdir", "posix_fallocate": "fallocate"}
GROUP = {"pread": "pread64", "pwrite": "pwrite64", "async_read": "pread64",
         "async_write": "pwrite64"}
BY_LIBC = "1"  # the arg of POSIX aio: libc's own threads make plain calls
# Since 2.39 glibc makes the same system call for fstat() as the shim does for
# itself. strace cannot distinguish them, so fstat() is not compared then.
GLIBC = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
SAME_FSTAT = GLIBC >= (2, 39)
COUNTED = {"open", "unlink", "rename", "mkdir", "link", "symlink", "readlink",
           "access", "stat", "ftruncate", "truncate", "fsync", "fdatasync",
           "close", "lseek", "fallocate", "async_sync"}

LINE = re.compile(r"^([\d.]+) (\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)(<.*?>)?(?: (E[A-Z0-9]+).*| \(.*\))?$")
FD = re.compile(r"^(-?\d+|AT_FDCWD)<((?:[^>\\]|\\.|>(?=[^,)(]))*?)>(?:\(deleted\))?(?=$|,|\))")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|(.))")
LETTER = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f"}


def plain(text):
    """strace's text without its escapes, bytes kept as Latin-1."""
    return ESCAPE.sub(lambda m: chr(int(m.group(1), 8)) if m.group(1)
                      else LETTER.get(m.group(2), m.group(2)), text)


class Description:
    """An open file description: its position, None if unknown."""

    def __init__(self, path, position, append=False):
        self.path, self.position, self.append = path, position, append


class Strace:
    """The calls of all processes, without libc's internal ones: failed
    readlinks (realpath), opens by O_PATH (fchmodat)."""

    def __init__(self, folder, files):
        self.folder = folder
        self.got = collections.Counter()
        self.tables = {}     # pid: {fd: Description}; threads share the dict
        self.pid_of = {}     # tid: pid
        self.inner = set()   # (tid, fd) that libc opened for itself
        self.cwd = {}        # pid: its working directory
        lines = []
        for name in files:
            tid = int(name.rsplit(".", 1)[1])
            with open(name, encoding="latin-1") as f:
                for line in f:
                    m = LINE.match(line.rstrip("\n"))
                    if m:
                        lines.append((float(m.group(1)), tid, m))
        lines.sort(key=lambda x: x[0])
        for _, tid, m in lines:
            result = -1 if m.group(4) == "?" else int(m.group(4), 0)
            self.call(tid, m.group(2), m.group(3), result, m.group(5), m.group(6))

    def inside(self, path):
        return path.startswith(self.folder + "/") and ".reel/" not in path + "/"

    def count(self, tid, kind, path, *what):
        if self.inside(path):
            self.got[(self.pid_of.get(tid, tid), kind, path) + what] += 1

    def path_of(self, tid, args):
        base = self.cwd.get(self.pid_of.get(tid, tid), self.folder)
        m = FD.match(args)
        if m:
            base = plain(m.group(2))
            args = args[m.end():].lstrip(", ")
        if base.endswith(" (deleted)"):
            base = base[:-10]
        text = STRING.match(args)
        if not text:
            return base if m else ""
        return os.path.normpath(os.path.join(base, plain(text.group(1))))

    def clone(self, tid, args, child):
        table = self.tables.setdefault(tid, {})
        self.tables[child] = table if "CLONE_FILES" in args else dict(table)
        if "CLONE_THREAD" in args:
            self.pid_of[child] = self.pid_of.get(tid, tid)
        elif self.pid_of.get(tid, tid) in self.cwd:
            self.cwd[child] = self.cwd[self.pid_of.get(tid, tid)]

    def call(self, tid, name, args, result, named, error):
        table = self.tables.setdefault(tid, {})
        m = FD.match(args)
        fd = int(m.group(1)) if m and m.group(1) != "AT_FDCWD" else None
        path = self.path_of(tid, args)
        if name == "fstat":
            return  # the shim's own; glibc's before 2.39 is newfstatat
        if name in ("symlink", "symlinkat"):  # the text comes first
            path = self.path_of(tid, args[STRING.match(args).end():].lstrip(", "))
        d = table.get(fd)
        if name in ("clone", "clone3", "fork", "vfork"):
            if result > 0:
                self.clone(tid, args, result)
        elif name in ("chdir", "fchdir"):
            if not error:
                self.cwd[self.pid_of.get(tid, tid)] = path
        elif name in OPEN:
            if not error:
                path = plain(named[1:-1])
                table[result] = Description(path, 0, "O_APPEND" in args)
            if args.endswith("O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH"):
                table.pop(result, None)
                self.inner.add((tid, result))  # in libc's fchmodat
            else:
                self.count(tid, "open", path, bool(error))
        elif name in READ or name in WRITE:
            self.transfer(tid, name, args, result, d, path, error)
        elif name in ("sendfile", "copy_file_range", "splice"):
            for other in list(table.values()):  # positions: not followed here
                other.position = None
        else:
            if name == "lseek" and not error and d:
                d.position = result
            elif name in ("dup", "dup2", "dup3") or (name == "fcntl" and "F_DUPFD" in args):
                if not error:
                    table[result] = d or Description(path, None)
            elif name == "close":
                table.pop(fd, None)
            if (tid, fd) in self.inner:
                if name == "close":
                    self.inner.discard((tid, fd))
                return
            kind = SAME.get(name, name)
            if kind in COUNTED and not (kind == "readlink" and error):
                self.count(tid, kind, path, bool(error))

    def transfer(self, tid, name, args, result, d, path, error):
        offset = None
        if name in AT_OFFSET:
            tail = args.split(", ")
            offset = int(tail[-2 if name.endswith("v2") else -1])
        elif d and not d.append:
            offset = d.position
        if d and d.position is not None and name not in AT_OFFSET and not error:
            d.position += result
        if offset is None and d and d.append:
            offset = "end"
        kind = "read" if name in READ else "write"
        self.count(tid, kind, path, "?" if offset is None else offset,
                   -1 if error else result)


def events(folder, name, pids):
    got, streams = collections.Counter(), collections.Counter()
    with open(name, encoding="latin-1") as f:
        head = next(f).rstrip("\n").split("\t")
        for line in f:
            row = dict(zip(head, line.rstrip("\n").split("\t")))
            path = plain(row["path"])
            if path.endswith(" (deleted)"):
                path = path[:-10]
            if not path.startswith(folder + "/") or ".reel/" in path + "/":
                continue
            pid, call = int(row["pid"]), row["call"]
            if pid not in pids:
                continue
            failed = row["errno"] not in ("", "0")
            if call == "fstat" and SAME_FSTAT:
                continue
            if call.startswith("async_") and row["arg"] != BY_LIBC:
                continue  # by the kernel, where strace sees no call
            kind = SAME.get(call, call)
            result = int(row["result"] or 0)
            group = GROUP.get(call, call)
            if row["layer"] == "STDIO":
                streams[(pid, path, call)] += result
            if group in READ or group in WRITE:
                got[(pid, "read" if group in READ else "write", path,
                     int(row["offset"]) if row["offset"] else "?",
                     -1 if failed else result)] += 1
            elif kind in COUNTED and not (kind == "readlink" and failed):
                got[(pid, kind, path, failed)] += 1
            elif call in ("fopen", "freopen", "opendir", "fdopendir"):
                if call.endswith("opendir") and not failed:
                    got[(pid, "stat", path, False)] += 1  # libc's own
                if call != "fdopendir":
                    got[(pid, "open", path, failed)] += 1
            elif call in ("fclose", "closedir"):
                got[(pid, "close", path, failed)] += 1
    return got, streams


def name_syncs(want, got):
    """aio_fsync() made fsync or fdatasync: which of them is not recorded."""
    for key in [k for k in got if k[1] == "async_sync"]:
        left = got.pop(key)
        for kind in ("fdatasync", "fsync"):
            of = (key[0], kind) + key[2:]
            n = left if kind == "fsync" else min(left, max(0, want[of] - got[of]))
            got[of] += n
            left -= n


def differences(want, got, streams):
    """Lines, by kind. Where strace or we have no offset, bytes decide; of a
    file read through a stream, whose calls libc makes itself, nothing does."""
    of_streams = {(pid, path) for pid, path, _ in streams}
    by_cause = collections.defaultdict(list)
    compared = 0

    def loose(counter, keys):
        out = collections.Counter()
        for k in keys:
            out[k[:3] + k[-1:]] += counter[k]
        return out

    unknown = {k[:3] for c in (want, got) for k in c
               if k[1] in ("read", "write") and k[3] in ("?", "end")}
    for key in set(want) | set(got):
        w, g = want[key], got[key]
        compared += min(w, g)
        if w == g:
            continue
        if (key[0], key[2]) in of_streams and key[1] != "open":
            by_cause["inside a stream"].append((key, w, g))
        elif key[:3] not in unknown:
            by_cause[key[1]].append((key, w, g))
    for at in unknown:
        w = loose(want, [k for k in want if k[:3] == at])
        g = loose(got, [k for k in got if k[:3] == at])
        for key in set(w) | set(g):
            if w[key] != g[key] and (at[0], at[2]) not in of_streams:
                by_cause[at[1] + ", bytes only"].append((key, w[key], g[key]))
    return by_cause, compared


def main(argv):
    if argv[1] == "query":
        print(" ".join(QUERY.split()))
        return 0
    folder = os.path.realpath(argv[1])
    want = Strace(folder, argv[3:]).got
    pids = {int(name.rsplit(".", 1)[1]) for name in argv[3:]}  # not strace's own
    got, streams = events(folder, argv[2], pids)
    name_syncs(want, got)
    by_cause, compared = differences(want, got, streams)
    real = 0
    for cause, rows in sorted(by_cause.items()):
        if cause == "inside a stream":
            continue
        real += len(rows)
        for key, w, g in sorted(rows, key=str)[:8]:
            print("%s: strace %d, ioreel %d: pid %d %s %s" % (
                cause, w, g, key[0], key[2][len(folder) + 1:], key[3:]))
        if len(rows) > 8:
            print("%s: %d more" % (cause, len(rows) - 8))
    print("# %d calls of %d processes compared, %d differences, %d inside streams" % (
        compared, len({k[0] for k in want}), real, len(by_cause["inside a stream"])))
    return real > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
