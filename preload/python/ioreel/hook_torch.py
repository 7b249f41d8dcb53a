# SPDX-License-Identifier: MIT
"""The anchors of PyTorch 1.13 and later.

fetch, epoch, step   the iterators of torch.utils.data.DataLoader, and those
                     of torchdata
preprocess           the data set's part of a batch, in any process
backward             torch.autograd.backward, which Tensor.backward calls
optimizer            Optimizer.step of every class
checkpoint           torch.save; torch.distributed.checkpoint: hook_dcp.py
restore              torch.load, except for samples that a data set loads

nn.Module is not hooked: data transforms are Modules too. Optimizers are
wrapped where PyTorch wraps them for its own profiler, and not through
register_optimizer_step_post_hook, which is not called when a step fails.
"""
import sys
import weakref

from ioreel import epochs, gate, hook_queues, shim, wrap
from ioreel.finder import hide

KNOWN = ("1.", "2.")


class Endless(object):
    """An iterator that its loader advances in all its loops, as those of YOLO
    and timm do, which repeat their sampler: the loader says how long a pass
    is. No iterator begins or ends with a pass."""

    def __init__(self, loader, iterator, gone):
        self.loader = weakref.ref(loader)
        self.iterator = weakref.ref(iterator, gone)
        self.batches = self.left = 0  # of the pass

    def begins(self):
        """Whether the next batch is the first one of a pass."""
        begins = not self.left
        if begins:
            self.batches = self.left = max(len(self.loader()), 1)
        self.left -= 1
        return begins


def _is_endless(loader, base):
    map_style = 0  # its length is that of the sampler
    if type(loader).__iter__ is base or loader._dataset_kind != map_style:
        return False
    try:
        len(loader._index_sampler)
        return False
    except TypeError:
        return True


def _hook_loader(torch):
    base = torch.utils.data.dataloader._BaseDataLoaderIter
    loaders = torch.utils.data.DataLoader
    workers = torch.utils.data.dataloader._MultiProcessingDataLoaderIter
    endless = {}  # by id of the iterator
    base.__init__, base._reset, base.__next__  # wrap all, or none
    loaders.__iter__, loaders._get_iterator, workers.__init__

    def begin(iterator, loader, batches=0):
        kind = shim.EPOCH if torch.is_grad_enabled() else shim.EVAL
        epochs.iterator_started(iterator, loader, kind, True, batches=batches)

    def started(iterator, loader):
        if not _is_endless(loader, loaders.__iter__):
            begin(iterator, loader)
            return
        key = id(iterator)
        endless[key] = Endless(loader, iterator,
                               lambda ref: endless.pop(key, None))

    def fetch_begins(iterator):
        repeated = endless and endless.get(id(iterator))
        if repeated and repeated.begins():
            begin(iterator, repeated.loader(), repeated.batches)
        return epochs.fetch_begins(iterator)

    def reset(iterator, loader, first_iter=False):
        if not first_iter:  # __init__ calls it the first time
            started(iterator, loader)

    for name in ("__iter__", "_get_iterator"):
        wrap.patch(loaders, name, epochs.request_begins, epochs.request_ends)
    _hook_construction(workers)  # other loaders construct it themselves
    wrap.patch(base, "__init__", started)
    wrap.patch(base, "_reset", reset)
    wrap.patch(base, "__next__", fetch_begins, epochs.fetch_ends)


def _hook_construction(iterator):
    """Its __init__() starts the workers: base.__init__() is called in it."""
    wrap.patch(iterator, "__init__", epochs.request_begins,
               epochs.request_ends)


def _hook_stop(torch):
    _stop_of(torch.utils.data.dataloader._MultiProcessingDataLoaderIter)


def _stop_of(iterator):
    """It stops its workers after the last batch, or when it is dropped."""
    def begins(self):
        return None if self._shutdown else epochs.stopping_begins(self)

    wrap.patch(iterator, "_shutdown_workers", begins, epochs.stopping_ends)


def _hook_stateful(loaders):
    _hook_construction(loaders._StatefulMultiProcessingDataLoaderIter)
    _stop_of(loaders._StatefulMultiProcessingDataLoaderIter)


def _hook_nodes(loader):
    """The loader of torchdata.nodes: one iterator, reset at each epoch."""
    torch = sys.modules["torch"]
    iterator = loader.LoaderIterator
    iterator.next, iterator.reset, loader.Loader.__iter__  # all, or none

    def started(iterator, *args, **kwargs):
        kind = shim.EPOCH if torch.is_grad_enabled() else shim.EVAL
        epochs.iterator_started(iterator, iterator.loader, kind, True)
        gate.note_loader("torchdata.nodes")

    wrap.patch(loader.Loader, "__iter__", epochs.request_begins,
               epochs.request_ends)
    wrap.patch(iterator, "reset", started)
    wrap.patch(iterator, "next", epochs.fetch_begins, epochs.fetch_ends)


def _hook_loop(worker):
    wrap.patch(worker, "_worker_loop",
               lambda *args, **kwargs: shim.note("role", "worker"))


def _hook_worker(torch):
    _hook_loop(torch.utils.data._utils.worker)


def _hook_preprocess(torch):
    fetch = torch.utils.data._utils.fetch
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        wrap.patch_span(fetcher, "fetch", shim.PREPROCESS)


def _hook_backward(torch):
    wrap.patch_span(torch.autograd, "backward", shim.BACKWARD, epochs.trains)


def _hook_optimizer(torch):
    base = torch.optim.Optimizer
    prepare = ("_patch_step_function" if hasattr(base, "_patch_step_function")
               else "_hook_for_profile")
    ours = weakref.WeakSet()

    def prepared(optimizer, error):
        # PyTorch has just installed its profiler's wrapper in the class
        owner = type(optimizer)
        step = vars(owner).get("step")
        if step is not None and step not in ours:
            ours.add(wrap.patch_span(owner, "step", shim.OPTIMIZER,
                                     epochs.trains))

    wrap.patch(base, prepare, lambda optimizer: optimizer, prepared)


def _hook_save(torch):
    save = torch.save
    wrapper = wrap.patch_span(torch, "save", shim.CHECKPOINT)
    if torch.serialization.save is save:
        torch.serialization.save = wrapper


def _hook_load(torch):
    load = torch.load
    gate.patch_restore(torch, "load")
    if torch.serialization.load is load:
        torch.serialization.load = torch.load


PARTS = (("loader", _hook_loader), ("stop", _hook_stop),
         ("worker", _hook_worker),
         ("preprocess", _hook_preprocess), ("backward", _hook_backward),
         ("optimizer", _hook_optimizer), ("save", _hook_save),
         ("load", _hook_load))


# loaders that torchdata has of its own, by module
TORCHDATA = {
    "torchdata.stateful_dataloader.stateful_dataloader":
        ("loader", _hook_stateful),
    "torchdata.stateful_dataloader.worker": ("worker", _hook_loop),
    "torchdata.nodes.loader": ("nodes", _hook_nodes),
}


def install(module):
    """Called once for torch and for each of TORCHDATA."""
    if module.__name__ == "torch":
        gate.install("torch", "PyTorch", module.__version__, KNOWN, PARTS,
                     module)
        hook_queues.install_imported()
    else:
        from torchdata import __version__
        name, hook = TORCHDATA[module.__name__]
        gate.install("torchdata." + name, None, __version__, ("0.",),
                     ((name, hook),), module)


hide(globals())
