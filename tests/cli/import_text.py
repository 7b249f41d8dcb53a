# SPDX-License-Identifier: MIT
"""
Compare the stores of text formats with counts that are made here.

Usage: import_text.py darshan NATIVE.db TEXT.db
       import_text.py damage STEP FILE
       import_text.py hepcnn STORE CSV.gz
       import_text.py fio STORE LOG
       import_text.py kv STORE CSV

Differences go to standard error, exit 1.
"""
import collections
import csv
import decimal
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


def hepcnn(store, path):
    """Spans by rank, name and epoch: counts and sums, in integers of ns; the steps
    of a rank are numbered in the order of their starts. Prints the share."""
    name = {"train_iter": "training", "next_batch": "fetch"}
    want = collections.defaultdict(lambda: [0, 0])
    steps = collections.Counter()
    sums = collections.Counter()
    for r in csv.DictReader(gzip.open(path, "rt")):
        ns = int(decimal.Decimal(r["dur_s"]) * 10**9)
        rank = int(r["rank"]) if r["rank"] != "-1" else None
        component = name.get(r["component"], r["component"])
        epoch = int(r["epoch"]) if r["epoch"] != "-1" else None
        cell = want[rank, component, None if component == "training" else epoch]
        cell[0] += 1
        cell[1] += ns
        sums[component] += ns
        steps[rank] += component == "training"
    got = {r[:3]: list(r[3:]) for r in rows(store, """SELECT p.rank, s.name,
        CASE WHEN s.name <> 'training' AND s.detail >= 0 THEN s.detail END AS e,
        count(*), sum(s.dur_ns) FROM v_span s JOIN process p USING (process_id)
        WHERE s.name <> 'epoch' GROUP BY 1, 2, 3""")}
    bad = differences(collections.Counter({k: tuple(v) for k, v in got.items()}),
                      collections.Counter({k: tuple(v) for k, v in want.items()}),
                      "sum") if got != dict(want) else 0
    numbered = rows(store, """SELECT p.rank, min(detail), max(detail), count(DISTINCT
        detail) FROM v_span s JOIN process p USING (process_id)
        WHERE s.name = 'training' GROUP BY 1""")
    for rank, first, last, n in numbered:
        if (first, last, n) != (0, steps[rank] - 1, steps[rank]):
            print("steps of", rank, first, last, n, file=sys.stderr)
            bad = 1
    print("%.2f" % (100 * sums["read"] / sums["training"]))
    return bad


def fio(store, *logs):
    """The operations of the logs: time, file, action, offset and length."""
    call = {"read": "pread", "write": "pwrite", "sync": "fsync",
            "datasync": "fdatasync", "trim": "fallocate"}
    want = collections.Counter()
    for path in logs:
        waited = 0
        for line in open(path).read().split("\n")[1:]:
            word = line.split()
            version = 3 if word and word[0].isdigit() else 2
            if not word:
                continue
            time, word = (int(word[0]), word[1:]) if version == 3 else (waited,
                                                                       word)
            if word[1] == "wait":
                waited += int(word[2])
            if word[1] in ("add", "wait"):
                continue
            moved = word[1] in ("read", "write")
            placed = moved or word[1] == "trim"
            want[time * 1000, word[0], call.get(word[1], word[1]),
                 int(word[2]) if placed else None,
                 int(word[3]) if moved else None] += 1
    got = collections.Counter(rows(store, """SELECT start_ns, path, call, offset,
        asked FROM v_event"""))
    print(sum(got.values()), "operations")
    return differences(got, want, "operation")


def kv(store, path):
    """The operations of a KV cache: time, object, size; sums by tier and phase."""
    want, sums = collections.Counter(), collections.Counter()
    table = list(csv.DictReader(open(path, newline="")))
    ns = [int(decimal.Decimal(r["Timestamp"]) * 10**9) for r in table]
    for r, at in zip(table, ns):
        op, size = r["Operation"].upper(), int(r["Object_Size_Bytes"])
        want[at - min(ns), f"{r['Tier']}/{r['Key']}", "p" + op.lower(), 0,
             size] += 1
        done = "READ" if op == "READ" else "WRITTEN"
        for name, n in ((op + "S", 1), ("BYTES_" + done, size)):
            sums[r["Tier"], r["Phase"], name] += n
    bad = differences(collections.Counter(rows(store, """SELECT start_ns, path,
        call, offset, bytes FROM v_event""")), want, "operation")
    got = {r[:3]: r[3] for r in rows(store, """SELECT module, record, name, value
        FROM v_counter WHERE value > 0""")}
    bad |= differences(collections.Counter(got), sums, "counter")
    print(len(table), "operations")
    return bad


if __name__ == "__main__":
    sys.exit({"darshan": darshan, "damage": damage, "hepcnn": hepcnn, "fio": fio,
               "kv": kv}[
                  sys.argv[1]](*sys.argv[2:]))
