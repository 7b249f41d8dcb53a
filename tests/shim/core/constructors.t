#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls of libraries as they are loaded, before the constructor of a preloaded
# one.
. "$(dirname "$0")/../../lib/tap.sh"
unset LD_PRELOAD
CC=${CC:-cc}
command -v $CC >/dev/null || skip_all "no $CC"

cat >lib.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void)
{
	char b[16];
	FILE *f = fopen("stream.conf", "r");
	int fd = open("early.conf", O_RDONLY);
	while (read(fd, b, 4) > 0)
		;
	close(fd);
	if (f && fgets(b, 8, f))
		printf("%s", b);
	if (f)
		fclose(f);
}
C
echo 'int main(void) { return 3; }' >main.c
echo ten bytes >early.conf
echo lines >stream.conf
build() {
	$CC -shared -fPIC -o "$1/libearly.so" lib.c $2 &&
		$CC -o "$1/main" main.c -Wl,--no-as-needed -L"$1" -learly \
			-Wl,-rpath,"$T/$1"
}
mkdir with without
build with '' 2>err || skip_all "$CC cannot link"

for options in '' --stacks '--mmap faults' --complete '--events none'; do
	bare=$(./with/main; echo $?)
	rm -rf with.reel
	is "runs as without the shim: $options" "$(
		"$IOREEL" record -q -o with.reel $options -- ./with/main; echo $?)" "$bare"
	[ "$options" = '--events none' ] && break
	is "its constructor's calls are recorded: $options" "$(sql with.reel "
		select call, count(*), sum(bytes) from v_event
		where path like '%.conf' group by call order by call")" \
"$(printf 'close\t1\t\nfclose\t1\t\nfgets\t1\t6\nfopen\t1\t\nopen\t1\t\nread\t4\t10')"
done
is 'and counted' "$(sql with.reel "select sum(read_bytes) from v_file
	where path like '%.conf'")" 16

# A library without start-up code does not call __gmon_start__.
if build without -nostartfiles 2>err; then
	"$IOREEL" record -q -o without.reel -- ./without/main >out
	is 'a library without start-up code runs as without the shim' "$? $(cat out)" '3 lines'
else
	skip 'a library without start-up code runs as without the shim' "$CC cannot link"
fi
finish
