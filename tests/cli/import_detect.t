#!/bin/sh
# SPDX-License-Identifier: MIT
# Every real sample is taken by the importer of its own format, by content alone.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD

# format FILE: the name of the importer that takes it
format() {
	rm -f s.db
	"$IOREEL" import -q "$1" -o s.db 2>/dev/null && sql s.db 'SELECT format FROM source'
}
# all FORMAT FILE...
all() {
	local want=$1 f wrong=
	shift
	for f; do
		cp "$f" sample # the name must not tell
		[ "$(format sample)" = "$want" ] || wrong="$wrong $(basename "$f")"
	done
	is "$want: $# files" "$wrong" ''
}
if [ -d "$IOREEL_DATA" ]; then
	all darshan "$IOREEL_DATA"/darshan/*.darshan
	all dftracer "$IOREEL_DATA"/dftracer/test.pfw.gz
	all kineto "$IOREEL_DATA"/kineto/rank*.gz "$IOREEL_DATA"/kineto/sampled*.gz
	all strace "$IOREEL_DATA"/strace/*.gz
	all xplane "$IOREEL_DATA"/tf/*.pb.gz
	all nsys "$IOREEL_DATA"/nsys/*.gz
else
	skip 'samples of all formats' 'IOREEL_DATA is not set'
fi

# missing SAMPLE...: --list, report and JSON agree on the values that formats lack
missing() {
	check 'the same missing values everywhere' '
		python3 "$TOP/tests/cli/import_missing.py" $samples >seen'
	sed 's/^/# /' seen
}
if ! python3 -c 'import json' 2>/dev/null; then
	skip 'the same missing values everywhere' 'no python3'
elif [ -d "$IOREEL_DATA" ]; then
	samples=$(ls -d "$IOREEL_DATA"/*/* "$TOP"/tests/data/*)
	missing
else
	skip 'the same missing values everywhere' 'IOREEL_DATA is not set'
fi
finish
