# SPDX-License-Identifier: MIT
"""Mark the phases of a program while "ioreel record" records its I/O.

    import ioreel

    for epoch in range(3):
        with ioreel.span("epoch", epoch):
            for batch in ioreel.steps(loader):
                ...

Without a recording this module does nothing and imports nothing. A program
needs this file alone, copied beside it as ioreel.py; while the program is
recorded, the import finds ioreel's own copy. The other files of this package are the
hooks of the frameworks. Only exceptions of the program itself are raised.
"""
import sys

_STEP = 2   # enum reel_span of schemas/trace_format.h
_FETCH = 3
_HELD = 0  # USER: while entered, the hooks make fetches only
_shim = None  # not searched yet; False: not found
_ended = getattr(sys, "is_finalizing", bool)
_open = _close = None  # its functions for spans, to avoid a lookup in _shim


def _find():
    """The functions of the shim, or False."""
    global _shim, _open, _close
    if _shim is None:
        _shim = False
        try:
            if "ctypes" in sys.modules or _preloaded():
                import ctypes

                class Functions(object):
                    pass
                found = Functions()
                function = ctypes.PyDLL(None).ioreel_python
                function.argtypes = [ctypes.py_object]
                if not function(found.__dict__):
                    _open, _close = found.open_span, found.close_span
                    _shim = found
        except Exception:
            pass
    return _shim


def _preloaded():
    import os
    return "libioreel" in os.environ.get("LD_PRELOAD", "")


def recording():
    """True while this process is recorded."""
    shim = _find()
    return bool(shim and shim.recording())


def note(key, value):
    """Record a fact about this process, once: note("model", "unet")."""
    shim = _find()
    try:
        if shim:
            shim.note(str(key), str(value))
    except Exception:
        pass


class span(object):
    """with span("epoch", 3): a phase of this thread. Spans nest.

    Names with a meaning for ioreel: epoch, step, fetch, compute, forward,
    backward, optimizer, preprocess, checkpoint, eval. Others are your own, of
    at most 200 bytes. The number is that of an epoch or step, or any other.
    """

    __slots__ = ("name", "detail")

    def __init__(self, name, detail=-1):
        self.name = name
        self.detail = detail

    def __enter__(self):
        if _open or (_shim is None and _find()):
            try:
                _open(self.name, self.detail)
            except Exception:
                pass
        return self

    def __exit__(self, *error):
        if _close:
            try:
                _close(self.name)
            except Exception:
                pass
        return False


def steps(iterable, first=0):
    """@iterable, with each turn of the loop over it as a step that begins with
    a fetch. Steps are numbered from @first on."""
    if not recording():
        return iter(iterable)
    return _Steps(iterable, first)


class _Steps(object):
    """Two spans for each item; hooks of the loader make fetches only."""

    def __init__(self, iterable, number):
        self.number = number
        self.open = False
        self.held = _shim.enter(_HELD)
        try:
            self.iterator = iter(iterable)
        finally:
            self.release()

    def release(self):
        if self.held:
            self.held = False
            _shim.leave(_HELD)

    def close(self, end):
        if self.open:
            self.open = False
            end(_STEP)

    def __iter__(self):
        return self

    def __next__(self):
        self.close(_shim.end)
        self.open = True
        _shim.begin(_STEP, self.number)
        _shim.begin(_FETCH, self.number)
        self.held = _shim.enter(_HELD)
        try:
            item = next(self.iterator)
        except StopIteration:
            self.release()
            _shim.cancel(_FETCH)
            self.close(_shim.cancel)
            raise
        except BaseException:
            self.release()
            _shim.end(_FETCH)
            self.close(_shim.end)
            raise
        self.release()
        _shim.end(_FETCH)
        self.number += 1
        return item

    next = __next__

    def __del__(self, ended=_ended):
        try:
            # An iterator that lives as long as the program does not show when
            # its loop was left: the step stays open.
            if not ended():
                self.close(_shim.end)  # the loop was left by a break
        except Exception:
            pass
