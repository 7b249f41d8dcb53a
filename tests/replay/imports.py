# SPDX-License-Identifier: MIT
"""imports.py FORMAT LOG STRACE ROOT: are the reads and writes of a replay, as strace
saw them below ROOT, those that LOG tells? Both sides are read here, not by ioreel.

Each side is a list of (r or w, path, bytes, offset); where LOG has no offsets, those of
the replay are left out. Prints the number of transfers.
"""
import collections
import gzip
import json
import re
import sys


def text(path):
    with open(path, "rb") as f:
        zipped = f.read(2) == b"\x1f\x8b"
    with (gzip.open if zipped else open)(path, "rt", errors="surrogateescape") as f:
        yield from f


def fio(log):
    """"TIME FILE read OFFSET LENGTH"; version 2 has no TIME."""
    for line in text(log):
        word = line.split()
        if len(word) >= 4 and word[-3] in ("read", "write"):
            yield word[-3][0], word[-4], int(word[-1]), int(word[-2])


def dxt(log):
    """The text of darshan-dxt-parser."""
    path = None
    for line in text(log):
        if "file_name:" in line:
            path = line.split("file_name:")[1].strip()
        elif "X_POSIX" in line and not line.startswith("#"):
            word = line.split()
            yield word[2][0], path, int(word[5]), int(word[4])


def dftracer(log):
    for line in text(log):
        at = line.find("{")
        if at < 0:
            continue
        event = json.loads(line[at:])
        args = event.get("args", {})
        if event.get("name") in ("read", "write") and int(args.get("ret", -1)) >= 0:
            yield event["name"][0], args["fname"], int(args["ret"]), None


CALL = re.compile(r"(\d+) +(?:[\d.]+ +)?(read|write|pread64|pwrite64)\(\d+<(.*?)>(?:\(deleted\))?, "
                  r".*?(?:, (\d+))?(?:, (\d+))?\) += (\d+)")


def whole(lines):
    """A call that another thread interrupted in the text is in two parts."""
    begun = {}
    for line in lines:
        thread = line.split(None, 1)[0]
        if "<unfinished ...>" in line:
            head = line.split("<unfinished ...>")[0].rstrip()
            begun[thread] = head + " " * head.endswith(",")
        elif " resumed>" in line:
            yield begun.pop(thread, "") + line.split(" resumed>", 1)[1]
        else:
            yield line


def strace(log, root=""):
    """Calls on names below @root. A call without an offset continues at the position."""
    position, first = {}, None
    for line in whole(text(log)):
        first = first or line.split()[0]
        made = re.match(r"(\d+) .*openat\(.*\) += (\d+)<(.*)>", line)
        if made:
            position[made[2], made[3]] = 0
        call = CALL.match(line)
        if not call or not call[3].startswith(root + "/"):
            continue
        if root and call[1] == first:
            continue  # the files are rebuilt
        size = int(call[6])
        if call[2].startswith("p"):
            offset = int(call[5])
        else:
            fd = line.split("(")[1].split("<")[0]
            offset = position.get((fd, call[3]), 0)
            position[fd, call[3]] = offset + size
        yield call[2].lstrip("p")[0], call[3][len(root):], size, offset


def of_job(calls):
    """Data of the job: libraries and pipes are not replayed as files."""
    return [c for c in calls if not c[1].startswith(("/usr/", "/lib", "/etc/", "/proc/"))]


def main():
    form, log, seen, root = sys.argv[1:]
    want = list(globals()[form](log))
    if form == "strace":
        want = of_job(want)
    got = of_job(strace(seen, root))
    want = [(op, re.sub("//+", "/", "/" + path), size, offset) for op, path, size, offset in want]
    if any(offset is None for *_, offset in want):
        got = [(*c[:3], None) for c in got]
    missing = collections.Counter(want) - collections.Counter(got)
    extra = collections.Counter(got) - collections.Counter(want)
    print(len(want), "transfers;", "missing", list(missing.items())[:5], "extra",
          list(extra.items())[:5], file=sys.stderr)
    sys.exit(not want or bool(missing) or bool(extra))


main()
