#!/bin/bash
# SPDX-License-Identifier: MIT
# The files that posix_spawn() opens for its child, between vfork and exec: the
# opens agree with strace, and the offsets in the child's image are right.
. "$(dirname "$0")/../../lib/tap.sh"
command -v strace >/dev/null || skip_all 'no strace'
P=$O/tests/shim/exec/spawn_actions
RUN=t.reel
set_up() {
	rm -rf set
	mkdir -p set/below
	head -c 5000 /dev/zero >set/given
	head -c 3000 /dev/zero >set/cut
	head -c 2000 /dev/zero >set/grown
}

set_up
"$P" set
is 'status, bare' $? 0
(cd set && wc -c given cut grown below/made) >bare
set_up
# LeakSanitizer does not work under strace.
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 \
strace -ff -y -qq -o st -e trace=openat,read,write "$IOREEL" record -q \
	-o t.reel -- "$P" set
is 'status, recorded' $? 0
# strace writes a file for each process, because in one file concurrent calls
# would be split in two.
cat st.* | sed 's/^/ /' >st
(cd set && wc -c given cut grown below/made) >traced
check 'the same files' 'diff bare traced'

# strace's last open belongs to the spawn that fails, which has no record.
sed -nE 's/.* openat\(.*, (O_[A-Z|_]*)[^<]* = [0-9]+<(.*\/set\/.*)>$/\2 \1/p' st |
	awk -v set="$T/set/" '!seen[$0]++ && !/shim|boot_id/' | sort >kernel
q "select f.path || ' ' || case flags & 3 when 0 then 'O_RDONLY'
		when 1 then 'O_WRONLY' else 'O_RDWR' end ||
	case when flags & 64 then '|O_CREAT' else '' end ||
	case when flags & 512 then '|O_TRUNC' else '' end ||
	case when flags & 1024 then '|O_APPEND' else '' end ||
	case when flags & 524288 then '|O_CLOEXEC' else '' end
	from open_file join file as f using (file_id) where f.path like '%/set/%'" | sort -u >ours
check 'each open and its flags' '[ "$(wc -l <kernel)" = 4 ] && diff kernel ours'
sed -nE 's/.* (read|write)\([0-9]+<.*(\/set\/.*)>, .* = ([0-9]+)$/\1 \2 \3/p' st |
	sort >kernel
q "select call, substr(path, length('$T') + 1), bytes from v_event
	where call in ('read', 'write') and errno = 0 and path like '%/set/%'" |
	tr '\t' ' ' | sort >ours
check 'each read and write' '[ "$(wc -l <kernel)" = 7 ] && diff kernel ours'
is 'their offsets' "$(q "select group_concat(offset, ' ') from (select offset
	from v_event where call in ('read', 'write') and path like '%/set/%'
	and path not like '%grown' order by start_ns)")" '100 600 0 500 0'
is 'the chdir before the spawn' "$(q "select path from v_event
	where call = 'chdir'")" "$T/set"
is 'a close action closes the descriptor: EBADF' "$(q "select group_concat(errno)
	from v_event where call = 'write' and errno <> 0")" 9
is 'an open belongs to the child that has its descriptor' "$(q "select count(*) from
	v_event as c join v_event as p using (open_id) where p.call = 'open'
	and c.call = 'write' and p.path = c.path and p.pid <> c.pid")" 4
"$IOREEL" replay t.reel >replayed 2>&1
check 'the run can be replayed' "grep -Eq '; ([0-9,]+) of \\1 calls gave' replayed"
finish
