# SPDX-License-Identifier: MIT
"""epoch, step and fetch of Grain, which loads the batches of JAX programs.

Those of its DataLoader; a data set's own iterators stand within each other.
"""
from ioreel import epochs, gate, shim, wrap
from ioreel.finder import hide

KNOWN = ("0.",)


def _hook_loader(data_loader):
    base = data_loader.DataLoaderIterator
    base.__init__, base.__next__  # both, or none is wrapped

    def started(iterator, data_loader, *args, **kwargs):
        epochs.started(iterator, data_loader, shim.EPOCH)

    wrap.patch(base, "__init__", started)
    wrap.patch(base, "__next__", epochs.fetch_begins, epochs.fetch_ends)


def install(data_loader):
    """Called once, when grain's data_loader has been imported."""
    from grain._src.core.version import __version__
    gate.install("grain", "Grain", __version__, KNOWN,
                 (("loader", _hook_loader),), data_loader)


hide(globals())
