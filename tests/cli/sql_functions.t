#!/bin/sh
# SPDX-License-Identifier: MIT
# The functions of ioreel sql, and conditions on v_event, beside Python over the
# same rows.
. "$(dirname "$0")/../lib/tap.sh"
"$O/tests/data/gen_trace" -s 5 -p 3 -t 2 -n 3000 -w 2 trace.reel && ioreel load -q trace.reel -o a.db || exit 1
RUN=a.db

cat >rows.py <<'END'
"""Functions of SQL, computed from the rows of v_event by other means."""
import json, math, random, subprocess, sys

def ask(query):
    out = subprocess.run(["ioreel", "sql", "--format", "json", "a.db", query],
                         stdout=subprocess.PIPE, check=True).stdout
    return [tuple(row.values()) for row in json.loads(out.decode("utf-8", "replace"))]

def nearest_rank(values, p):
    values = sorted(v for v in values if v is not None)
    return values[max(1, math.ceil(p * len(values) / 100)) - 1] if values else None

def union(intervals):
    end, total = None, 0
    for start, dur in sorted(intervals):
        if end is None or start > end:
            end = start
        total += max(0, start + dur - end)
        end = max(end, start + dur)
    return total if intervals else None

def overlap(a, b):
    # |A| + |B| - |A or B|
    return (union(a) or 0) + (union(b) or 0) - (union(a + b) or 0) if a or b else None

what = sys.argv[1]
rows = ask("SELECT call, bytes, start_ns, dur_ns, process_id FROM v_event")
groups = {}
for row in rows:
    groups.setdefault(row[0], []).append(row)
if what == "percentile":
    for p in (0, 1, 7, 25, 50, 99, 99.9, 100):
        got = dict(ask("SELECT call, percentile(bytes, %s) FROM v_event GROUP BY call" % p))
        assert got == {c: nearest_rank([r[1] for r in g], p) for c, g in groups.items()}, p
    got, = ask("SELECT percentile(dur_ns / 7.0, 95) FROM v_event")
    assert math.isclose(got[0], nearest_rank([r[3] / 7.0 for r in rows], 95), rel_tol=1e-14), got
    # sorted, reversed, equal and organ-pipe input
    for expr in ("value", "-value", "1", "abs(value - 500)"):
        got, = ask(
            "WITH RECURSIVE g(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM g "
            "WHERE value < 1000) SELECT percentile(%s, 30) FROM g" % expr)
        want = [eval(expr.replace("value", str(i))) for i in range(1, 1001)]
        assert got[0] == nearest_rank(want, 30), expr
elif what == "hist_bin":
    for size, got in ask("SELECT DISTINCT bytes, hist_bin(bytes) FROM v_event"):
        assert got == (size.bit_length() - 1 if size else None), (size, got)
    a = ask("SELECT call_group, hist_bin(bytes), count(*) FROM v_event WHERE bytes > 0 AND layer <> 'MPIIO' "
            "AND kind NOT IN ('pipe', 'socket') GROUP BY 1, 2 ORDER BY 1, 2")
    b = ask("SELECT op, size_bin, calls FROM transfer_bin WHERE op <> 'all' ORDER BY 1, 2")
    assert sum(r[2] for r in a) >= sum(r[2] for r in b) > 0 and {r[:2] for r in b} <= {r[:2] for r in a}
elif what == "union_ns":
    got = dict(ask("SELECT call, union_ns(start_ns, dur_ns) FROM v_event GROUP BY call"))
    assert got == {c: union([r[2:4] for r in g]) for c, g in groups.items()}
    got, = ask("SELECT union_ns(start_ns, dur_ns) FROM (SELECT * FROM v_event ORDER BY dur_ns)")
    assert got[0] == union([r[2:4] for r in rows]), got
elif what == "overlap_ns":
    random.seed(3)
    for turn in range(60):
        sets = [[(random.randrange(-50, 400), random.randrange(0, 30)) for i in range(random.randrange(0, 12))]
                for s in (0, 1)]
        values = [(s, d, w) for w in (0, 1) for s, d in sets[w]]
        random.shuffle(values)
        got, = ask("SELECT overlap_ns(column1, column2, column3), union_ns(column1, column2) FROM (VALUES %s) "
                   "WHERE column1 IS NOT NULL" % ", ".join(map(str, values + [("NULL", 1, 0)])).replace("'", ""))
        edges = sorted({x for s in sets for i in s for x in (i[0], i[0] + i[1])})
        exact = sum(b - a for a, b in zip(edges, edges[1:]) if all(
            any(s <= a and b <= s + d for s, d in one) for one in sets))
        assert exact == (overlap(*sets) or 0)
        assert got == (exact if values else None, union(sets[0] + sets[1])), (turn, got, exact)
    a, b = ([r[2:4] for r in rows if r[4] == i] for i in (1, 2))
    got, = ask("SELECT overlap_ns(start_ns, dur_ns, process_id - 1) FROM v_event WHERE process_id < 3")
    assert got[0] == overlap(a, b), got
