#!/bin/bash
# SPDX-License-Identifier: MIT
# Launchers (pyenv, conda, nice ...): their calls are reported in one line and
# excluded from all figures; a program of the user is never taken for a launcher.
. "$(dirname "$0")/../lib/tap.sh"

real=$(command -v pyenv >/dev/null && pyenv root 2>/dev/null)
unset LD_PRELOAD PYTHONPATH PYENV_ROOT PYENV_VERSION
PY=$(python3 -c 'import sys; print(sys.executable)') ||
	skip_all 'no python3'
R="$IOREEL record"

# --- a pyenv --------------------------------------------------------------
# Shims that run "pyenv exec NAME", which runs more of its scripts and execs the
# program, like those of pyenv, rbenv and nodenv.
mkdir -p root/shims root/libexec root/versions/9.9/bin root/hooks
ln -s "$PY" root/versions/9.9/bin/python3
ln -s /bin/bash root/versions/9.9/bin/bash
echo 9.9 >root/version
for i in $(seq 40); do echo "# hook $i" >root/hooks/$i; done
script() {
	{ echo '#!/usr/bin/env bash'; cat; } >"$1"
	chmod +x "$1"
}
script root/shims/python3 <<'S'
export PYENV_ROOT="$(dirname "$(dirname "$0")")"
exec "$PYENV_ROOT/libexec/pyenv" exec "${0##*/}" "$@"
S
cp root/shims/python3 root/shims/bash
script root/libexec/pyenv <<'S'
: "${PYENV_ROOT:=$(dirname "$(dirname "$0")")}"
export PYENV_ROOT
PATH=$PYENV_ROOT/libexec:$PATH
verb=$1
shift
exec "pyenv-$verb" "$@"
S
script root/libexec/pyenv-exec <<'S'
version=$(pyenv-version-name)
program=$(pyenv-which "$1")
for hook in $(pyenv-hooks); do . "$hook"; done
shift
exec "$program" "$@"
S
script root/libexec/pyenv-version-name <<'S'
version=$(pyenv-version-file)
[ -d "$PYENV_ROOT/versions/$version" ] && basename "$version"
S
script root/libexec/pyenv-version-file <<'S'
cat "$PYENV_ROOT/version"
S
script root/libexec/pyenv-which <<'S'
dir=$(cd "$(dirname "$(readlink -f "$PYENV_ROOT/version")")" && pwd)
for i in $(pyenv-hooks); do read -r line <"$i"; done
echo "$dir/versions/$(pyenv-version-name)/bin/$1"
S
script root/libexec/pyenv-hooks <<'S'
ls "$PYENV_ROOT"/hooks/* | sort
S
script root/libexec/pyenv-init <<'S'
for i in $(pyenv-hooks); do read -r line <"$i"; done
[ "$(pyenv-version-name)" = 9.9 ] && echo "export FAKE_PYENV=1"
S
cat >train.py <<'P'
import os, sys
import ioreel
os.makedirs("data", exist_ok=True)
for i in ioreel.steps(range(5)):
    with open("data/%d" % i, "wb") as f:
        f.write(os.urandom(4096))
    with open("data/%d" % i, "rb") as f:
        f.read()
P
$R -o plain.reel -- "$PY" train.py 2>plain.err
$R -o pyenv.reel -- root/shims/python3 train.py 2>pyenv.err
figures='SELECT processes, threads, files, read_calls, write_calls, read_bytes,
	write_bytes FROM v_summary'
check 'a shim of pyenv has many processes' \
	'[ "$(sql pyenv.reel "SELECT count(*) FROM process")" -gt 9 ]'
is 'and one of them belongs to the job' "$(sql pyenv.reel \
	'SELECT role, command FROM process WHERE launcher IS NULL' |
	sed 's,[^	]*/,,')" "main	python3 train.py"
is 'all others belong to pyenv' "$(sql pyenv.reel \
	'SELECT DISTINCT launcher FROM process WHERE launcher IS NOT NULL')" pyenv
is 'figures are those of the job without a launcher' \
	"$(sql pyenv.reel "$figures")" "$(sql plain.reel "$figures")"
