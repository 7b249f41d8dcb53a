#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls that fail for their arguments fail again; an append by pwritev2(), whose
# offset is not recorded, writes at the end again.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/replay.sh"

python3 -c 'import os; os.RWF_APPEND' 2>err || skip_all 'no python3 with RWF_APPEND'
cat >odd.py <<'E'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    r = getattr(libc, name)(*args)
    print(-ctypes.get_errno() if r < 0 else r, end=' ')
fd = os.open('x', os.O_CREAT | os.O_RDWR)
print(os.write(fd, b'y' * 1000), os.pwritev(fd, [b'z' * 300], 0, os.RWF_APPEND),
      os.fstat(fd).st_size, end=' ')
nowhere = ctypes.c_void_p(1)
call('pread', fd, nowhere, ctypes.c_size_t(100), ctypes.c_long(0))
call('write', fd, nowhere, ctypes.c_size_t(100))
for hint in 0, 99:
    call('fcntl', fd, 1036, ctypes.byref(ctypes.c_uint64(hint)))
print()
E
mkdir work && cd work || exit 1
"$IOREEL" record -q -o ../job.reel python3 -S ../odd.py >../said 2>&1
cd ..
is 'calls of the job fail as expected' "$(cat said)" '1000 300 1300 -14 -14 0 -22 '
replays job.reel afap
finish