END
for f in percentile hist_bin union_ns overlap_ns; do
	check "$f() agrees with Python" "python3 rows.py $f"
done
is 'without input they are NULL' "$(q "SELECT percentile(fd, 50) IS NULL, union_ns(fd, 1) IS NULL,
	overlap_ns(fd, 1, 0) IS NULL, hist_bin(NULL) IS NULL, hist_bin(0) IS NULL FROM event WHERE 0")" \
	"1	1	1	1	1"
is 'NULL is no input' "$(q "SELECT percentile(column1, 0) || ' ' || union_ns(column1, column2)
	FROM (VALUES (5, 2), (NULL, 9), (6, 4), (7, NULL))")" '5 5'
is 'one set is empty: they do not overlap' "$(q 'SELECT overlap_ns(1, 2, 1)')" 0
for expr in 'percentile(1, 101)' 'percentile(1, -0.5)' 'percentile(1, NULL)' "percentile('x', 5)" \
	'percentile(column1, column1) FROM (VALUES (1), (2))' 'union_ns(1, -1)' 'union_ns(9223372036854775807, 1)' \
	"union_ns('x', 1)" 'overlap_ns(1, 2, 2)' "overlap_ns(1, 2, 'x')" "hist_bin('x')" 'hist_bin(1.5)' \
	'union_ns(1)' 'percentile(DISTINCT 1, 2)' 'percentile(1, 2) OVER ()'; do
	check "refused in one line: $expr" 'ioreel sql a.db "SELECT $expr" >out 2>err; [ $? = 1 ] &&
		[ $(wc -l <err) = 1 ] && grep -q "^ioreel sql: " err'
done

# Conditions: the rows are those that SQLite finds without their help (unary +).
cat >conditions.py <<'END'
import json, subprocess, sys

def ask(query):
    out = subprocess.run(["ioreel", "sql", "--format", "tsv", "a.db", query],
                         stdout=subprocess.PIPE, check=True).stdout
    return out.split(b"\n")[1:-1]

