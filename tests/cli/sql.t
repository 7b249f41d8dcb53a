#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel sql: formats that keep every value, and a store that does not change.
. "$(dirname "$0")/../lib/tap.sh"
TRACE=$TOP/tests/data/trace-1.0
"$IOREEL" load -q "$TRACE" -o a.db || exit 1
cp a.db before.db
sql() { "$IOREEL" sql "$@"; }
TAB=$(printf '\t')

is 'TSV with a header when the output is no terminal' \
	"$(sql a.db 'SELECT 1 AS one, 2.5 AS b')" "one${TAB}b
1${TAB}2.5"
is 'TSV escapes tab, newline, return and backslash; NULL is empty' \
	"$(sql a.db "SELECT char(97,9,98,10,99,13,92) AS x, NULL AS n, '' AS e" | tail -n 1)" \
	"a\\tb\\nc\\r\\\\${TAB}${TAB}"
is 'CSV quotes as needed; empty text is not NULL' \
	"$(sql a.db --format csv "SELECT 'a,b' AS x, 'say \"hi\"' AS y, NULL AS n, '' AS e")" \
	'x,y,n,e
"a,b","say ""hi""",,""'
is 'JSON has exact integers, null and text' \
	"$(sql a.db --format json "SELECT 9223372036854775807 AS i, NULL AS n, 'é\"' AS t, 1.5 AS f")" \
	'[
{"i":9223372036854775807,"n":null,"t":"é\"","f":1.5}
]'
check 'JSON is JSON, also with two columns of one name and with none' '
	sql a.db --format json "SELECT 1 AS x, 2 AS x" >j &&
	python3 -c "import json; d = json.load(open(\"j\")); assert d == [{\"x\": 1, \"x:2\": 2}], d" &&
	sql a.db --format json "SELECT 1 WHERE 0" >j && python3 -c "
import json; assert json.load(open(\"j\")) == []"'
check 'TSV and CSV keep a file name that is not UTF-8' '
	for f in tsv csv; do
		sql a.db --format $f "SELECT CAST(x'\''66ff6f'\'' AS TEXT)" | tail -n 1 >x
		printf "f\377o\n" | cmp - x || exit 1
	done'
check 'a file name that is not UTF-8 becomes valid JSON' '
	sql a.db --format json "SELECT CAST(x'\''66ff6f'\'' AS TEXT) AS p" >j &&
	python3 -c "import json; assert json.load(open(\"j\")) == [{\"p\": \"f\\\\xffo\"}]"'
is 'a table aligns, numbers to the right, NULL is -' \
	"$(sql a.db --format table "SELECT 'é' AS name, 7 AS calls UNION ALL SELECT NULL, 12345")" \
	"name  calls
----  -----
é         7
-     12345"
check 'a long result streams' '[ "$(sql a.db --format table "WITH RECURSIVE c(i) AS (
	VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 5000) SELECT i FROM c" | tail -n 1 | tr -d " ")" = 5000 ]'
check 'a control character does not reach a terminal' \
	'! sql a.db --format table "SELECT char(27) || '\''[31m'\''" | grep -q "$(printf "\033")"'
is 'several statements, and comments' "$(sql a.db 'SELECT 1 AS a; -- more
	SELECT 2 AS b;' | tr '\n' ' ')" 'a 1 b 2 '
is 'SQL from standard input' "$(echo 'SELECT 3 AS c;' | sql a.db | tr '\n' ' ')" 'c 3 '

# The columns of views are an interface.
is 'v_event begins with the promised columns' "$(sql a.db 'SELECT group_concat(name) FROM (
	SELECT name FROM pragma_table_info('\''v_event'\'') LIMIT 14)' | tail -n 1)" \
	start_ns,dur_ns,pid,tid,call,layer,path,fd,open_id,offset,asked,bytes,result,errno
is 'v_span begins with the promised columns' "$(sql a.db 'SELECT group_concat(name) FROM (
	SELECT name FROM pragma_table_info('\''v_span'\'') LIMIT 6)' | tail -n 1)" \
	start_ns,dur_ns,pid,tid,name,detail
