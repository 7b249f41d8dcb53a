#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: the metrics of three jobs, traced by strace here and now, against
# a recount from strace's text: strace_recount.py.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
command -v strace >/dev/null || skip_all 'no strace'
strace -o /dev/null true 2>/dev/null || skip_all 'strace may not trace here'

# trace NAME COMMAND...
trace() {
	name=$1
	shift
	strace -f -y -ttt -T -o "$name.strace" "$@" >/dev/null 2>&1 || :
	ioreel import -q "$name.strace" -o "$name.db"
}
recount() { python3 "$TOP/tests/cli/strace_recount.py" "$1.db" "$1.strace"; }

mkdir src
for i in 1 2 3 4 5; do head -c $((i * 70000)) /dev/urandom >src/f$i; done
check 'a pipeline' "trace shell sh -c 'tar cf - src | gzip -1 >a.tgz
	mkdir out; tar xzf a.tgz -C out; cp -r src copy
	cat src/f1 src/f2 >>all; cat src/f3 >>all; wc -c all; rm -r copy out; cat /nonexistent'"
check 'each number equals' 'recount shell'

cat >threads.c <<'EOF2'
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *run(void *arg)
{
	char text[9000] = "";
	int fd = open(arg, O_RDWR | O_CREAT | O_TRUNC, 0644), two = dup(fd);
	struct iovec v[2] = {{text, 700}, {text, 900}};
	for (int i = 0; i < 200; i++)
		if (i % 7 == 3) pwrite(fd, text, 5000, 100 * i);
		else if (i % 5 == 2) writev(two, v, 2);
		else write(i & 1 ? fd : two, text, 300 + i);
	lseek(fd, -5000, SEEK_END);
	while (read(two, text, 1234) > 0);
	for (int i = 0; i < 50; i++) pread(fd, text, 4096, (i * 37 % 50) * 1000);
	ftruncate(fd, 5);
	close(two); close(fd); close(77);
	return NULL;
}
int main(void)
{
	pthread_t t[3];
	char *name[] = {"t0", "t1", "t2", "t3"};
	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, run, name[i]);
	for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0644);
	if (!fork()) { run(name[3]); write(fd, "child\n", 6); _exit(0); }
	write(fd, "parent\n", 7);
	wait(NULL);
	write(fd, "end\n", 4);
	return open("/nonexistent", O_RDONLY) >= 0;
}
EOF2
if cc -w -o threads threads.c -lpthread 2>/dev/null; then
	check 'a program of threads and a fork' 'trace threads ./threads'
	check 'each number equals' 'recount threads'
else
	skip 'a program of threads and a fork' 'no compiler'
fi

cat >loader.py <<'EOF2'
import os
import numpy, torch
os.makedirs('npz')
for i in range(12):
    numpy.savez('npz/%d.npz' % i, x=numpy.random.rand(64, 300 + i))
class Samples(torch.utils.data.Dataset):
    def __len__(self): return 12
    def __getitem__(self, i): return torch.from_numpy(numpy.load('npz/%d.npz' % i)['x'][:32, :300].copy())
for epoch in range(2):
    for batch in torch.utils.data.DataLoader(Samples(), batch_size=3, num_workers=2, shuffle=True):
        pass
torch.save({'w': torch.zeros(50000)}, 'checkpoint.pt')
EOF2
if python3 -c 'import numpy, torch' 2>/dev/null; then
	check 'a DataLoader with workers' 'trace loader python3 loader.py'
	check 'each number equals' 'recount loader'
else
	skip 'a DataLoader with workers' 'no numpy and torch'
fi

