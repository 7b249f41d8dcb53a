# SPDX-License-Identifier: MIT
"""
Compare the stores of text formats with counts that are made here.

Usage: import_text.py darshan NATIVE.db TEXT.db
       import_text.py damage STEP FILE
       import_text.py hepcnn STORE CSV.gz
       import_text.py rows STORE CSV

Differences go to standard error, exit 1.
"""
import collections
import csv
import gzip
import json
import os
import subprocess
import sys


def rows(store, query):
    out = subprocess.run([os.environ["IOREEL"], "sql", "--format", "json",
                          store, query], check=True, stdout=subprocess.PIPE)
    return [tuple(r.values()) for r in json.loads(out.stdout)]


def differences(got, want, title):
    for sign, more in (("+", got - want), ("-", want - got)):
        for item, n in sorted(more.items(), key=repr)[:8]:
            print(title, sign, n, *item, file=sys.stderr)
    return 1 if got != want else 0


def counters(store):
    """Every counter with its type; a real has the 6 decimals of the text."""
    query = """SELECT module, record, path, rank, name, typeof(value), value
        FROM v_counter"""
    return collections.Counter(
        r[:6] + ("%.6f" % r[6] if r[5] == "real" else r[6],)
        for r in rows(store, query))


def segments(store):
    query = """SELECT p.rank, h.name, e.path, e.call, e.layer, e.offset, e.bytes,
        e.asked, e.start_ns, e.start_ns + e.dur_ns
        FROM v_event e JOIN process p USING (process_id) JOIN host h USING
        (host_id)"""
    return sorted(rows(store, query), key=repr)


def darshan(native, text):
    """The same counters and segments; times of segments have 4 decimals."""
    bad = differences(counters(text), counters(native), "counter")
    a, b = segments(text), segments(native)
    bad |= differences(collections.Counter(s[:8] for s in a),
                       collections.Counter(s[:8] for s in b), "segment")
    times = [collections.defaultdict(list) for _ in range(2)]
    for side, all_of_it in zip(times, (a, b)):
        for s in all_of_it:
            side[s[:8]].append(s[8:])
    for key in times[0]:
        for x, y in zip(sorted(times[0][key]), sorted(times[1][key])):
            if max(abs(x[0] - y[0]), abs(x[1] - y[1])) > 50001:
                print("time", *key, x, y, file=sys.stderr)
                bad = 1
    print(sum(counters(text).values()), "counters,", len(a), "segments")
    return bad


def try_import(name, data, options):
    """Import @data: an answer of one line and no store, or a store and none."""
    with open(name, "wb") as f:
        f.write(data)
    out = subprocess.run([os.environ["IOREEL"], "import", "-q", *options, name,
                          "-o", "damaged.db"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    left = [f for f in os.listdir(".") if f.startswith("damaged.db")]
    for f in left:
        os.unlink(f)
    good = (out.returncode == 0 and left == ["damaged.db"] and not out.stdout
            or out.returncode == 1 and not left
            and out.stdout.count(b"\n") == 1 and name.encode() in out.stdout)
    if not good:
        print(out.returncode, left, out.stdout, file=sys.stderr)
    return good, out.returncode


def damage(step, path, *options):
    """Cut the file at every @step-th byte, and flip that byte."""
    data, bad, refused = open(path, "rb").read(), 0, 0
    for at in range(0, len(data), int(step)):
        flipped = bytearray(data)
        flipped[at] ^= 0xff
        for content in data[:at], bytes(flipped):
            good, rc = try_import("damaged", content, options)
            if not good:
                print("at", at, "of", path, file=sys.stderr)
            bad |= not good
            refused += rc == 1
    print(refused, "refused")
    return bad


if __name__ == "__main__":
    sys.exit({"darshan": darshan, "damage": damage}[
                  sys.argv[1]](*sys.argv[2:]))