is 'and files' "$(sql pyenv.reel 'SELECT path FROM v_file WHERE opens > 0
	ORDER BY 1' | grep -c /root/)" 0
check 'the hooks are installed: steps' \
	'[ "$(sql pyenv.reel "SELECT count(*) FROM v_step")" = 5 ]'
check 'the store has the calls of the launcher' \
	'[ "$(sql pyenv.reel "SELECT count(DISTINCT path) FROM v_event
	WHERE path GLOB '"'*/root/hooks/*'"'")" -ge 40 ]'
words() { sed -n "s/^$1launcher: \(.* files\{0,1\}\):.*/\1/p" "$2"; }
check 'record prints one line on it' '[ "$(grep -c launcher pyenv.err)" = 1 ] &&
	words "ioreel: " pyenv.err | grep -x "[0-9]* processes of pyenv, [0-9]* files"'
# Without events: the search for Python modules belongs to the launcher.
is 'and counts the job only' \
	"$(sed -n 's/, [0-9]* events in .*;/;/;1p' pyenv.err)" \
	"$(sed -n 's/, [0-9]* events in .*;/;/;1p' plain.err)"
"$IOREEL" report pyenv.reel >report
is 'report prints the same line' "$(words '' report)" \
	"$(words 'ioreel: ' pyenv.err)"
is 'its headline is that of the job' "$(head -1 report | cut -d' ' -f1)" train.py
check '--ranks has one process' \
	'[ "$("$IOREEL" report --ranks pyenv.reel | sed "/^How evenly/,\$d" | grep -c " main \| child ")" = 1 ]'
"$IOREEL" report --all --top all pyenv.reel >all
check '--all lists its processes and files' '
	grep -q "pyenv-which python3" all && grep -q "/root/hooks/7$" all'
is 'all of them' "$(grep -c ' pyenv  ' all)" \
	"$(sql pyenv.reel 'SELECT count(*) FROM process WHERE launcher NOT NULL')"
check 'report --all of a job without' \
	'"$IOREEL" report --all plain.reel | grep "No processes of a launcher"'
