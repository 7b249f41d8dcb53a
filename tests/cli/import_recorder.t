#!/bin/sh
# SPDX-License-Identifier: MIT
# ioreel import: folders that Recorder 2.5 and its successor wrote, against the text of
# Recorder's own recorder2text, the times in their files, and strace's record of the
# same program; damaged folders.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
DATA=$TOP/tests/data/recorder

import() { rm -f s.db && "$IOREEL" import -q "$@" -o s.db; }

# rank, name, path, bytes asked, start and duration in ticks of 100 ns. Ranks in the
# store begin together; the first event of all is its time 0.
events() {
	sql s.db "SELECT coalesce(p.rank, 0), v.call, coalesce(v.path, '-'),
		CASE WHEN v.call_group IN ('read', 'write') AND v.layer IN ('POSIX', 'STDIO')
			THEN v.asked ELSE '-' END,
		v.start_ns / 100, v.dur_ns / 100
	FROM v_event v JOIN process p USING (process_id)" | tr '\t' '|'
}
# Names of our calls; MPI-IO has files by handle, some calls none.
names() {
	sed -e 's/|stat64|/|stat|/' -e '/|MPI_/s/|\/[^|]*|/|-|/' |
		sed -e '/|mmap|/s/|[0-9]*|\([0-9]*\)|\([0-9]*\)$/|-|\1|\2/'
}
# The clock of recount: the first start is 0.
zero() {
	awk -F'|' -v OFS='|' '{row[NR] = $0; if (NR == 1 || $5 < min) min = $5}
	END {for (i = 1; i <= NR; i++) {$0 = row[i]; $5 -= min; print}}'
}

for name in serial2 serial3 merged3; do
	check "$name" "import $DATA/$name"
	events | names | sort >got
	python3 "$TOP/tests/cli/recorder_recount.py" "$DATA/$name" | zero | names | sort >want
	check "$name: names, paths, sizes, times" 'test -s want && diff want got'
done
check 'a folder by its recorder.mt' "import $DATA/serial3/recorder.mt"
is 'ranks, sources' "$(import "$DATA/merged3"; sql s.db 'SELECT ranks, (SELECT count(*) FROM process WHERE rank IN (0, 1)),
	(SELECT format FROM source) FROM run' | tr '\t' ' ')" '2 2 recorder'
is 'bytes asked stand for results, and this is said' \
	"$(sql s.db 'SELECT reason, count FROM loss' | tr '\t' ' ')" 'no_result 209'

is 'offsets of MPI-IO, as Recorder has them' \
	"$(sql s.db "SELECT call, offset FROM v_event WHERE call LIKE 'MPI_File_%_at%'
		ORDER BY call, offset" | tr '\t' ' ')" "$(cat "$DATA"/merged3.?.txt |
		sed -n 's/.* \(MPI_File_[a-z]*_at[a-z_]*\) 0 1 ( 0-0 \([0-9]*\) .*/\1 \2/p' | sort)"

# Recorder counts the NUL of what fprintf writes: the file had 26 bytes.
import "$DATA/stdio2"
is 'calls of stdio that calls.def lacks' \
	"$(sql s.db 'SELECT call, layer, call_group, offset, bytes FROM v_event' | tr '\t' ' ')" \
	'fopen STDIO open  
vfprintf STDIO write 0 7
vfprintf STDIO write 7 7
vfprintf STDIO write 14 8
ftell STDIO seek  
fwrite STDIO write 22 4
fclose STDIO close  '
import "$DATA/merged3"

# strace saw the same program in another run: the same calls with the same offsets.
offsets() {
	sql "$1" "SELECT path, call, coalesce(offset, '-'), coalesce(asked, '-')
	FROM v_event WHERE path LIKE '%rank_.bin' AND layer = 'POSIX'
		AND call IN ('read', 'write', 'pread', 'pwrite', 'lseek', 'fsync') $2
	ORDER BY path, call, start_ns"
}
check 'strace of the same program' "ioreel import -q $DATA/program.strace -o strace.db"
# stdio's own reads are calls in strace, not in Recorder: after the last fsync
offsets strace.db "AND (call <> 'read' OR asked = 1000)" >want
offsets s.db >got
check 'the same calls and offsets as strace' 'test $(wc -l <want) -ge 140 && diff want got'

# --- damage -----------------------------------------------------------------------
damaged() {
	rm -rf d && cp -r "$DATA/$1" d && chmod -R u+w d
}
refused() { ! import d 2>err && [ "$(wc -l <err)" = 1 ] && [ ! -e s.db ] && grep -q "$1" err; }
damaged merged3 && rm d/recorder.ts d/ug.cfg
check 'a folder without its times' 'refused "d/recorder.mt"'
for file in recorder.cst ug.cfg ug.mt recorder.ts; do
	damaged merged3
	size=$(stat -c %s d/$file)
	truncate -s $((size - 9)) d/$file
	check "$file cut off" "refused 'd/$file.*byte'"
done
damaged serial2 && truncate -s -80 d/0.ts
check 'times cut off: the calls before are there' 'import d'
is 'and the loss is said' "$(sql s.db "SELECT (SELECT count(*) FROM event), count FROM loss WHERE reason = 'cut off'" | tr '\t' ' ')" \
	'36 1'
damaged serial2 && printf 4.0.0 >d/VERSION
check 'a later version' 'refused "version of Recorder"'
damaged serial2 && printf '\001\000\000\000\377\377\377\377\001\000\000\000\377\377\377\377\001\000\000\000' >d/0.cfg
check 'a rule inside itself' 'refused "damaged grammar"'
finish
