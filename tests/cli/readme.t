#!/bin/sh
# SPDX-License-Identifier: MIT
# The commands of README.md work, and its links and verbs exist.
. "$(dirname "$0")/../lib/tap.sh"

# A job with the name in the README, without any framework.
mkdir data
for i in 1 2 3 4 5 6 7 8; do head -c 4096 /dev/urandom >data/$i; done
cat >train.py <<'E2'
import os
with open("notes", "wb") as f:
    f.write(os.urandom(4096))
for name in sorted(os.listdir("data")):
    with open("data/" + name, "rb") as f:
        f.read()
E2

# The lines of the blocks marked "sh", without their comments.
sed -n '/^```sh$/,/^```$/p' "$TOP/README.md" | sed 's/ *#.*//' |
	grep -v '^```' | grep . >commands
check 'README.md has commands' '[ "$(wc -l <commands)" -ge 6 ]'
while read -r command; do
	case $command in
	scripts/*|make*)
		check "there is $command" '[ -x "$TOP/${command%% *}" ] ||
			grep -q "^${command#make }:" "$TOP/Makefile" ||
			[ "${command%% *}" = make ]' ;;
	*)
		check "$command" "$command </dev/null" ;;
	esac
done <commands

check 'every page it links to exists' '
	grep -o "](\([^):]*\))" "$TOP/README.md" | tr -d "]()" |
	while read -r page; do
		[ -e "$TOP/$page" ] || { echo "$page"; exit 1; }
	done'
check 'every command it uses has help and a manual page' '
	grep -o "^ioreel [a-z]*" commands | sort -u | while read -r _ verb; do
		"$IOREEL" "$verb" --help >/dev/null &&
			[ -e "$TOP/man/ioreel-$verb.1" ] ||
			{ echo "$verb"; exit 1; }
	done'
finish
