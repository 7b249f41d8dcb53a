#!/bin/bash
# SPDX-License-Identifier: MIT
# record --stacks has the source lines of calls: for C by addr2line, for Python
# from its frames, in forked children and for samples too.
. "$(dirname "$0")/../lib/tap.sh"

places() { "$IOREEL" sql "$1" --format tsv "SELECT location, call, calls, read_bytes
	FROM v_site WHERE class = 'data' AND call IN ('read', 'pread')
	ORDER BY location" | tail -n +2 | sed "s,$T/,,"; }

cat >job.c <<'END'
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
static char buf[100];
__attribute__((noinline)) static void sample(int fd, int i)
{
	if (pread(fd, buf, 100, i) < 0)
		_exit(2);
}
int main(void)
{
	int fd = open("data.bin", O_RDONLY);
	for (int i = 0; i < 50; i++)
		sample(fd, i);
	if (!fork()) {
		for (int i = 0; i < 20; i++)
			if (read(fd, buf, 10) != 10)
				_exit(1);
		_exit(0);
	}
	wait(0);
	return 0;
}
END
head -c 1000 /dev/zero >data.bin
if ! ls /usr/lib/*/libunwind.so.8 >/dev/null 2>&1; then
	skip 'C: the lines' 'no libunwind'
elif ! command -v addr2line >/dev/null || ! ${CC:-cc} -g -O1 -o job job.c; then
	skip 'C: the lines' 'no addr2line or no compiler'
else
	"$IOREEL" record -q --stacks=1 -o c.reel -- ./job
	is 'C: the lines, in a child too' "$(places c.reel)" \
		"$(printf 'job.c:17 main\tread\t20\t200\njob.c:7 sample\tpread\t50\t5000')"
	"$IOREEL" record -q --stacks=10 -o ten.reel -- ./job
	check 'one of ten: as many sites as the sample has' '[ "$("$IOREEL" sql \
		ten.reel --format tsv "SELECT sum(calls) FROM v_site" | tail -1)" -le 9 ]'
	is 'one of ten: every event is there' "$("$IOREEL" sql ten.reel --format tsv \
		"SELECT count(*) FROM v_event WHERE call IN ('read', 'pread')" |
		tail -1)" 70
fi

cat >job.py <<'END'
import os
def load(fd):
    os.pread(fd, 100, 0)
fd = os.open("data.bin", os.O_RDONLY)
for i in range(7):
    load(fd)
END
# python3 may be a shell script, whose own calls have sites too.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
case $version in
3.11 | 3.12 | 3.13)
	"$IOREEL" record -q --stacks=1 -o py.reel -- "$python" job.py
	is 'Python: the line' "$(places py.reel)" "$(printf 'job.py:3 load\tpread\t7\t700')"
	check 'report --stacks prints it' '"$IOREEL" report --stacks py.reel |
		grep -q "pread .* data .*job.py:3 load"'
	check 'and its caller is among the frames' '"$IOREEL" sql py.reel \
		"SELECT frames FROM v_site" | grep -q "py .*job.py:6 <module>"' ;;
*)
	skip 'Python: the line' "no Python 3.11 to 3.13, but '$version'" ;;
esac
"$IOREEL" record -q -o none.reel -- cat data.bin >/dev/null
is 'without --stacks there is no site' "$("$IOREEL" sql none.reel --format tsv \
	'SELECT count(*) FROM v_site' | tail -1)" 0
finish
