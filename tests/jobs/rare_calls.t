#!/bin/bash
# SPDX-License-Identifier: MIT
# Rare programs and environments: streams that write after
# reading, character streams, passed descriptors, small stacks; umasks that
# deny the recorder its own files, two recorders in one process. Compared with
# strace if it shows the calls.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/strace_oracle.sh"

host=$O/tests/jobs/rare_calls
nothing() { :; }
calls=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,copies_in
calls=$calls,copied_in_bytes,copies_out,copied_out_bytes,closes,names,links,truncates

# Compare the writes of streams only: libc reads more than the program asks for.
oracle update opens,failed_opens,write_bytes,names nothing "$host" update
is 'update: each byte where it was written' "$("$IOREEL" sql update.reel --format tsv \
	"SELECT offset, bytes FROM v_event WHERE path LIKE '%/DATA/update'
	AND call_group = 'write' AND bytes < 100 ORDER BY start_ns" |
	tail -n +2 | tr '\t\n' ' ;')" '4 3;28890 6;'
for end in wide wide_exit; do
	oracle $end opens,failed_opens,write_bytes,names nothing sh -c "\"$host\" $end >DATA/out"
done

for what in vectors passed coroutines threads copies; do
	oracle $what $calls nothing "$host" $what
done
# (O_TMPFILE opens the folder, which strace counts.)
oracle names reads,read_bytes,writes,write_bytes,seeks,closes,names,links nothing "$host" names

"$IOREEL" record -q --stacks -o small.reel -- "$host" coroutines >out 2>err
is 'coroutines with call sites: a stack of 16 KiB suffices' "$? $(cat out err)" '0 '

oracle sqlite $calls nothing "$PY" -c '
import os, sqlite3
c = sqlite3.connect("DATA/x.db")
for p in "journal_mode = wal", "mmap_size = 8388608": c.execute("pragma " + p)
c.execute("create table t(a, b)")
for i in range(10):
    c.executemany("insert into t values(?, ?)", [(j, "x" * j) for j in range(200)])
    c.commit()
if os.fork() == 0:
    d = sqlite3.connect("DATA/x.db")
    print(d.execute("select count(*), sum(length(b)) from t").fetchone(), flush=True)
    os._exit(0)
os.wait()'
oracle archives $calls nothing "$PY" -c '
import lzma, mmap, os, shelve, tarfile, zipfile
data = b"".join(b"%d\n" % i for i in range(20000))
with lzma.open("DATA/a.xz", "wb") as f: f.write(data)
with zipfile.ZipFile("DATA/a.zip", "w") as z:
    for i in range(20): z.writestr(zipfile.ZipInfo("m%d" % i), data[:i * 1000])
with zipfile.ZipFile("DATA/a.zip") as z: z.extractall("DATA/out")
with tarfile.open("DATA/a.tar", "w") as t: t.add("DATA/out/m9")
with tarfile.open("DATA/a.tar", "r|") as t: t.extractall("DATA/out2")
with shelve.open("DATA/s") as s:
    for i in range(50): s[str(i)] = data[:i]
with open("DATA/m", "w+b") as f:
    f.truncate(9000)
    m = mmap.mmap(f.fileno(), 0)
    m.resize(30000)
    m[25000] = 7
    m.close()
    print(len(f.read()))'
oracle temporary reads,read_bytes,writes,write_bytes,seeks,names nothing "$PY" -c '
import os, tempfile
with tempfile.TemporaryFile(dir="DATA") as f: f.write(bytes(50000)); f.seek(0); f.read()
with tempfile.SpooledTemporaryFile(100, dir="DATA") as f: f.write(bytes(500)); f.seek(0); f.read()
fd = os.open("DATA/v", os.O_RDWR | os.O_CREAT)
os.pwritev(fd, [b"a" * 10, b"", b"b" * 5000], 100)
print(os.preadv(fd, [bytearray(3), bytearray(9000)], 50), os.lseek(fd, 0, os.SEEK_HOLE))
d = os.open("DATA", os.O_RDONLY)
os.rename("v", "w", src_dir_fd=d, dst_dir_fd=d)
os.closerange(3, 100)
print(open("DATA/w", "rb").seek(0, 2))'

# The job's umask denies files to their owner; root may open them all.
seq 3000 >in
as=
if [ "$(id -u)" = 0 ]; then
	command -v setpriv >/dev/null && as='setpriv --reuid=65534 --regid=65534 --clear-groups'
	chmod 755 "$T" && mkdir -m 777 any
fi
mkdir -p any bin
$as test -w "$T/any" || as=
cp "$O/ioreel" "$O/libioreel.so" bin # other users may not read the build folder
job='cat in >/dev/null; dd if=in of=/dev/null bs=1 status=none; cat in | (umask 0; wc -c)'
for mask in 0777 0277 0477; do
	$as sh -c "umask $mask; exec bin/ioreel record -q --no-hooks -o any/$mask.reel -- sh -c '$job'" >out 2>err
	is "umask $mask: the job is unchanged" "$(cat out err)" "$(wc -c <in)"
	is "umask $mask: all is recorded" "$(sql any/$mask.reel "SELECT sum(bytes)
		FROM v_event WHERE path LIKE '%/in' AND call_group = 'read'")" $((3 * $(wc -c <in)))
done
$as sh -c "umask 0777; LD_PRELOAD=$T/bin/libioreel.so IOREEL_DIR=$T/any/shim.reel exec cat in" >/dev/null
is 'umask 0777: all is recorded, also without ioreel record' \
	"$(sql any/shim.reel "SELECT sum(bytes) FROM v_event WHERE path LIKE '%/in'")" "$(wc -c <in)"

# A second copy of the recorder, from another installation.
cp "$O/libioreel.so" other.so
LD_PRELOAD=$T/other.so "$IOREEL" record -q -o two.reel -- sh -c 'cat in | wc -c' >out 2>err
is 'two recorders: the job is unchanged' "$(cat out err)" "$(wc -c <in)"
is 'two recorders: one of them records' "$(sql two.reel "SELECT sum(bytes)
	FROM v_event WHERE path LIKE '%/in'")" "$(wc -c <in)"
finish
