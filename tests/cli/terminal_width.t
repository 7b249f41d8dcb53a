#!/bin/sh
# SPDX-License-Identifier: MIT
# Tables on a terminal: no line is wider than the terminal; in a file each row is
# one line.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import pty, termios' 2>/dev/null || skip_all 'no python3 with pty'

cat >onpty.py <<'PY'
"""onpty.py COLUMNS COMMAND...: its output on a terminal of that width."""
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    size = struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0)
    fcntl.ioctl(1, termios.TIOCSWINSZ, size)
    os.execvp(sys.argv[2], sys.argv[2:])
out = b''
while True:
    try:
        got = os.read(fd, 65536)
    except OSError:
        got = b''
    if not got:
        break
    out += got
sys.stdout.buffer.write(out.replace(b'\r\n', b'\n'))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
cat >wide.py <<'PY'
"""wide.py COLUMNS <OUT: fails if a line of two words or more is wider."""
import re, sys, unicodedata
bad = 0
for line in sys.stdin.read().split('\n'):
    line = re.sub('\033\\[[0-9;]*m', '', line)
    wide = sum(1 + (unicodedata.east_asian_width(c) in 'WF') for c in line)
    if wide > int(sys.argv[1]) and len(line.split()) > 1:
        print(wide, line)
        bad = 1
sys.exit(bad)
PY

mkdir deep
name=deep/$(printf 'x%.0s' $(seq 90))
cjk=deep/$(printf '\346\227\245\346\234\254%.0s' 1 2 3 4 5 6 7 8)
for f in "$name" "$cjk" deep/short; do head -c 5000 /dev/zero >"$f"; done
ioreel load -q "$TOP/tests/data/trace-1.0" -o steps.db
ioreel record -q --stacks -o deep.reel -- cat "$name" "$cjk" deep/short >/dev/null
ioreel load -q deep.reel -o deep.db
ioreel record -q --events none -o counted.reel -- cat deep/short >/dev/null
ioreel load -q counted.reel -o counted.db

export TERM=xterm
unset NO_COLOR
fits() {
	python3 onpty.py "$@" >out && test -s out && python3 wide.py "$1" <out
}
for columns in 40 60 80 132; do
	for run in steps.db deep.db counted.db; do
		check "$columns columns: the report of $run" \
			"fits $columns ioreel report $run"
		check "$columns columns: its sections" \
			"fits $columns ioreel report --files --steps --ranks \
			--time --losses --stacks $run"
	done
	check "$columns columns: compare" \
		"fits $columns ioreel compare steps.db deep.db"
	check "$columns columns: a table of SQL" \
		"fits $columns ioreel sql steps.db 'SELECT * FROM v_event LIMIT 5'"
	check "$columns columns: the list of verbs" \
		"python3 onpty.py $columns ioreel >out && grep -q record out &&
		sed '/^First/d' out | python3 wide.py $columns"
	for verb in record load report sql compare replay; do
		# commands to copy are not wrapped
		check "$columns columns: $verb --help" \
			"python3 onpty.py $columns ioreel $verb --help >out &&
			grep -q '^usage' out && sed '/^  [$] /d' out |
			python3 wide.py $columns"
	done
	rm -rf short.reel
	check "$columns columns: the summaries of record and load" \
		"fits $columns ioreel record -o short.reel -- wc -c deep/short &&
		grep -q '^ioreel: nothing lost' out &&
		fits $columns ioreel load short.reel -o short.db"
done
check 'a dumb terminal has a width too' \
	'TERM=dumb fits 60 ioreel report --files steps.db'
check 'a terminal without a size, and a huge one' \
	'fits 0 ioreel report steps.db || python3 wide.py 80 <out &&
	fits 65535 ioreel report --files steps.db'

is 'a narrow terminal omits nothing' \
	"$(python3 onpty.py 40 ioreel report --files --ranks --time deep.db | tr -s ' \n' '\n')" \
	"$(ioreel report --files --ranks --time deep.db | tr -s ' \n' '\n')"
check 'a path is never cut: it is on a line of its own' \
	'python3 onpty.py 40 ioreel report --files deep.db | grep -qE "^ *$T/$name\$"'
check 'in a file a row is one line' \
	'ioreel report --files deep.db >out && grep -qE " 5.00 kB .* $T/$name\$" out'
check 'also with ioreel sql' '
	ioreel sql --format table steps.db "SELECT * FROM v_event LIMIT 5" >out &&
	[ $(wc -l <out) = 7 ] && ioreel record --help >out &&
	! grep -E "^.{81}" out'
finish
