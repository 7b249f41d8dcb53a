#!/bin/sh
# SPDX-License-Identifier: MIT
# Directories that the job lists have as many entries in the replay, also when
# another program changed them, or when the job never used an entry.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

PY=/usr/bin/python3
[ -x $PY ] || PY=python3
$PY -c 'import socket, tempfile' 2>/dev/null || skip_all 'no python3'

cat >lib.py <<'E'
import os, subprocess

def put(path, n=10):
    with open(path, 'wb') as f:
        f.write(b'x' * n)

def untraced(*words):
    env = {k: v for k, v in os.environ.items() if k != 'LD_PRELOAD'}
    subprocess.run(words, env=env, check=True)

def lists(path, n):
    got = len(os.listdir(path))
    assert got == n, (path, got, n)
E

entries() {
	sql "$1" "SELECT sum(result) FROM v_event
		WHERE call = 'readdir'"
}

# job NAME: record and replay the Python program on stdin, in a directory NAME
# with in/ of 5 files.
job() {
	name=$1
	mkdir -p "$name/in" && cp lib.py "$name/"
	for i in 1 2 3 4 5; do
		echo $i >"$name/in/entry$i.bin"
	done
	(echo 'from lib import *' && cat) >"$name/job.py"
	check "$name: the job runs under record" '(cd $name &&
		"$IOREEL" record -q -o job.reel $PY job.py)'
	"$IOREEL" load -q "$name/job.reel" -o "$name.db"
	for mode in think afap; do
		replays $name.db $mode -o $name.$mode.db
		is "$name, --$mode: as many entries are listed" \
			"$(entries "$name.$mode.db")" "$(entries "$name.db")"
	done
}

job untouched <<'E'
lists('in', 5)
put('in/new')
lists('in', 6)
os.unlink('in/entry3.bin')
lists('in', 5)
put('in/entry4.bin')
os.rename('in/entry4.bin', 'in/entry5.bin')
lists('in', 4)
for name in os.listdir('in'):
    os.unlink('in/' + name)
lists('in', 0)
os.rmdir('in')
E

job cwd <<'E'
n = len(os.listdir('.'))
put('out.log')
os.mkdir('ckpt')
lists('.', n + 2)
os.rename('out.log', 'ckpt/out.log')
lists('.', n + 1)
lists('ckpt', 1)
os.listdir('/tmp')
os.listdir('/tmp')
E

# Calls on code files are not recorded, nor is bind().
job code <<'E'
import shutil, socket, tempfile
tmp = tempfile.mkdtemp()
put(tmp + '/module.py')
lists(tmp, 1)
s = socket.socket(socket.AF_UNIX)
s.bind(tmp + '/listener')
lists(tmp, 2)
os.unlink(tmp + '/listener')
lists(tmp, 1)
shutil.rmtree(tmp)
with tempfile.TemporaryDirectory() as tmp:
    put(tmp + '/m.py')
    os.mkdir(tmp + '/sub')
    put(tmp + '/sub/n.py')
assert not os.path.exists(tmp)
E

job others <<'E'
untraced('sh', '-c', 'mkdir -p in/sub/dir; echo hello >in/sub/dir/x')
lists('in', 6)
untraced('touch', 'in/a', 'in/b')
lists('in', 8)
put('in/c')
untraced('rm', 'in/a', 'in/entry1.bin', 'in/entry2.bin')
lists('in', 6)
assert os.stat('in/b').st_size == 0
with open('in/entry5.bin', 'rb') as f:
    assert f.read() == b'5\n'
lists('in', 6)
untraced('sh', '-c', 'mkdir d; echo hello >d/x')
assert open('d/x').read() == 'hello\n'
lists('d', 1)
untraced('rm', '-r', 'd')
assert not os.path.exists('d')
assert open('in/sub/dir/x').read() == 'hello\n'
untraced('rm', '-r', 'in/sub')
assert not os.path.exists('in/sub/dir')
assert not os.path.exists('in/sub')
E

# The job reads only a part of the listing of in/.
job partly <<'E'
with os.scandir('in') as it:
    next(it)
put('in/z')
os.mkdir('empty')
lists('empty', 0)
untraced('cp', '-r', 'in', 'empty/in')
lists('empty', 1)
lists('empty/in', 6)
os.lstat('in')
os.lstat('/usr')
for path in ('in/no/such/file', '/usr/no/such/file'):
    try:
        os.stat(path)
        assert False
    except FileNotFoundError:
        pass
E

job children <<'E'
for i in range(3):
    pid = os.fork()
    if not pid:
        lists('in', 5 + i)
        put('in/of%d' % i)
        lists('in', 6 + i)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    lists('in', 6 + i)
    subprocess.run(['ls', 'in'], check=True, stdout=subprocess.DEVNULL)
E
finish
