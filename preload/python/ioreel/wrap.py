# SPDX-License-Identifier: MIT
"""Put a function of our own around one of the framework's.

A wrapper must not be noticed: it keeps name, signature and pickling (by
reference, the wrapper being what the name gives), takes itself out of the
tracebacks (a bare raise does not enter the frame again, from Python 3.11 on)
and counts as a frame of the import system for warnings.
"""
import functools

from ioreel import epochs, shim
from ioreel.finder import hide


def around(function, enter, leave):
    """@function, with enter(args) before and leave(token, error) after it.

    @token is what enter returned, None when it failed; @error is the
    exception that left @function, or None.
    """

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            token = enter(args)
        except Exception:
            token = None
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            try:
                leave(token, error)
            except Exception:
                pass
            error.__traceback__ = error.__traceback__.tb_next
            raise
        try:
            leave(token, None)
        except Exception:
            pass
        return result

    return wrapper


def spanned(function, kind):
    """@function as a span of @kind; a call within the call is part of it.

    The span of a call that raises StopIteration never was.
    """
    current, begin, end = epochs.current, shim.begin, shim.end

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        kinds = current().kinds
        outer = kind not in kinds
        if outer:
            kinds.add(kind)
            begin(kind, -1)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            if outer:
                kinds.discard(kind)
                if isinstance(error, StopIteration):
                    shim.cancel(kind)
                else:
                    end(kind)
            error.__traceback__ = error.__traceback__.tb_next
            raise
        if outer:
            kinds.discard(kind)
            end(kind)
        return result

    return wrapper


def patch(owner, name, enter, leave):
    """Put around() around owner.name. Raises AttributeError without it."""
    setattr(owner, name, around(getattr(owner, name), enter, leave))


def patch_span(owner, name, kind):
    """Make owner.name a span; returns the wrapper."""
    wrapper = spanned(getattr(owner, name), kind)
    setattr(owner, name, wrapper)
    return wrapper


hide(globals())
