#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/setup on different machines, which are simulated by scripts.
. "$(dirname "$0")/../lib/tap.sh"

REAL_PYTHON=$(command -v python3)
# A machine: bin has its commands, "have" its installed packages.
mkdir bin
real() {
	for c in "$@"; do ln -sf "$(command -v "$c")" "bin/$c"; done
}
real sh dirname grep env mktemp rm cat tail id sleep
fake() {
	cat >"bin/$1"
	chmod +x "bin/$1"
}
fake dpkg-query <<'E2'
#!/bin/sh
for last; do :; done
grep -qx "$last" "$T/have" && echo installed
E2
fake apt-get <<'E2'
#!/bin/sh
echo "$DEBIAN_FRONTEND: $*" >>"$T/apt.log"
case " $* " in
*" install "*)
	[ ! -e "$T/slow" ] || . "$T/slow"
	[ ! -e "$T/broken" ] || { echo "E: it is broken"; exit 100; }
	for word; do echo "$word" >>"$T/have"; done ;;
esac
E2
fake apt-cache <<'E2'
#!/bin/sh
[ -e "$T/no-torch" ] || echo "$2 | 1.0"
E2
fake python3 <<'E2'
#!/bin/sh
grep -qx python3-torch "$T/have" && echo /fake/python3
E2
# torch-python also tries /usr/bin/python3, which is of the real machine
mkdir tree tree/scripts
cp "$TOP/scripts/setup" tree/scripts
sed 's,/usr/bin/python3,python3,' "$TOP/scripts/torch-python" \
	>tree/scripts/torch-python
chmod +x tree/scripts/*
export T
setup() {
	env -i T="$T" TMPDIR="$T" PATH="$T/bin" tree/scripts/setup >out 2>&1
}

: >have
: >apt.log
if [ "$(id -u)" != 0 ]; then
	fake id <<'E2'
#!/bin/sh
echo 0
E2
fi
check 'a bare machine' 'setup'
is 'one line lists the packages to install' "$(sed 's/build.*//' out)" \
	'scripts/setup: installing '
check 'it asks no question' '! grep -v "^noninteractive: -q -y" apt.log'
check 'the compiler, the libraries and PyTorch' '
	grep -qx build-essential have && grep -qx libsqlite3-dev have &&
	grep -qx libopenmpi-dev have && grep -qx python3-torch have'
: >apt.log
check 'again: nothing to do' 'setup'
is 'and no output' "$(cat out apt.log)" ''

grep -vx strace have >h && mv h have
check 'one package is missing' 'setup'
is 'and only this one is installed' "$(cat out)" 'scripts/setup: installing strace'

grep -vx strace have >h && mv h have
: >broken
check 'if apt-get fails, setup fails' '! setup'
check 'with the message of apt-get' 'grep "it is broken" out &&
	grep "cannot install strace" out'
rm broken

# A clock that is a hundred times as fast, and an apt-get that waits for it.
cp -P bin/sleep real-sleep
rm bin/sleep
fake sleep <<'E2'
#!/bin/sh
echo >>"$T/ticks"
exec "$T/real-sleep" 0.01
E2
cat >slow <<'E2'
ticks() {
	until [ "$(grep -c "" "$T/ticks")" -ge $1 ]; do "$T/real-sleep" 0.01; done
}
: >"$T/ticks"
echo "dlstatus:1:12.5:Retrieving file 1 of 8" >&9
echo "words for people"
ticks 15
echo "pmstatus:strace:66.6667:Unpacking strace (amd64)" >&9
ticks 35
E2
lacks() {
	grep -vx "$1" have >h
	mv h have
}
lacks strace
check 'a slow apt-get' 'setup'
check 'a line every 10 seconds: step, progress, time' '
	grep -x "scripts/setup: installing 1 package: 12 %, Retrieving file 1 of 8, [0-9]*0 s" out &&
	grep -x "scripts/setup: installing 1 package: 66 %, Unpacking strace (amd64), [0-9]*0 s" out'
check 'without control characters' '! grep -q "$(printf "[\\r\\033]")" out &&
	! grep -v "^scripts/setup: " out'
is 'none after it' "$("$T/real-sleep" 0.2; cp out before
	"$T/real-sleep" 0.3; cmp out before && echo same)" same
if [ -n "$REAL_PYTHON" ]; then
	cat >onpty.py <<'E2'
import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
try:
    while data := os.read(fd, 65536):
        shown += data
except OSError:
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitpid(pid, 0)[1] != 0)
E2
	lacks strace
	check 'on a terminal' '"$REAL_PYTHON" onpty.py env -i T="$T" TMPDIR="$T" \
		PATH="$T/bin" tree/scripts/setup >tty'
	check 'one line is rewritten each second, and gone at the end' '
		[ "$(grep -c . tty)" -le 2 ] &&
		tr "\r" "\n" <tty | grep -q "12 %, Retrieving file 1 of 8, [0-9]* s" &&
		tail -c 5 tty | grep -q "$(printf "\\r\\033\\[K")\$"'
else
	skip 'on a terminal' 'no python3'
	skip 'one line' 'no python3'
fi
: >broken
lacks strace
check 'it fails: its output is shown' '! setup &&
	grep "words for people" out && grep "it is broken" out &&
	! grep "^dlstatus" out'
rm broken slow bin/sleep
ln -s "$(command -v sleep)" bin/sleep

: >no-torch
grep -vx python3-torch have >h && mv h have
check 'no package of PyTorch: the rest is installed' 'setup'
check 'and a line reports it' 'grep "no package python3-torch" out &&
	grep -qx strace have'

: >have
rm -f bin/id
fake id <<'E2'
#!/bin/sh
echo 1000
E2
check 'not root, no sudo: an error' '! setup'
check 'with the command to type' \
	'grep "run this as root: apt-get install .*strace" out'
fake sudo <<'E2'
#!/bin/sh
shift
[ "$1" = true ] || echo "sudo $1" >>"$T/sudo.log"
exec "$@"
E2
fake true <<'E2'
#!/bin/sh
E2
check 'with a sudo without password' 'setup && [ -s sudo.log ]'
rm bin/apt-get
check 'no apt-get: an error that names the packages' '
	! setup && grep "no apt-get here.*libzstd-dev" out'
finish