is 'time 0 is the first event' "$(sql a.db 'SELECT min(start_ns) FROM (SELECT start_ns FROM v_event
	UNION ALL SELECT start_ns FROM v_span)' | tail -n 1)" 0
is 'only successful reads and writes have bytes' "$(sql a.db "SELECT count(*) FROM v_event
	WHERE bytes IS NOT NULL AND (call_group NOT IN ('read', 'write') OR errno)" | tail -n 1)" 0
is 'every open id has its open file' "$(sql a.db 'SELECT count(*) FROM event WHERE open_id NOT IN (
	SELECT open_id FROM open_file)' | tail -n 1)" 0
is 'open_file can be searched and joined' "$(sql a.db 'SELECT count(*) FROM event
	LEFT JOIN open_file o USING (open_id) WHERE event.open_id IS NOT NULL
	AND (o.file_id IS NULL OR o.file_id <> event.file_id)' | tail -n 1)" 0
is 'bounds on thread and time give the result of a full scan' "$(sql a.db 'SELECT
	(SELECT count(*) FROM event WHERE thread_id = 2 AND start_ns >= 100000 AND start_ns < 300000) -
	(SELECT count(*) FROM event WHERE +thread_id = 2 AND +start_ns >= 100000 AND +start_ns < 300000)' | tail -n 1)" 0

is 'a file is found by its id' "$(sql a.db 'SELECT (SELECT count(*) FROM file) -
	(SELECT count(*) FROM file f JOIN file g ON g.file_id = f.file_id AND g.path = f.path AND
	g.class = f.class)' | tail -n 1)" 0
is 'v_file has the sums of the events' "$(sql a.db "SELECT (SELECT sum(read_bytes) FROM v_file) - (SELECT sum(bytes)
	FROM v_event WHERE call_group = 'read' AND kind NOT IN ('pipe', 'socket') AND layer <> 'MPIIO')" | tail -n 1)" 0

if command -v sqlite3 >/dev/null; then
	cp a.db changed.db
	sqlite3 changed.db "DROP VIEW v_group; CREATE VIEW v_group AS SELECT 'no' AS call_group; DROP VIEW v_timeline"
	is 'views of another version or origin are those of this program' \
		"$(sql changed.db 'SELECT * FROM v_group; SELECT count(*) FROM v_timeline')" \
		"$(sql a.db 'SELECT * FROM v_group; SELECT count(*) FROM v_timeline')"
	sqlite3 changed.db "DROP VIEW v_measured;
		CREATE VIEW v_measured AS SELECT 0 AS by_events, 0 AS by_counters"
	is 'also where another view reads one of them' "$(sql changed.db 'SELECT * FROM v_summary')" \
		"$(sql a.db 'SELECT * FROM v_summary')"
else
	skip 'views of another version' 'sqlite3 is not installed'
	skip 'also where another view reads one of them' 'sqlite3 is not installed'
fi

# A store is read-only.
for q in 'DELETE FROM run' 'DROP TABLE run' 'CREATE TABLE t (x)' 'UPDATE event SET fd = 1' \
	'DELETE FROM open_file' 'INSERT INTO file VALUES (99, 1, 1, 1, 1)'; do
	for run in a.db "$TRACE"; do
		check "refused: $q" '! sql "$run" "$q" 2>err && [ $(wc -l <err) = 1 ]'
	done
done
check 'temporary tables may be created' \
	'[ "$(sql a.db "CREATE TEMP TABLE t AS SELECT 5 AS x; SELECT x FROM t" | tail -n 1)" = 5 ]'
check 'the store is unchanged' 'cmp a.db before.db'
cp a.db b.db; files=$(echo *.db*)
for run in a.db "$TRACE"; do
	is 'a second run' "$(sql "$run" "ATTACH 'b.db' AS b;
		SELECT (SELECT count(*) FROM b.run) + (SELECT count(*) FROM run)" | tail -n 1)" 2
	for q in "ATTACH 'missing.db' AS m" "VACUUM INTO 'copy.db'" \
		"ATTACH 'b.db' AS b; CREATE TABLE b.t (x)" \
		"ATTACH 'b.db' AS b; PRAGMA b.user_version = 9" \
		"ATTACH 'b.db' AS b; PRAGMA b.journal_mode = WAL"; do
		check "refused: $q" '! sql "$run" "$q" 2>err && [ $(wc -l <err) = 1 ]'
	done