cat >bits32.strace <<'EOF2'
7 1700000000.000000 execve("./a", ["./a"], 0xff /* 3 vars */) = 0 <0.000100>
7 1700000000.000200 [ Process PID=7 runs in 32 bit mode. ]
7 1700000000.000300 openat(AT_FDCWD, "/d/x", O_RDWR|O_LARGEFILE) = 3</d/x> <0.000010>
7 1700000000.000400 _llseek(3</d/x>, 5000000000, [5000000000], SEEK_SET) = 0 <0.000010>
7 1700000000.000500 read(3</d/x>, "a"..., 4096) = 4096 <0.000010>
7 1700000000.000600 _llseek(3</d/x>, -96, [9999999904], SEEK_END) = 0 <0.000010>
7 1700000000.000700 write(3</d/x>, "a"..., 96) = 96 <0.000010>
7 1700000000.000800 _llseek(3</d/x>, -1, 0xffee, SEEK_SET) = -1 EINVAL (Invalid argument) <0.000010>
7 1700000000.000900 mmap2(NULL, 8192, PROT_READ, MAP_PRIVATE, 3</d/x>, 0x2000) = 0xf7000000 <0.000010>
7 1700000000.001000 mmap2(NULL, 8192, PROT_READ, MAP_ANONYMOUS, -1, 0) = 0xf7008000 <0.000010>
7 1700000000.001100 fadvise64_64(3</d/x>, 64, 10, POSIX_FADV_DONTNEED) = 0 <0.000010>
7 1700000000.001200 statfs64("/d/x", 84, {f_type=EXT2_SUPER_MAGIC}) = 0 <0.000010>
7 1700000000.001300 getdents(3</d/x>, 0x21000, 100) = -1 ENOTDIR (Not a directory) <0.000010>
EOF2
check 'a program of 32 bits' 'ioreel import -q bits32.strace -o bits32.db'
is 'its calls, offsets and results' \
	"$(sql bits32.db "SELECT call || ' ' || ifnull(offset, '-') || ' ' || result || ' ' || errno
		FROM v_event WHERE path = '/d/x' AND call <> 'openat' ORDER BY start_ns")" \
'lseek 5000000000 5000000000 0
read 5000000000 4096 0
lseek 9999999904 9999999904 0
write 9999999904 96 0
lseek - -1 22
mmap 8192 4143972352 0
posix_fadvise 64 0 0
statfs - 0 0
getdents64 - -1 20'
is 'each line is understood' "$(sql bits32.db 'SELECT count(*) FROM v_loss')" 0

cat >more.strace <<'EOF2'
7 1700000000.000000 openat(0xffffff9c, 0x7fd77b42b0b1, 0x80000, 0) = 0x3 <0.000010>
7 1700000000.000100 read(0x3, 0x7fd77b42b0b1, 0x40) = 0x40 <0.000010>
7 1700000000.000200 mmap(0, 0x1000, 0x3, 0x22, 0xffffffff, 0) = 0x7f0000000000 <0.000010>
7 1700000000.000300 open_by_handle_at(9, {handle_bytes=8, handle_type=1, f_handle=0x00}, O_RDONLY) = 4</d/y> <0.000010>
7 1700000000.000400 read(4</d/y>, "a"..., 10) = 10 <0.000010>
7 1700000000.000500 tee(5<pipe:[1]>, 7<pipe:[2]>, 100, 0) = 60 <0.000010>
7 1700000000.000600 vmsplice(7<pipe:[2]>, [{iov_base="abc", iov_len=3}], 1, 0) = 3 <0.000010>
EOF2
check 'raw descriptors, handles, pipes' 'ioreel import -q more.strace -o more.db'
is 'their calls and bytes' \
	"$(sql more.db "SELECT call || ' ' || iif(path LIKE 'tmpfile%', '-', path) || ' ' || ifnull(bytes, '-')
		FROM v_event ORDER BY start_ns, call = 'copy_out'")" \
'openat - -
read - 64
open_by_handle_at /d/y -
read /d/y 10
tee pipe:[1] 60
copy_out pipe:[2] 60
vmsplice pipe:[2] 3'
is 'each line is understood' "$(sql more.db 'SELECT count(*) FROM v_loss')" 0

cat >async.strace <<'EOF2'
7 1700000000.000000 openat(AT_FDCWD, "/d/x", O_RDWR) = 3</d/x> <0.000010>
7 1700000000.000100 io_submit(0x7f00, 2, [{aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</d/x>, aio_nbytes=512, aio_offset=0}, {aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</d/x>, aio_nbytes=512, aio_offset=512}]) = 2 <0.000010>
7 1700000000.000200 io_submit(0x7f00, 1, [{aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</d/x>, aio_nbytes=512, aio_offset=0}]) = -1 EAGAIN (Resource temporarily unavailable) <0.000010>
7 1700000000.000300 io_uring_enter(4<anon_inode:[io_uring]>, 3, 0, 0, NULL, 0) = 3 <0.000010>
7 1700000000.000400 io_uring_enter(4<anon_inode:[io_uring]>, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) = 0 <0.000010>
EOF2
check 'asynchronous operations' 'ioreel import -q async.strace -o async.db'
is 'they are lost, and said' "$(sql async.db 'SELECT reason, unit, count FROM v_loss' | tr '\t' ' ')" \
	'asynchronous operations 5'