check '--json has them' '"$IOREEL" report --json pyenv.reel | "$PY" -c "
import json, sys
r = json.load(sys.stdin)
assert len(r[\"launchers\"]) > 9 and len(r[\"processes\"]) == 1"'
check 'compare with the plain run finds the same files and bytes' '
	"$IOREEL" compare plain.reel pyenv.reel >cmp
	grep "^  files .* 0$" cmp && grep "^  bytes read .* 0$" cmp'
if [ -x "$O/ioreel-mpi" ]; then
	check 'a replay is compared without the launcher, too' '
		"$IOREEL" replay pyenv.reel -o again.db &&
		[ "$(sql again.db "$figures")" = "$(sql pyenv.reel "$figures")" ]'
else
	skip 'a replay' 'no MPI'
fi

# --- programs of the user -----------------------------------------------------
# jobs RUN: commands of the job's processes, without folders.
jobs() {
	sql "$1" 'SELECT DISTINCT command FROM process WHERE launcher IS NULL
		ORDER BY 1' | sed 's,[^ ]*/,,g' | sort
}
echo data >a
script prepare.sh <<'S'
for i in 1 2 3; do cp a b.$i; read -r x <b.$i; done
readlink -f a >where
S
$R -q -o script.reel -- root/shims/bash prepare.sh
is 'a script that pyenv starts is the job, with its children' \
	"$(jobs script.reel)" "bash prepare.sh
cp a b.1
cp a b.2
cp a b.3
readlink -f a"
cat >spawns.py <<'P'
import subprocess
subprocess.run(["cp", "a", "c"])
subprocess.run(["cat", "a"])
P
$R -q -o spawns.reel -- root/shims/python3 spawns.py >/dev/null
check 'a program that reads nothing, and starts others at once' \
	'[ "$(jobs spawns.reel | grep -v python3)" = "cat a
cp a c" ]'
cat >calls.py <<'P'
import subprocess, sys
open("a").read()
subprocess.run([sys.argv[1], "train.py"])
P
$R -q -o nested.reel -- "$PY" calls.py root/shims/python3
is 'a job that uses a shim itself' "$(jobs nested.reel)" \
	'python3 calls.py python3
python3 train.py'
$R -q -o init.reel -- bash -c 'eval "$(root/libexec/pyenv init -)"
	cp a e; "$1" train.py; echo $FAKE_PYENV' x "$PY" >out
is 'a shell whose start files call pyenv init' "$(cat out)" 1
is 'is the job, with its children, but without pyenv init' \
	"$(jobs init.reel | grep -v '^bash\|^[[:space:]]')" 'cp a e
python3 train.py'
check 'and without the children of pyenv init' '! sql init.reel \
	"SELECT command FROM process WHERE launcher IS NULL" | grep libexec/ |
	grep -v "^bash -c\|^	cp a e"'
mkdir -p bin shims
script bin/pyenv-train.sh <<'S'
cp a d
exec root/libexec/pyenv exec python3 train.py
S
$R -q -o own.reel -- bin/pyenv-train.sh
check 'a script of the user of such a name' \
	'jobs own.reel | grep -x "bash pyenv-train.sh" &&
	jobs own.reel | grep -x "cp a d"'
script shims/train.sh <<'S'
read -r x <a
exec "$1" train.py
S
$R -q -o shim.reel -- shims/train.sh "$PY"
check 'or in such a folder' 'jobs shim.reel | grep "bash train.sh"'
$R -q -o which.reel -- root/libexec/pyenv which python3 >/dev/null
is 'pyenv which is the job if there is no other process' \
	"$(sql which.reel 'SELECT count(*) FROM process WHERE launcher NOT NULL')" 0
is 'with its own name' "$(sql which.reel 'SELECT name FROM run')" pyenv

# --- conda run, and programs that only exec ----------------------------------
mkdir -p conda/bin conda/conda-meta
for i in $(seq 30); do echo "{\"n\": $i}" >conda/conda-meta/$i.json; done
cat >conda/bin/conda <<'P'
import glob, json, os, subprocess, sys, tempfile
here = os.path.dirname(os.path.abspath(__file__))
for name in glob.glob(here + "/../conda-meta/*.json"):
    with open(name) as f:
        json.load(f)
if sys.argv[1] == "run":
    with tempfile.NamedTemporaryFile("w", prefix="tmp", delete=False) as f:
        f.write('eval "$(%s %s shell.posix activate)"\n' %
                (sys.executable, os.path.abspath(__file__)))
        f.write(" ".join(sys.argv[2:]) + "\n")
    status = subprocess.call(["bash", f.name])
    os.unlink(f.name)
    sys.exit(status)
if sys.argv[1] == "shell.posix":
    print("export CONDA_PREFIX=%s" % here)
if sys.argv[1] == "install":
    with open(here + "/../conda-meta/new.json", "w") as f:
        f.write("{}")
P
$R -q -o conda.reel -- "$PY" conda/bin/conda run "$PY" train.py
is 'conda run: the job' "$(jobs conda.reel)" 'python3 train.py'
is 'its figures' "$(sql conda.reel "$figures")" "$(sql plain.reel "$figures")"
is 'and its launcher' "$(sql conda.reel \
	'SELECT DISTINCT launcher FROM process WHERE launcher NOT NULL')" conda
$R -q -o install.reel -- "$PY" conda/bin/conda install thing
is 'conda install is a job' \
	"$(sql install.reel 'SELECT count(*) FROM process WHERE launcher NOT NULL')" 0
cat >poetry <<'P'
import os, sys
for i in range(20):
    open("pyproject.toml", "a").write("# %d\n" % i)
if sys.argv[1] == "run":
    os.execvp(sys.argv[2], sys.argv[2:])
P
$R -q -o poetry.reel -- "$PY" poetry run "$PY" train.py
is 'poetry run' "$(jobs poetry.reel)" 'python3 train.py'
is 'its figures' "$(sql poetry.reel "$figures")" "$(sql plain.reel "$figures")"
$R -q -o build.reel -- "$PY" poetry build
is 'poetry build is a job' "$(jobs build.reel)" 'python3 poetry build'
cat >uv.c <<'C'
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int fd = open("uv.lock", O_RDWR | O_CREAT, 0600), status = 1;

	if (write(fd, "lock", 4) != 4)
		return 1;
	if (!fork()) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	wait(&status);
	return WEXITSTATUS(status);
}
C
if cc -o uv uv.c 2>/dev/null; then
	$R -q -o uv.reel -- ./uv run "$PY" train.py
	is 'uv run' "$(jobs uv.reel)" 'python3 train.py'
	is 'its figures' "$(sql uv.reel "$figures")" \
		"$(sql plain.reel "$figures")"
else
	skip 'uv run' 'no compiler'
	skip 'its figures' 'no compiler'
fi
# With "sh -c" the shell counts: its command is the user's.
wrapped() {
	local figures=${figures#*processes, threads,}

	[ "${1%%*sh}" ] && figures="processes, $figures"
	figures="SELECT $figures"
	command -v "${1%% *}" >/dev/null || { skip "$1" 'not here'; return; }
	rm -rf w.reel
	$R -q -o w.reel -- "$@" 2>/dev/null
	is "$1: the job's figures" "$(sql w.reel "$figures")" \
		"$(sql plain.reel "$figures")"
}
wrapped sh -c "$PY train.py"
wrapped bash -c "exec $PY train.py"
wrapped env A=1 "$PY" train.py
wrapped nice -n 1 "$PY" train.py
wrapped timeout 60 "$PY" train.py
wrapped taskset 1 "$PY" train.py
wrapped /usr/bin/time "$PY" train.py
wrapped numactl --localalloc "$PY" train.py
$R -q -o nice.reel -- nice -n 1 bash prepare.sh
is 'a job under nice has the name of its script' \
	"$(sql nice.reel 'SELECT name FROM run')" prepare.sh
is 'and its processes' "$(jobs nice.reel)" "$(jobs script.reel)"

# --- compilers that a job starts ------------------------------------------------
cp "$(command -v cat)" x86_64-linux-gnu-g++-12 && cp x86_64-linux-gnu-g++-12 data-make &&
	echo source >in.cpp && echo sample >in.bin
cat >compiles.py <<'P'
import subprocess
subprocess.run(["sh", "-c", "./x86_64-linux-gnu-g++-12 in.cpp | cat"])
subprocess.run(["./data-make", "in.bin"])
P
$R -o compiles.reel -- "$PY" compiles.py >out 2>compiles.err
is 'a compiler of a Python job' "$(cat out; sql compiles.reel 'SELECT group_concat(DISTINCT launcher),
	(SELECT count(*) FROM v_file WHERE path GLOB "*/in.cpp" AND reads > 0),
	(SELECT count(*) FROM v_file WHERE path GLOB "*/in.bin" AND reads > 0) FROM process' | tr '\t' ' ')" "source
sample
compilers 0 1"
check 'is named by record and report' 'words "ioreel: " compiles.err | grep -x "1 process of compilers, 1 file" &&
	"$IOREEL" report compiles.reel | grep -q "^launcher: 1 process of compilers, 1 file: not shown"'
$R -o cc.reel -- sh -c './x86_64-linux-gnu-g++-12 in.cpp | cat' >out 2>err
is 'one that is recorded alone is the job' "$(sql cc.reel 'SELECT count(launcher),
	(SELECT count(*) FROM v_file WHERE path GLOB "*/in.cpp" AND reads > 0) FROM process' | tr '\t' ' ')" '0 1'

# --- an installed pyenv ----------------------------------------------------------
shim=$real/shims/python3
if [ "$real" ] && [ -x "$shim" ] && "$shim" -c '' 2>/dev/null; then
	$R -o real.reel -- "$shim" train.py 2>real.err
	is 'pyenv as installed here: one process of the job' \
		"$(sql real.reel 'SELECT processes FROM v_summary')" 1
	check 'and one line on it' '[ "$(grep -c "of pyenv, " real.err)" = 1 ]'
else
	skip 'pyenv as installed here' 'none'
	skip 'its line' 'none'
fi
finish
