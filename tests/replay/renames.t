#!/bin/sh
# SPDX-License-Identifier: MIT
# Renamed and linked files, links to directories and to nothing, named pipes,
# and a stream that is read ahead of its recorded calls.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

python3 -c "" 2>err || skip_all 'no python3'
mkdir work
head -c 50000 /dev/urandom >work/a
cat >moved.py <<'E'
import os
os.rename('a', 'b')
print(len(open('b', 'rb').read()))
os.link('b', 'c')
os.rename('b', 'd')
print(len(open('c', 'rb').read()), len(open('d', 'rb').read()))
with open('d', 'ab') as f:
    f.write(b'x' * 100)
print(len(open('d', 'rb').read()))
E
is 'a renamed file keeps its bytes' "$(differences python3 -S ../moved.py)" ''
is 'and does in the job' "$(tail -n 3 said | tr '\n' ' ')" '50000 50000 50000 50100 '

mkdir work/run-1 && echo state >work/run-1/state
ln -s run-1 work/latest && ln -s nothing work/dangling
cat >latest.py <<'E'
import os
os.lstat('latest')
open('latest/state').read()
os.listdir('latest')
os.unlink('latest')
os.mkdir('run-2')
os.symlink('run-2', 'latest')
open('latest/state', 'w').write('x')
os.lstat('dangling')
for path in 'dangling', 'dangling':
    try:
        os.stat(path)
    except OSError as e:
        print(e.errno)
print(os.readlink('dangling'))
E
is 'a link to a directory is replaced' "$(differences python3 -S ../latest.py)" ''
is 'a link to nothing leads nowhere' "$(tail -n 3 said | tr '\n' ' ')" '2 2 nothing '

mkfifo work/old
cat >pipes.py <<'E'
import os
def send(name):
    if os.fork() == 0:
        with open(name, 'wb') as f:
            f.write(b'm' * 5000)
        os._exit(0)
    print(len(open(name, 'rb').read()))
    os.wait()
send('old')
os.mkfifo('new')
send('new')
try:
    os.open('new', os.O_WRONLY | os.O_NONBLOCK)
except OSError as e:
    print(e.errno)
os.unlink('new')
E
is 'named pipes: one of the initial files, and a new one' "$(differences python3 -S ../pipes.py)" ''
is 'the job reads from both' "$(tail -n 3 said | tr '\n' ' ')" '5000 5000 6 '

cat >talk.sh <<'E'
mkfifo ask tell
(for i in 1 2 3; do read x <ask; echo "$x" >tell; done) &
for i in 1 2 3; do echo "$i" >ask; read y <tell; echo "$y"; done
wait
rm ask tell
E
is 'a named pipe is made before it is opened' "$(differences bash ../talk.sh)" ''
is 'both ends get their messages' "$(tail -n 3 said | tr '\n' ' ')" '1 2 3 '

if comm /dev/null /dev/null 2>err; then
	seq 100 >work/lines
	is 'a stream is read at the recorded offset' \
		"$(differences comm lines lines)" ''
else
	skip 'a stream is read at the recorded offset' 'no comm'
fi
finish
