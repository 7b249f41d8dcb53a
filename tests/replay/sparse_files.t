#!/bin/sh
# SPDX-License-Identifier: MIT
# Files of which the job used a small part: this part is filled, the rest may be
# a hole; sizes and results are the same.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

python3 -c "" 2>err || skip_all 'no python3'
cat >job.py <<'E'
import mmap, os, sys
M = 1 << 20
def part(path, *places, flags=os.O_RDONLY):
    fd = os.open(path, flags)
    for at, n in places:
        os.pread(fd, n, at)
    return fd
fd = part('huge', (0, 4096), (50000 * M + 12345, 100000), (100000 * M - 50, 100))
os.lseek(fd, -7, os.SEEK_END)
os.read(fd, 100)
os.fstat(fd)
fd = part('changed', flags=os.O_RDWR)
os.pwrite(fd, b'x' * 8192, 600 * M)
os.fsync(fd)
os.stat('changed')
os.stat('seen')
os.stat('named')
os.rename('named', 'new name')
part('new name', (300 * M, 4096))
fd = part('mapped')
m = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
m[5 * M]
m[400 * M]
m.close()
fd = part('sparse', (0, 4096))
at = 0
try:
    while True:
        at = os.lseek(fd, at, os.SEEK_DATA)
        at = os.lseek(fd, at, os.SEEK_HOLE)
except OSError:
    pass
fd = part('asked')
os.posix_fadvise(fd, 200 * M, 50 * M, os.POSIX_FADV_WILLNEED)
os.fstat(fd)
part('small', (0, 10), (900000, 10))
E
mkdir work && cd work || exit 1
truncate -s 100000M huge && truncate -s 900M changed seen named mapped asked &&
	truncate -s 900000 small && truncate -s 64M sparse &&
	printf data | dd of=sparse bs=1M seek=20 conv=notrunc 2>../err ||
	skip_all 'no sparse files here'
[ "$(stat -f -c %T .)" != tmpfs ] || skip_all 'files are in memory here'
"$IOREEL" record -q -o ../job.reel python3 -S ../job.py
cd ..

replays job.reel think -o again.db --root box --keep
check 'one line says how much is filled' 'cat err
	grep -Eq "files \(10[0-9.]+ GB, [0-9.]+ MB of it filled\) rebuilt" err'

is 'files have their full sizes' "$(cd "box$PWD/work" && stat -c '%n %s' huge seen mapped)" \
	"$(cd work && stat -c '%n %s' huge seen mapped)"
check 'few bytes are written' 'du -sm box && [ $(du -sm box | cut -f 1) -lt 140 ]'

# filled FILE AT BYTES: the range has data and no holes.
filled() {
	python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
at, n = int(sys.argv[2]), int(sys.argv[3])
end = min(at + n, os.fstat(fd).st_size)
sys.exit(os.lseek(fd, at, os.SEEK_DATA) != at or
	 os.lseek(fd, at, os.SEEK_HOLE) < end or not any(os.pread(fd, 64, at)))
' "box$PWD/work/$1" "$2" "$3"
}
M=1048576
check 'ranges that were read are filled, with their readahead' '
	filled huge 0 $((4096 + 262144)) &&
	filled huge $((50000 * M + 12345 - 262144)) 600000 &&
	filled huge $((100000 * M - 300000)) 300000'
check 'an overwritten range is filled' 'filled changed $((600 * M)) 8192'
check 'a renamed file is filled under its old name' 'filled "new name" $((300 * M)) 4096'
check 'a range of POSIX_FADV_WILLNEED is filled' 'filled asked $((200 * M)) $((50 * M))'
check 'small holes are filled' 'filled small 0 900000'
is 'holes that SEEK_HOLE found are at their places' "$(python3 -c '
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
d = os.lseek(fd, 0, os.SEEK_DATA)
print(d, os.lseek(fd, d, os.SEEK_HOLE))' "box$PWD/work/sparse")" \
	"$((20 * M)) $((20 * M + 4096))"

head -c 4000000 /dev/zero >plain
"$IOREEL" record -q -o plain.reel dd if=plain of=copy bs=1000 2>err
"$IOREEL" replay plain.reel --plan plain.plan 2>err
check 'plain reads and writes take 32 bytes each in a plan' '
	[ $(stat -c %s plain.plan) -gt 256000 ] &&
	[ $(stat -c %s plain.plan) -lt 300000 ]'
finish
