# SPDX-License-Identifier: MIT
"""checkpoint and restore of the libraries that write the files themselves.

They do not call torch.save, or call it with a memory buffer, so that the span
of the framework would end before the first byte is written. A save within a
save belongs to it; a write of orbax in a background thread is a checkpoint of
that thread. Functions that a library's version does not have are left out.
"""
import importlib

from ioreel import gate, shim, wrap
from ioreel.finder import hide

# module: module with the version, its prefixes, save and load functions
SAVERS = {
    "safetensors.torch": (
        "safetensors", "0.",
        ("save_file", "save_model"), ("load_file", "load_model")),
    "safetensors.numpy": (
        "safetensors", "0.", ("save_file",), ("load_file",)),
    "accelerate.accelerator": (
        "accelerate", ("0.", "1."),
        ("Accelerator.save_state", "Accelerator.save_model"),
        ("Accelerator.load_state",)),
    "transformers.modeling_utils": (
        "transformers", ("4.", "5."),
        ("PreTrainedModel.save_pretrained",),
        ("PreTrainedModel.from_pretrained",)),
    "transformers.trainer": (
        "transformers", ("4.", "5."),
        ("Trainer._save_checkpoint", "Trainer.save_model"),
        ("Trainer._load_from_checkpoint",)),
    "lightning.fabric.plugins.io.torch_io": (
        "lightning", "2.",
        ("TorchCheckpointIO.save_checkpoint",),
        ("TorchCheckpointIO.load_checkpoint",)),
    "lightning_fabric.plugins.io.torch_io": (
        "lightning_fabric", "2.",
        ("TorchCheckpointIO.save_checkpoint",),
        ("TorchCheckpointIO.load_checkpoint",)),
    "orbax.checkpoint.checkpoint_manager": (
        "orbax.checkpoint.version", "0.",
        ("CheckpointManager.save",), ("CheckpointManager.restore",)),
    "orbax.checkpoint._src.checkpointers.checkpointer": (
        "orbax.checkpoint.version", "0.",
        ("Checkpointer.save",), ("Checkpointer.restore",)),
    "orbax.checkpoint._src.checkpointers.async_checkpointer": (
        "orbax.checkpoint.version", "0.",
        ("AsyncCheckpointer.save", "_AsyncManager._thread_func"),
        ("AsyncCheckpointer.restore",)),
}


def _save(owner, name):
    wrap.patch_span(owner, name, shim.CHECKPOINT)


def _patch(owner, name, patch):
    """Patch @name, and keep a class method one."""
    found = vars(owner).get(name)
    if not isinstance(found, classmethod):
        patch(owner, name)
        return
    holder = type(name, (), {name: found.__func__})
    patch(holder, name)
    setattr(owner, name, classmethod(vars(holder)[name]))


def _part(name, patch):
    def hook(module):
        owner, _, function = name.rpartition(".")
        _patch(getattr(module, owner) if owner else module, function, patch)
    return name.rpartition(".")[2], hook


def install(module):
    """Called once for each of SAVERS, when it has been imported."""
    library, known, saves, loads = SAVERS[module.__name__]
    parts = ([_part(name, _save) for name in saves] +
             [_part(name, gate.patch_restore) for name in loads])
    version = importlib.import_module(library).__version__
    gate.install(module.__name__, None, version, known, parts, module)


hide(globals())
