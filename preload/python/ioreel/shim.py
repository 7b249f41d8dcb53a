# SPDX-License-Identifier: MIT
"""The C functions of the shim (preload/ioreel.h), called with the GIL held.

Import fails with AttributeError when the shim is not in the process. The
numbers are enum reel_span of schemas/trace_format.h.
"""
import ctypes

from ioreel.finder import hide

EPOCH = 1
STEP = 2
FETCH = 3
BACKWARD = 6
OPTIMIZER = 7
PREPROCESS = 8
CHECKPOINT = 9
EVAL = 10


def _function(name, result, *arguments):
    function = getattr(_process, name)
    function.restype = result
    if arguments:  # an int alone is passed as C's int, and sooner
        function.argtypes = arguments
    return function


_process = ctypes.PyDLL(None)
recording = _function("ioreel_recording", ctypes.c_int)
begin = _function("ioreel_span_begin", None, ctypes.c_int, ctypes.c_int64)
end = _function("ioreel_span_end", None)
cancel = _function("ioreel_span_cancel", None)
_note = _function("ioreel_note", None, ctypes.c_char_p, ctypes.c_char_p)


def note(key, value):
    """Say a fact about this process: note("framework", "PyTorch 2.6.0")."""
    _note(key.encode("utf-8", "replace"), value.encode("utf-8", "replace"))


hide(globals())
