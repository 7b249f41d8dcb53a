# SPDX-License-Identifier: MIT
"""epoch, step and fetch of Grain, which loads the batches of JAX programs.

Only its DataLoader is hooked, because a data set's own iterators nest. A
worker is a process that puts the elements of next() into a buffer.
"""
from ioreel import epochs, gate, shim, wrap
from ioreel.finder import hide

KNOWN = ("0.",)


def _hook_loader(data_loader):
    base = data_loader.DataLoaderIterator
    base.__init__, base.__next__  # wrap both, or none

    def started(iterator, data_loader, *args, **kwargs):
        return epochs.construction_begins(iterator, data_loader, shim.EPOCH)

    wrap.patch(base, "__init__", started, epochs.request_ends)
    wrap.patch(base, "__next__", epochs.fetch_begins, epochs.fetch_ends)


def _hook_worker(process_prefetch):
    wrap.patch_worker(process_prefetch, "_put_dataset_elements_in_buffer")


def install(module):
    """Called once, when a module of Grain has been imported."""
    from grain._src.core.version import __version__
    if module.__name__.endswith(".data_loader"):
        gate.install("grain", "Grain", __version__, KNOWN,
                     (("loader", _hook_loader),), module)
    else:
        gate.install("grain.worker", None, __version__, KNOWN,
                     (("worker", _hook_worker),), module)


hide(globals())
