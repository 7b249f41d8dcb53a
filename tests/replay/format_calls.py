# SPDX-License-Identifier: MIT
"""The calls on the files of a data set in strace's output, without addresses: name,
size, offset and result.  format_calls.py FILE TIMES; of a reader that reads TIMES
times, the last one."""
import re
import sys

CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)")
SAME = {"newfstatat": "stat", "statx": "stat", "fstat": "stat", "lstat": "stat", "open": "openat"}
WANTED = {"openat", "stat", "read", "pread64", "readv", "lseek", "ioctl", "fadvise64", "mmap", "close", "fcntl"}
lines = []
unfinished = {}
for line in open(sys.argv[1], errors="replace"):
    pid = line.split()[0]
    if "<unfinished ...>" in line:
        unfinished[pid] = line[: line.index(" <unfinished")]
        continue
    if "resumed>" in line and pid in unfinished:
        line = unfinished.pop(pid) + line[line.index("resumed>") + 8 :]
    if "/train/" not in line and "sample_0" not in line:
        continue
    line = re.sub(r'"(?:[^"\\]|\\.)*"(?:\.\.\.)?', lambda m: m[0] if "sample_0" in m[0] else '""', line)
    m = CALL.match(line)
    if not m or m[3] == "-1" and m[1] != "ioctl":
        continue
    name = SAME.get(m[1], m[1])
    if name not in WANTED or "O_DIRECTORY" in line:
        continue
    file = re.search(r"sample_0[^\">]*", line)
    if not file:
        continue
    kind = re.sub(r"^.*?(\.off\.idx|\.sz\.idx|)$", r"\1", file[0])
    args = [a.strip() for a in m[2].split(",")]
    if name in ("read", "lseek", "fcntl"):
        what = args[-2:] if name == "lseek" else args[-1:]
    elif name in ("pread64", "fadvise64"):
        what = args[-2:] if name == "pread64" else args[1:]
    elif name == "mmap":
        what = args[1:2]
    elif name == "ioctl":
        what = args[1:2]
    else:
        what = []
    result = m[3] if name in ("read", "pread64", "lseek") else ""
    lines.append(f"{name}{kind} {' '.join(what)} {result}".rstrip())
# Reads that follow one another may be those of a pool of threads, in any order.
start = 0
for i, line in enumerate(lines + [""]):
    if not line.startswith("pread64"):
        lines[start:i] = sorted(lines[start:i], key=lambda text: int(text.split()[2]))
        start = i + 1
times = int(sys.argv[2])
print("\n".join(lines[len(lines) - len(lines) // times :]))
