#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that name files relative to a folder's descriptor, compared with
# strace in the same run: opens, bytes and other calls of each path. Everything
# is recorded; folders are excluded, and the files below one of them are not;
# calls are only counted. Each recording is replayed.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/strace_oracle.sh"

jobs=$TOP/tests/jobs/strace_names.py
# Without stat calls: libc and ioreel make some internally.
calls=opens,failed_opens,accesses,names,links,read_bytes,write_bytes
calls=$calls,copied_in_bytes,copied_out_bytes

prepare=true
# observed OPTIONS JOB...: record under strace in a fresh folder DATA.
observed() {
	local options=$1
	shift
	rm -rf DATA s.* job.reel && mkdir DATA && "$PY" "$jobs" make DATA &&
		$prepare || exit 1
	set -f
	strace -ff -y -s 0 -o s -e trace=%file,%desc,%process \
		"$IOREEL" record -q -o "$T/job.reel" $options -- "$@" >out 2>err
	set +f
	"$IOREEL" sql job.reel 'SELECT pid, call, path, result, errno
		FROM v_event' --format tsv >events 2>err.sql ||
		sed 's/^/# /' err.sql
}

from=.
# saw FOLDER COLUMNS: the calls in strace's output, for a job that works in
# $from.
saw() {
	(cd "$from" && oracle_count --paths strace "$T/$1" "$2" "$T"/s.*)
}

# compared WHAT FOLDER [GREP]: compare FOLDER and the paths below it that
# match GREP; no call may be recorded for a path that strace does not have.
compared() {
	local what=$1 folder=$2
	shift 2
	oracle_count --paths events "$folder" $calls <events >got.all
	saw "$folder" $calls >want.all
	grep "${@:-}" got.all >got
	grep "${@:-}" want.all >want
	check "$what: the output of strace is not empty" '[ $(wc -c <want) -gt 40 ]'
	is "$what: the calls on each path" "$(diff want got)" ''
	is "$what: no other path" \
		"$(oracle_count --paths events . opens <events | cut -f1 | sort >all
		saw . opens | cut -f1 | sort | comm -23 all -)" ''
}

# played WHAT: replay the recording.
played() {
	"$IOREEL" replay job.reel --afap >out 2>err
	is "$1: replayed, each call gave its result" \
		"$? $(grep -Eo '[0-9,]+ of [0-9,]+ calls gave' out |
			awk '$1 == $3 { print "all" }')" '0 all' || cat out err
}

changes=
# names WHAT JOB...: for a job that walks DATA/tree, or $changes it.
names() {
	local what=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$what" "no $1"
		return
	fi
	observed '' "$@"
	compared "$what" DATA
	played "$what"
	observed '-x * -i DATA/tree/one/' "$@"
	compared "$what, one folder" DATA/tree/one/two
	# Except for the folder itself, which the job calls "one/".
	is "$what, one folder: nothing else" "$("$IOREEL" sql job.reel \
		"SELECT count(*) FROM v_event WHERE path || '/' NOT LIKE '%/DATA/tree/one/%'
		AND coalesce(path2, '') NOT LIKE '%/DATA/tree/one/%'
		AND path LIKE '/%' AND call <> 'chdir'" --format tsv | tail -n +2)" 0
	played "$what, one folder"
	observed '-x */one -x */two' "$@"
	compared "$what, without folders" DATA -vE '/(one|two)	'
	# Creation and removal of folders are excluded too.
	[ "$changes" ] || played "$what, without folders"
}

# code WHAT JOB...: for a job that walks DATA/lib.
code() {
	local what="data among code: $1"
	shift
	observed '' "$@"
	compared "$what" DATA -E '/data.npy'
	played "$what"
}

# bytes WHAT JOB...: compare bytes read and written in each folder, by counters.
bytes() {
	local what="counters: $1"
	shift
	observed '--events none' "$@"
	per_folder() {
		sed 's,/[^/	]*	,	,' | awk -F '[\t ]' '{ read[$1] += $3
			written[$1] += $5 } END { for (f in read)
			if (read[f] + written[f]) print f, read[f], written[f] }' |
			sort
	}
	is "$what" "$(oracle_count --paths events DATA read_bytes,write_bytes \
		<events | per_folder)" \
		"$(saw DATA read_bytes,write_bytes | per_folder)"
}

# Patterns and paths in various forms; a folder behind a link has the link's
# name.
rm -rf DATA && mkdir DATA && "$PY" "$jobs" make DATA && ln -s tree DATA/way
# written PATTERN JOB...: print the recorded files of a job that works in DATA.
written() {
	local pattern=$1
	shift
	rm -rf job.reel
	(cd DATA/to && "$IOREEL" record -q -o "$T/job.reel" -x '*' -i "$pattern" \
		-- "$@" >"$T/out" 2>"$T/err")
	"$IOREEL" sql job.reel "SELECT DISTINCT replace(path, '$T/DATA/', '') AS p
		FROM v_event WHERE call_group = 'open' ORDER BY p" --format tsv |
		tail -n +2 | tr '\n' ' '
}
is 'a pattern with ".."' "$(written ../tree/one/two/ \
	cat ../tree/f0 .././tree//one/two/f0 ../tree/one/two/three/../f1)" \
	'tree/one/two/f0 tree/one/two/f1 '
is 'a pattern of a link to a folder' "$(written '../way/four/f*' \
	grep -r word ../way/)" 'way/four/f0 way/four/f1 way/four/f2 '
is 'a path with "." in a pattern' "$(written '../tree/four/share/' \
	grep -r word ../tree/four/.)" \
	'tree/four/share/f0 tree/four/share/f1 tree/four/share/f2 '

names tar tar -cf DATA/to/t.tar DATA/tree
names 'tar -C' tar -C DATA -cf DATA/to/t.tar ./tree
names du du -a DATA/tree
names grep grep -r word DATA/tree
names find find DATA/tree -name 'f[01]' -size +1
changes=1 names 'find -delete' find DATA/tree -delete
changes=1 names rm rm -r DATA/tree
changes=1 names cp cp -r DATA/tree DATA/to/copy
names os.fwalk "$PY" "$jobs" fwalk DATA
changes=1 names shutil.rmtree "$PY" "$jobs" rmtree DATA
changes=1 names 'every call' "$PY" "$jobs" calls DATA
names 'passed and inherited descriptors' "$PY" "$jobs" received DATA

code du du -a DATA/lib
code tar tar -cf DATA/to/t.tar DATA/lib
code os.fwalk "$PY" "$jobs" copytree DATA
code rm rm -r DATA/lib

bytes grep grep -r word DATA/tree
bytes os.fwalk "$PY" "$jobs" fwalk DATA
bytes 'passed and inherited descriptors' "$PY" "$jobs" received DATA

prepare() {
	tar -cf DATA/to/t.tar -C DATA tree && rm -r DATA/tree
}
# libc opens a folder internally to change its mode.
changes=1 prepare=prepare calls=${calls#opens,} names 'tar -x' tar -xf DATA/to/t.tar -C DATA
if command -v git >/dev/null; then
	prepare() {
		git -C DATA/tree init -q && git -C DATA/tree add .
	}
	prepare=prepare from=DATA/tree names 'git status' git -C "$T/DATA/tree" status
else
	skip 'git status' 'no git'
fi
finish
