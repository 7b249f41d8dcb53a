#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel-trace(5) agrees with calls.def and trace_format.h: every id with its
# call, layer and group, every magic number, every field of the two heads.
. "$(dirname "$0")/../lib/tap.sh"

page=$TOP/man/ioreel-trace.5
format=$TOP/schemas/trace_format.h

# "id name layer group" of each row, in the form of the page's table.
sed -nE \
	-e 's/^CALL\(([0-9]+), [A-Z0-9_]+, ([A-Z]+), ([A-Z]+), [^,]+, [^,]+, [A-Z]+, ([a-z0-9_]+),.*/\1 \4 \2 \3/p' \
	-e 's/^BY_HAND\(([0-9]+), [A-Z0-9_]+, ([A-Z]+), ([A-Z]+), [^,]+, [^,]+, ([a-z0-9_]+),.*/\1 \4 \2 \3/p' \
	-e 's/^MARK\(([0-9]+), [A-Z_]+, "([a-z_]+)"\)/\1 \2 - MARK/p' \
	-e 's/^PART\(([0-9]+), [A-Z_]+, ([A-Z]+), ([A-Z]+), [^,]+, "([A-Za-z_]+)"\)/\1 \4 \2 \3/p' \
	"$TOP/schemas/calls.def" | tr 'A-Z' 'a-z' | sort >want
sed -nE 's/^\.It ([0-9]+) Ta ([A-Za-z0-9_]+) Ta ([A-Z-]+) Ta ([a-z]+) Ta .*/\1 \2 \3 \4/p' \
	"$page" | tr 'A-Z' 'a-z' | sort >got
is 'every row of calls.def was parsed' "$(wc -l <want)" \
	"$(grep -cE '^(CALL|BY_HAND|PART|MARK)\(' "$TOP/schemas/calls.def")"
is 'the table of calls is that of calls.def' "$(diff want got)" ''

for magic in $(sed -nE 's/^#define REEL_[A-Z]+_MAGIC +(0x[0-9a-f]+)ull.*/\1/p' "$format"); do
	check "magic number $magic" "grep -q $magic '$page'"
done
# Fields of the structs: "/* 120 text ... */" behind a name is its offset.
sed -nE 's/^\t[a-z0-9_]+ ([a-z0-9_]+)(\[[A-Z0-9_]+\])?; +\/\* +([0-9]+).*/\3 \1/p' \
	"$format" >fields
is 'the fields of both heads' "$(wc -l <fields)" 42
missing=$(while read -r at name; do
	grep -qE "^\.It $at Ta [0-9]+ Ta $name Ta" "$page" || echo "$at $name"
done <fields)
is 'the page has each with its offset' "$missing" ''
major=$(sed -nE 's/^#define REEL_TRACE_MAJOR //p' "$format")
minor=$(sed -nE 's/^#define REEL_TRACE_MINOR //p' "$format")
check 'the version' "grep -q 'version $major.$minor$' '$page'"
if command -v mandoc >/dev/null; then
	check 'it is a page' "mandoc -T lint -W error '$page'"
else
	skip 'it is a page' 'no mandoc'
fi
finish
