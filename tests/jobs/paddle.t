#!/bin/sh
# SPDX-License-Identifier: MIT
# The hooks of PaddlePaddle, with a package of its structure, and with the real one
# where it is installed.
. "$(dirname "$0")/../lib/tap.sh"
command -v python3 >/dev/null || skip_all 'no python3'

mkdir -p made/paddle/io/dataloader
cat >made/paddle/__init__.py <<'PY'
__version__ = "3.0.0"
gradients = [True]
def is_grad_enabled():
    return gradients[-1]
class no_grad:
    def __enter__(self):
        gradients.append(False)
    def __exit__(self, *error):
        gradients.pop()
class Tensor:
    def backward(self):
        pass
def to_tensor(data):
    return Tensor()
def save(state, path):
    open(path, "w").close()
def load(path):
    open(path).close()
from paddle import autograd, io, optimizer
PY
cat >made/paddle/autograd.py <<'PY'
def backward(tensors):
    pass
PY
cat >made/paddle/optimizer.py <<'PY'
class Optimizer:
    def __init__(self, rate=0.1, parameters=()):
        pass
    def step(self):
        pass
    def minimize(self, loss):
        self.step()
class SGD(Optimizer):
    pass
class Adam(Optimizer):
    def step(self):
        pass
PY
cat >made/paddle/io/__init__.py <<'PY'
from paddle.io.dataloader import dataloader_iter as iterators
class Dataset:
    pass
class DataLoader:
    def __init__(self, dataset, batch_size=1, num_workers=0, persistent_workers=False):
        self.dataset, self.batch_size = dataset, batch_size
        self.num_workers, self._persistent_workers = num_workers, persistent_workers
        self._iterator = None
    def __iter__(self):
        if not self.num_workers:
            return iterators._DataLoaderIterSingleProcess(self)
        if self._persistent_workers and self._iterator:
            self._iterator._reset()
            return self._iterator
        self._iterator = iterators._DataLoaderIterMultiProcess(self)
        return self._iterator
PY
echo 'from paddle.io.dataloader import dataloader_iter, fetcher, worker' \
	>made/paddle/io/dataloader/__init__.py
cat >made/paddle/io/dataloader/fetcher.py <<'PY'
class _MapDatasetFetcher:
    def __init__(self, dataset):
        self.dataset = dataset
    def fetch(self, indices, done_event=None):
        return [self.dataset[i] for i in indices]
class _IterableDatasetFetcher(_MapDatasetFetcher):
    def fetch(self, indices, done_event=None):
        return list(self.dataset)
PY
cat >made/paddle/io/dataloader/worker.py <<'PY'
from paddle.io.dataloader import fetcher
def _worker_loop(dataset, asked, made):
    fetch = fetcher._MapDatasetFetcher(dataset).fetch
    for indices in iter(asked.get, None):
        made.put(fetch(indices))
PY
cat >made/paddle/io/dataloader/dataloader_iter.py <<'PY'
import multiprocessing
from paddle.io.dataloader import fetcher
from paddle.io.dataloader.worker import _worker_loop
class _DataLoaderIterBase:
    def __init__(self, loader):
        self.loader = loader
        self.start()
    def __iter__(self):
        return self
    def start(self):
        n, size = len(self.loader.dataset), self.loader.batch_size
        self.batches = [list(range(i, min(i + size, n))) for i in range(0, n, size)]
class _DataLoaderIterSingleProcess(_DataLoaderIterBase):
    def __next__(self):
        if not self.batches:
            raise StopIteration
        return fetcher._MapDatasetFetcher(self.loader.dataset).fetch(self.batches.pop(0))
class _DataLoaderIterMultiProcess(_DataLoaderIterBase):
    def __init__(self, loader):
        super().__init__(loader)
        fork = multiprocessing.get_context("fork")
        self.asked, self.made = fork.SimpleQueue(), fork.SimpleQueue()
        self.worker = fork.Process(target=_worker_loop, daemon=True,
                                   args=(loader.dataset, self.asked, self.made))
        self.worker.start()
    def _reset(self):
        self.start()
    def __next__(self):
        if not self.batches:
            raise StopIteration
        self.asked.put(self.batches.pop(0))
        return self.made.get()
PY

cat >job.py <<'PY'
import sys
import numpy
import paddle
from paddle.io import DataLoader, Dataset

class Files(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, i):
        with open("d%d" % i, "rb") as f:
            return numpy.frombuffer(f.read(8), "u1").astype("f4")

workers, persistent = int(sys.argv[1]), len(sys.argv) > 2
loader = DataLoader(Files(), batch_size=2, num_workers=workers,
                    persistent_workers=persistent)
weight = paddle.to_tensor([1.0])
weight.stop_gradient = False
optimizer = paddle.optimizer.Adam(0.1, parameters=[weight])
for epoch in range(2):
    for i, batch in enumerate(loader):
        loss = weight * 2 if hasattr(weight, "sum") else weight
        loss.backward()
        optimizer.minimize(loss) if i == 0 else optimizer.step()
    with paddle.no_grad():
        for batch in DataLoader(Files(), batch_size=3):
            pass
    paddle.save({}, "state")
import gc, weakref
gone = weakref.ref(loader)
del loader, batch
gc.collect()
assert gone() is None, "the hooks keep the loader"
paddle.load("state")
PY
for i in 0 1 2 3 4 5; do echo 0123456789 >d$i; done

# The construction of an iterator is a fetch.
want='backward 6, checkpoint 2, epoch 2, eval 2, fetch 14, optimizer 6, preprocess 10, restore 1, step 6'
loops() {
	run=$2
	for how in 0 1 '1 persistent'; do
		name=$1$(echo $how | tr -d ' ')
		check "$1, workers $how: the job ends well, as its loader does" '
			"$IOREEL" record -q -o $name.reel -- "$run" job.py $how'
		is "$1, workers $how: the spans" "$("$IOREEL" sql --format tsv $name.reel "
			SELECT group_concat(name || ' ' || n, ', ') FROM (SELECT name, count(*) AS n
			FROM v_span GROUP BY name ORDER BY name)" | tail -1)" "$want"
		is "$1, workers $how: which process prepares" "$("$IOREEL" sql --format tsv $name.reel "
			SELECT count(*) FROM process WHERE role = 'worker'" | tail -1)" \
			$(case $how in 0) echo 0 ;; 1) echo 2 ;; *) echo 1 ;; esac)
		check "$1, workers $how: the hooks are on" '
			"$IOREEL" report $name.reel | grep -q "PaddlePaddle [0-9]" &&
			[ "$("$IOREEL" sql --format tsv $name.reel "SELECT value FROM note
				WHERE key = '\''hook:paddle'\''" | tail -1)" = on ]'
	done
}
python=$(python3 -c 'import sys; print(sys.executable)')
if "$python" -c 'import numpy' 2>/dev/null; then
	PYTHONPATH=$PWD/made loops made "$python"
	is 'a loader without workers, whose thread reads ahead, is noted' "$("$IOREEL" sql --format tsv made0.reel "
		SELECT loader FROM v_framework" | tail -1)" PaddlePaddle
else
	skip 'a package of its structure' 'no numpy'
fi
if "$python" -c 'import paddle' 2>/dev/null; then
	loops real "$python"
else
	skip 'PaddlePaddle itself' 'it is not installed'
fi
finish
