#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim is transparent, I: calls, names and limits. Each probe has the same
# output and status bare and traced, and the trace holds its calls.
. "$(dirname "$0")/../../lib/tap.sh"
. "$TOP/tests/lib/probe.sh"

probe errno_matrix
check 'errno_matrix: failures carry errno' \
	"[ $(q "SELECT count(*) FROM v_event WHERE errno = 9 AND result = -1") -gt 0 ]"

probe efault_iovec
is 'efault_iovec: sizes of the request, not of the memory after the call' \
	"$(q "SELECT call, asked, bytes FROM v_event WHERE path LIKE '%/efault.bin' AND call IN ('readv', 'preadv') AND bytes > 0 ORDER BY start_ns")" \
	"$(printf 'readv\t7\t7\npreadv\t20\t10')"
is 'efault_iovec: names of the request' \
	"$(q "SELECT call, count(*) FROM v_event WHERE path LIKE '%/efault.link' AND call = 'readlink' OR path LIKE '%/efault.bin' AND call IN ('stat', 'statx') GROUP BY call ORDER BY call")" \
	"$(printf 'readlink\t1\nstat\t1\nstatx\t1')"

probe append_offsets
is 'append_offsets: the real offset of each write' \
	"$(q "SELECT call, offset, bytes FROM v_event WHERE call_group = 'write' AND path LIKE '%/traced/%' AND path NOT LIKE '%/out' ORDER BY start_ns" | tr '\t\n' ' ;')" \
	'write 0 100;fwrite 100 20;write 0 5;pwrite 0 10;write 10 2;'

probe close_range_userdata_intact
is 'close_range_userdata_intact: every write and read is recorded' \
	"$(q "SELECT call, count(*), sum(bytes) FROM v_event WHERE path LIKE '%/user.bin' AND call IN ('write', 'pread') GROUP BY call ORDER BY call")" \
	"$(printf 'pread\t50000\t5000000\nwrite\t20000\t2000000')"
probe lowest_fd_rule
probe open_mode_varargs

mkdir dup && (cd dup && "$IOREEL" record -q -o ../dup.reel -- "$O/tests/shim/posix/dup_fcntl_tracking" >../dup.want)
RUN=dup.reel
is 'dup_fcntl_tracking: offsets are those of the open file description' \
	"$(q "SELECT call || ' ' || bytes || ' ' || offset FROM v_event WHERE path LIKE '%/dup.bin' AND call_group IN ('read', 'write') ORDER BY start_ns")" \
	"$(cat dup.want)"

# The kernel's paths of open files are the oracle of the next two.
mkdir names && (cd names && TELL=1 "$IOREEL" record -q -o ../names.reel -- "$O/tests/shim/core/path_bytes_long" >../names.out)
sed -n 's/^path //p' names.out >names.want
probe path_bytes_long
RUN=names.reel
is 'path_bytes_long: every byte of every name' \
	"$(q "SELECT hex(path) FROM v_event WHERE call = 'open' AND errno = 0 AND path NOT LIKE '%too deep%' ORDER BY start_ns")" \
	"$(cat names.want)"
deep=$(q "SELECT length(path) FROM v_event WHERE call = 'open' AND path LIKE '%/too deep to be named'")
check 'path_bytes_long: a working directory past PATH_MAX is recorded, or counted as lost' \
	"[ '$deep' = $(($(printf %s "$T/names/" | wc -c) + 25 * 201 + 21)) ] || [ $(lost) -gt 0 ]"
mkdir rel && (cd rel && "$IOREEL" record -q -o ../rel.reel -- "$O/tests/shim/core/relative_paths" >../rel.want)
mkdir rel.bare && (cd rel.bare && "$O/tests/shim/core/relative_paths" >../rel.out)
is 'relative_paths: the same output bare and traced' \
	"$(sed 's|.*/rel.bare/||' rel.out)" "$(sed 's|.*/rel/||' rel.want)"
RUN=rel.reel
is 'relative_open_cached_cwd, openat_dirfd_path: the paths of the kernel' \
	"$(q "SELECT path FROM v_event WHERE call_group = 'open' AND errno = 0 AND arg & 64 ORDER BY start_ns")" \
	"$(cat rel.want)"

limits=$O/tests/shim/core/rlimits
guest rlimit_fsize_sigxfsz "$limits" size
guest nofile_limit "$limits" files
guest cwd_removed "$limits" cwd
guest rlimit_as "$limits" as
is 'rlimit_as: events without memory are counted as lost' \
	"$(($(q "SELECT count(*) FROM v_event WHERE call = 'pwrite'") + $(lost)))" \
	"$(sed -n 's/^writes //p' bare/out)"
finish
