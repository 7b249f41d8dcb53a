#!/bin/sh
# SPDX-License-Identifier: MIT
# A file that grows while others read it: each read returns as many bytes as
# recorded, EOF included; a log of several writers is read when it is complete.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

python3 -c "" 2>err || skip_all 'no python3'
cat >job.py <<'E'
import os, time
def child(f, *a):
    if os.fork() == 0:
        f(*a)
        os._exit(0)
def grow():
    for k in range(30):
        os.write(out, b'x' * (100 + k))
        time.sleep(0.002)
out = os.open('grows', os.O_WRONLY | os.O_CREAT)
fd = os.open('grows', os.O_RDONLY)
child(grow)
got = 0
while got < sum(range(100, 130)):
    got += len(os.read(fd, 1000))
    time.sleep(0.001)
os.wait()
def append(i):
    fd = os.open('log', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for k in range(40):
        os.write(fd, b'%d %d\n' % (i, k))
for i in range(4):
    child(append, i)
for i in range(4):
    os.wait()
print(got, len(open('log', 'rb').read()))
E
mkdir work
(cd work && "$IOREEL" record -q -o ../job.reel python3 -S ../job.py >../said 2>err)
is 'the job reads all bytes' "$(cat said)" '3435 760'
for mode in think afap; do
	replays job.reel $mode
done
finish
