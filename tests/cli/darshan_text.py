# SPDX-License-Identifier: MIT
"""
Compare the store of a Darshan log with the text of Darshan's own tools, and its
counters with those that follow from its DXT segments.

Usage: darshan_text.py counters STORE PARSER.txt.gz
       darshan_text.py segments STORE DXT.txt.gz
       darshan_text.py recount STORE
       darshan_text.py vanidl STORE
       darshan_text.py damage LOG STEP
       darshan_text.py same ONE MANY

Prints one line with the figures; differences go to standard error, exit 1.
"""
import collections
import gzip
import json
import os
import sqlite3
import subprocess
import sys

BINS = (100, 1024, 10240, 102400, 1 << 20, 4 << 20, 10485760, 104857600,
        1 << 30)
BIN_NAMES = ("0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M "
             "100M_1G 1G_PLUS").split()
SEGMENTS = """SELECT e.start_ns, e.dur_ns, e.call, e.layer,
    coalesce(e.path, '') AS path, e.offset, e.bytes, p.rank
    FROM v_event e JOIN process p USING (process_id)
    ORDER BY e.start_ns, e.dur_ns"""


def rows(store, query):
    """The rows of @query as objects; events need ioreel's own SQL."""
    out = subprocess.run([os.environ["IOREEL"], "sql", "--format", "json",
                          store, query], check=True, stdout=subprocess.PIPE)
    return json.loads(out.stdout)


def counters(store):
    """(module, rank, record, name, value, path) of every counter."""
    return sqlite3.connect(f"file:{store}?mode=ro", uri=True).execute(
        "SELECT module, rank, record, name, value, path FROM v_counter")


def differences(got, want, what):
    """Print the first of both sides that the other lacks."""
    for sign, more in (("+", got - want), ("-", want - got)):
        for item, n in sorted(more.items(), key=repr)[:8]:
            print(what, sign, n, *item, file=sys.stderr)
    return 1 if got != want else 0


def check_counters(store, text):
    shown = {int: "%d", float: "%f", str: "%s"}
    got = collections.Counter(
        (module, str(rank), record, name, shown[type(value)] % value,
         path or ("darshan-bgq-record" if module == "BG/Q" else ""))
        for module, rank, record, name, value, path in counters(store))
    want = collections.Counter()
    for line in gzip.open(text, "rt", errors="surrogateescape"):
        cell = line.rstrip("\n").split("\t")
        if line[0] != "#" and len(cell) == 8:
            want[tuple(cell[:5]) + (cell[5],)] += 1
    print(sum(got.values()), "counters")
    return differences(got, want, "counter")


def dxt_text(text):
    """(module, rank, path, write, offset, length, start, end) of a segment."""
    path = None
    for line in gzip.open(text, "rt", errors="surrogateescape"):
        if line.startswith("# DXT, file_id:"):
            path = line.split("file_name: ", 1)[1].rstrip("\n")
        word = line.split()
        if word and word[0] in ("X_POSIX", "X_MPIIO"):
            yield (word[0], int(word[1]), path, word[2] == "write", word[4],
                   word[5], word[6], word[7])


def check_segments(store, text):
    """The text has 4 decimals: a time may differ by half of the last one."""
    got, want = [], []
    for e in rows(store, SEGMENTS):
        module = "X_MPIIO" if e["layer"] == "MPIIO" else "X_POSIX"
        got.append((module, e["rank"], e["path"], "write" in e["call"],
                    str(e["offset"]), str(e["bytes"]), e["start_ns"] / 1e9,
                    (e["start_ns"] + e["dur_ns"]) / 1e9))
    for s in dxt_text(text):
        want.append(s[:6] + (float(s[6]), float(s[7])))
    print(len(got), "segments")
    exact, timed = lambda s: s[:6], collections.defaultdict(list)
    bad = differences(collections.Counter(map(exact, got)),
                      collections.Counter(map(exact, want)), "segment")
    for side, segments in enumerate((got, want)):
        for s in sorted(segments):
            timed[s[:6], side].append(s[6:])
    for s, side in list(timed):
        for a, b in zip(timed[s, 0], timed[s, 1]):
            if max(abs(a[0] - b[0]), abs(a[1] - b[1])) > 5.1e-5:
                print("time", *s, a, b, file=sys.stderr)
                bad = 1
    return bad