cat >dump.strace <<'EOF2'
7 1700000000.000000 openat(AT_FDCWD, "/d/x", O_RDWR) = 3</d/x> <0.000010>
7 1700000000.000100 read(3</d/x>, "ab\n"..., 512) = 40 <0.000010>
 | 00000  61 62 0a 40 00 0c 40 00  1e 00 1d 00 61 62 0a 40  ab.@..@.....ab.@ |
 | 00010  61 62 0a 40 00 0c 40 00  1e 00 1d 00 61 62 0a 40  ab.@..@.....ab.@ |
 | 00020  61 62 0a 40 00 0c 40 00                           ab.@..@.         |
EOF2
check 'the bytes of strace -e read=3' 'ioreel import -q dump.strace -o dump.db'
is 'they are no lines of calls' "$(sql dump.db 'SELECT sum(bytes), (SELECT count(*) FROM loss) FROM v_event' | tr '\t' ' ')" '40 0'

# On a terminal a line has no pid while there is one thread.
cat >alone.strace <<'EOF2'
1700000000.000000 openat(AT_FDCWD, "/d/x", O_RDONLY) = 3</d/x> <0.000010>
1700000000.000100 clone(child_stack=NULL, flags=SIGCHLD) = 8 <0.000010>
[pid     7] 1700000000.000200 read(3</d/x>, "a"..., 10) = 10 <0.000010>
[pid     8] 1700000000.000300 read(3</d/x>,  <unfinished ...>
[pid     7] 1700000000.000400 exit_group(0) = ?
[pid     7] 1700000000.000500 +++ exited with 0 +++
1700000000.000600 <... read resumed>"b"..., 20) = 20 <0.000300>
1700000000.000700 read(3</d/x>, "c"..., 30) = 30 <0.000010>
1700000000.000800 +++ exited with 0 +++
EOF2
check 'a child that outlives its parent' 'ioreel import -q alone.strace -o alone.db'
is 'its lines without a pid are its own' "$(sql alone.db 'SELECT pid, sum(bytes) FROM v_event GROUP BY pid' |
	tr '\t\n' ' ;')$(sql alone.db 'SELECT count(*) FROM loss')" '7 10;8 50;0'
sed -n '3,$p' alone.strace >attached.strace
check 'the same, attached to' 'ioreel import -q attached.strace -o attached.db'
is 'it has no process more' "$(sql attached.db 'SELECT pid, sum(bytes) FROM v_event GROUP BY pid' |
	tr '\t\n' ' ;')$(sql attached.db 'SELECT count(*) FROM process')" '7 10;8 50;2'

# Where only some calls are traced, a descriptor has another file without an open.
cat >some.strace <<'EOF2'
7 1700000000.000000 openat(AT_FDCWD</d>, "/d/a", O_RDONLY) = 3</d/a> <0.000010>
7 1700000000.000100 read(3</d/a>, "x"..., 100) = 100 <0.000010>
7 1700000000.000200 read(3</d/new name>, "x"..., 11) = 11 <0.000010>
7 1700000000.000300 read(3<pipe:[5]>, "x"..., 1000) = 1000 <0.000010>
7 1700000000.000400 read(3<anon_inode:[eventfd]>, "x"..., 8) = 8 <0.000010>
7 1700000000.000500 read(3<TCP:[1.2.3.4:1->1.2.3.4:2]>, "x"..., 65536) = 65536 <0.000010>
7 1700000000.000600 read(3</d/b>, "x"..., 7) = 7 <0.000010>
EOF2
check 'descriptors without their closes' 'ioreel import -q some.strace -o some.db'
is 'the bytes of each file' "$(sql some.db "SELECT path, kind, bytes FROM v_event WHERE call = 'read'" | tr '\t\n' ' ;')" \
	'/d/a file 100;/d/a file 11;pipe:[5] pipe 1000;TCP:[1.2.3.4:1->1.2.3.4:2] socket 65536;/d/b file 7;'

mkdir ranks
for rank in a b; do
	cat >ranks/$rank.strace <<-EOF2
	1700000000.000000 openat(AT_FDCWD, "/d/$rank", O_RDONLY) = 3 <0.000010>
	1700000000.000100 read(3, "a"..., 10) = 10 <0.000010>
	1700000000.000200 +++ exited with 0 +++
	EOF2
done
check 'files without pids' 'ioreel import -q ranks -o ranks.db'
is 'each is a process of its own' "$(sql ranks.db "SELECT path, sum(bytes), count(DISTINCT process_id) FROM v_event
	WHERE call = 'read' GROUP BY path" | tr '\t\n' ' ;')$(sql ranks.db 'SELECT count(*) FROM process')" \
	'/d/a 10 1;/d/b 10 1;2'
finish
