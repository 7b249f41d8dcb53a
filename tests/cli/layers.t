#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts/layers: the source keeps the order of its rooms, and each kind of
# violation fails.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'no python3'
command -v nm >/dev/null || skip_all 'no nm'
LAYERS=$TOP/scripts/layers

check 'the rooms of the source tree are in order' "(cd '$TOP' && '$LAYERS' '$O')"
check '--graph names the rooms that a room includes' \
	"(cd '$TOP' && '$LAYERS' --graph) | grep -q '^cmd .*: .*\blib\b'"

# copy: a fresh copy of the source in tree/.
copy() {
	rm -rf tree
	mkdir tree
	(cd "$TOP" && cp -r schemas lib record analyzer replay cmd preload "$T/tree")
}

# refused TEXT [BUILD]: the copy fails, for a reason with TEXT.
refused() {
	(cd tree && "$LAYERS" "${2:-$O}") 2>err && return 1
	cat err
	grep -q "$1" err
}

copy
check 'an unchanged copy passes' "(cd tree && '$LAYERS' '$O')"
echo '#include "cmd/cmd.h"' >>tree/lib/buf.c
touch tree/cmd/cmd.h
check 'an include of a part above fails' "refused 'lib must not use cmd'"
copy
echo '#include "preload/stdio/stream.h"' >>tree/preload/core/window.c
check 'an include of another room by the core of the shim fails' \
	"refused 'preload/core must not use preload/stdio'"
copy
echo '#include "preload/mpi/mpi.h"' >>tree/preload/stdio/stream.h
echo '#include "preload/stdio/stream.h"' >>tree/preload/mpi/mpi.h
check 'two rooms that include each other fail' "refused 'a circle'"
copy
for i in $(seq 41); do echo >"tree/record/more$i.c"; done
check 'a room of more than 40 files fails' "refused 'record holds .* files'"

# Two rooms whose objects use each other without an include.
rm -rf tree
mkdir -p tree/preload/core tree/preload/async objects/preload/core \
	objects/preload/async
echo 'int other(void); int own(void); int own(void) { return other(); }' \
	>tree/preload/core/own.c
echo 'int other(void); int other(void) { return 1; }' \
	>tree/preload/async/other.c
for f in core/own async/other; do
	${CC:-cc} -c -o "objects/preload/$f.o" "tree/preload/$f.c"
done
check 'a symbol of another room fails without an include' \
	"refused 'own.c uses other of preload/async/other.c' '$T/objects'"
mkdir empty
check 'a folder without object files fails' "refused 'no object files' '$T/empty'"
finish
