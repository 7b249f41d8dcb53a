#!/bin/bash
# SPDX-License-Identifier: MIT
# Bytes in a stream's buffer when its process forks, or ends by _exit(): the
# bytes recorded for each process agree with strace and with the file's size.
. "$(dirname "$0")/../../lib/tap.sh"

unset LD_PRELOAD
host=$O/tests/shim/stdio/stream_fork
R="$IOREEL record -q"
sum() {	# bytes of each process, from numbers in lines
	awk '{ n[$1] += $2 } END { for (p in n) if (n[p]) print n[p] }' |
		sort -n | tr '\n' ' '
}
strace -o /dev/null true 2>/dev/null && oracle=yes

# One case, bare under strace and recorded.
check_way() {
	rm -rf t.reel tr.* out
	if [ -n "$oracle" ]; then
		strace -qq -ff -y -e trace=write -o tr "$host" "$1" >sout
		want=$(grep -HE '/s?out>' tr.* | sed -n \
			's/^tr.\([0-9]*\):.* = \([0-9]*\)$/\1 \2/p' | sum)
		rm -f out
	fi
	$R -o t.reel -- "$host" "$1" >sout
	got=$("$IOREEL" sql t.reel --format tsv "SELECT pid, bytes FROM v_event
		WHERE call_group = 'write' AND (path LIKE '%/out'
		OR path LIKE '%/sout')" | tail -n +2 | sum)
	[ -n "$oracle" ] || want=$got
	is "$1: bytes of each process" "$got" "$want"
	is "$1: and of the file" "$(($(echo "$got" | sed 's/ $//; s/ /+/g')))" \
		"$(cat out sout 2>/dev/null | wc -c)"
}
while read -r way; do
	check_way "$way"
done <<'W'
_exit
wrapped _exit
exit
wrapped exit
quick_exit
exec
fflush _exit
fflush all _exit
fwrite fclose
fprintf exit
fprintf _exit
fseek _exit
fwrite past the buffer, fflush _exit
fprintf past the buffer, exit
unbuffered fwrite _exit
grandchild exit
alone _exit
alone past the buffer, _exit
stdout _exit
stdout exit
stdout wrapped exit
stdout fprintf exit
stdout fflush all _exit
stdout alone _exit
stdout alone past the buffer, exit
stdout fprintf past the buffer, exit
W

# Bytes appended to existing ones.
head -c 5000 /dev/zero >sout
$R -o app.reel -- "$host" 'stdout alone past the buffer, exit' >>sout
is 'appended: only what was appended' "$("$IOREEL" sql app.reel --format tsv "
	SELECT sum(bytes), min(offset) FROM v_event WHERE call_group = 'write'" |
	tail -n +2)" "10000	5000"

# A parent fills the buffer; its child reads from the copy.
printf 0123456789 >in
$R -o in.reel -- "$host" reads
is 'getc before a fork is recorded once' "$("$IOREEL" sql in.reel --format tsv "
	SELECT pid, bytes FROM v_event WHERE call_group = 'read'
	AND path LIKE '%/in'" | tail -n +2 | sum)" '3 '
finish
