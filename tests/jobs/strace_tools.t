#!/bin/bash
# SPDX-License-Identifier: MIT
# Tools that copy, compared with strace: per process the opens, reads, writes,
# copies inside the kernel, and their bytes, exactly.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/strace_oracle.sh"

tools=$TOP/tests/jobs/strace_tools.py
make_tree() { "$PY" "$tools" make DATA; }

oracle cp $copies make_tree cp -a DATA/tree DATA/to/copy
oracle cat $copies make_tree sh -c 'cat DATA/tree/f* >DATA/to/all'
oracle dd $copies make_tree dd if=DATA/tree/f10 of=DATA/to/dd bs=1000 status=none
oracle install $copies make_tree install -m 755 DATA/tree/f02 DATA/tree/f04 DATA/to
oracle mv $copies make_tree mv DATA/tree/f02 DATA/tree/sub DATA/to
oracle shutil $copies make_tree "$PY" "$tools" copies DATA
oracle server $copies make_tree "$PY" "$tools" serve DATA
oracle splice $copies make_tree "$PY" "$tools" splice DATA
# Without opens: libc opens files internally to change their mode.
oracle tar reads,read_bytes,writes,write_bytes,names,links make_tree sh -c 'tar -cf DATA/to/t.tar -C DATA tree && tar -xf DATA/to/t.tar -C DATA/to'
oracle rsync $bytes make_tree rsync -a DATA/tree/ DATA/to/
oracle sort $bytes make_tree sh -c 'sort DATA/tree/f03 >DATA/to/sorted'
# It renames its working directory, which relative names in strace do not show.
if command -v git >/dev/null; then
	git init -q repo && (cd repo && "$PY" "$tools" make . && git add . &&
		git -c user.name=n -c user.email=e@x commit -qm one) &&
		oracle git opens,read_bytes,write_bytes make_tree git clone -q --no-hardlinks repo DATA/to/clone
else
	skip git 'no git'
fi
finish
