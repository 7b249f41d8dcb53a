# SPDX-License-Identifier: MIT
"""
Write a small Darshan log.

Usage: darshan_log.py VERSION ORDER METHOD [KEY=VALUE ...] >LOG

VERSION is 3.00, 3.10 or 3.41, ORDER little or big, METHOD zlib, bzip2 or none.
Keys: start (seconds since 1970), job, rank (of all records), partial (a module's
flags), module (an additional module number with a record of 8 bytes), dxt=no (no
segments), daos=yes (DFS and DAOS, with 3.41), h5d (a version, with 3.41: a data set
in /d/a, to which /d/a was renamed), newer (a module's number, which gets a version of
the future).

POSIX has four records. Integer i of the first is 1000 + i, real i is i + 0.25,
but stats and mmaps are -1. The second is the shared record of /d/b, all 10 and
2.5; the third repeats /d/b for rank 1 and has 7 everywhere; the fourth has a
path that is not in the log. STDIO has one record, with i + 1 and i + 0.5. DXT
has two reads and a write of /d/a. DFS has a record of /d/a with 101 and on, and
0.125, DAOS one of object 5.6 with 201 and on, and 0.25.
"""
import bz2
import struct
import sys
import zlib

version, order, method = sys.argv[1:4]
option = dict(word.split("=") for word in sys.argv[4:])
new = version == "3.41"
mark = "<" if order == "little" else ">"
rank = int(option.get("rank", 0))
ids = {b"/d/a": 2 ** 63 + 5, b"/d/b": 12, b"/d/c": 13, b"<STDOUT>": 14}


def pack(form, *values):
    return struct.pack(mark + form, *values)


def compress(*pieces):
    """One stream for each piece, as ranks write them."""
    if method == "none":
        return b"".join(pieces)
    return b"".join(map(zlib.compress if method == "zlib" else bz2.compress,
                        pieces))


def record(number, of, integers, reals):
    return (pack("Qq", number, of) + pack(f"{len(integers)}q", *integers)
            + pack(f"{len(reals)}d", *reals))


posix = 69 if new else 64
first = [1000 + i for i in range(posix)]
first[6 if new else 4] = first[7 if new else 5] = -1  # stats, mmaps
h5d = int(option.get("h5d", 0))
if h5d:
    first[12] = ids[b"/d/a"] - 2 ** 64
regions = {1: compress(
    record(ids[b"/d/a"], rank, first, [i + 0.25 for i in range(17)]),
    record(ids[b"/d/b"], -1, [10] * posix, [2.5] * 17)
    + record(ids[b"/d/b"], rank + 1, [7] * posix, [7.5] * 17)
    + record(99, rank, [0] * posix, [0.0] * 17))}
regions[9 if new else 7] = compress(
    record(ids[b"<STDOUT>"], rank, list(range(1, 15)),
           [i + 0.5 for i in range(15)]))
dxt = (pack("Qqq", ids[b"/d/a"], rank, 0) + b"node7".ljust(64, b"\0")
       + pack("qq", 1, 2))
for segment in ((0, 10, 0.5, 0.75), (0, 4096, 1.0, 1.5), (4096, 0, 2.0, 2.125)):
    dxt += pack("qqdd", *segment) + (pack("Q", 77) if new else b"")
if option.get("dxt") != "no":
    regions[10 if new else 8] = compress(dxt)
if option.get("daos") == "yes":
    uuids = bytes(range(32))
    regions[16] = compress(record(ids[b"/d/a"], rank, range(101, 153),
                                  [0.125] * 15) + uuids)
    regions[17] = compress(record(21, rank, range(201, 265), [0.25] * 15)
                           + uuids + pack("QQ", 5, 6))
if h5d:
    file = pack("Q", ids[b"/d/a"]) if h5d > 1 else b""
    regions[4] = compress(pack("Qq", 22, rank) + file + pack("94q", *range(94))
                          + pack("17d", *[0.5] * 17))
if "module" in option:
    regions[int(option["module"])] = compress(b"12345678")

names = b""
for path, number in ids.items():
    if path == b"/d/c":  # an id without a record
        continue
    names += (pack("QI", number, len(path)) + path if version == "3.00"
              else pack("Q", number) + path + b"\0")
names = compress(names)
start = int(option.get("start", 1600000000))
times = (start, 500000000, start + 4, 0) if new else (start, start + 3)
job = pack("q", 1000) + pack(f"{len(times)}q", *times)
job += pack("qq", int(option.get("nprocs", 2)), int(option.get("job", 4242)))
job += b"lib_ver=3\n".ljust(1024, b"\0")
job = compress(job + b"/usr/bin/train --fast\n/\text4\0")

modules = 64 if new else 16
at = (32 if new else 24) + 16 * (1 + modules) + 4 * modules + len(job)
spans, versions, body = [(at, len(names))], [], names
for i in range(modules):
    data = regions.get(i, b"")
    spans.append((at + len(body), len(data)) if data else (0, 0))
    body += data
    versions.append({1: 4 if new else 3, 4: h5d, 9 if new else 7: 2,
                     10 if new else 8: 2 if new else 1}.get(i, 1)
                    if data else 0)
if "newer" in option:
    versions[int(option["newer"])] = 99
head = version.encode().ljust(8, b"\0") + pack("q", 6567223)
head += bytes([("zlib", "bzip2", "none").index(method)])
partial = int(option.get("partial", 0))
head += b"\0" * 7 + pack("Q", partial) if new else b"\0" * 3 + pack("I", partial)
for offset, size in spans:
    head += pack("QQ", offset, size)
head += pack(f"{modules}I", *versions)
sys.stdout.buffer.write(head + job + body)
