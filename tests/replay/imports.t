#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel replay of imports: formats without descriptors or opens are played, too. The
# transfers that strace sees are those that the log tells.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
traced=
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	traced=yes
fi
samples=${IOREEL_DATA:-/none}

# played TITLE FORMAT LOG [TEXT]: every call of LOG is replayed as it was, and its
# transfers are those of TEXT (or LOG).
played() {
	rm -rf s.db root seen
	mkdir root
	title=$1 form=$2 log=$3 words=${4:-$3}
	"$IOREEL" import -q "$log" -o s.db
	check "$title: all calls give the recorded result" '
		"$IOREEL" replay --afap s.db >out 2>&1
		cat out
		sed -n "s/.*; \([0-9,]*\) of \([0-9,]*\) calls gave the recorded result.*/\1 \2/p" out |
			{ read -r did all && [ "$did" = "$all" ] && [ "$all" != 0 ]; }'
	if [ "$traced" ]; then
		check "$title: the bytes and offsets of the log" '
			strace -f -y -s 0 -o seen -e trace=openat,read,write,pread64,pwrite64 \
				"$IOREEL" replay --afap --root root s.db >out 2>&1
			python3 "$TOP/tests/replay/imports.py" "$form" "$words" seen "$T/root"'
	else
		skip "$title: the bytes and offsets of the log" 'strace does not work here'
	fi
}
each_sample() {
	if [ -e "$samples/$3" ]; then
		played "$1" "$2" "$samples/$3" ${4:+"$samples/$4"}
	else
		skip "$1" 'IOREEL_DATA is not there'
	fi
}

cat >v3.log <<-END
	fio version 3 iolog
	29 /d/a add
	30 /d/b add
	239 /d/a open
	240 /d/b open
	243 /d/a read 4096 65536
	304 /d/b write 0 512
	308 /d/b sync 262144 0
	310 /d/b read 0 512
	325 /d/a trim 0 4096
	330 /d/b datasync
	705 /d/a close
	706 /d/b close
END
played 'fio, version 3' fio v3.log
sed -e '1s/3/2/' -e '2,$s/^[0-9]* //' v3.log >v2.log
played 'fio, version 2' fio v2.log
grep -v ' open$' v3.log >closed.log
played 'fio, without opens' fio closed.log
printf 'fio version 2 iolog\n/d/a add\n/d/a open\n/d/a trim 4096 8192\n/d/a read 0 512\n/d/a close\n' >trimmed.log
played 'fio, trimmed before it is read' fio trimmed.log
sed 's| /d/| d//|' v3.log >relative.log
played 'fio, relative paths' fio relative.log
if command -v fio >/dev/null; then
	fio --name=t --size=1m --bs=16k --rw=randrw --fsync=4 --filename="$T/f1:$T/f2" \
		--write_iolog=real.log >/dev/null
	played 'a log of fio' fio real.log
	sed -e '1s/3/2/' -e '2,$s/^[0-9]* //' real.log >real2.log
	played 'a log of fio, version 2' fio real2.log
else
	skip 'logs of fio' 'fio is not installed'
fi
cat >inherited.txt <<-'END'
	100 1.000000 fstat(2</d/log>, {st_mode=S_IFREG|0644, st_size=0, ...}) = 0 <0.000010>
	100 1.000100 write(2</d/log>, "abcdef", 6) = 6 <0.000010>
	100 1.000200 close(2</d/log>) = 0 <0.000010>
END
played 'strace, a descriptor that the job inherited' strace inherited.txt
cat >streams.txt <<-'END'
	100 1.000000 openat(AT_FDCWD, "/d/a", O_RDONLY) = 3 <0.000010>
	100 1.000100 read(3, "abc", 512) = 3 <0.000010>
	100 1.000200 read(0, "", 4096) = 0 <0.000010>
	100 1.000300 write(1, "abcdef"..., 600) = 600 <0.000010>
END
"$IOREEL" import -q streams.txt -o s.db
check 'strace without -y: standard streams of the job are not those of the user' '
	echo user | { "$IOREEL" replay --afap s.db >out 2>err; cat >left; }
	cat out
	grep -q "4 of 4 calls gave the recorded result" out &&
	[ "$(wc -c <out)" -lt 600 ] && grep -q "^user$" left'
each_sample 'DXT' dxt darshan/nonmpi_dxt.darshan darshan/nonmpi_dxt.dxt.txt.gz
each_sample 'DFTracer' dftracer dftracer/test.pfw.gz
each_sample 'strace' strace strace/out.txt.gz
cat >no_errno.pfw <<-'END'
	[
	{"id":0,"name":"open64","cat":"POSIX","pid":1,"tid":1,"ph":"X","ts":1780000000000000,"dur":10,"args":{"hostname":"n","ret":-1,"flags":0,"fname":"/d/none"}}
	{"id":1,"name":"open64","cat":"POSIX","pid":1,"tid":1,"ph":"X","ts":1780000000000100,"dur":10,"args":{"hostname":"n","ret":5,"flags":0,"fname":"/d/a"}}
	{"id":2,"name":"read","cat":"POSIX","pid":1,"tid":1,"ph":"X","ts":1780000000000200,"dur":10,"args":{"hostname":"n","ret":9,"count":9,"fname":"/d/a","fd":5}}
END
"$IOREEL" import -q no_errno.pfw -o s.db
check 'DFTracer, an open that failed: any error is its result' '
	"$IOREEL" replay --afap s.db 2>&1 | grep -q "3 of 3 calls gave the recorded result"'
cat >vector.txt <<-'END'
	7 1700000000.000000 openat(AT_FDCWD</d>, "/d/o", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 3</d/o> <0.000010>
	7 1700000000.000100 writev(3</d/o>, [{iov_base="a"..., iov_len=10}, ...], 200) = 2000 <0.000010>
END
"$IOREEL" import -q vector.txt -o s.db
check 'strace, a vector that is printed in part: its bytes are those that it wrote' '
	"$IOREEL" replay --afap s.db 2>&1 | grep -q "2 of 2 calls gave the recorded result"'
finish
