#!/bin/bash
# SPDX-License-Identifier: MIT
# Third-party programs in languages with different runtimes, compared with
# strace: per process the calls on data files, and their bytes, exactly.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/strace_oracle.sh"

tools=$TOP/tests/jobs/strace_tools.py
make_tree() { "$PY" "$tools" make DATA; }
calls=opens,failed_opens,reads,read_bytes,writes,write_bytes,seeks,copies_in
calls=$calls,copied_in_bytes,copies_out,copied_out_bytes,closes,names,truncates

oracle perl $calls make_tree perl -e '
	open(F, "<", "DATA/tree/f02"); my @l = <F>; close F;
	open(G, ">>", "DATA/to/p"); print G reverse @l; close G;
	sysopen(H, "DATA/to/raw", 66); syswrite H, "abc" x 1000;
	sysseek H, 10, 0; sysread H, $b, 20; print "$b\n"; close H;
	my $pid = fork; exec "cat", "DATA/to/raw" unless $pid; waitpid $pid, 0;
	truncate "DATA/to/p", 100; unlink "DATA/to/raw"; print -s "DATA/to/p"'
oracle ruby $calls make_tree ruby --disable-gems -e '
	s = File.binread("DATA/tree/f04")
	t = 3.times.map { |i| Thread.new { File.binwrite("DATA/to/t#{i}", s * i) } }
	t.each(&:join); IO.copy_stream("DATA/tree/f06", "DATA/to/copy")
	File.rename("DATA/to/t0", "DATA/to/u"); puts File.size("DATA/to/t2")'
oracle node $calls make_tree node -e '
	const fs = require("fs"), d = "DATA/tree/";
	(async () => {
		const all = await Promise.all(["f00", "f02", "f04", "f06", "f08", "f10"]
			.map(f => fs.promises.readFile(d + f)));
		fs.writeFileSync("DATA/to/all", Buffer.concat(all));
		const h = await fs.promises.open("DATA/to/rw", "w+");
		await h.write(Buffer.alloc(1000, 65), 0, 1000, 500);
		await h.truncate(700); await h.close();
		fs.copyFileSync(d + "f08", "DATA/to/c"); console.log(all.length);
	})()'
oracle sqlite3 $calls make_tree sqlite3 DATA/x.db '
	PRAGMA journal_mode = wal; CREATE TABLE t (a, b);
	WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
	INSERT INTO t SELECT i, zeroblob(i % 500) FROM n;
	SELECT count(*), sum(length(b)) FROM t; PRAGMA wal_checkpoint'
oracle rg $calls make_tree rg -c --sort path -a abc DATA/tree
oracle bash $calls make_tree bash -c '
	while read -rn 50 l; do [ ${#l} -gt 40 ] && break; done <DATA/tree/f02
	exec 7<DATA/tree/f04 8>>DATA/to/log; head -c 30 <&7 >&8; cat <&7 | wc -c
	dd if=DATA/tree/f06 of=DATA/to/log bs=7k oflag=append conv=notrunc status=none
	set -m; cat DATA/tree/f08 >DATA/to/job & wait; (exec -a odd cat DATA/to/log) | wc -c'
# For streams the bytes, not the number of calls.
oracle lua5.4 opens,failed_opens,write_bytes,names,links make_tree lua5.4 -e '
	local f = io.open("DATA/tree/f02", "rb"); local s = f:read("a"); f:close()
	local o = io.open("DATA/to/o", "a"); o:write(s:sub(1, 500)); o:close()
	os.rename("DATA/to/o", "DATA/to/p"); print(#s)'
finish
