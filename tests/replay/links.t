#!/bin/sh
# SPDX-License-Identifier: MIT
# Symbolic links that form loops, that lead nowhere, and many of one length in a
# directory; and calls across two file systems.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

python3 -c "" 2>err || skip_all 'no python3'
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
is 'links that form loops or lead nowhere' \
	"$(differences python3 -S ../loops.py)" ''
is 'the job gets ELOOP and ENOENT' "$(tail -n 1 said)" '40 40 40 40 4 3 3 2 7'

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
is 'links of one length lead to different files' \
	"$(differences python3 -S ../same.py)" ''
is 'the job reads all of them' "$(tail -n 3 said | tr '\n' ' ')" \
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
is 'the unused target of a link is not made' \
	"$(differences python3 -S ../listed.py)" ''
is 'the job sees two entries' "$(tail -n 1 said)" 2

other=$(mktemp -d /dev/shm/ioreel-test.XXXXXX 2>err)
if [ -z "$other" ] || [ "$(stat -c %d "$other")" = "$(stat -c %d work)" ]; then
	skip 'calls across two file systems fail' 'no second file system'
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
	is 'calls across two file systems fail' \
		"$(differences python3 -S ../across.py "$other")" ''
	is 'the job gets EXDEV' "$(tail -n 1 said)" \
		'18 18 18 18 True False True False '
	is 'the other file system is unchanged' "$(ls "$other")" there
	rm -rf "$other"
fi
finish
