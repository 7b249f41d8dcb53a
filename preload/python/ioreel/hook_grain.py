# SPDX-License-Identifier: MIT
"""epoch, step and fetch of Grain, which loads the batches of JAX programs.

The iterators of data sets nest, one for each transformation: only the outermost
one is a loop. A parent is none, whichever thread advances it, even if its child
is of a class of the program. A worker is a process that puts the elements of
next() into a buffer.
"""
import weakref

from ioreel import epochs, gate, shim, wrap
from ioreel.finder import hide

KNOWN = ("0.",)


def _hook_loader(data_loader):
    base = data_loader.DataLoaderIterator
    base.__init__, base.__next__  # wrap both, or none

    def started(iterator, data_loader, *args, **kwargs):
        return epochs.construction_begins(iterator, data_loader, shim.EPOCH)

    wrap.patch(base, "__init__", started, epochs.request_ends)
    wrap.patch(base, "__next__", epochs.enclosing_begins,
               epochs.enclosing_ends)


def _hook_dataset(dataset):
    """Wrap __next__ of the iterators that Grain will define. Those of the
    program are pickled by value, wrapper included: they stay as they are."""
    base = dataset.DatasetIterator
    base.__init__, dataset.IterDataset  # of the versions with these iterators
    parents = weakref.WeakSet()

    def made(iterator, of=()):
        for parent in (of,) if isinstance(of, base) else of:
            parents.add(parent)

    def fetch_begins(iterator):
        if (epochs.is_apart() or iterator in parents or
                shim.fetching()):  # by Keras, in its epoch
            return None
        if not epochs.is_open(iterator, False):
            epochs.iterator_started(iterator, iterator, shim.EPOCH)
        return epochs.enclosing_begins(iterator)

    def defined(cls, **kwargs):
        super(base, cls).__init_subclass__(**kwargs)
        if cls.__module__.startswith("grain.") and "__next__" in vars(cls):
            wrap.patch(cls, "__next__", fetch_begins, epochs.enclosing_ends)

    if "__init_subclass__" in vars(base):
        raise AttributeError("__init_subclass__")
    wrap.patch(base, "__init__", made)
    base.__init_subclass__ = classmethod(defined)


def _hook_worker(process_prefetch):
    wrap.patch_worker(process_prefetch, "_put_dataset_elements_in_buffer")
    # the batches of its iterator are spans already
    wrap.patch(process_prefetch, "_put_dataset_elements_in_buffer",
               epochs.apart_begins, epochs.apart_ends)


# module in grain._src.python: key of its note, its framework, its hook
PARTS = {
    "data_loader": ("grain", "Grain", ("loader", _hook_loader)),
    "dataset": ("grain.dataset", None, ("dataset", _hook_dataset)),
    "process_prefetch": ("grain.worker", None, ("worker", _hook_worker)),
}


def install(module):
    """Called once, when a module of Grain has been imported."""
    from grain._src.core.version import __version__
    key, framework, part = PARTS[module.__name__.rpartition(".")[2]]
    gate.install(key, framework, __version__, KNOWN, (part,), module)


hide(globals())
