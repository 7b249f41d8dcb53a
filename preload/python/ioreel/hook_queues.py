# SPDX-License-Identifier: MIT
"""fetch of a training loop that takes its batches from threads or processes of
the program itself: the calls of Python's library that wait for them.

Such a call is a fetch if the thread trains, without a loop over a loader, and
gets something with tensors or arrays in it: a flag, a message, the end of a save
or a timeout is none.
"""
import functools
import sys

from ioreel import epochs, finder, gate, shim
from ioreel.finder import hide

# module: functions that wait for what another thread or process made
WAITS = {
    "queue": ("Queue.get",),
    "multiprocessing.queues": ("Queue.get", "SimpleQueue.get"),
    "multiprocessing.connection": ("_ConnectionBase.recv",),
    "multiprocessing.pool": (
        "IMapIterator.next", "IMapIterator.__next__", "ApplyResult.get"),
    "concurrent.futures._base": ("Future.result",),
}
_installed = set()
_DEPTH = 3  # a dict of lists of tensors
_WIDTH = 8  # as many members of a list are looked at


def _is_batch(value, depth=_DEPTH):
    """Whether @value has an array or tensor of any library in it; a scalar, as
    of a loss, is none."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return len(value.shape) > 0
    if not depth:
        return False
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        value = getattr(value, "__dict__", {}).values()
    for _, member in zip(range(_WIDTH), value):
        if _is_batch(member, depth - 1):
            return True
    return False


def _ends(result):
    try:
        if _is_batch(result):
            gate.note_loader("program")
            return shim.end
    except Exception:  # a property of the program's object
        pass
    return shim.cancel


def _waiting(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if not epochs.takes_itself():
            return function(*args, **kwargs)
        shim.begin(shim.FETCH, -1)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            shim.cancel(shim.FETCH)
            error.__traceback__ = error.__traceback__.tb_next
            raise
        _ends(result)(shim.FETCH)
        return result

    return wrapper


def install(module):
    """Called for each of WAITS, when it has been imported."""
    if module.__name__ in _installed or not shim.recording():
        return
    _installed.add(module.__name__)
    for name in WAITS[module.__name__]:
        owner, _, method = name.partition(".")
        owner = getattr(module, owner)
        setattr(owner, method, _waiting(getattr(owner, method)))


def install_imported():
    """Called once, when a framework whose training is seen has been imported."""
    for name in WAITS:
        if name in sys.modules:
            finder.run_hook(name, sys.modules[name])


hide(globals())
