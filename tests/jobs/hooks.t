#!/bin/sh
# SPDX-License-Identifier: MIT
# The hooks do not change a Python program, whatever it does.
. "$(dirname "$0")/../lib/tap.sh"
IOREEL_HOOKS=$TOP/preload/python
export IOREEL_HOOKS
unset PYTHONPATH

# same 'title' COMMAND...: compare output, errors, status, bare and recorded.
same() {
	what=$1
	shift
	"$@" >bare.out 2>bare.err
	echo "status $?" >>bare.out
	rm -rf same.reel
	"$IOREEL" record -o same.reel -- "$@" >rec.out 2>rec.err.all
	echo "status $?" >>rec.out
	grep -v '^ioreel: ' rec.err.all >rec.err
	check "$what" 'diff bare.out rec.out && diff bare.err rec.err &&
		[ -s bare.out ]'
}

show_path='import sys; print(sys.path, sys.path_importer_cache.keys())'
same 'sys.path without PYTHONPATH' python3 -c "$show_path"
for value in /nowhere:/else '' : :/x /x: "$T" "/x::$T"; do
	same "sys.path when the job sets PYTHONPATH '$value'" \
		env PYTHONPATH="$value" python3 -c "$show_path"
	export PYTHONPATH="$value"
	same "sys.path recorded with PYTHONPATH '$value'" python3 -c "$show_path"
	unset PYTHONPATH
done

check 'the hooks are installed' 'rm -rf a.reel &&
	"$IOREEL" record -o a.reel -- python3 -c "
import sys; print([type(f).__module__ for f in sys.meta_path])" |
	grep sitecustomize'
check 'a child of the job has them too' 'rm -rf b.reel &&
	"$IOREEL" record -o b.reel -- python3 -c "
import subprocess, sys
subprocess.check_call([sys.executable, \"-c\",
    \"import sys; print([type(f).__module__ for f in sys.meta_path])\"])" |
	grep sitecustomize'

same 'python3 -S' python3 -S -c 'import json; print("no hooks here")'
for flag in -E -I -s -O -B; do
	same "python3 $flag" python3 "$flag" -c 'import sys, json
print(sys.flags, sys.path, "sitecustomize" in sys.modules)'
done

mkdir own
cat >own/sitecustomize.py <<'E2'
import sys
print("own sitecustomize", __name__, __file__, sys.path[:2])
E2
cat >own/usercustomize.py <<'E2'
print("own usercustomize")
E2
export PYTHONPATH="$T/own"
same "the program's own sitecustomize and usercustomize run" \
	python3 -c 'import sitecustomize; print(sitecustomize.__file__)'
echo 'raise KeyError("own")' >own/sitecustomize.py
same 'an error in its sitecustomize is reported as usual' \
	python3 -c 'print(1)'
echo 'import nosuchmodule' >own/sitecustomize.py
same 'a missing module in its sitecustomize too' python3 -c 'print(1)'
unset PYTHONPATH

# A framework that cannot be imported, is not a package, or warns.
mkdir fake
echo 'raise ValueError("broken framework")' >fake/torch.py
same 'an import of torch that fails has the same traceback' \
	env PYTHONPATH="$T/fake" python3 -c 'print(1, flush=True); import torch'
export PYTHONPATH="$T/fake"
same 'the same with the hooks' \
	python3 -c 'print(1, flush=True); import torch'
cat >fake/torch.py <<'E2'
import warnings
warnings.warn("imported", DeprecationWarning, stacklevel=2)
E2
same 'a module torch that is not PyTorch, with a warning' python3 -W always -c '
import torch, importlib.util
print(torch, type(torch.__loader__), vars(torch.__loader__),
      torch.__spec__.origin)
print(importlib.reload(torch) is torch)'
rm -r fake/torch.py
same 'a program tests for torch' python3 -c '
import importlib.util, sys
spec = importlib.util.find_spec("torch")
print(spec and spec.origin, "torch" in sys.modules)'
same 'no torch at all' python3 -S -c 'print(1, flush=True)
import torch'
unset PYTHONPATH

if command -v python2 >/dev/null && python2 -c 1 2>/dev/null; then
	same 'python2' python2 -c 'import sys; print(sys.path)'
else
	skip 'python2' 'no python2 here'
fi
finish
