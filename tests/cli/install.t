#!/bin/sh
# SPDX-License-Identifier: MIT
# "make install" creates a tree that works from any place, and writes nowhere
# else. The built programs find their parts, whatever O= is.
. "$(dirname "$0")/../lib/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL IOREEL_SHIM IOREEL_HOOKS PYTHONPATH

check 'make install DESTDIR= PREFIX=' 'make -C "$TOP" O="$O" \
	DESTDIR="$T/image" PREFIX=/opt/reel install'
mv image/opt/reel reel
check 'nothing outside the prefix' '[ -z "$(find image -type f)" ]'
PATH=$T/reel/bin:/usr/bin:/bin
cd reel || exit 1
is 'the files' "$(ls bin/ioreel lib/ioreel/libioreel.so \
	lib/ioreel/ioreel_sqlite.so include/ioreel.h \
	share/ioreel/python/sitecustomize.py share/ioreel/report.schema.json 2>&1 |
	wc -l)" 6
check 'the schema of report --json, with the path in its page' '
	cmp share/ioreel/report.schema.json "$TOP/schemas/report.schema.json" &&
	grep -q "share/ioreel/report.schema.json" share/man/man1/ioreel-report.1'
for page in "$TOP"/man/*.[157]; do
	[ -e "$page" ] || continue
	check "man page ${page##*/}" '[ -s share/man/man?/"${page##*/}" ]'
done
cd "$T" || exit 1

check 'it records with its own shim' 'ioreel record -o a.reel -- \
	sh -c "echo \$LD_PRELOAD" | grep -x "$T/reel/lib/ioreel/libioreel.so"'
check 'and its own hooks' 'ioreel record -o b.reel -- python3 -c "
import ioreel; print(ioreel.__file__)" |
	grep -x "$T/reel/share/ioreel/python/ioreel/__init__.py"'
echo 0123456789 >data
check 'the trace loads and has the reads' '
	ioreel record -o c.reel -- head data && ioreel load c.reel -o c.db &&
	[ "$(ioreel sql --format tsv c.db "SELECT sum(bytes) FROM v_event
	WHERE call_group = '"'read'"' AND path = '"'$T/data'"'" |
	tail -n 1)" = 11 ]'
check 'the sqlite3 shell reads events with the installed module' '
	sqlite3 c.db ".load reel/lib/ioreel/ioreel_sqlite" \
	"SELECT count(*) > 0 FROM v_event" | grep -x 1'
cp -R reel 'a b:c$d'
check 'so in a folder whose name the loader and Python would split' '
	"a b:c\$d/bin/ioreel" record -o e.reel -- python3 -c "
import ioreel, os
for step in ioreel.steps(range(3)): open(\"data\").read()
print(os.path.dirname(os.environ[\"LD_PRELOAD\"].split(\":\")[0]))" >folder 2>err &&
	[ "$(ioreel sql e.reel "SELECT count(*) FROM v_step" | tail -n 1)" = 3 ] &&
	[ ! -e "$(cat folder)" ]'

# The tree of "make O=$T/else" without the compilation: the targets that find each
# other, and a program from the real build.
mkdir else
cp "$O"/ioreel "$O"/libioreel.so else
check 'make O=FOLDER leads to the hooks' 'make -C "$TOP" O="$T/else" \
	"$T/else/python" && [ -e else/python/sitecustomize.py ]'
check 'and they are part of "make"' 'make -n -C "$TOP" O="$T/other" |
	grep "preload/python $T/other/python"'
check 'and a program there finds them' '
	else/ioreel record -o o.reel -- python3 -c "
import ioreel
for step in ioreel.steps(range(3)): pass" 2>err && ! grep hooks err &&
	[ "$(else/ioreel sql --format tsv o.reel \
	"SELECT count(*) FROM v_step" | tail -n 1)" = 3 ]'
ln -s else/ioreel through
check 'also through a symbolic link' './through record -q -o l.reel -- python3 -c "
import ioreel; print(ioreel.__file__)" |
	grep -x "$TOP/preload/python/ioreel/__init__.py"'

cat >anchored.c <<'E2'
#include <fcntl.h>
#include <unistd.h>
#include <ioreel.h>

int main(void)
{
	IOREEL_BEGIN("step", 7);
	close(open("data", O_RDONLY));
	IOREEL_END("step");
	return ioreel_recording ? ioreel_recording() : 0;
}
E2
check 'the header alone builds a program with anchors' \
	'cc -Wall -Werror -Ireel/include -o anchored anchored.c'
check 'and it runs without ioreel' './anchored'
check 'and marks its step with it' '
	ioreel record -o d.reel -- ./anchored
	ioreel sql --format tsv d.reel "SELECT name, detail FROM v_span" |
	grep -x "step	7"'
if command -v c++ >/dev/null; then
	check 'C++ too' 'cp anchored.c anchored.cc &&
		c++ -Wall -Werror -Ireel/include -o anchored anchored.cc &&
		./anchored'
else
	skip 'C++ too' 'no C++ compiler'
fi
finish
