# SPDX-License-Identifier: MIT
"""The anchors of Keras 3, with any backend, and of Keras 2, also as tf_keras.

epoch, step          CallbackList, which every training loop of Keras calls
fetch                on JAX: the iterator from which the loops get batches; on
                     TensorFlow: preload/anchors/tensorflow.c
eval                 Model.evaluate, Model.predict, adapt() of layers
note "loader"        what prepares the batches of a PyDataset, or a generator;
                     worker processes of a PyDataset mark their batches
checkpoint, restore  Model.save, save_weights, load_model, load_weights

Keras 2 has the same in fewer modules, which Keras 3 has as packages.

The numbers of epochs and steps of a model continue through all calls of fit().
A step begins at the end of the previous one, so that it includes the wait for
its batch. At that time Keras does not know whether there is another batch, so
the step that hits the end is cancelled. Within fit() the backend's loaders
have fetches only. The callbacks of the model are not changed.
"""
import functools
import importlib
import itertools
import threading
import weakref

from ioreel import epochs, gate, profile, shim, wrap
from ioreel.finder import hide

KNOWN = ("2.", "3.")
_epochs = weakref.WeakKeyDictionary()  # model: number of epochs so far
_steps = weakref.WeakKeyDictionary()  # model: number of steps
_ending = []  # not empty while the callbacks of a step's end run


def _counted(callbacks):
    return callbacks if callbacks.model is None else callbacks.model


def _begin_step(callbacks, *args, **kwargs):
    step = _steps.get(_counted(callbacks), 0)
    if shim.enter(shim.STEP, step) and profile.ahead is not None:
        profile.at_step(step)
    return callbacks


def _epoch_begins(callbacks, epoch, *args, **kwargs):
    owner = _counted(callbacks)
    epoch = max(epoch, _epochs.get(owner, 0))
    if shim.enter(shim.EPOCH, epoch):
        _epochs[owner] = epoch + 1
    return callbacks


def _epoch_began(callbacks, error):
    _begin_step(callbacks)


def _batch_ends(callbacks, *args, **kwargs):
    _ending.append(True)
    return callbacks


def _batch_ended(callbacks, error):
    _ending.pop()
    if shim.leave(shim.STEP):
        owner = _counted(callbacks)
        _steps[owner] = _steps.get(owner, 0) + 1
        _begin_step(callbacks)


def _no_step(*args, **kwargs):
    if not _ending:
        shim.withdraw(shim.STEP)


def _epoch_ended(token, error):
    shim.leave(shim.EPOCH)


def _hook_steps(callback_list):
    lists = callback_list.CallbackList
    wrap.patch(lists, "on_epoch_begin", _epoch_begins, _epoch_began)
    wrap.patch(lists, "on_train_batch_begin", _begin_step)
    wrap.patch(lists, "on_train_batch_end", _batch_ends, _batch_ended)
    wrap.patch(lists, "on_epoch_end", _no_step, _epoch_ended)


def _fit_begins(*args, **kwargs):
    epochs.end_closed()
    return shim.enter(shim.USER)


def _fit_ended(outermost, error):
    if outermost:
        shim.withdraw(shim.STEP)
        shim.leave(shim.EPOCH)
        shim.leave(shim.USER)
        profile.stop()


def _hook_model(model):
    wrap.patch(model.Model, "fit", _fit_begins, _fit_ended)
    for name in ("evaluate", "predict"):
        wrap.patch_span(model.Model, name, shim.EVAL, _no_step)


def _hook_model_2(training):
    _hook_model(training)
    for name in ("save", "save_weights"):
        wrap.patch_span(training.Model, name, shim.CHECKPOINT)
    gate.patch_restore(training.Model, "load_weights")


def _hook_batches(trainer):
    base = trainer.JAXEpochIterator
    function = base._get_iterator
    fetch = wrap.spanned(next, shim.FETCH)

    @functools.wraps(function)
    def _get_iterator(*args, **kwargs):
        try:
            batches = iter(function(*args, **kwargs))
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise
        return map(fetch, itertools.repeat(batches))  # no frame of ours

    base._get_iterator = _get_iterator


def _dataset_used(adapter, x, *args, **kwargs):
    if x.use_multiprocessing and x.workers > 0:
        gate.note_loader("PyDataset of processes")
    elif x.workers > 1:
        gate.note_loader("PyDataset of threads")
    else:
        gate.note_loader("PyDataset")


def _hook_dataset(adapters):
    adapters.init_pool_generator, adapters.get_index  # wrap all, or none

    def started(*args, **kwargs):
        # a pool of threads calls it in each of them
        if threading.current_thread() is threading.main_thread():
            shim.note("role", "worker")
            wrap.patch_span(adapters, "get_index", shim.PREPROCESS)

    wrap.patch(adapters.PyDatasetAdapter, "__init__", _dataset_used)
    wrap.patch(adapters, "init_pool_generator", started)


def _hook_generator(adapters):
    wrap.patch(adapters.GeneratorDataAdapter, "__init__",
               lambda *args, **kwargs: gate.note_loader("generator"))


def _adapts(layer):
    """The part for a module with a layer whose adapt() reads the data."""
    def hook(module):
        wrap.patch_span(getattr(module, layer), "adapt", shim.EVAL)
    return layer, hook


def _hook_saving(saving_api):
    for name in ("save_model", "save_weights"):
        wrap.patch_span(saving_api, name, shim.CHECKPOINT)
    for name in ("load_model", "load_weights"):
        gate.patch_restore(saving_api, name)


PARTS = {
    "keras.src.callbacks.callback_list": ("steps", _hook_steps),
    "keras.src.models.model": ("model", _hook_model),
    "keras.src.backend.jax.trainer": ("batches", _hook_batches),
    "keras.src.trainers.data_adapters.py_dataset_adapter":
        ("dataset", _hook_dataset),
    "keras.src.trainers.data_adapters.generator_data_adapter":
        ("generator", _hook_generator),
    "keras.src.layers.preprocessing.normalization": _adapts("Normalization"),
    "keras.src.layers.preprocessing.discretization": _adapts("Discretization"),
    "keras.src.layers.preprocessing.index_lookup": _adapts("IndexLookup"),
    "keras.src.layers.preprocessing.text_vectorization":
        _adapts("TextVectorization"),
    "keras.src.saving.saving_api": ("saving", _hook_saving),
}


# of Keras 2, by what follows the name of its package
PARTS_2 = {
    "callbacks": ("steps", _hook_steps),
    "engine.training": ("model", _hook_model_2),
    "saving.saving_api": ("saving", _hook_saving),
}
PACKAGES_2 = ("keras.src.", "keras.", "tf_keras.src.")


def _part(module):
    """The part of @module, or None: a package of Keras 3."""
    if module.__name__ in PARTS:
        return PARTS[module.__name__]
    if hasattr(module, "__path__"):
        return None
    for package in PACKAGES_2:
        if module.__name__.startswith(package):
            part = PARTS_2.get(module.__name__[len(package):])
            if part is not None:
                return part
    return None


def _version(module):
    package = module.__name__.partition(".")[0]
    try:
        return importlib.import_module(package + ".src.version").__version__
    except ImportError:  # Keras 2, which does not know it yet at this time
        from importlib import metadata
        return metadata.version(package)


def install(module):
    """Called once for each module of a part, when it has been imported."""
    part = _part(module)
    if part is not None:
        name = part[0]
        gate.install("keras." + name, "Keras" if name == "steps" else None,
                     _version(module), KNOWN, (part,), module)


hide(globals())