done
check 'no file was created or written' '[ "$(echo *.db*)" = "$files" ] && cmp b.db before.db'
chmod 444 a.db; mkdir ro; cp a.db ro; chmod 555 ro
check 'a read-only store in a read-only directory' '[ "$(sql ro/a.db "SELECT count(*) FROM event" | tail -n 1)" -gt 0 ]'
chmod 755 ro

check 'a dot command may be the query' \
	'sql a.db .tables | grep -q v_event && sql a.db ".schema v_event" | grep -q start_ns'
is 'of the table that is named alone' "$(sql a.db '.schema source' | grep -c CREATE)" 1
check 'an unknown dot command is an error' '
	for w in .tabels ".format xml" .format; do
		sql a.db "$w" >out 2>err; [ $? = 1 ] && [ ! -s out ] && [ $(wc -l <err) = 1 ] || exit 1
	done; sql a.db .help | grep -q "^\.tables" && sql a.db ".format json"'
is 'a script may have dot commands between its statements' "$(printf \
	'SELECT 1 AS a; SELECT 2 AS b\n;.format csv\nSELECT 3 AS c,\n 4.5 AS d;\n\n .quit\nSELECT 5 AS e' |
	sql a.db | tr '\n' ' ')" 'a 1 b 2 c,d 3,4.5 '
check 'so may a query, and an unknown one ends either' 'sql a.db "SELECT 1; .tables" | grep -q v_event &&
	! printf ".tabels\nSELECT 1" | sql a.db >out 2>err && [ ! -s out ] && grep -q "unknown word .\.tabels" err'
check '.schema of no table or view is an error' '
	! sql a.db ".schema v_evnet" 2>err && [ $(wc -l <err) = 1 ] && grep -q v_evnet err'
is 'every table that .tables lists has a definition' "$(for name in $(sql a.db .tables | tail -n +2 | cut -f 2); do
	sql a.db ".schema $name" >/dev/null 2>&1 || echo $name
done)" ''
check 'an error is one line, exit 1' 'sql a.db "SELEC 1" 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ] &&
	grep -q "^ioreel sql: .*syntax error" err'
check 'an error on standard input too' 'echo "SELECT * FROM nowhere;" | sql a.db 2>err; [ $? = 1 ] && grep -q "no such table: nowhere" err'
check 'a wrong format is usage' 'sql a.db --format xml "SELECT 1" 2>err; [ $? = 2 ]'
check 'neither a trace nor a store' 'sql "$TOP/Makefile" "SELECT 1" 2>err; [ $? = 1 ] && grep -q "neither a trace nor a store" err'
check 'a full disk is an error' '[ ! -e /dev/full ] || { sql a.db "SELECT * FROM v_event" >/dev/full 2>err; [ $? = 1 ]; }'

# The module in other programs; a module with ASan needs a program with ASan.
if [ -n "$IOREEL_ASAN" ]; then
	skip 'the sqlite3 shell' 'the module is built with ASan'