path, = ask("SELECT path FROM v_event WHERE bytes > 0 LIMIT 1")
path = path.decode()
mid, = (int(x) for x in ask("SELECT max(start_ns) / 2 FROM event"))
tid, pid = ask("SELECT tid || ',' || pid FROM v_event LIMIT 1")[0].decode().split(",")
conditions = [
    ("path", "= '%s'" % path), ("path", "IN ('%s', 'x', NULL)" % path), ("path", "LIKE '%%%s'" % path[-3:].upper()),
    ("path", "GLOB '*%s'" % path[-2:]), ("path", "LIKE 'nothing'"), ("path", "= NULL"), ("path", "= 5"),
    ("path", "IS NULL"), ("path", "<> '%s'" % path), ("path", "= '%s' COLLATE NOCASE" % path.upper()),
    ("call", "= 'read'"), ("call", "IN ('read', 'open', 'close')"), ("call", "GLOB 'p*'"), ("call", "LIKE 'P%'"),
    ("call", "NOT LIKE 'P%'"), ("call_group", "= 'write'"), ("layer", "= 'POSIX'"), ("layer", "IN ('STDIO', 7)"),
    ("class", "= 'data'"), ("kind", "= 'pipe'"), ("kind", "IN ('file', 'dir')"),
    ("tid", "= " + tid), ("pid", "= %s.0" % pid), ("pid", "= 1.5"), ("thread_id", "IN (1, 3, 99)"),
    ("process_id", "= 2"), ("start_ns", "> %d" % mid), ("start_ns", "BETWEEN %d AND %d.5" % (mid // 2, mid)),
    ("start_ns", "= (SELECT start_ns FROM event LIMIT 1 OFFSET 50)"), ("start_ns", "< 'x'"),
    ("thread_id", "= 99999999999"), ("tid", "= (SELECT min(tid) FROM thread)"), ("call", "= call_group"),
]
def rows(where):
    return sorted(ask("SELECT start_ns, tid, pid, call, path, bytes, offset, fd, class FROM v_event WHERE " + where))
some = 0
for column, rest in conditions:
    fast, slow = rows("%s %s" % (column, rest)), rows("+%s %s" % (column, rest))
    assert fast == slow, (column, rest, len(fast), len(slow))
    some += bool(fast)
assert some > 20, some
for a, x in conditions:
    for b, y in conditions[9:24]:
        where = "%s %s AND %s %s", (a, x, b, y)
        fast = ask("SELECT count(*), sum(start_ns) FROM v_event WHERE %s %s AND %s %s" % (a, x, b, y))
        slow = ask("SELECT count(*), sum(start_ns) FROM v_event WHERE +%s %s AND +%s %s" % (a, x, b, y))
        assert fast == slow, (where, fast, slow)
END
sed -i 's/conditions\[9:24\]/conditions[9:24:5]/' conditions.py
check 'conditions find the rows of a full scan' 'python3 conditions.py'
is 'a condition is in the plan' "$(q "EXPLAIN QUERY PLAN SELECT count(*) FROM v_event
	WHERE path LIKE '%x' AND call IN ('read', 'write') AND start_ns > 5" | cut -f 4 | tr ' ' '\n' |
	grep -E '^(event_path|event_call|start_ns)' | tr -d '@=' | sort | tr '\n' ' ')" 'event_call event_path~ start_ns> '
is 'a join on the path' "$(q "SELECT count(*) - (SELECT count(*) FROM v_event WHERE path IS NOT NULL)
	FROM file f JOIN v_event e ON e.path = f.path")" 0
is 'a join by time' "$(q "SELECT sum(n) - (SELECT count(*) FROM event) FROM (SELECT (SELECT count(*) FROM v_event
	WHERE start_ns >= column1 AND start_ns < column2) AS n
	FROM (VALUES (0, 1000000), (1000000, 5000000), (5000000, 9223372036854775807)))")" 0
is 'names as the tables have them' "$(q "WITH joined AS (SELECT e.start_ns, p.pid, t.tid, c.name, c.layer, c.call_group,
	f.path, f.class, f.kind, g.path FROM event e JOIN call c USING (call_id) JOIN thread t ON t.thread_id = e.thread_id
	JOIN process p ON p.process_id = e.process_id LEFT JOIN file f ON f.file_id = e.file_id
	LEFT JOIN file g ON g.file_id = e.file2_id),
	named AS (SELECT start_ns, pid, tid, call, layer, call_group, path, class, kind, path2 FROM v_event)
	SELECT (SELECT count(*) FROM (SELECT * FROM joined EXCEPT SELECT * FROM named)),
	(SELECT count(*) FROM (SELECT * FROM named EXCEPT SELECT * FROM joined)),
	(SELECT count(*) FROM joined) = (SELECT count(*) FROM event)")" "0	0	1"
is 'a join with the tables of names needs no prefixes' "$(q "SELECT count(path) > 0, count(call_group) > 0, count(pid) > 0
	FROM event JOIN file USING (file_id) JOIN call USING (call_id) JOIN thread USING (thread_id)
	JOIN process ON process.process_id = thread.process_id")" "1	1	1"
is 'hidden columns are not in SELECT *' "$(q "SELECT count(*) FROM pragma_table_info('event')")" 18

# A store whose blocks are a view on the events themselves. (The shell of newer SQLite
# refuses to make one.)
if python3 -c 'import sqlite3' 2>/dev/null; then
	cp a.db loop.db && python3 - <<-END
		import sqlite3
		sqlite3.connect("loop.db").executescript("""
		PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = 'view', rootpage = 0,
		sql = 'CREATE VIEW event_block AS SELECT start_ns AS block_id, thread_id, 1 AS events, 0 AS min_start_ns,
		9 AS max_end_ns, fd AS data FROM event' WHERE name = 'event_block';
		DELETE FROM sqlite_schema WHERE name = 'event_block_thread';""")
	END
	check 'a store that is made of itself is one line of error' '
		ioreel sql loop.db "SELECT count(*) FROM v_event" >out 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] &&
		grep -q "made of itself" err'
else
	skip 'a store that is made of itself' 'no Python with sqlite3'
fi
if [ -z "$IOREEL_ASAN" ] && command -v sqlite3 >/dev/null; then
	is 'the functions in the sqlite3 shell' "$(sqlite3 -cmd ".load $O/ioreel_sqlite" a.db \
		"SELECT percentile(bytes, 50), union_ns(start_ns, dur_ns), hist_bin(4096) FROM v_event")" \
		"$(q "SELECT percentile(bytes, 50) || '|' || union_ns(start_ns, dur_ns) || '|' || hist_bin(4096) FROM v_event")"
else
	skip 'the functions in the sqlite3 shell' 'it is not installed, or the module is built with ASan'
fi
finish