def recount_of(segments, reads):
    """Darshan's counters of the reads, or writes, of one record."""
    c = collections.Counter()
    last, moved = 0, 0
    for e in segments:
        offset, n = e["offset"], e["bytes"]
        c["CALLS"] += 1
        c["BYTES"] += n
        c["SEQ"] += offset > last
        c["CONSEC"] += offset == last + 1
        c["MAX_BYTE"] = max(c["MAX_BYTE"], offset + n - 1)
        c["SIZE_" + BIN_NAMES[sum(n > b for b in BINS)]] += 1
        last = offset + n - 1
    op, done = ("READ", "READ") if reads else ("WRITE", "WRITTEN")
    name = {"CALLS": f"{op}S", "BYTES": f"BYTES_{done}", "SEQ": f"SEQ_{op}S",
            "CONSEC": f"CONSEC_{op}S", "MAX_BYTE": f"MAX_BYTE_{done}"}
    return {"POSIX_" + name.get(k, k.replace("SIZE_", f"SIZE_{op}_")): v
            for k, v in c.items()}


def check_recount(store):
    """Recompute POSIX counters from DXT's events. A shared record (rank -1) is
    the sum over ranks, but for the largest byte."""
    have = collections.defaultdict(dict)
    for module, rank, record, name, value, path in counters(store):
        if module == "POSIX":
            have[path or "darshan:" + record, rank][name] = value
    by = collections.defaultdict(list)
    for e in rows(store, SEGMENTS):
        if e["layer"] == "POSIX":
            key = e["path"], e["rank"]
            if key not in have:
                key = e["path"], -1
            by[key + (e["rank"], "read" in e["call"])].append(e)
    want = collections.defaultdict(collections.Counter)
    for (path, rank, _, reads), segments in by.items():
        total = want[path, rank]
        for name, value in recount_of(segments, reads).items():
            total[name] = (max(total[name], value) if "_MAX_" in name
                           else total[name] + value)
    checked = 0
    for key, total in sorted(want.items()):
        for name, value in sorted(total.items()):
            checked += 1
            if have[key].get(name) != value:
                print(name, *key, "counter", have[key].get(name), "DXT", value)
    print(checked, "counters of", len(want), "records recounted")
    return 0


def vanidl(store):
    """VaniDL's I/O time: the sum of times rounded to 0.1 ms, 0 taken as 1 ms,
    by the ranks, without paths that have .py in them. The true time is the
    union of the intervals."""
    ranks = rows(store, "SELECT ranks FROM run")[0]["ranks"]
    events = [e for e in rows(store, SEGMENTS) if e["layer"] == "POSIX"]
    kept = [e for e in events if ".py" not in e["path"]]
    ns = lambda e: (round((e["start_ns"] + e["dur_ns"]) / 1e9, 4)
                    - round(e["start_ns"] / 1e9, 4))
    seconds = sum(ns(e) if round(ns(e), 4) else 1e-3 for e in kept) / ranks
    sizes = sorted(e["bytes"] for e in kept)
    true = sum(e["dur_ns"] for e in kept) / 1e9 / ranks
    print(len(events), "events,", len({e["path"] for e in kept}), "files,",
          f"{seconds:.2f} s by VaniDL, {true:.2f} s true, mean",
          f"{sum(sizes) / len(sizes):.0f}, median", sizes[len(sizes) // 2])
    return 0


def damage(log, step):
    """Import the log cut off at every @step-th byte, and with that byte flipped.
    A refusal is one line and leaves no store; a cut log is always refused."""
    data, bad, refused = open(log, "rb").read(), 0, 0
    for at in range(0, len(data), int(step)):
        flipped = bytearray(data)
        flipped[at] ^= 0xff
        for what, content in (("cut", data[:at]), ("flipped", flipped)):
            with open("damaged.darshan", "wb") as f:
                f.write(content)
            out = subprocess.run([os.environ["IOREEL"], "import", "-q",
                                  "damaged.darshan", "-o", "damaged.db"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            text = out.stdout + out.stderr
            left = [f for f in os.listdir(".") if f.startswith("damaged.db")]
            good = (out.returncode == 1 and text.count(b"\n") == 1
                    and b"damaged.darshan" in text and not left)
            if what == "flipped" and not out.returncode:
                good = left == ["damaged.db"] and not text
            if not good:
                print(what, at, out.returncode, left, text, file=sys.stderr)
                bad = 1
            refused += out.returncode == 1
            for f in left:
                os.unlink(f)
    print(refused, "refused")
    return bad


def same(*stores):
    """Has the last store the counters of all others together?"""
    each = [collections.Counter(map(repr, counters(s))) for s in stores]
    print(sum(each[-1].values()), "counters")
    return differences(each[-1], sum(each[:-1], collections.Counter()), "")


if __name__ == "__main__":
    sys.exit({"counters": check_counters, "segments": check_segments,
              "recount": check_recount, "vanidl": vanidl,
              "damage": damage, "same": same}[
                  sys.argv[1]](*sys.argv[2:]))
