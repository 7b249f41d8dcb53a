#!/bin/bash
# SPDX-License-Identifier: MIT
# Another program plants links in the sandbox while a replay runs: no write
# leaves the sandbox, with each of the three ways to confine a replay.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"
python3 -c '' 2>err || skip_all 'no python3'

mkdir work
(cd work && "$IOREEL" record -q -o ../job.reel -- "$O/tests/replay/job_writes")
is 'the job succeeds' "$?" 0

# Turn the directory of the job, and each of its files, into links that lead
# out.
cat >plant.py <<'E2'
import os, sys, time
box, outside = sys.argv[1:]
names = ("one", "two", "three", "four", "five", "six", "seven", "sub")
planted = 0
def plant(target, path):
    global planted
    try:
        os.symlink(target, path + ".planted")
        os.rename(path + ".planted", path)
        planted += 1
    except OSError:
        try:
            os.unlink(path + ".planted")
        except OSError:
            pass
while os.path.isdir(os.path.dirname(box)) and not os.path.exists("stop"):
    for name in names:
        plant(outside + "/" + name, box + "/d/" + name)
        plant(outside + "/made-" + name, box + "/d/" + name)
    try:
        os.rename(box + "/d", box + "/d.away%d" % planted)
    except OSError:
        pass
    plant(outside, box + "/d")
    time.sleep(0.002)
    for path in (box + "/d",):
        try:
            os.unlink(path)
            os.mkdir(path)
        except OSError:
            pass
print(planted)
E2
state() {
	find outside -printf '%P %y %s %n %m\n' | sort
	find outside -type f -exec cksum {} + | sort
}
for way in landlock chroot openat2; do
	rm -rf outside stop
	mkdir outside
	for name in one two three four five six seven; do
		echo "precious $name" >outside/$name
	done
	mkdir outside/sub && mkfifo outside/sub/fifo
	state >before
	mkdir -p "box$T/work"
	: >err.$way
	: >box/.ioreel-replay
	IOREEL_REPLAY_CONFINE=$way "$IOREEL" replay --root box job.reel \
		>out.$way 2>err.$way &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		grep -q rebuilt err.$way && break
		sleep 0.1
	done
	python3 plant.py "$T/box$T/work" "$T/outside" >planted &
	attacker=$!
	wait $pid
	rc=$?
	: >stop
	wait $attacker
	if grep -q 'cannot be confined' err.$way; then
		skip "$way: nothing outside the sandbox changes" 'not possible here'
		continue
	fi
	check "$way: it confines the replay" "cat err.$way out.$way
		[ $rc = 0 -o $rc = 3 ] && grep -q 'confined to the sandbox' err.$way"
	check "$way: the other program planted links" '[ "$(cat planted)" -gt 0 ]'
	state >after
	check "$way: nothing outside the sandbox changes" 'diff before after'
	rm -rf box
done

# The calls and the names of their files are those of the job.
rows="SELECT call, path, count(*), sum(errno <> 0) FROM v_event GROUP BY 1, 2
	ORDER BY 1, 2"
sql job.reel "$rows" >rows.job
for way in landlock chroot openat2; do
	IOREEL_REPLAY_CONFINE=$way "$IOREEL" replay --afap -o $way.db job.reel \
		>out 2>err
	if grep -q 'cannot be confined' err; then
		skip "$way: the same calls on the same files" 'not possible here'
		continue
	fi
	check "$way: every call gives the recorded result" \
		'cat out err; all_same out'
	sql $way.db "$rows" >rows.$way
	check "$way: the same calls on the same files" 'diff rows.job rows.$way'
done

check 'an unknown way is wrong usage' \
	'IOREEL_REPLAY_CONFINE=jail "$IOREEL" replay job.reel 2>err
	[ $? = 2 ] && grep -q "not landlock, chroot or openat2" err'
mkdir open && chmod 777 open
check 'a root that all users may write to is refused' \
	'"$IOREEL" replay --root open job.reel 2>err; rc=$?; cat err
	[ $rc = 2 ] && grep -q "sticky" err && [ -z "$(ls -A open)" ]'
chmod 1777 open
check 'with the sticky bit it is accepted' \
	'"$IOREEL" replay --afap --root open job.reel 2>err >out'
finish
