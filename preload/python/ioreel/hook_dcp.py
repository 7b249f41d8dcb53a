# SPDX-License-Identifier: MIT
"""The anchors of torch.distributed.checkpoint: checkpoint and restore.

async_save() is a checkpoint while it copies; its thread's write is another.
"""
from ioreel import gate, shim, wrap
from ioreel.finder import hide


def _patch(package, module, name, patch):
    """Wrap @name where users find it and where it is defined."""
    function = getattr(module, name, None)
    if function is None:  # PyTorch is older than this function
        return
    patch(module, name)
    if getattr(package, name, None) is function:
        setattr(package, name, getattr(module, name))


def _checkpoint(owner, name):
    wrap.patch_span(owner, name, shim.CHECKPOINT)


def _hook_save(package):
    for name in ("save", "async_save", "save_state_dict"):
        _patch(package, package.state_dict_saver, name, _checkpoint)


def _hook_load(package):
    for name in ("load", "load_state_dict"):
        _patch(package, package.state_dict_loader, name, gate.patch_restore)


def install(package):
    """Called once, when torch.distributed.checkpoint has been imported."""
    import torch
    from ioreel import hook_torch
    gate.install("torch.distributed.checkpoint", None, torch.__version__,
                 hook_torch.KNOWN, (("save", _hook_save), ("load", _hook_load)),
                 package)


hide(globals())
