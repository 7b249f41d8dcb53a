#!/bin/bash
# SPDX-License-Identifier: MIT
# ioreel-mpi gen and run over ranks of two hosts: two network namespaces, joined by a
# veth pair, with host names of their own. mpirun starts the second daemon by an
# agent, as it does by ssh.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
[ -x "$O/ioreel-mpi" ] || skip_all 'no ioreel-mpi'
python3 -c 'import json' 2>/dev/null || skip_all 'no python3'
command -v ip >/dev/null || skip_all 'no ip (iproute2)'
case $(mpirun --version 2>/dev/null) in
*'Open MPI'*) ;;
*) skip_all 'no mpirun of Open MPI' ;;
esac

# --- the hosts ----------------------------------------------------------------
# A process sleeps in each namespace and so keeps it; nsenter joins it.
two_hosts() {
	local pid

	for pid in 1 2; do
		unshare --net --uts sh -c 'hostname ioreel-host'$pid' &&
			ip link set lo up && echo up >up'$pid' && exec sleep 600' &
		host[$pid]=$!
	done 2>err
	for pid in 1 2; do
		until [ -e up$pid ]; do
			kill -0 ${host[$pid]} 2>>err || return 1
			sleep 0.05
		done
	done
	inside 1 ip link add veth1 type veth peer name veth2 2>>err &&
		inside 1 ip link set veth2 netns ${host[2]} 2>>err &&
		inside 1 ip address add 10.77.0.1/24 dev veth1 2>>err &&
		inside 2 ip address add 10.77.0.2/24 dev veth2 2>>err &&
		inside 1 ip link set veth1 up 2>>err &&
		inside 2 ip link set veth2 up 2>>err
}

inside() {
	local n=$1

	shift
	nsenter --target ${host[$n]} --net --uts -- "$@"
}

host=()
trap 'kill "${host[@]}" 2>/dev/null; rm -rf "$T"' EXIT
two_hosts || skip_all "no namespaces: $(head -1 err)"
cat >agent <<A
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done # options of ssh
case \$1 in
10.77.0.1) pid=${host[1]} ;;
10.77.0.2) pid=${host[2]} ;;
*) exit 1 ;;
esac
shift
exec nsenter --target \$pid --net --uts -- sh -c "\$*"
A
chmod +x agent

# on RANKS_OF_1 RANKS_OF_2 COMMAND...: mpirun on host 1.
on() {
	local a=$1 b=$2

	shift 2
	inside 1 timeout 120 mpirun --allow-run-as-root --oversubscribe \
		--host 10.77.0.1:$a,10.77.0.2:$b -n $((a + b)) --map-by slot \
		--mca plm_rsh_agent "$T/agent" --mca btl tcp,self \
		--mca btl_tcp_if_include 10.77.0.0/24 \
		--mca oob_tcp_if_include 10.77.0.0/24 "$@" 2>err
}

# alone RANKS COMMAND...: mpirun on this host.
alone() {
	local n=$1

	shift
	timeout 120 mpirun --allow-run-as-root --oversubscribe -n $n "$@" 2>err
}

on 1 1 hostname >names || { sed 's/^/# /' err; skip_all 'mpirun finds no second host'; }
is 'two hosts' "$(sort names | xargs)" 'ioreel-host1 ioreel-host2'

# --- the same samples ---------------------------------------------------------
field() { python3 -c "import json; d = json.load(open('$1')); print($2)"; }
# The sum of the mixed numbers 0 ... N - 1, by SplitMix64's published constants.
cat >sum.py <<'PY'
import sys
M = 2**64 - 1
def mixed(n):
    z = n + 0x9e3779b97f4a7c15 & M
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & M
    z = (z ^ z >> 27) * 0x94d049bb133111eb & M
    return z ^ z >> 31
print("%016x" % (sum(mixed(n) for n in range(int(sys.argv[1]))) & M))
PY
sum=$(python3 sum.py 210)
w() { "$IOREEL" workload "$@"; }
cat >w.json <<'J'
{"schema": "ioreel-workload-1", "name": "t",
 "dataset": {"format": "raw", "files": 35, "samples_per_file": 6,
             "sample_bytes": {"quantiles": [100, 5000, 90000]}},
 "pipeline": {"batch": 4, "order": "shuffle", "readers": 2},
 "synchronise": {"kind": "allreduce", "bytes": 100000}, "epochs": 3}
J

# samples TITLE WORKLOAD RUN...: all samples once in each epoch, by checksum.
samples() {
	local title=$1

	shift 2
	check "$title: it runs" '"${run[@]}" >r.json || { cat err; false; }'
	is "$title: every sample in each epoch" \
		"$(field r.json '{(e["samples"], e["checksum"]) for e in d["epochs"]}')" \
		"{(210, '$sum')}"
	is "$title: another order in each" \
		"$(field r.json 'len({e["order"] for e in d["epochs"]})')" 3
}

for format in raw tfrecord npz; do
	w set w.json dataset.format=$format >$format.json
	check "$format: two hosts write the data set" \
		'on 1 2 "$O/ioreel-mpi" gen -q $format.json ds.$format || { cat err; false; }'
	"$IOREEL" gen -q $format.json alone.$format
	is "$format: the files are those of one rank" \
		"$(cd ds.$format && find . -type f | sort | xargs sha256sum)" \
		"$(cd alone.$format && find . -type f | sort | xargs sha256sum)"
	job=("$O/ioreel-mpi" run -q --json --data ds.$format $format.json)
	for n in 1 2 4; do
		run=(alone $n "${job[@]}")
		samples "$format, $n ranks" $format
	done
	run=(on 1 1 "${job[@]}") && samples "$format, a rank on each host" $format
	run=(on 2 1 "${job[@]}") && samples "$format, two ranks and one" $format
	is "$format: three ranks ran" "$(field r.json 'd["ranks"]')" 3
done

# --- the page cache of each host ----------------------------------------------
# A rank may read any file: each host drops all of them, by its ranks together.
if strace -qq -e trace=none true 2>/dev/null; then
	cat >traced <<-'S'
	#!/bin/sh
	exec strace -qq -f -y -e trace=fadvise64 -o "dropped.$(hostname).$$" "$@"
	S
	chmod +x traced
	check 'cold on two hosts: it runs' \
		'on 2 1 ./traced "${job[@]}" --set cache=cold >r.json || { cat err; false; }'
	for n in 1 2; do
		is "cold: host $n drops every file once" \
			"$(cat dropped.ioreel-host$n.* | grep -c 'train/.*DONTNEED')" 35
	done
else
	skip 'cold on two hosts' 'no strace'
fi

# --- a rank that fails --------------------------------------------------------
# The others wait for it in a step: they must end.
w set w.json dataset.samples_per_file=1 pipeline.batch=1 >one.json
"$IOREEL" gen -q one.json ds.one
rm ds.one/train/*20_of*
for readers in 0 2; do
	on 1 1 "$O/ioreel-mpi" run -q --data ds.one \
		--set pipeline.readers=$readers one.json >out
	status=$?
	check "a file is missing, $readers readers: all ranks end" \
		'[ $status != 0 ] && [ $status != 124 ]'
	is "$readers readers: one error" "$(grep -c 'cannot open .ds.one/train/' err)" 1
done
finish
