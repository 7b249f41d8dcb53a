# SPDX-License-Identifier: MIT
# Runs a probe bare and traced and compares its output and status. Source it after
# tap.sh. The one thing to know: a probe prints its observations (results, errno,
# descriptor numbers), so that equal output is equal behaviour.
#
# $RUN is the trace of the last guest, which q queries.
unset LD_PRELOAD
CC=${CC:-cc}

# guest NAME PROGRAM ARGS...: run it bare, then traced, each in a new directory.
guest() {
	local name=$1
	shift
	RUN=$T/$name.reel
	rm -rf bare traced "$RUN"
	mkdir bare traced
	(cd bare && "$@" >out 2>err </dev/null; echo "status $?" >>out)
	(cd traced && "$IOREEL" record -q -o "$RUN" -- "$@" \
		>out 2>err </dev/null; echo "status $?" >>out)
	is "$name: output and status" "$(cat traced/out)" "$(cat bare/out)"
	is "$name: standard error" "$(cat traced/err)" "$(cat bare/err)"
}

# probe NAME [ARGS...]: run tests/shim/*/NAME.c as guest.
probe() {
	local name=$1
	shift
	guest "$name" "$(echo "$O"/tests/shim/*/"$name")" "$@"
}

# Number of events and operations that the shim could not record.
lost() { q 'SELECT coalesce(sum(count), 0) FROM loss'; }

# build NAME FLAGS...: compile tests/shim/*/NAME.c to ./NAME.
build() {
	local name=$1
	shift
	"$CC" -O1 -g -w -D_GNU_SOURCE -o "$name" "$TOP"/tests/shim/*/"$name.c" "$@" \
		-lpthread -ldl 2>build.err
}
