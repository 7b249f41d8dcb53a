# SPDX-License-Identifier: MIT
"""Call a hook when a framework has been imported.

The finder is first on sys.meta_path until each module of HOOKS was imported.
It delegates to the other finders and wraps the loader's exec_module for that
one import. sitecustomize.py installs it when the first framework is imported.
"""
import sys

# module of a framework: our module, whose install(module) hooks it
HOOKS = {
    "torch": "hook_torch",
    "paddle": "hook_paddle",
    "torch.distributed.checkpoint": "hook_dcp",
    "torchdata.stateful_dataloader.stateful_dataloader": "hook_torch",
    "torchdata.nodes.loader": "hook_torch",
    "torchdata.stateful_dataloader.worker": "hook_torch",
    "tensorflow.python.data.ops.iterator_ops": "hook_tensorflow",
    "tensorflow.python.distribute.input_lib": "hook_tensorflow",
    "tensorflow.python.eager.backprop": "hook_tensorflow",
    "tensorflow.python.eager.polymorphic_function.polymorphic_function":
        "hook_tensorflow",
    "tensorflow.python.checkpoint.checkpoint": "hook_tensorflow",
    "tensorflow.python.saved_model.save": "hook_tensorflow",
    "keras.src.callbacks.callback_list": "hook_keras",
    "keras.src.models.model": "hook_keras",
    "keras.src.backend.jax.trainer": "hook_keras",
    "keras.src.trainers.data_adapters.py_dataset_adapter": "hook_keras",
    "keras.src.trainers.data_adapters.generator_data_adapter": "hook_keras",
    "keras.src.layers.preprocessing.normalization": "hook_keras",
    "keras.src.layers.preprocessing.discretization": "hook_keras",
    "keras.src.layers.preprocessing.index_lookup": "hook_keras",
    "keras.src.layers.preprocessing.text_vectorization": "hook_keras",
    "keras.src.saving.saving_api": "hook_keras",
    "keras.src.callbacks": "hook_keras",
    "keras.src.engine.training": "hook_keras",
    "keras.callbacks": "hook_keras",
    "keras.engine.training": "hook_keras",
    "keras.saving.saving_api": "hook_keras",
    "tf_keras.src.callbacks": "hook_keras",
    "tf_keras.src.engine.training": "hook_keras",
    "tf_keras.src.saving.saving_api": "hook_keras",
    "safetensors.torch": "hook_savers",
    "safetensors.numpy": "hook_savers",
    "accelerate.accelerator": "hook_savers",
    "transformers.modeling_utils": "hook_savers",
    "transformers.trainer": "hook_savers",
    "lightning.fabric.plugins.io.torch_io": "hook_savers",
    "lightning_fabric.plugins.io.torch_io": "hook_savers",
    "orbax.checkpoint.checkpoint_manager": "hook_savers",
    "orbax.checkpoint._src.checkpointers.checkpointer": "hook_savers",
    "orbax.checkpoint._src.checkpointers.async_checkpointer": "hook_savers",
    "prefetch_generator": "hook_loaders",
    "monai.data.thread_buffer": "hook_loaders",
    "ray.data.iterator": "hook_loaders",
    "webdataset.compat": "hook_loaders",
    "nvidia.dali.plugin.pytorch": "hook_loaders",
    "batchgenerators.dataloading.multi_threaded_augmenter": "hook_loaders",
    "batchgenerators.dataloading.nondet_multi_threaded_augmenter":
        "hook_loaders",
    "batchgenerators.dataloading.single_threaded_augmenter": "hook_loaders",
    "jax._src.xla_bridge": "hook_jax",
    "queue": "hook_queues",
    "multiprocessing.queues": "hook_queues",
    "multiprocessing.connection": "hook_queues",
    "multiprocessing.pool": "hook_queues",
    "concurrent.futures._base": "hook_queues",
    "grain._src.python.data_loader": "hook_grain",
    "grain._src.python.dataset.dataset": "hook_grain",
    "grain._src.python.dataset.transformations.process_prefetch": "hook_grain",
}

# Our functions have the import system's file name: warnings.warn(stacklevel=2)
# skips such frames, tracebacks of import errors omit them, and torch.compile
# does not try to compile them.
HIDDEN = "<frozen importlib._bootstrap>"


def _hidden(code):
    consts = tuple(_hidden(const) if hasattr(const, "co_filename") else const
                   for const in code.co_consts)
    if hasattr(code, "replace"):
        return code.replace(co_filename=HIDDEN, co_consts=consts)
    return type(code)(  # before Python 3.8
        code.co_argcount, code.co_kwonlyargcount, code.co_nlocals,
        code.co_stacksize, code.co_flags, code.co_code, consts,
        code.co_names, code.co_varnames, HIDDEN, code.co_name,
        code.co_firstlineno, code.co_lnotab, code.co_freevars,
        code.co_cellvars)


def hide(names):
    """Hide the functions of a module and its classes: hide(globals())."""
    for value in list(names.values()):
        if getattr(value, "__module__", None) != names["__name__"]:
            continue
        for function in [value] + list(getattr(value, "__dict__", {}).values()):
            function = getattr(function, "__func__", function)
            code = getattr(function, "__code__", None)
            if code is not None:
                function.__code__ = _hidden(code)


def _note_failure(key, error):
    import ctypes
    ctypes.CDLL(None).ioreel_note(
        key.encode(), ("failed: " + type(error).__name__).encode())


def run_hook(name, module):
    """Call the hook of module @name, which has been imported."""
    hook = HOOKS[name]
    try:
        package = __import__("ioreel." + hook)
        getattr(package, hook).install(module)
    except Exception as error:
        try:
            _note_failure(hook.replace("hook_", "hook:"), error)
        except Exception:
            pass


def _cover(finder, name, loader):
    execute = loader.exec_module

    def exec_module(module):
        loader.__dict__.pop("exec_module", None)
        try:
            execute(module)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise
        finder.seen(name)
        run_hook(name, module)

    loader.exec_module = exec_module


class Finder(object):
    def __init__(self):
        self.waiting = set(HOOKS)

    def find_spec(self, name, path=None, target=None):
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                try:
                    _cover(self, name, spec.loader)
                except Exception:
                    pass
                return spec
        return None

    def seen(self, name):
        self.waiting.discard(name)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)


hide(globals())