elif command -v sqlite3 >/dev/null; then
	check 'the sqlite3 shell' '[ "$(sqlite3 -cmd ".load $O/ioreel_sqlite" -readonly a.db \
		"SELECT count(*) FROM v_event")" = "$(sql a.db "SELECT count(*) FROM v_event" | tail -n 1)" ]'
	check 'its views and tables, those without rows too' '[ "$(sqlite3 -cmd ".load $O/ioreel_sqlite" -readonly a.db \
		"SELECT count(*) FROM v_file JOIN file USING (file_id); SELECT count(*) FROM v_span, v_step")" = \
		"$(sql a.db "SELECT count(*) FROM file_io; SELECT count(*) FROM v_span, v_step" | grep -v count)" ]'
	check 'another database stays as it is' '[ "$(sqlite3 -cmd ".load $O/ioreel_sqlite" other.db \
		"SELECT (SELECT count(*) FROM sqlite_schema) + (SELECT count(*) FROM sqlite_temp_schema)")" = 0 ]'
	check 'without the module all tables and views are listed' '
		sqlite3 -readonly a.db .tables | tr -s " " "\n" | sort >listed &&
		sql a.db .tables | tail -n +2 | cut -f 2 | sort >own && cmp listed own && grep -qx v_event own'
	for view in $(sql a.db "SELECT name FROM sqlite_schema WHERE type = 'view'" | tail -n +2); do
		check "without the module $view works, or its failure names the module" '
			sqlite3 -readonly a.db "SELECT count(*) FROM $view" >out 2>err ||
			grep -q "no such module: ioreel_sqlite_[a-z]" err'
	done
	is 'these views need the module' "$(for view in $(sql a.db "SELECT name FROM sqlite_schema
		WHERE type = 'view' ORDER BY name" | tail -n +2); do
		sqlite3 -readonly a.db "SELECT count(*) FROM $view" >out 2>err || printf '%s ' $view
	done)" "$(sed -n 's/^.Pq Sy \(v_event .*\)/\1 /p' "$TOP/man/ioreel-store.5" | tr -d , | tr -s ' ' '\n' |
		sort | tr '\n' ' ' | sed 's/^ //')"
	check 'an attached store: views on events are refused, other views work' '
		cp before.db other.store
		! sqlite3 -cmd ".load $O/ioreel_sqlite" a.db "ATTACH '\''other.store'\'' AS o; SELECT * FROM o.v_event" 2>err &&
		grep -q "cannot be read: open it as the main database" err &&
		sqlite3 a.db "ATTACH '\''other.store'\'' AS o; SELECT * FROM o.v_group" | grep -q read'
	check 'and it refuses to write' '! sqlite3 -cmd ".load $O/ioreel_sqlite" a.db "DELETE FROM event" 2>err && grep -q "may not be modified" err'
else
	skip 'the sqlite3 shell' 'sqlite3 is not installed'
fi
cat >m.py <<'END'
import os, sqlite3, sys
db = sqlite3.connect("file:a.db?mode=ro", uri=True)
if not hasattr(db, "enable_load_extension"):
    sys.exit(77)
db.enable_load_extension(True)
db.load_extension(os.environ["O"] + "/ioreel_sqlite")
db.text_factory = bytes
n, = db.execute("SELECT count(*) FROM event").fetchone()
assert n > 0
cols = [c[0] for c in db.execute("SELECT * FROM v_event").description]
assert cols[0] == "start_ns", cols
db.execute("PRAGMA trusted_schema = OFF")
assert db.execute("SELECT count(*) FROM v_event").fetchone()[0] == n
END
rc=77
[ -n "$IOREEL_ASAN" ] || { python3 m.py 2>m.err; rc=$?; }
# the system's Python may load extensions where the first cannot
[ $rc = 77 ] && [ -z "$IOREEL_ASAN" ] && [ -x /usr/bin/python3 ] && { /usr/bin/python3 m.py 2>m.err; rc=$?; }
if [ $rc = 77 ]; then
	skip 'Python' 'this Python cannot load extensions'
else
	is "Python $(head -n 1 m.err)" $rc 0
fi

# The prompt, on a pseudo-terminal.
if command -v script >/dev/null; then
	printf 'SELECT 40\n + 2 AS n;\n.tables\n.schema run\n.schema span\n.nonsense\nSELECT bad;\n.quit\n' |
		script -qec "$IOREEL sql a.db" /dev/null >out 2>&1
	check 'a statement may take several lines' 'grep -q 42 out'
	check 'an error does not end the prompt' 'grep -q "no such column: bad" out'
	check '.schema shows the definition of a table and of a virtual table' \
		'grep -q "exit_status INTEGER, *-- NULL when" out && grep -q "span(span_id, thread_id" out'
	check '.tables lists the tables' 'grep -q v_event out && grep -q open_file out'
else
	skip 'the prompt' 'script is not installed'
fi
finish
