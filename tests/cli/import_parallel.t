#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import -j N: the bytes of a store do not depend on the number of threads,
# for both builders of a run: events in any order, and calls of a job.
. "$(dirname "$0")/../lib/tap.sh"

# same FILE: its store is the same for every number of threads.
same() {
	for j in 1 2 3 4 8; do
		rm -f "$1.$j.db"
		"$IOREEL" import -q -j $j "$1" -o "$1.$j.db" || return 1
		cmp "$1.1.db" "$1.$j.db" || return 1
	done
	"$IOREEL" import -q "$1" -o "$1.db" && cmp "$1.1.db" "$1.db"
}

# Five processes, one after the other, with times that overlap.
awk 'BEGIN {
	a = "\"ph\":1,\"args\":{\"hhash\":\"a1\",\"ret\":%d,\"count\":4096,\"fhash\":\"%s\"}}\n"
	print "{\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":7,\"tid\":7,\"ph\":4,\"args\":{\"name\":\"n\",\"value\":\"a1\"}}"
	for (p = 1; p <= 5; p++)
		for (i = 0; i < 30000; i++) {
			x = (x * 1103515245 + 12345) % 2147483648
			printf("{\"id\":%d,\"name\":\"%s\",\"cat\":\"POSIX\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d," a,
				i, i % 7 ? "read" : "write", p, p + i % 3, 1700000000000000 + 10 * i,
				x % 97, x % 4096, i % 50)
		}
}' >many.pfw
check 'events of five processes: the same store from 1, 2, 3, 4 and 8 threads' 'same many.pfw'
is 'and all of them' "$(sql many.pfw.4.db 'SELECT sum(calls) FROM v_event')" 150000

# A compressed log, which another thread decompresses: whole, of several members, with
# bytes behind them, cut off, damaged.
gzip -1 <many.pfw >whole.pfw.gz
bytes=$(wc -c <whole.pfw.gz)
(head -n 70000 many.pfw | gzip -1; head -c 512 /dev/zero; tail -n +70001 many.pfw | gzip -1) >members.pfw.gz
(cat whole.pfw.gz; echo 'no member of gzip') >behind.pfw.gz
head -c $((bytes / 2)) whole.pfw.gz >cut.pfw.gz
(head -c $((bytes / 2)) whole.pfw.gz; echo damage; tail -c +$((bytes / 2 + 8)) whole.pfw.gz) >damaged.pfw.gz

# as_one FILE [OPTION]: two threads and one give the same store, or the same message.
as_one() {
	rm -f one.db two.db
	"$IOREEL" import -q $2 -j 1 "$1" -o one.db 2>one.err
	one=$?
	"$IOREEL" import -q $2 -j 2 "$1" -o two.db 2>two.err
	[ $? = $one ] && cmp one.err two.err || return 1
	[ $one != 0 ] || cmp one.db two.db
}
for f in whole members behind cut damaged; do
	check "a log that is decompressed ahead, $f: the same" "as_one $f.pfw.gz"
	check "and with --partial" "as_one $f.pfw.gz --partial"
done
"$IOREEL" import -q -j 2 behind.pfw.gz -o behind.db
is 'the bytes behind the last member are counted' \
	"$(sql behind.db "SELECT count FROM loss WHERE reason = 'trailing_bytes'")" 18
is 'and the log before them is whole' "$(sql behind.db 'SELECT sum(calls) FROM v_event')" 150000
"$IOREEL" import -q -j 2 cut.pfw.gz -o cut.db 2>cut.err
is 'a log that is cut off is refused' "$? $(grep -c -- --partial cut.err)" '1 1'

awk 'BEGIN {
	print "7 1700000000.000000 execve(\"/bin/job\", [\"job\"], 0x1) = 0 <0.000100>"
	for (i = 1; i <= 20000; i++) {
		printf("7 %.6f openat(AT_FDCWD, \"/d/%d\", O_RDONLY) = 3 <0.000010>\n", 1700000000 + i / 1000, i)
		printf("7 %.6f read(3, \"\", 4096) = %d <0.000010>\n", 1700000000.0002 + i / 1000, i % 4097)
		printf("7 %.6f close(3) = 0 <0.000005>\n", 1700000000.0004 + i / 1000)
	}
	print "7 1700000100.000000 read(9, not a line"
}' >calls.strace
check 'calls of a job: the same' 'same calls.strace'
is 'and the lines that are none' \
	"$(sql calls.strace.4.db "SELECT (SELECT count(*) FROM file WHERE path LIKE '/d/%'), count(*) > 0 FROM loss" | tr '\t' ' ')" '20000 1'
finish
