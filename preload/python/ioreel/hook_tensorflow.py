# SPDX-License-Identifier: MIT
"""The anchors of TensorFlow 2, installed module by module at their import.

epoch, step, fetch    iterators of tf.data that a Python loop reads, and those
                      of tf.distribute, which join one for each replica
note "tf.data"        "prefetch", "parallel", "cache", "generator": what each
                      pipeline does
eval                  such a loop that takes no gradient, after another one has
checkpoint, restore   tf.train.Checkpoint, tf.saved_model

In Model.fit the fetch is part of the graph: hook_keras.py has the steps,
preload/anchors/tensorflow.c the fetches.

A graph takes its gradient once, while it is traced: a function that has called
GradientTape.gradient() trains in each later call too, and so do its callers.
"""
import atexit
import weakref

from ioreel import epochs, gate, profile, shim, wrap
from ioreel.finder import hide

KNOWN = ("2.",)
_noted = set()  # values of the note "tf.data"
_calls = []  # functions with a graph that run or are traced, of all threads
_trainers = weakref.WeakSet()  # those that take gradients


def _profiler():
    from tensorflow.python.profiler import profiler_v2
    return profiler_v2


def _kind(dataset):
    """A loop over ds.take(1) is a peek at the data."""
    try:
        if (type(dataset).__name__ == "_TakeDataset" and
                int(dataset._count) == 1):
            return shim.EVAL
    except Exception:  # the count is a tensor of a graph
        pass
    return shim.EPOCH


def _executing_eagerly():
    from tensorflow.python.eager.context import executing_eagerly
    return executing_eagerly()


def _fetch_begins(iterator):
    # a loop that is traced into a graph fetches no batch
    return epochs.fetch_begins(iterator) if _executing_eagerly() else None


def _generates(stage):
    """Whether @stage is that of from_generator(), which one thread advances."""
    try:
        return any(op.type == "GeneratorDataset" for op
                   in stage._map_func.function.graph.get_operations())
    except Exception:  # another version's
        return False


def _is_own(stage):
    """Whether the function of @stage is one of tf.data itself, as snapshot() adds
    after its files: no argument of the program can make it parallel."""
    function = getattr(getattr(stage, "_map_func", None), "_func", None)
    return getattr(function, "__module__", "").startswith(
        "tensorflow.python.data.")


def _caches_in_file(stage):
    """Whether @stage is cache(filename): each epoch reads that file again, which
    cache() does not."""
    try:
        from tensorflow.python.framework import tensor_util
        return bool(tensor_util.constant_value(stage._filename))
    except Exception:  # another version's, or a tensor of a graph
        return False


def _stages(dataset):
    """Which remedies for a slow pipeline @dataset has: it prefetches after its
    last function, its functions run in parallel, something is cached in memory;
    and whether a Python generator makes its elements."""
    ahead = cached = mapped = serial = generated = False
    inputs = [dataset]
    while inputs:
        stage = inputs.pop()
        name = type(stage).__name__.lstrip("_")
        ahead |= name == "PrefetchDataset" and not mapped
        cached |= name == "CacheDataset" and not _caches_in_file(stage)
        generates = name == "FlatMapDataset" and _generates(stage)
        generated |= generates
        if (name.endswith(("MapDataset", "InterleaveDataset")) and
                (generates or not _is_own(stage))):
            mapped = True
            serial |= not name.startswith("Parallel")
        inputs.extend(stage._inputs())
    return [name for name, has in (("prefetch", ahead), ("cache", cached),
                                   ("parallel", not serial),
                                   ("generator", generated)) if has]


def _note_stages(dataset):
    try:
        stages = " ".join(_stages(dataset))
    except Exception:  # another kind of data set
        stages = ""
    if stages not in _noted:
        _noted.add(stages)
        shim.note("tf.data", stages or "-")


def _hook_iterator(iterator_ops):
    owned = iterator_ops.OwnedIterator

    def started(iterator, dataset=None, *args, **kwargs):
        if dataset is not None:
            _note_stages(dataset)
        if dataset is not None and epochs.current().joined is None:
            return epochs.construction_begins(iterator, dataset, _kind(dataset))
        return None

    wrap.patch(owned, "__init__", started, epochs.request_ends)
    wrap.patch(owned, "__next__", _fetch_begins, epochs.fetch_ends)
    profile.arm(_profiler)
    atexit.register(profile.stop)


def _hook_distributed(input_lib):
    base = input_lib.DistributedIterator
    owners = (input_lib.DistributedDataset,
              input_lib.DistributedDatasetsFromFunction)
    base.__init__, base.__next__  # wrap all, or none

    def asked(dataset):
        return epochs.joined_begins(dataset) if _executing_eagerly() else None

    def made(iterator, *args, **kwargs):
        epochs.joined_made(iterator, shim.EPOCH)

    for owner in owners:
        wrap.patch(owner, "__iter__", asked, epochs.joined_ends)
    wrap.patch(base, "__init__", made)
    wrap.patch(base, "__next__", _fetch_begins, epochs.fetch_ends)


def _trains():
    """The calling code trains: in a graph, its functions will."""
    if not _executing_eagerly():
        _trainers.update(_calls)
    elif epochs.current().stack:  # not a thread of a replica
        epochs.trains(None)


def _hook_gradient(backprop):
    wrap.patch(backprop.GradientTape, "gradient",
               lambda *args, **kwargs: _trains())


def _call_begins(function, *args, **kwargs):
    _calls.append(function)
    return function


def _call_ended(function, error):
    _calls.remove(function)
    if function in _trainers:
        _trains()


def _hook_function(polymorphic_function):
    wrap.patch(polymorphic_function.Function, "__call__", _call_begins,
               _call_ended)


def _hook_checkpoint(checkpoint):
    for name in ("save", "write"):
        wrap.patch_span(checkpoint.Checkpoint, name, shim.CHECKPOINT)
    for name in ("restore", "read"):
        gate.patch_restore(checkpoint.Checkpoint, name)


def _hook_saved_model(save):
    # every function that writes a SavedModel calls it
    wrap.patch_span(save, "save_and_return_nodes", shim.CHECKPOINT)


PARTS = {
    "tensorflow.python.data.ops.iterator_ops": ("data", _hook_iterator),
    "tensorflow.python.distribute.input_lib": ("distribute",
                                               _hook_distributed),
    "tensorflow.python.eager.backprop": ("gradient", _hook_gradient),
    "tensorflow.python.eager.polymorphic_function.polymorphic_function":
        ("function", _hook_function),
    "tensorflow.python.checkpoint.checkpoint": ("checkpoint", _hook_checkpoint),
    "tensorflow.python.saved_model.save": ("saved_model", _hook_saved_model),
}


def install(module):
    """Called once for each of PARTS, when it has been imported."""
    from tensorflow.python.framework import versions
    name, hook = PARTS[module.__name__]
    gate.install("tensorflow." + name, "TensorFlow" if name == "data" else None,
                 versions.__version__, KNOWN, ((name, hook),), module)


hide(globals())
