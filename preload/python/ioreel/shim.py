# SPDX-License-Identifier: MIT
"""The anchors of the shim, for the hooks: preload/anchors/python.c.

Import fails when the shim is not in the process. The numbers are enum
reel_span of schemas/trace_format.h.

begin(kind, detail[, since])   a span of this thread; since: a now(), 0: now
end(kind), cancel(kind)
now()                                          the time, in ticks
enter(kind[, detail]), leave(kind), withdraw(kind)   one not within its kind
within()                                       these kinds, a bit for each
open_span(name, detail), close_span(name)      one with a name of its own
note(key, value), recording(), forget()
"""
import ctypes

USER = 0
EPOCH = 1
STEP = 2
FETCH = 3
BACKWARD = 6
OPTIMIZER = 7
PREPROCESS = 8
CHECKPOINT = 9
EVAL = 10

_python = ctypes.PyDLL(None).ioreel_python
_python.argtypes = [ctypes.py_object]
if _python(globals()):
    raise ImportError("the shim knows no functions of this Python")
del _python
