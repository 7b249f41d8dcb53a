#!/bin/bash
# SPDX-License-Identifier: MIT
# Tools that copy, against strace: per process the opens, reads, writes, copies
# inside the kernel, and their bytes, exactly.
. "$(dirname "$0")/../tap.sh"

command -v strace >/dev/null || skip_all 'no strace'
strace -qq -e trace=none true 2>/dev/null || skip_all 'ptrace is not allowed'
PY=/usr/bin/python3
[ -x "$PY" ] || PY=$(command -v python3) || skip_all 'no python3'
export PYTHONDONTWRITEBYTECODE=1 IOREEL_HOOKS=$TOP/preload/python
unset LD_PRELOAD
count="$PY $TOP/tests/jobs/strace_count.py"
tools=$TOP/tests/jobs/strace_tools.py
columns=opens,failed_opens,reads,read_bytes,writes,write_bytes,copies_in
columns=$columns,copied_in_bytes,copies_out,copied_out_bytes,closes,names,links
columns=$columns,truncates
bytes=opens,read_bytes,write_bytes,copied_in_bytes,copied_out_bytes,names,links

prepare() {
	rm -rf DATA && mkdir DATA && "$PY" "$tools" make DATA || exit 1
}

# oracle WHAT COLUMNS JOB...
oracle() {
	local what=$1 which=$2 run
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$what" "no $1"
		return
	fi
	for run in bare traced; do
		prepare
		if [ $run = bare ]; then
			strace -ff -y -s 0 -o "s.$what" \
				-e trace=%file,%desc,%process \
				"$@" >out.bare 2>err.bare
		else
			"$IOREEL" record -q -o "$what.reel" -- "$@" \
				>out.traced 2>err.traced
		fi
		echo "status $?" >>out.$run
	done
	is "$what: output and status" "$(cat out.traced)" "$(cat out.bare)"
	"$IOREEL" sql "$what.reel" \
		'SELECT pid, call, path, result, errno FROM v_event' \
		--format tsv >events 2>err.sql || sed 's/^/# /' err.sql
	$count events DATA "$which" <events >got
	$count strace DATA "$which" s."$what".* >want
	check "$what: strace saw something" '[ $(wc -c <want) -gt 40 ]'
	is "$what: what every process did" "$(cat got)" "$(cat want)"
}

oracle cp "$columns" cp -a DATA/tree DATA/to/copy
oracle cat "$columns" sh -c 'cat DATA/tree/f* >DATA/to/all'
oracle dd "$columns" dd if=DATA/tree/f10 of=DATA/to/dd bs=1000 status=none
oracle install "$columns" install -m 755 DATA/tree/f02 DATA/tree/f04 DATA/to
oracle mv "$columns" mv DATA/tree/f02 DATA/tree/sub DATA/to
oracle shutil "$columns" "$PY" "$tools" copies DATA
oracle server "$columns" "$PY" "$tools" serve DATA
oracle splice "$columns" "$PY" "$tools" splice DATA
# Opens are left out: libc opens what it changes the mode of, inside itself.
oracle tar reads,read_bytes,writes,write_bytes,names,links sh -c 'tar -cf DATA/to/t.tar -C DATA tree && tar -xf DATA/to/t.tar -C DATA/to'
oracle rsync "$bytes" rsync -a DATA/tree/ DATA/to/
oracle sort "$bytes" sh -c 'sort DATA/tree/f03 >DATA/to/sorted'
# It moves its working directory, which plain names in strace do not tell.
if command -v git >/dev/null; then
	git init -q repo && (cd repo && "$PY" "$tools" make . && git add . &&
		git -c user.name=n -c user.email=e@x commit -qm one) &&
		oracle git opens,read_bytes,write_bytes git clone -q --no-hardlinks repo DATA/to/clone
else
	skip git 'no git'
fi
finish
