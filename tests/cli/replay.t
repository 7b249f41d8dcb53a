#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel replay: options, places, refusals, exit statuses.
. "$(dirname "$0")/../lib/tap.sh"

mkdir data
for i in 1 2 3; do head -c 70000 /dev/urandom >"data/f $i"; done
cat >job.sh <<'E'
cat data/f* >out.bin
cat data/f\ 1 >/dev/null
cat data/missing 2>/dev/null
sleep 0.2
mv out.bin end.bin
E
"$IOREEL" record -q -o job.reel sh job.sh
sum=$(cat data/* | cksum)

check 'plays a trace' '"$IOREEL" replay job.reel >out 2>err'
check 'prints what it rebuilt' \
	'grep -Eq "^ioreel replay: [0-9]+ processes, [0-9,]+ calls, .* rebuilt in replay\." err'
check 'prints the result' 'grep -q "^replayed in .* (recorded .*); [0-9]* of" out &&
	grep -q "^likeness [01]\.[0-9]*" out'
check 'its worst factor is that of compare, with its sign' '
	"$IOREEL" replay job.reel -o same.db >out2 2>/dev/null
	"$IOREEL" compare job.reel same.db >diff
	worst=$(sed -n "s/^likeness .*(worst factor: \(.*\), \([-+]\)[0-9.]* %).*/\1 .*\2[0-9]/p" out2)
	[ "$worst" ] && grep -e "$worst" diff || { cat out2 diff; false; }'
rm same.db out2 diff
check 'missing parts of the recording are printed beside the likeness' '
	cp -r job.reel cut.reel
	log=$(ls -S cut.reel/*.log | head -1) && truncate -s -20 "$log"
	"$IOREEL" replay cut.reel 2>/dev/null |
		grep -A9 "^likeness" | grep "^the job: incomplete: .*a damaged trace"'
rm -r cut.reel
check 'and that the sandbox is removed' 'grep -q "sandbox removed (--keep" err'
is 'leaves no file here' "$(ls | tr '\n' ' ')" "data end.bin err job.reel job.sh out "
is 'the data is unchanged' "$(cat data/* | cksum)" "$sum"
# Other tests replay at the same time: use private mounts.
export T
places=
case $T in
/dev/shm/*) ;;
*) unshare -rm sh -c 'mount --bind "$T" /dev/shm' 2>/dev/null && places=own ;;
esac
if [ -n "$places" ]; then
	mkdir shm tmp
	is 'leaves nothing in /tmp and /dev/shm' "$(unshare -rm sh -c '
		mount --bind shm /dev/shm && export TMPDIR="$T/tmp" &&
		"$IOREEL" replay job.reel >out && ls -A shm tmp' 2>&1 |
		grep -v '^ioreel replay: ' | tr '\n' ' ')" 'shm:  tmp: '
	rmdir shm tmp
else
	skip 'leaves nothing in /tmp and /dev/shm' 'no mounts, or none here'
fi

"$IOREEL" load job.reel -o job.db 2>/dev/null
check 'plays a store, and keeps its own' '"$IOREEL" replay job.db -o again.db >out'
is 'the paths are those of the job' \
	"$("$IOREEL" sql again.db "SELECT DISTINCT path FROM v_event WHERE kind = 'file' ORDER BY 1")" \
	"$("$IOREEL" sql job.db "SELECT DISTINCT path FROM v_event WHERE kind = 'file' ORDER BY 1")"
is 'and so are the bytes' \
	"$("$IOREEL" sql again.db "SELECT call, sum(bytes) FROM v_event GROUP BY 1")" \
	"$("$IOREEL" sql job.db "SELECT call, sum(bytes) FROM v_event GROUP BY 1")"

check '--keep keeps the sandbox' '"$IOREEL" replay job.reel --root box --keep >out 2>err &&
	[ -f "box$PWD/data/f 1" ] && grep -q "kept in" err'
is 'with files of the recorded size' "$(stat -c %s "box$PWD/data/f 2")" 70000
check 'that are not sparse' '[ $(stat -c "%b" "box$PWD/data/f 2") -ge 136 ]'
check 'and not the originals' '! cmp -s "data/f 1" "box$PWD/data/f 1"'
check 'a sandbox made by ioreel is reused' '"$IOREEL" replay job.reel --root box >out &&
	[ -d box ] && [ -z "$(ls -A box)" ]'

check '--cold prints it' '"$IOREEL" replay job.reel --cold >out 2>err && grep -q "page cache is cold" err'

check '--warm prints it' '"$IOREEL" replay job.reel --warm >out 2>err && grep -q "they are in the page cache" err'
check '--warm and --cold exclude each other' '"$IOREEL" replay job.reel --warm --cold 2>err; [ $? = 2 ] && grep -q exclude err'

mkdir mine && echo precious >mine/file
check 'a folder with files is refused' '"$IOREEL" replay job.reel --root mine >out 2>err; [ $? = 2 ]'
is 'with the reason' "$(head -1 err)" \
	"ioreel replay: 'mine' is not empty and was not made by ioreel; give an empty --root"
is 'and not changed' "$(ls -A mine) $(cat mine/file)" 'file precious'

check 'no run: wrong usage' '"$IOREEL" replay 2>err; [ $? = 2 ] && grep -q "no run given" err'
check 'two modes: wrong usage' '"$IOREEL" replay --afap --timed job.reel 2>err; [ $? = 2 ]'
check 'no such run: one line' '"$IOREEL" replay nowhere 2>err; [ $? = 1 ] && [ $(wc -l <err) = 1 ]'
check 'a file that is not a run: one line' \
	'"$IOREEL" replay job.sh 2>err; [ $? = 1 ] && grep -q "neither a trace nor a store" err'
"$IOREEL" record -q -o empty.reel true
check 'a run without calls: prints it' \
	'"$IOREEL" replay empty.reel 2>err; [ $? = 1 ] && grep -q "nothing to replay" err && [ ! -e replay.* ]'
check '--help fits a screen' '"$IOREEL" replay --help >out && [ $(wc -l <out) -le 50 ] && head -3 out | grep -q "ioreel replay"'

# An interrupted replay ends at once and leaves nothing.
"$IOREEL" record -q -o long.reel sh -c 'cat data/f* >/dev/null; sleep 3; cat data/f* >/dev/null'
for sig in INT TERM; do
	# Repeat if it had ended before, on a slow machine. A shell starts
	# background commands with SIGINT ignored.
	for try in 1 2 3 4 5; do
		: >err
		env --default-signal "$IOREEL" replay long.reel >out 2>err &
		pid=$!
		while ! grep -q rebuilt err && kill -0 $pid 2>/dev/null; do
			sleep 0.1
		done
		sleep 0.3
		kill -$sig $pid 2>/dev/null
		wait $pid
		rc=$?
		grep -q '^replayed in' out || break
	done
	is "interrupted: exit status ($sig)" "$((rc > 128))" 1
	check "interrupted: no sandbox left ($sig)" '! ls -d replay.* 2>/dev/null'
	check "interrupted: no process left ($sig)" '! cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " |
		grep "[r]eplay-engine.*$(basename "$T")"'
done

# Several runs: the median run is kept.
check '--runs 3 replays three times' \
	'"$IOREEL" replay job.reel --runs 3 -o mid.db >out 2>err; rc=$?; cat out err
	[ $rc = 0 ] && [ "$(grep -c "^run [123] of 3$" out)" = 3 ] &&
	[ "$(grep -c "^likeness" out)" = 3 ] && [ "$(grep -c rebuilt err)" = 3 ]'
check 'and names the median run' 'cat out
	grep -Eqx "3 runs: I/O time .* to .*, median .* in run [123], whose likeness is 0\.[0-9]{4}|.* is 1\.0000" out'
n=$(sed -nE 's/.* in run ([123]), .*/\1/p' out)
is 'the likeness is that of the median run' \
	"$(sed -nE 's/.*whose likeness is //p' out)" \
	"$(grep '^likeness' out | sed -n "${n}p" | cut -d' ' -f2)"
is 'and its store is kept' \
	"$("$IOREEL" compare job.reel mid.db | sed -nE 's/^likeness \(cosine\) ([0-9.]+) .*/\1/p')" \
	"$(sed -nE 's/.*whose likeness is //p' out)"
is 'no other store is' "$(ls -d replay.* mid.db?* 2>/dev/null)" ''
# If calls fail that succeeded in the job: status 3, but all runs are made and kept.
printf 'int link(void)\n{\n\treturn -1;\n}\nint linkat(void)\n{\n\treturn -1;\n}\n' >fail.c
if cc -w -fno-builtin -shared -fPIC -o fail.so fail.c 2>/dev/null; then
	"$IOREEL" record -q -o link.reel sh -c 'cp "data/f 1" x; ln x y; rm x y'
	LD_PRELOAD=$T/fail.so "$IOREEL" replay link.reel --runs 2 -o bad.db >out 2>err
	is 'runs that differ from the recording: exit status 3' $? 3
	is 'after the last run, with one error' \
		"$(grep -c '^likeness' out) $(grep -c 'recorded result (limit' err) $(ls bad.db)" \
		'2 1 bad.db'
fi
mkdir tmp
TMPDIR=$T/tmp "$IOREEL" replay job.reel --runs 2 --root box2 --keep >out 2>err
is 'the last sandbox is kept with --keep' \
	"$(grep -c kept err) $(grep -c removed err) $(stat -c %s "box2$PWD/data/f 2")" '1 1 70000'
is 'no trace remains' "$(ls tmp)" ''
for bad in '--runs 0' '--runs 2 --plan p'; do
	check "$bad: wrong usage" '"$IOREEL" replay job.reel $bad 2>err; [ $? = 2 ]'
done

check 'a plan can be kept' '"$IOREEL" replay job.reel --plan job.plan && [ -s job.plan ]'
if command -v mpirun >/dev/null 2>&1 && [ -x "$O/ioreel-mpi" ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	for n in 1 2; do
		check "ioreel-mpi plays it, $n ranks" 'timeout 300 mpirun --oversubscribe -n $n \
			"$O/ioreel-mpi" replay job.plan mpibox >out 2>&1; cat out;
			grep -Eq "; ([0-9]+) of \1 calls gave" out && [ ! -e mpibox ]'
	done
	for words in 'replay job.plan mpibox fast' replai; do
		check "wrong usage, ioreel-mpi $words: one of two ranks reports it" \
			'timeout 300 mpirun --oversubscribe -n 2 "$O/ioreel-mpi" $words 2>err
			[ $? = 2 ] && [ $(grep -c "^ioreel-mpi" err) = 1 ] || ! cat err'
	done
	check 'ioreel-mpi refuses what is no plan' \
		'! timeout 300 mpirun -n 1 "$O/ioreel-mpi" replay job.sh mpibox 2>err && grep -q "is not a plan" err'
else
	skip 'ioreel-mpi' 'no Open MPI'
fi
finish
