#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/sweeps/run: every study of docs/sweeps.md ends with a full grid and a chart,
# and its parameter has an effect on the calls.
. "$(dirname "$0")/../lib/tap.sh"
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
"$IOREEL" workload keys | grep -q . || skip_all 'no workloads'
check 'the studies run' '"$TOP/examples/sweeps/run" data 1 0.01 >out 2>err || { tail -5 err; grep -q "no format" err; }'
grep -q 'no format' err && skip_all 'this build has no HDF5'
is 'the studies are those of the page' "$(ls *.csv | sed 's/\.csv$//' | sort | xargs)" \
	"$(grep -o '^| [a-z]*-[a-z]* ' "$TOP/docs/sweeps.md" | tr -d '| ' | sort -u | xargs)"
check 'every point has a value' '! grep -L "^repeat" *.csv | xargs awk -F, "FNR > 1 && \$NF !~ /^[0-9]/" | grep -q .'
check 'the charts are well formed' 'for f in *.svg; do python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" $f || exit 1; done'

# calls STUDY APP SETTING...: of reading, at one point.
calls() {
	name=$1-$2
	shift 2
	"$IOREEL" workload set $name.json "$@" >point.json
	rm -rf point && "$IOREEL" gen -q point.json point
	"$IOREEL" run -q --json --data point point.json |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["read_calls"])'
}
check 'small transfers: more calls' '[ $(calls transfer imagenet access.transfer_bytes=65536) -gt $((2 * $(calls transfer imagenet access.transfer_bytes=1048576))) ]'
check 'small chunks: more calls' '[ $(calls chunk ffn dataset.chunk_bytes=1024) -gt $((4 * $(calls chunk ffn dataset.chunk_bytes=16384))) ]'
finish
