#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that cannot be traced run as bare, and record, report and the trace
# name them with the reason. A program that only lost its environment is traced
# with --follow-env.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
CC=${CC:-cc}
head -c 10000 /dev/zero >data
cat >read.c <<'C'
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	char b[100];
	int fd = open("data", O_RDONLY), n = 0;
	while (read(fd, b, sizeof(b)) > 0)
		n++;
	printf("%d reads\n", n);
	return 7;
}
C
$CC -o dynamic read.c
$CC -static -o static read.c 2>/dev/null
reads="select count(*) from v_event where call = 'read' and path like '%/data'"
why='select group_concat(value, ", ") from (select value from note
	where key = "untraced" order by value)'

# same NAME COMMAND...: bare and traced into NAME.reel
same() {
	name=$1
	shift
	"$@" >bare.out 2>bare.err
	echo "status $?" >>bare.out
	"$IOREEL" record -o "$name.reel" $OPTIONS -- "$@" >traced.out 2>all.err
	echo "status $?" >>traced.out
	grep -v '^ioreel: ' all.err >traced.err
	is "$name: output and end" "$(cat traced.out)" "$(cat bare.out)"
	is "$name: standard error" "$(cat traced.err)" "$(cat bare.err)"
}
# reported NAME REASON: in the lines of record and by the report
reported() {
	check "$1: record reports it" "grep -Eq '$2' all.err"
	check "$1: and report" \
		"\"$IOREEL\" report $1.reel >r && grep -q '^untraced: ' r && ! grep -q '^complete' r"
}

if [ -x static ]; then
	same static ./static
	reported static 'statically linked'
	# A shell that runs a traceable program too.
	same static_child sh -c 'cat data | wc -c; ./static; ./static; ./dynamic'
	reported static_child '2 programs NOT TRACED \(2 statically linked\)'
	check 'and compare, with the likeness' '
		"$IOREEL" compare static_child.reel static.reel |
		grep -q "^static_child.reel: incomplete: 2 programs not traced$"'
	is 'static_and_go: named' "$(sql static_child.reel "$why")" \
		'static ./static, static ./static'
	check 'and by the report' '"$IOREEL" report static_child.reel |
		grep -q "^untraced: 2 programs (2 statically linked): .*: \./static$"'
	is 'and the others are recorded' "$(sql static_child.reel "$reads and bytes = 100")" 100
else
	skip 'static_and_go' 'no static libc'
fi
if command -v go >/dev/null; then
	printf 'package main\nimport ("fmt";"os")\nfunc main(){b,_:=os.ReadFile("data");fmt.Println(len(b))}\n' >g.go
	go build -o go g.go 2>/dev/null
	same go ./go
	reported go 'statically linked'
else
	skip 'static_and_go: a Go program' 'no go'
fi
# The linker of Go writes its note into programs with libc too.
cat >noted.c <<'C'
#include <fcntl.h>
#include <unistd.h>
__asm__(".section .note.go.buildid,\"a\",@note\n"
	".long 4, 4, 4\n.ascii \"Go\\0\\0id--\"\n.previous\n");
int main(void) { char b[100]; return read(open("data", O_RDONLY), b, 100) != 100; }
C
$CC -o noted noted.c
same noted ./noted
reported noted '1 program NOT TRACED \(1 written in Go\)'
same noted_child sh -c './noted; ./noted; ./dynamic'
reported noted_child '2 programs NOT TRACED \(2 written in Go\)'
is 'a Go program: its calls of libc are recorded' "$(sql noted.reel "$reads")" 1
if command -v musl-gcc >/dev/null; then
	musl-gcc -o musl read.c
	same musl ./musl
	reported musl 'musl C library'
	same musl_child sh -c './musl; ./dynamic'
	reported musl_child '1 of another C library'
else
	skip 'musl_host' 'no musl-gcc (musl-tools)'
fi

same env_cleared sh -c 'env -i ./dynamic; exit $?'
reported env_cleared '1 started without LD_PRELOAD'
is 'env_cleared: none of its calls are recorded' "$(sql env_cleared.reel "$reads")" 0
OPTIONS=--follow-env same env_followed sh -c 'env -i ./dynamic; exit $?'
is 'env_cleared_reinject: all of its calls are recorded' "$(sql env_followed.reel "$reads")" 101
check 'env_cleared_reinject: and no program is reported as untraced' '! grep -q NOT.TRACED all.err'
PY=/usr/bin/python3
if [ -x $PY ]; then
	cat >children.py <<'PY'
import os, subprocess
print(subprocess.run(["./dynamic"], env={}).returncode, flush=True)
if os.fork() == 0:
    os.execve("./dynamic", ["./dynamic"], {"A": "1"})
print(os.wait()[1], flush=True)
print(os.waitpid(os.posix_spawn("./dynamic", ["./dynamic"], {}), 0)[1])
for bad in ("/nonexistent", "/etc", "./data"):
    try:
        os.execve(bad, [bad], {})
    except OSError as e:
        print(e.errno)
PY
	same env_python $PY -S children.py
	reported env_python '3 started without LD_PRELOAD'
	OPTIONS=--follow-env same env_python_followed $PY -S children.py
	is 'env_cleared_reinject: subprocess, execve and posix_spawn' \
		"$(sql env_python_followed.reel "$reads")" 303
else
	skip 'env_cleared: from Python' "no $PY"
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	cp dynamic suid && chown 65534 suid && chmod 4755 suid
	chmod 755 . && chmod 644 data
	same setuid ./suid
	reported setuid 'with other rights|\(setuid\)'
	same setuid_child sh -c './suid; ./dynamic'
	reported setuid_child '1 with other rights'
	# A process that drops its rights before an exec cannot write to the
	# trace.
	"$IOREEL" record -o dropped.reel -- setpriv --reuid 65534 \
		--clear-groups ./dynamic >out 2>all.err
	is 'setuid_dropped: runs' "$? $(cat out)" '7 100 reads'
	reported dropped '1 process could not record'
	"$IOREEL" record -o dropped_child.reel -- sh -c \
		'setpriv --reuid 65534 --clear-groups ./dynamic; ./dynamic' \
		>out 2>all.err
	reported dropped_child '1 process could not record'
	is 'and the other is recorded' "$(sql dropped_child.reel "$reads")" 101
	mkdir mine && chown 65534 mine
	(cd mine && setpriv --reuid 65534 --clear-groups "$IOREEL" record -o t \
		-- ../dynamic >/dev/null 2>&1)
	chmod 500 mine
	cp "$O/libioreel.so" . # where others may read it
	(cd / && LD_PRELOAD=$T/libioreel.so IOREEL_DIR=$T/mine/no/way \
		setpriv --reuid 65534 --clear-groups "$T/dynamic" >$T/ro.out 2>$T/ro.err)
	check 'trace_dir_missing_readonly: the job is not harmed' \
		'grep -q "reads" ro.out && [ ! -s ro.err ]'
else
	skip 'setuid_ignored' 'needs root'
fi
mkdir -p gone
"$IOREEL" record -q -o gone/t -- sh -c 'rm -rf gone; ./dynamic; exit 4' >out 2>/dev/null
is 'a removed trace directory does not harm the job' "$? $(cat out)" '4 100 reads'
finish
