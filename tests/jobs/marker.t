#!/bin/sh
# SPDX-License-Identifier: MIT
# A shell marks spans by testing for marker paths.
. "$(dirname "$0")/../lib/tap.sh"

says() {
	command -v "$1" >/dev/null || { skip "$1" "no $1"; return; }
	rm -rf says.reel
	"$IOREEL" record -q -o says.reel -- "$1" -c '
		for i in 0 1; do
			test -e /ioreel/begin/epoch/$i
			[ -d /ioreel/begin/my/work/7 ]
			cat /etc/hostname >copy
			test -f /ioreel/end/my/work
			test -e /ioreel/end/epoch
		done
		test -e /ioreel/begin/
		test -e /ioreel/other
		test -e /ioreel/end/never
		[ ! -e /ioreel/begin/last ] && echo as ever' >out
	is "$1: its output" "$(cat out)" 'as ever'
	is "$1: spans" "$("$IOREEL" sql --format tsv says.reel "
		SELECT name, detail, parent_id FROM v_span ORDER BY start_ns" |
		tail -n +2)" "$(printf 'epoch\t0\t\nmy/work\t7\t1\nepoch\t1\t\nmy/work\t7\t3\nlast\t\t')"
	is "$1: marks are not events, accesses to other paths are" \
		"$("$IOREEL" sql --format tsv says.reel "
		SELECT path FROM v_event WHERE path LIKE '/ioreel/%'
		ORDER BY start_ns" | tail -n +2)" \
		"$(printf '/ioreel/begin\n/ioreel/other')"
}

says dash
says bash
finish
