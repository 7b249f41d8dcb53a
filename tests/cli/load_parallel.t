#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel load -j N: the bytes of a store do not depend on the number of threads,
# and a failure in any of them is one line.
. "$(dirname "$0")/../lib/tap.sh"
GEN=$O/tests/data/gen_trace

# same NAME: the store of NAME.reel is the same for every number of threads.
same() {
	for j in 1 2 3 4 8; do
		"$IOREEL" load -q -j $j "$1.reel" -o "$1.$j.db" || return 1
		cmp "$1.1.db" "$1.$j.db" || return 1
	done
	"$IOREEL" load -q "$1.reel" && cmp "$1.1.db" "$1.db"
}

"$GEN" -k mixed -p 6 -t 3 -n 40000 -w 2 -s 11 mixed.reel
"$GEN" -k loader -p 3 -n 60000 -s 13 loader.reel
"$GEN" -k pread -p 2 -t 2 -n 80000 -s 17 pread.reel
for t in mixed loader pread; do
	check "$t: the same store from 1, 2, 3, 4 and 8 threads" "same $t"
done

# Processes, threads, spans, notes and call sites of a real job.
cat >job.py <<'EOF'
import multiprocessing, os, sys, threading

def work(n):
    for i in range(200):
        path = "data/%d.%d" % (n, i)
        with open(path, "wb") as f:
            f.write(b"x" * (n * 100 + i))
        with open(path, "rb") as f:
            while f.read(1000):
                pass
        os.rename(path, path + ".done")

if __name__ == "__main__":
    os.mkdir("data")
    jobs = [multiprocessing.Process(target=work, args=(n,)) for n in range(4)]
    jobs += [threading.Thread(target=work, args=(n,)) for n in range(4, 6)]
    for j in jobs:
        j.start()
    for j in jobs:
        j.join()
EOF
if ! command -v python3 >/dev/null; then
	skip 'a job of processes and threads' 'no python3'
else
	"$IOREEL" record -q --all --stacks -o real.reel -- python3 job.py
	check 'a job of processes and threads: the same' 'same real'
	is 'and all of its files' "$(sql real.4.db "SELECT count(*) FROM file
		WHERE path LIKE '%/data/%.done'")" 1200
fi

# A record that is damaged ends its block, whichever thread finds it.
cp -r mixed.reel cut.reel
for log in cut.reel/*.log; do
	truncate -s -70000 "$log" 2>/dev/null || truncate -s 50000 "$log"
done
check 'logs that are cut short: the same, with the same losses' 'same cut'

check 'one job: -j 0 is wrong usage' '"$IOREEL" load -j 0 mixed.reel 2>err; [ $? = 2 ]'
if { sh -c 'ulimit -f 400 && "$IOREEL" load -q -j 4 pread.reel -o full.db'; } 2>err; then
	skip 'a store that does not fit' 'file size limit has no effect'
else
	check 'a store that does not fit leaves nothing, with threads too' \
		'! ls | grep -q "full.db"'
fi
# A full disk: the system call fails, in the thread that inserts.
if [ -w /dev/full ] && (ulimit -f 400; trap '' XFSZ
	"$IOREEL" load -q -j 4 pread.reel -o full.db 2>err); then
	skip 'a full disk' 'file size limit has no effect'
else
	check 'a full disk is one line' \
		'[ $(wc -l <err) = 1 ] && grep -q "^ioreel load: " err && ! ls | grep -q "full.db"'
fi
finish
