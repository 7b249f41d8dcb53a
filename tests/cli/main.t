#!/bin/bash
# SPDX-License-Identifier: MIT
# The program as a whole: its verbs, its help, its error messages.
. "$(dirname "$0")/../lib/tap.sh"

status() {
	"$@" >out 2>err
	echo $?
}

is 'ioreel alone is help' "$(status "$IOREEL")" 0
check 'on stdout, within a screen' '[ ! -s err ] && [ "$(wc -l <out)" -le 24 ]'
check 'in the order of use: record before load before report' \
	'[ "$(grep -Eo "^  (record|load|report|sql|export|compare|replay) " out | \
	tr -d " \n")" = recordloadreportsqlexportcomparereplay ]'
check 'without hidden commands' '! grep -q engine out'
is '--version' "$(status "$IOREEL" --version)" 0
check 'names the program and a version' 'grep -Eq "^ioreel [0-9]+\.[0-9]+\.[0-9]+$" out'
is 'an unknown verb is wrong usage' "$(status "$IOREEL" reprot run)" 2
check 'and the closest verb is suggested, on stderr' \
	'grep -q "did you mean .report.?" err && [ ! -s out ]'
is 'an unknown option is wrong usage' "$(status "$IOREEL" --frobnicate)" 2
is 'a verb with control characters' "$(status "$IOREEL" "$(printf 'a\nb\033[2J')")" 2
check 'cannot break the line' '[ "$(grep -c "a.nb.x1b" err)" = 1 ]'
# page FILE: a page as text. Without groff, its source with the dashes of options.
page() {
	if command -v groff >/dev/null; then
		groff -mandoc -Tascii "$1" | sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g'
	else
		sed '/^\.\(It\|Op\|Fl\)/s/\(Fl\|,\) -/--/g; s/^\.Nm /     /; s/^\.Sh //' "$1"
	fi
}
for verb in record load report sql export compare replay fit gen run sweep workload; do
	is "$verb --help" "$(status "$IOREEL" $verb --help)" 0
	check 'fits a screen and starts with two examples' \
		'[ "$(head -2 out | grep -c "^  . ioreel '$verb'")" = 2 ] &&
		 [ "$(wc -l <out)" -le 50 ] && [ ! -s err ]'
	check 'is at most 100 columns wide' '! grep -q ".\{101\}" out'
	mv out by-option
	"$IOREEL" help $verb >out
	check "help $verb is the same" 'cmp out by-option'
	is "$verb with an unknown option is wrong usage" \
		"$(status "$IOREEL" $verb --no-such-option)" 2
	check 'and shows one line of usage' \
		'[ "$(wc -l <err)" = 2 ] && grep -q "^usage: ioreel '$verb'" err'
	check "man page of $verb" '[ -s "$TOP/man/ioreel-'$verb'.1" ]'
	page "$TOP/man/ioreel-$verb.1" >page
	check "its synopsis begins with ioreel $verb" '
		sed -n "/^SYNOPSIS/,/^[A-R]/p" page | grep -q "^ *ioreel '$verb'"'
	for option in $(sed -n 's/^  *\(-.,\)* *--\([a-z-]*\).*/\2/p' by-option); do
		[ "$option" = help ] || check "it has --$option" "grep -q -- '--$option' page"
	done
done
check 'record --help has the cost of recording, the size of a trace, and PATH' '
	"$IOREEL" record --help | tr "\n" " " | grep -q \
	"adds [0-9].* ns to a call.* bytes an event.* export PATH=.\$PWD/build:\$PATH"'
check 'so does README.md' '
	grep -q "^export PATH=.\$PWD/build:\$PATH" "$TOP/README.md" &&
	grep -q "^Recording adds [0-9].* ns to a call" "$TOP/README.md" &&
	grep -q "bytes an event" "$TOP/README.md"'
if command -v groff >/dev/null; then
	for page in "$TOP"/man/*; do
		is "${page##*/}: no warning of groff" \
			"$(groff -ww -mandoc -Tascii "$page" 2>&1 >/dev/null)" ''
	done
else
	skip 'man pages without a warning' 'no groff'
fi
is 'a result that cannot be written is a failure' \
	"$("$IOREEL" --version >/dev/full 2>err; echo $?)" 1
check 'with the reason' 'grep -q "No space left" err'
is 'and so is a closed stdout' \
	"$("$IOREEL" --version >&- 2>err; echo $?)" 1
is 'a closed pipe is not a failure' \
	"$( (trap '' PIPE; "$IOREEL" help record; echo $? >st) | true; cat st)" 0
finish
