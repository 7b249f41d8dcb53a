#!/bin/sh
# SPDX-License-Identifier: MIT
# The closing lines of record, report, its document, compare and v_summary give
# the same counts of the same job.
. "$(dirname "$0")/../lib/tap.sh"
# Without its launcher, whose files would be counted too.
PYTHON=$(python3 -c 'import sys; print(sys.executable)') || skip_all 'no python3'

# The jobs; each is run in a directory of its own.
cat >job.py <<'PY'
import mmap, os, sys

def make(name, size):
    with open(name, "wb") as f:
        f.write(b"x" * size)

def mapped_read():
    make("data", 40 * 4096)
    with open("data", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        sum(m[i] for i in range(0, len(m), 4096))

def mapped_write():
    make("data", 10 * 4096)
    with open("data", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
        m[0:8192] = b"y" * 8192

def untouched():
    make("data", 4096)
    with open("data", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ):
        pass

def eof():
    make("data", 5000)
    fd = os.open("data", os.O_RDONLY)
    while os.read(fd, 4096):
        pass
    for _ in range(5):
        os.read(fd, 4096)
    os.close(fd)

def directories():
    os.mkdir("d")
    make("d/a", 10)
    fd = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
    os.listdir(fd)
    plain = os.open("d", os.O_RDONLY)
    os.close(plain)
    os.close(os.open("a", os.O_RDONLY, dir_fd=fd))
    os.close(fd)
    os.listdir(".")

def not_read():
    for name in "abc":
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    os.stat("a")
    os.path.exists("none")

def two_processes():
    make("data", 3000)
    f = os.open("data", os.O_RDONLY)
    if not os.fork():
        os.read(f, 1000)
        with open("data", "rb") as g:
            g.read()
        os._exit(0)
    os.wait()
    os.read(f, 1000)

def renamed():
    make("tmp", 700)
    os.rename("tmp", "final")
    with open("final", "rb") as f:
        f.read()
    fd = os.open("final", os.O_RDONLY)
    os.rename("final", "last")
    os.read(fd, 100)
    os.unlink("last")
    os.read(fd, 100)

def links():
    make("data", 900)
    os.link("data", "other")
    os.symlink("data", "way")
    for name in "data", "other", "way":
        with open(name, "rb") as f:
            f.read()

def pipes():
    r, w = os.pipe()
    os.write(w, b"x" * 500)
    os.read(r, 500)
    os.mkfifo("fifo")
    f = os.open("fifo", os.O_RDWR)
    os.write(f, b"x" * 300)
    os.read(f, 300)
    make("data", 200)

def streams():
    os.system("printf 'a\\nb\\n' >text; while read -r x; do :; done <text")
    with open("/dev/null", "w") as f:
        f.write("x" * 100)

def duplicates():
    make("data", 800)
    a = os.open("data", os.O_RDONLY)
    b = os.dup(a)
    os.close(a)
    os.read(b, 300)
    os.execvp("cat", ["cat", "data", "data"])

globals()[sys.argv[1]]()
PY

# The events, files, bytes and opens of code that each of them prints.
cat >look.py <<'PY'
import json, os, re, subprocess, sys

ioreel = os.environ["IOREEL"]

def run(*argv):
    return subprocess.run([ioreel, *argv], check=True, capture_output=True, text=True).stdout

def shown(n):
    """As reel_num_bytes() shows @n bytes."""
    if n < 1000:
        return "%d B" % n
    for name in "kB", "MB", "GB":
        n /= 1000
        digits = 0 if n >= 99.95 else 1 if n >= 9.995 else 2
        if round(n, digits) < 1000:
            return "%.*f %s" % (digits, n, name)

run_dir, said = sys.argv[1:]
line = open(said).read()
names = "events", "files", "read_bytes", "write_bytes", "code_opens"
row = run("sql", "--format", "tsv", run_dir, "SELECT %s FROM v_summary" % ", ".join(names))
view = dict(zip(names, map(int, row.split("\n")[1].split("\t"))))
view["read"], view["written"] = shown(view["read_bytes"]), shown(view["write_bytes"])

def number(pattern, text):
    found = re.search(pattern, text)
    return int(found.group(1).replace(",", "")) if found else 0

end = re.search(r"; (?:up to )?([0-9.,]+ [kMG]?B) read, (?:up to )?([0-9.,]+ [kMG]?B) written", line)
record = {"events": number(r"([0-9,]+) events?\b", line), "files": number(r" in ([0-9,]+) files?", line),
          "read": end.group(1), "written": end.group(2),
          "code_opens": number(r"([0-9,]+) opens? of code", line)}

text = re.sub(r"\s+", " ", run("report", run_dir))
report = {"events": number(r"complete: (?:[0-9,]+ calls in )?([0-9,]+) events?", text),
          "code_opens": number(r"([0-9,]+) opens? of code and system files", text)}
for name, word in ("read", "read"), ("written", "write"):
    moved = re.search(r"^  %s +[0-9,]+ +[≤<]?([0-9.,]+ [kMG]?B) " % word, run("report", run_dir), re.M)
    report[name] = moved.group(1) if moved else "0 B"

doc = json.loads(run("report", "--json", run_dir))
document = {k: doc["totals"][k] for k in names[:4]}
document["code_opens"] = doc["completeness"]["code_opens"]

factors = {f["name"]: f["a"] for f in json.loads(run("compare", "--json", run_dir, run_dir))["factors"]}
compare = {"files": factors["files"], "read_bytes": factors["bytes read"], "write_bytes": factors["bytes written"]}

files = [f for f in doc["files"] if f["kind"] not in ("dir", "pipe", "socket") and
         f["opens"] + f["reads"] + f["writes"] + f["read_bytes"] + f["write_bytes"] + f["mapped_bytes"]]
table = {"files": len(files), "read_bytes": sum(f["read_bytes"] for f in files),
         "write_bytes": sum(f["write_bytes"] for f in files)}

classes = {"files": sum(c["files"] for c in doc["classes"])}
alone = doc["processes"] if len(doc["processes"]) == 1 else []
processes = {k: alone[0][k] for k in ("files", "read_bytes", "write_bytes")} if alone else {}
spread = sum(p["files"] for p in doc["processes"])
if spread < view["files"]:
    classes["files of processes"] = spread
    view["files of processes"] = view["files"]

wrong = [(who, k, says[k], view[k]) for who, says in
         (("record", record), ("report", report), ("document", document), ("compare", compare),
          ("files", table), ("classes", classes), ("processes", processes)) for k in says if says[k] != view[k]]
for who, k, got, want in wrong:
    print("%s says %s %s, v_summary %s" % (who, k, got, want))
sys.exit(bool(wrong))
PY

for job in mapped_read mapped_write untouched eof directories not_read \
	two_processes renamed links pipes streams duplicates; do
	mkdir $job
	(cd $job && ioreel record -o ../$job.reel -- "$PYTHON" ../job.py $job) \
		>/dev/null 2>$job.said
	check "$job: all agree" 'python3 look.py $job.reel $job.said ||
		{ cat $job.said; false; }'
done
(cd eof && ioreel record --events none -o ../counted.reel -- "$PYTHON" ../job.py \
	eof) >/dev/null 2>counted.said
check 'counters: all agree' 'python3 look.py counted.reel counted.said ||
	{ cat counted.said; false; }'
check 'bytes read include bytes through mappings, in compare too' \
	'ioreel compare mapped_read.reel untouched.reel >out &&
	grep -qE "bytes read +[0-9]+ kB +[0-9.]+ k?B " out || { cat out; false; }'
check 'reading a mapping changes the call sequence' '
	for n in 1 2 0; do
		(cd mapped_read && ioreel record -q -o ../touch$n.reel -- "$PYTHON" -c "
import mmap
f = open(\"data\", \"rb\")
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
if $n: m[0]")
	done
	ioreel compare touch1.reel touch2.reel >out && grep -q "identical in 1 of 1 thread" out &&
	ioreel compare touch1.reel touch0.reel >out && grep -q "identical in 0 of 1 thread" out ||
		{ cat out; false; }'
check 'a file that was only mapped is a file' \
	'ioreel record -q -o handed.reel -- "$PYTHON" -c "
import mmap
m = mmap.mmap(0, 0, prot=mmap.PROT_READ); m[0]" <mapped_read/data &&
	[ "$(ioreel sql --format tsv handed.reel "SELECT files FROM v_summary" | tail -1)" = 1 ]'
finish
