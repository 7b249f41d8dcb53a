# SPDX-License-Identifier: MIT
"""The anchors of PaddlePaddle 2 and 3, with gradients as they are computed (no graph).

fetch, epoch, step   the iterators of paddle.io.DataLoader, which Model.fit uses too
preprocess           the data set's part of a batch, in any process or thread
backward             Tensor.backward and paddle.autograd.backward
optimizer            step() and minimize() of each class of paddle.optimizer
checkpoint           paddle.save
restore              paddle.load, except for samples that a data set loads
"""
import weakref

from ioreel import epochs, gate, hook_queues, shim, wrap
from ioreel.finder import hide

KNOWN = ("2.", "3.")


def _hook_loader(paddle):
    iterators = paddle.io.dataloader.dataloader_iter
    single = iterators._DataLoaderIterSingleProcess
    multi = iterators._DataLoaderIterMultiProcess
    base = iterators._DataLoaderIterBase
    loaders = paddle.io.DataLoader
    base.__init__, multi._reset, loaders.__iter__  # wrap all, or none
    single.__next__, multi.__next__
    made = weakref.WeakKeyDictionary()  # loaders of iterators whose workers stay

    def kind():
        return shim.EPOCH if paddle.is_grad_enabled() else shim.EVAL

    def started(iterator, loader):
        if isinstance(iterator, single):
            gate.note_loader("PaddlePaddle")  # a thread reads ahead
        elif loader._persistent_workers:
            made[iterator] = weakref.ref(loader)
        epochs.iterator_started(iterator, loader, kind(), True)

    def reset(iterator):
        epochs.iterator_started(iterator, made[iterator](), kind(), True)

    wrap.patch(loaders, "__iter__", epochs.request_begins, epochs.request_ends)
    wrap.patch(base, "__init__", started)
    wrap.patch(multi, "_reset", reset)
    for iterator in (single, multi):
        wrap.patch(iterator, "__next__", epochs.fetch_begins, epochs.fetch_ends)


def _hook_worker(paddle):
    iterators = paddle.io.dataloader.dataloader_iter
    wrap.patch(iterators, "_worker_loop",
               lambda *args, **kwargs: shim.note("role", "worker"))
    # Where workers are spawned, the loop is found by its name in its module.
    paddle.io.dataloader.worker._worker_loop = iterators._worker_loop


def _hook_preprocess(paddle):
    fetchers = paddle.io.dataloader.fetcher
    for fetcher in (fetchers._MapDatasetFetcher,
                    fetchers._IterableDatasetFetcher):
        wrap.patch_span(fetcher, "fetch", shim.PREPROCESS)


def _hook_backward(paddle):
    wrap.patch_span(paddle.Tensor, "backward", shim.BACKWARD, epochs.trains)
    wrap.patch_span(paddle.autograd, "backward", shim.BACKWARD, epochs.trains)


def _hook_optimizer(paddle):
    base = paddle.optimizer.Optimizer
    base.step, base.minimize  # wrap both, or none
    for owner in {c for c in vars(paddle.optimizer).values()
                  if isinstance(c, type) and issubclass(c, base)}:
        for name in ("step", "minimize"):
            if name in vars(owner):
                wrap.patch_span(owner, name, shim.OPTIMIZER, epochs.trains)


def _hook_save(paddle):
    wrap.patch_span(paddle, "save", shim.CHECKPOINT)


def _hook_load(paddle):
    gate.patch_restore(paddle, "load")


PARTS = (("loader", _hook_loader), ("worker", _hook_worker),
         ("preprocess", _hook_preprocess), ("backward", _hook_backward),
         ("optimizer", _hook_optimizer), ("save", _hook_save),
         ("load", _hook_load))


def install(paddle):
    gate.install("paddle", "PaddlePaddle", paddle.__version__, KNOWN, PARTS,
                 paddle)
    hook_queues.install_imported()


hide(globals())
