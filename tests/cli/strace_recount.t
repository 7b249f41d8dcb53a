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
finish
