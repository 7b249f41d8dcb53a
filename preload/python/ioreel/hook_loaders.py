# SPDX-License-Identifier: MIT
"""epoch, step and fetch of the loaders of other libraries, mostly for PyTorch.

The iterators of most are objects of a class, whose __next__ is a fetch; some
live as long as the job, so a pass begins with the first fetch after the end of
one. Where __iter__ returns a generator, Batches stands for it. These loaders
may advance those of PyTorch, in their fetches or in threads of their own:
then the batches of those are no steps.
"""
import functools
import sys

from ioreel import epochs, gate, shim, wrap
from ioreel.finder import hide


class Batches(object):
    """Stands for @source, a generator of batches."""

    def __init__(self, source):
        self._source = source

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._source)

    def __getattr__(self, name):  # close(), send()
        return getattr(self._source, name)


def _gradients_off():
    torch = sys.modules.get("torch")
    return torch is not None and not torch.is_grad_enabled()


def _started(iterator, loader):
    epochs.iterator_started(iterator, loader,
                            shim.EVAL if _gradients_off() else shim.EPOCH,
                            "torch" in sys.modules)


def _fetch_begins(iterator):
    if not epochs.is_open(iterator, _gradients_off()):
        _started(iterator, iterator)
    return epochs.enclosing_begins(iterator)


wrap.patch(Batches, "__next__", _fetch_begins, epochs.enclosing_ends)


def _iterator(name, owner):
    """A class with __next__, and an __init__ that may take a batch."""
    def hook(module):
        base = getattr(module, owner)
        base.__init__, base.__next__  # wrap both, or none

        def begins(*args, **kwargs):
            gate.note_loader(name)
            return epochs.apart_begins()

        wrap.patch(base, "__init__", begins, epochs.apart_ends)
        wrap.patch(base, "__next__", _fetch_begins, epochs.enclosing_ends)
    return owner, hook


def _iterable(name, owner, applies=None):
    """A class whose __iter__ returns a generator; name None: the loader of
    PyTorch prepares its batches. Of a loader for which applies() is false the
    iterators within are the loops."""
    def hook(module):
        base = getattr(module, owner)
        iterate = base.__iter__

        @functools.wraps(iterate)
        def batches(loader):
            source = iterate(loader)
            try:
                if epochs.is_apart() or applies and not applies(loader):
                    return source
                if name:
                    gate.note_loader(name)
                made = Batches(source)
                _started(made, loader)
                return made
            except Exception:  # the hooks never raise
                return source

        base.__iter__ = batches
    return owner, hook


def _feeder(owner, *names):
    """Functions of a thread that makes the batches of a loader."""
    def hook(module):
        for name in names:
            wrap.patch(getattr(module, owner), name, epochs.feeder_begins)
    return names[0], hook


def _producer(module):
    """The function of the worker processes of batchgenerators."""
    wrap.patch_worker(module, "producer")


def _background(module):
    """BackgroundGenerator is the thread that advances its argument, often an
    iterator of a DataLoader, which was made for it."""
    base = module.BackgroundGenerator
    base.__init__, base.__next__, base.run  # wrap all, or none

    def begins(iterator, generator, *args, **kwargs):
        gate.note_loader("prefetch_generator")
        if not epochs.taken_over(generator, iterator):
            _started(iterator, iterator)

    wrap.patch(base, "__init__", begins)
    wrap.patch(base, "__next__", _fetch_begins, epochs.enclosing_ends)


def _has_stages(loader):
    """Whether a WebLoader makes other batches of those of its DataLoader."""
    return len(loader.pipeline) > 1


_AUGMENTERS = "batchgenerators.dataloading."
_DALI = "NVIDIA DALI"

# module: its distribution, known versions, hooks
LOADERS = {
    "prefetch_generator": (
        "prefetch_generator", "1.",
        (("BackgroundGenerator", _background),
         _feeder("BackgroundGenerator", "run", "_run_with_preprocessor"))),
    "monai.data.thread_buffer": (
        "monai", ("0.", "1."),
        (_iterable("MONAI", "ThreadDataLoader"),
         _feeder("ThreadBuffer", "enqueue_values"))),
    "ray.data.iterator": (
        "ray", "2.", (_iterable("Ray Data", "_IterableFromIterator"),)),
    "nvidia.dali.plugin.pytorch": (
        "nvidia.dali", ("1.", "2."),
        (_iterator(_DALI, "DALIGenericIterator"),
         _iterator(_DALI, "DALIRaggedIterator"))),
    "webdataset.compat": (
        "webdataset", ("0.", "1."),
        (_iterable(None, "WebLoader", _has_stages),)),
    _AUGMENTERS + "multi_threaded_augmenter": (
        "batchgenerators", "0.",
        (_iterator("batchgenerators", "MultiThreadedAugmenter"),
         ("producer", _producer))),
    _AUGMENTERS + "nondet_multi_threaded_augmenter": (
        "batchgenerators", "0.",
        (_iterator("batchgenerators", "NonDetMultiThreadedAugmenter"),
         ("producer", _producer))),
    _AUGMENTERS + "single_threaded_augmenter": (
        "batchgenerators", "0.",
        (_iterator("batchgenerators", "SingleThreadedAugmenter"),)),
}


def _version(library):
    module = sys.modules.get(library)
    version = getattr(module, "__version__", None)
    if version is None:
        from importlib.metadata import version as version_of
        version = version_of(library)
    return version


def install(module):
    """Called once for each of LOADERS, when it has been imported."""
    name = module.__name__
    library, known, parts = LOADERS[name]
    gate.install(name, None, _version(library), known, parts, module)


hide(globals())
