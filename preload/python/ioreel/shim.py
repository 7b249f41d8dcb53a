# SPDX-License-Identifier: MIT
"""The anchors of the shim, for the hooks: preload/anchors/python.c.

Import fails if the shim is not in the process. The numbers are those of enum
reel_span in schemas/trace_format.h.

begin(kind, detail[, since])   begin a span; since: a now(), 0: now
end(kind[, at])                end the innermost one; at: a now(), 0: now
cancel(kind)                   cancel it
now()                          the time, in ticks
enter(kind[, detail])          begin a span unless one of the kind is entered
leave(kind), withdraw(kind)    end or cancel a span that enter() began
within()                       the kinds entered, a bit for each
fetching()                     how many spans "fetch" are open in this thread
open_span(name, detail), close_span(name)      a span of any name
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
    raise ImportError("the shim does not find this Python's functions")
del _python
