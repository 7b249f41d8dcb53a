#!/bin/sh
# SPDX-License-Identifier: MIT
# Anchors: ioreel.h in C and C++, linked in every way, and the
# Python module; each does nothing without a recording.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
PYTHONDONTWRITEBYTECODE=1
export IOREEL_HOOKS PYTHONDONTWRITEBYTECODE

# The spans of a recording, in the order of their start, as a tree.
tree() {
	"$IOREEL" sql --format tsv "$1" "
		WITH RECURSIVE tree(span_id, depth) AS (
			SELECT span_id, 0 FROM v_span WHERE parent_id IS NULL
			UNION ALL SELECT s.span_id, depth + 1
			FROM v_span s JOIN tree ON s.parent_id = tree.span_id)
		SELECT group_concat(word, ' ') FROM (
			SELECT printf('%d:%s', depth, name) ||
				coalesce('=' || detail, '') AS word
			FROM v_span JOIN tree USING (span_id)
			ORDER BY span_id)" | tail -n +2
}

cat >says.c <<'E2'
#include "schemas/ioreel.h"

#include <errno.h>
#include <stdio.h>

int main(void)
{
	errno = 7;
	IOREEL_NOTE("model", "none");
	IOREEL_BEGIN("epoch", 0);
	for (int i = 0; i < 2; i++) {
		IOREEL_BEGIN("step", i);
		IOREEL_BEGIN("augment", -1);
		IOREEL_END("augment");
		IOREEL_END("step");
	}
	IOREEL_BEGIN("step", 2);
	IOREEL_CANCEL("step");
	IOREEL_END("epoch");
	IOREEL_END("never begun");
	printf("%d %d\n", ioreel_is_recording(), errno);
	return 0;
}
E2
cp says.c says.cc
want='0:epoch=0 1:step=0 2:augment 1:step=1 2:augment'

# says WHAT COMPILER...: built that way it does nothing bare, and marks spans
# recorded.
says() {
	what=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$what" "no $1"
		return
	fi
	check "$what: compiles without a warning, and links" \
		"$* -I'$TOP' -Wall -Wextra -pedantic -Werror"
	is "$what: bare" "$(./says)" '0 7'
	rm -rf says.reel
	is "$what: recorded" "$("$IOREEL" record -q -o says.reel -- ./says)" \
		'1 7'
	is "$what: spans" "$(tree says.reel)" "$want"
}

says 'C' gcc says.c -o says
says 'C with -O0 and all symbols bound at the start' \
	gcc -O0 -Wl,-z,now says.c -o says
says 'C, not relocatable' gcc -O2 -no-pie -fno-pie says.c -o says
says 'C++' g++ says.cc -o says
says 'C++ of another kind' clang++ says.cc -o says
if gcc -static -I"$TOP" says.c -o says 2>/dev/null; then
	is 'a static program runs' "$(./says)" '0 7'
else
	skip 'a static program runs' 'no static libc'
fi

cat >nvtx.c <<'E2'
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

int main(void)
{
	nvtxEventAttributes_t a = { 0 };
	nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");

	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "attributes";
	printf("%d ", nvtxRangePushA("outer"));
	printf("%d ", nvtxDomainRangePushEx(domain, &a));
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = nvtxDomainRegisterStringA(domain, "known");
	printf("%d ", nvtxDomainRangePushEx(domain, &a));
	printf("%d ", nvtxDomainRangePop(domain));
	printf("%d ", nvtxDomainRangePop(domain));
	for (int i = 0; i < 100; i++)
		nvtxRangePushA("deep");
	for (int i = 0; i < 100; i++)
		nvtxRangePop();
	printf("%d ", nvtxRangePop());
	printf("%d\n", nvtxRangePop());
	return 0;
}
E2
if gcc -I/usr/local/cuda/include nvtx.c -o nvtx -ldl 2>/dev/null; then
	./nvtx >bare
	"$IOREEL" record -q -o nvtx.reel -- \
		env NVTX_INJECTION64_PATH="$O/libioreel.so" ./nvtx >rec
	is 'NVTX: the same output' "$(cat rec)" "$(cat bare)"
	is 'NVTX: ranges are spans' "$(tree nvtx.reel | cut -d' ' -f1-4)" \
		'0:nvtx:outer 1:nvtx:attributes 2:nvtx:known 1:nvtx:deep'
else
	skip 'NVTX' 'no nvtx3/nvToolsExt.h'
fi

PY=/usr/bin/python3
[ -x "$PY" ] || PY=python3
cat >says.py <<'E2'
import sys
import ioreel

ioreel.note("model", 3)
for epoch in range(2):
    with ioreel.span("epoch", epoch):
        for item in ioreel.steps("ab", 2 * epoch):
            with ioreel.span("my work"):
                print(item)
for item in ioreel.steps([1, 2, 3]):
    break
try:
    with ioreel.span("fails"):
        raise KeyError("own")
except KeyError as error:
    print(error)
with ioreel.span("\udcff", "no number"):
    pass
print(list(ioreel.steps(iter(()))), bool(ioreel.recording()))
print([m for m in ("ctypes", "threading") if m in sys.modules])
E2
want='0:epoch=0 1:step=0 2:fetch=0 2:my work 1:step=1 2:fetch=1 2:my work'
want="$want 0:epoch=1 1:step=2 2:fetch=2 2:my work 1:step=3 2:fetch=3 2:my work"
want="$want 0:step=0 1:fetch=0 0:fails"
cp "$TOP/preload/python/ioreel/__init__.py" ioreel.py
is 'Python: bare, with a copy of the module' "$("$PY" says.py | tail -3)" \
	"$(printf "'own'\n[] False\n[]")"
for how in with without; do
	[ $how = with ] || rm ioreel.py
	rm -rf py.reel
	is "Python: recorded, $how the copy" \
		"$("$IOREEL" record -q -o py.reel -- "$PY" says.py | tail -3)" \
		"$(printf "'own'\n[] True\n['ctypes']")"
	is "Python: spans, $how the copy" "$(tree py.reel)" "$want"
done
is 'Python: a note' "$("$IOREEL" sql --format tsv py.reel \
	"SELECT value FROM note WHERE key = 'model'" | tail -n +2)" 3
cp "$TOP/preload/python/ioreel/__init__.py" ioreel.py
rm -rf py.reel
"$IOREEL" record -q -o py.reel -- "$PY" -S -c \
	'import sys; sys.path.insert(0, ""); exec(open("says.py").read())' >/dev/null
is 'Python: the copy finds the shim without the hooks' \
	"$(tree py.reel)" "$want"
finish
