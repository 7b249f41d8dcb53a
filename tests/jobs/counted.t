#!/bin/bash
# SPDX-License-Identifier: MIT
# Real jobs recorded with events and with counters give the same verdict, codes,
# steps, calls and bytes. A persistent loader, a new loader for each epoch,
# shell tools, and MPI-IO.
. "$(dirname "$0")/../lib/tap.sh"
unset LD_PRELOAD
codes() { "$IOREEL" report --json "$1" | python3 -c 'import json, sys
print(sorted(a["code"] for a in json.load(sys.stdin)["advice"]))'; }
# Calls and bytes of each group, on the job's own files.
sums="select call_group, layer, sum(calls), sum(bytes) from v_event
	where path like '$T/data/%' and errno = 0 and call_group in
	('open', 'close', 'read', 'write', 'sync') group by 1, 2"
# A launcher of MPI has files of its own, which differ between runs.
all="select sum(calls), sum(bytes) from v_event
	where call_group in ('read', 'write') and kind = 'file'
	and path like '$T/data/%'"
record_both() { # NAME COMMAND ...
	for how in all none; do
		rm -rf data $1.$how
		mkdir data
		"$IOREEL" record -q --events $how -o $1.$how -- "${@:2}" \
			>/dev/null 2>$1.err || return
	done
}
compare() { # NAME COMMAND ...
	record_both "$@" || return
	check "$1: the comparison is not empty" \
		'[ "$(sql '$1.all' "$sums" | wc -l)" -ge 3 ]'
	is "$1: calls and bytes" "$(sql $1.none "$sums")" "$(sql $1.all "$sums")"
	is "$1: all bytes read and written" "$(sql $1.none "$all")" \
		"$(sql $1.all "$all")"
	steps='select rank, epoch, steps, unknown_steps from v_epoch'
	is "$1: counters have no times between calls" "$(sql $1.none "select count(*) from
		distribution where quantity = 'inter_arrival'")" 0
	is "$1: steps" "$(sql $1.none "$steps")" "$(sql $1.all "$steps")"
	check "$1: the trace is smaller" \
		'[ "$(cat '$1'.none/*.log | wc -c)" -lt "$(cat '$1'.all/*.log | wc -c)" ]'
}
# Codes stand on shares of time, and two runs differ: a disk that stalls in one of
# them changes its codes. Up to three pairs are compared.
same_codes() { # NAME COMMAND ...
	for pair in 1 2; do
		[ "$(codes $1.none)" = "$(codes $1.all)" ] || record_both "$@"
	done
	is "$1: the same codes" "$(codes $1.none)" "$(codes $1.all)"
}

cat >loader.py <<'END'
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset
fresh = sys.argv[1] == "fresh"
for i in range(50):
    with open("data/s%d.bin" % i, "wb") as f:
        f.write(b"x" * (20000 + i))
class Set(Dataset):
    def __len__(self):
        return 320
    def __getitem__(self, i):
        time.sleep(.004)
        with open("data/s%d.bin" % (i % 50), "rb") as f:
            return torch.tensor([len(f.read())], dtype=torch.float32)
model = torch.nn.Linear(1, 1)
sgd = torch.optim.SGD(model.parameters(), lr=1e-9)
loader = DataLoader(Set(), batch_size=16, num_workers=2)
for epoch in range(3):
    if fresh:
        loader = DataLoader(Set(), batch_size=16, num_workers=2)
    for x in loader:
        sgd.zero_grad()
        model(x).sum().backward()
        sgd.step()
    torch.save(model.state_dict(), "data/model.pt")
END
if python=$("$TOP/scripts/torch-python" 2>&1); then
	export OMP_NUM_THREADS=1
	for kind in one fresh; do
		compare $kind "$python" loader.py $kind
		check "$kind: it waits for its input, in both" \
			'codes '$kind'.all | grep -q INPUT-BOUND &&
			codes '$kind'.none | grep -q INPUT-BOUND'
		check "$kind: the report has a table of steps" \
			'"$IOREEL" report '$kind'.none >r && ! grep -q "No steps" r &&
			grep -q "^Where a step" r'
		is "$kind: batches of the workers" \
			"$(sql $kind.none "select sum(worker_batches) from rank_time")" \
			"$(sql $kind.all "select sum(worker_batches) from rank_time")"
	done
else
	skip 'jobs of PyTorch' 'no PyTorch'
fi

cat >tools.sh <<'END'
mkdir data/a data/b
for i in $(seq 100); do echo "line $i" >data/a/f$i.txt; done
tar cf data/x.tar data/a && tar xf data/x.tar -C data/b
cp -r data/a data/c
cat data/c/* | sort >data/sorted
dd if=/dev/zero of=data/zero bs=16 count=400000 # so that I/O dominates
END
compare tools sh tools.sh
errors="select call_group, errno, sum(calls) from v_event where errno > 0
	group by 1, 2"
is 'tools: calls that failed' "$(sql tools.none "$errors")" \
	"$(sql tools.all "$errors")"
same_codes tools sh tools.sh

cat >mpi.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static char b[65536];
	MPI_File f;
	int rank, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_File_open(MPI_COMM_WORLD, "data/mpi.bin",
		      MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (i = 0; i < 100; i++)
		MPI_File_write_at(f, (MPI_Offset)(2 * i + rank) * 65536, b,
				  65536, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < 100; i++)
		MPI_File_read_at(f, (MPI_Offset)(2 * i + rank) * 65536, b,
				 65536, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	sleep(1); /* so that I/O stays a small share of the run */
	MPI_Finalize();
	return 0;
}
END
if command -v mpicc mpirun >/dev/null && mpicc -o mpi mpi.c 2>mpicc.err; then
	set -- mpi mpirun --allow-run-as-root --oversubscribe -n 2 ./mpi
	compare "$@"
	same_codes "$@"
else
	skip 'a job of MPI' 'no MPI'
fi
finish
