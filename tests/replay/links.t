#!/bin/sh
# SPDX-License-Identifier: MIT
# Symbolic links that are no plain way to a file: loops, links to nothing, many
# of one length beside each other; and names that are on two file systems.
. "$(dirname "$0")/../lib/tap.sh"

python3 -c "" 2>err || skip_all 'no python3'
# played JOB...: what differs, when it is played.
played() {
	rm -rf job.reel
	(cd work && "$IOREEL" record -q -o ../job.reel "$@" >../said 2>&1)
	timeout 60 "$IOREEL" replay job.reel --afap >out 2>err || cat err
	grep -E "^  thread" out
	grep -Eq "; ([0-9,]+) of \1 calls gave" out || cat out
}

mkdir work && cd work || exit 1
ln -s self self && ln -s two one && ln -s one two && ln -s nothing dangling
cd ..
cat >loops.py <<'E'
import os
for path in 'self', 'one':
    for call in os.stat, open:
        try:
            call(path)
        except OSError as e:
            print(e.errno, end=' ')
for path in 'self', 'one', 'two':
    os.lstat(path)
    print(len(os.readlink(path)), end=' ')
try:
    os.stat('dangling')
except OSError as e:
    print(e.errno, end=' ')
os.lstat('dangling')
print(len(os.readlink('dangling')))
E
is 'links that lead back to themselves, or nowhere' \
	"$(played python3 -S ../loops.py)" ''
is 'the job was refused' "$(tail -n 1 said)" '40 40 40 40 4 3 3 2 7'

mkdir work/blobs work/links work/links/dir-aaaa
for n in 1 2 3 4; do
	head -c "$((n * 1000))" /dev/urandom >work/blobs/blob-$n
	ln -s ../blobs/blob-$n work/links/name-$n
done
ln -s ../links/dir-aa work/links/other
mv work/links/dir-aaaa work/links/dir-aa
ln -s ../blobs/noname work/links/missing
cat >same.py <<'E'
import os
for n in 1, 2, 3, 4:
    path = f'links/name-{n}'
    print(os.readlink(path), os.stat(path).st_size, len(open(path, 'rb').read()))
print(len(os.readlink('links/other')), len(os.readlink('links/missing')))
print(len(os.listdir('links/other')), os.path.exists('links/missing'))
E
is 'links of one length lead to files of their own' \
	"$(played python3 -S ../same.py)" ''
is 'the job read all of them' "$(tail -n 3 said | tr '\n' ' ')" \
	'../blobs/blob-4 4000 4000 15 15 0 False '

mkdir work/listed
echo x >work/listed/file && ln -s file work/listed/link
cat >listed.py <<'E'
import os
for name in sorted(os.listdir('listed')):
    os.lstat('listed/' + name)
os.readlink('listed/link')
print(len(os.listdir('listed')))
E
is 'what nobody looked at behind a link is not there' \
	"$(played python3 -S ../listed.py)" ''
is 'the job saw two' "$(tail -n 1 said)" 2

other=$(mktemp -d /dev/shm/ioreel-test.XXXXXX 2>err)
if [ -z "$other" ] || [ "$(stat -c %d "$other")" = "$(stat -c %d work)" ]; then
	skip 'what is on two file systems is refused' 'no second file system'
else
	echo x >work/here && echo x >"$other/there"
	cat >across.py <<'E'
import os, sys
for call in os.rename, os.link:
    for pair in ('here', sys.argv[1] + '/new'), (sys.argv[1] + '/there', 'new'):
        try:
            call(*pair)
        except OSError as e:
            print(e.errno, end=' ')
for path in 'here', 'new', sys.argv[1] + '/there', sys.argv[1] + '/new':
    print(os.path.exists(path), end=' ')
print()
E
	is 'what is on two file systems is refused' \
		"$(played python3 -S ../across.py "$other")" ''
	is 'the job was refused it' "$(tail -n 1 said)" \
		'18 18 18 18 True False True False '
	is 'and nothing is there but what was' "$(ls "$other")" there
	rm -rf "$other"
fi
finish
