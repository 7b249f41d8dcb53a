# SPDX-License-Identifier: MIT
"""The anchors of PyTorch 1.13 and later.

fetch, epoch, step   the iterators of torch.utils.data.DataLoader
preprocess           the data set's part of a batch, wherever it runs
backward             torch.autograd.backward, behind Tensor.backward too
optimizer            Optimizer.step of every class
checkpoint           torch.save

nn.Module is left alone: data transforms are Modules too. Optimizers are
wrapped where PyTorch wraps them for its own profiler, and not through
register_optimizer_step_post_hook, which is not called when a step fails.
"""
import weakref

from ioreel import epochs, shim, wrap
from ioreel.finder import hide

MAJORS = (1, 2)


def _nothing(token, error):
    pass


def _hook_loader(torch):
    base = torch.utils.data.dataloader._BaseDataLoaderIter

    def started(args):
        kind = shim.EPOCH if torch.is_grad_enabled() else shim.EVAL
        epochs.started(args[0], args[1], kind)

    def reset(args):
        # _reset(self, loader, first_iter): the first belongs to __init__
        if len(args) == 2 or (len(args) == 3 and not args[2]):
            started(args)

    wrap.patch(base, "__init__", started, _nothing)
    wrap.patch(base, "_reset", reset, _nothing)
    wrap.patch(base, "__next__", lambda args: epochs.fetch_begins(args[0]),
               epochs.fetch_ends)


def _hook_worker(torch):
    worker = torch.utils.data._utils.worker
    wrap.patch(worker, "_worker_loop",
               lambda args: shim.note("role", "worker"), _nothing)


def _hook_preprocess(torch):
    fetch = torch.utils.data._utils.fetch
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        wrap.patch_span(fetcher, "fetch", shim.PREPROCESS)


def _hook_backward(torch):
    wrap.patch_span(torch.autograd, "backward", shim.BACKWARD)


def _hook_optimizer(torch):
    base = torch.optim.Optimizer
    prepare = ("_patch_step_function" if hasattr(base, "_patch_step_function")
               else "_hook_for_profile")
    ours = weakref.WeakSet()

    def prepared(optimizer, error):
        # PyTorch has just put its profiler's wrapper on the class
        owner = type(optimizer)
        step = vars(owner).get("step")
        if step is not None and step not in ours:
            ours.add(wrap.patch_span(owner, "step", shim.OPTIMIZER))

    wrap.patch(base, prepare, lambda args: args[0], prepared)


def _hook_checkpoint(torch):
    save = torch.save
    wrapper = wrap.patch_span(torch, "save", shim.CHECKPOINT)
    if torch.serialization.save is save:
        torch.serialization.save = wrapper


PARTS = (("loader", _hook_loader), ("worker", _hook_worker),
         ("preprocess", _hook_preprocess), ("backward", _hook_backward),
         ("optimizer", _hook_optimizer), ("checkpoint", _hook_checkpoint))


def install(torch):
    """Called once, when torch has been imported."""
    if not shim.recording():
        return
    version = str(torch.__version__).split("+")[0]
    shim.note("framework", "PyTorch " + version)
    if int(version.split(".")[0]) not in MAJORS:
        shim.note("hooks.torch", "off: PyTorch %s is not known" % version)
        return
    missing = []
    for name, hook in PARTS:
        try:
            hook(torch)
        except Exception:
            missing.append(name)
    shim.note("hooks.torch", "on" if not missing
              else "on, without " + ", ".join(missing))


hide(globals())
