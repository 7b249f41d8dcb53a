#!/bin/sh
# SPDX-License-Identifier: MIT
# Stores of earlier versions: each opens unchanged, and has the numbers that the
# report of its own version printed.
. "$(dirname "$0")/../lib/tap.sh"
DATA=$TOP/tests/data

# Compare the numbers that both reports have: counts exactly, shares as far as the
# older one printed them. Classes of version 2 counted files that were only looked
# up; texts and shares of the run were worded anew. Rates over the time of the I/O had
# the bytes that a stream wrote by itself, which have no time: argument 3 has the bytes
# of each operation with a time.
cat >numbers.py <<'END'
import gzip, json, math, sys

def flat(x, name=""):
    if isinstance(x, dict):
        for k, v in x.items():
            yield from flat(v, name + "." + k)
    elif isinstance(x, list):
        for i, v in enumerate(x):
            yield from flat(v, name + "[%d]" % i)
    else:
        yield name, x

old = dict(flat(json.load(gzip.open(sys.argv[1]))))
new = dict(flat(json.load(open(sys.argv[2]))))
skip = (".format", ".verdict", ".advice")
early = "early" in sys.argv[1]
timed = dict(line.split("\t") for line in open(sys.argv[3]))
n = 0
for name, was in old.items():
    if name not in new or name.startswith(skip) or isinstance(was, str) and name.endswith("text"):
        continue
    if early and name.startswith(".classes") and name.endswith("files"):
        continue
    now = new[name]
    if name.endswith(("].busy_bytes_per_s", "].wall_bytes_per_s")) and was:
        of = name.rpartition(".")[0]
        ns = old[name.replace("bytes_per_s", "ns")]
        was = round(int(timed[old[of + ".op"]]) * 1e9 / ns)
    if name.startswith(".darshan_performance") and name.endswith("bytes"):
        if old[name.replace("bytes", "module")] == "events":
            was = sum(map(int, timed.values()))
    if name.startswith(".darshan_performance") and name.endswith("mib_per_s"):
        of = name.rpartition(".")[0]
        was = new[of + ".bytes"] / 2**20 / old[of + ".agg_ns"] * 1e9
    same = math.isclose(was, now, rel_tol=1e-9) if isinstance(was, float) and \
        isinstance(now, (int, float)) else was == now
    # Durations of records that have none (parts of a stream) are unknown now.
    same = same or was == 0 and now is None and name.endswith("dur_ns")
    if not same:
        sys.exit("%s was %r, is %r" % (name, was, now))
    n += 1
totals = [k for k in old if k.startswith(".totals") and k in new]
assert n > 400 and len(totals) > 8, (n, totals)
END

for name in 2-early-c 2-early-py 2-c 2-py 3-c 3-py 4-c 4-py 5-early-c 5-early-py 5-c 5-py 6-c 6-py; do
	gzip -dc "$DATA/store-$name.db.gz" >"$name.db"
	cp "$name.db" before
	sql $name.db 'SELECT op, bytes FROM v_timed_bytes' >timed
	check "version $name: the report has the numbers of its own version" '
		ioreel report --json $name.db >new.json 2>err && [ ! -s err ] &&
		python3 numbers.py "$DATA/store-$name.json.gz" new.json timed'
	check "version $name: the report for people" 'ioreel report $name.db >out && [ -s out ]'
	check "version $name: its events are read" '
		[ "$(sql $name.db "SELECT count(*) FROM v_event")" = "$(sql $name.db "SELECT sum(events) FROM thread")" ]'
	check "version $name: every view works" '
		ioreel sql $name.db "$(sql $name.db "SELECT '\''SELECT count(*) FROM '\'' || name || '\'';'\''
			FROM sqlite_schema WHERE type = '\''view'\''")" >out'
	check "version $name: tables of later versions are empty" \
		'[ "$(sql $name.db "SELECT count(*) FROM counter")" = 0 ]'
	check "version $name: it is compared with itself" '
		ioreel compare --json $name.db $name.db >out &&
		python3 -c "import json; d = json.load(open(\"out\")); assert abs(d[\"cosine\"] - 1) < 1e-9, d[\"cosine\"]"'
	check "version $name: the file is unchanged, and no other was made" \
		'cmp $name.db before && ! ls $name.db?* 2>ls'
	size=$(wc -c <$name.db)
	for cut in 600 $((size / 4)) $((size / 2)) $((size - 512)); do
		head -c $cut $name.db >cut.db
		check "version $name: cut at byte $cut it is one line of error" '
			ioreel report cut.db >out 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] && [ ! -s out ]'
	done
done

# Bytes that change: a result, or one line of error.
cat >flip.py <<'END'
import random, sys
data = bytearray(open(sys.argv[1], "rb").read())
random.seed(int(sys.argv[2]))
for i in range(20):
    at = random.randrange(100, len(data))
    data[at] ^= random.randrange(1, 256)
open("flip.db", "wb").write(data)
END
check 'damaged bytes end in a result or in one line' '
	for seed in $(seq 40); do
		for name in 2-early-py 3-c; do
			python3 flip.py $name.db $seed
			ioreel report --json flip.db >out 2>err; rc=$?
			[ $rc -le 1 ] && [ $(wc -l <err) = $rc ] || {
				echo "$name seed $seed: $rc"; cat err; exit 1; }
		done
	done'

# A store that lacks a table or a column of this program must be of an earlier version.
ioreel load -q "$DATA/trace-1.0" -o now.db
sql now.db "SELECT m.name, group_concat(c.name, ' ') FROM sqlite_schema m, pragma_table_info(m.name) c
	WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND m.name NOT LIKE 'sqlite%'
	GROUP BY m.name ORDER BY m.name" >now.columns
version=$(sql now.db 'PRAGMA user_version')
check "version $version: its tables and columns are those of tests/data (else, a new version)" \
	'diff "$DATA/store-$version.columns" now.columns'

for name in 1-c 1-py; do
	gzip -dc "$DATA/store-$name.db.gz" >"$name.db"
	check "version $name: one line says why it is refused" '
		ioreel report $name.db >out 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] && [ ! -s out ] &&
		grep -q "version 1, this program reads .*: its events are in blocks of a format that was replaced; load its trace again (ioreel load TRACE -o STORE)$" err'
done
finish
