# SPDX-License-Identifier: MIT
"""Put a function of our own around one of the framework's.

A wrapper must not be noticed: it keeps name, signature and pickling (by
reference, the wrapper being what the name gives), takes itself out of the
tracebacks (a bare raise does not enter the frame again, from Python 3.11 on)
and counts as a frame of the import system for warnings. torch.compile breaks
its graph at a wrapper; it does so too where the wrapped functions are bare.
"""
import functools

from ioreel import shim
from ioreel.finder import hide


def around(function, enter, leave):
    """@function, with enter(...) before and leave(token, error) after it.

    enter gets what @function gets; @token is what enter returned, None when
    it failed; @error is the exception that left @function, or None.
    """

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            token = enter(*args, **kwargs)
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


def spanned(function, kind, before=None):
    """@function as a span of @kind; a call within the call is part of it.

    The span of a call that raises StopIteration never was. before(kind) is
    called first, and must not raise.
    """
    enter, leave = shim.enter, shim.leave

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if before is not None:
            before(kind)
        outer = enter(kind)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            if outer:
                if isinstance(error, StopIteration):
                    shim.withdraw(kind)
                else:
                    leave(kind)
            error.__traceback__ = error.__traceback__.tb_next
            raise
        if outer:
            leave(kind)
        return result

    return wrapper


def nothing(token, error):
    """For around(): nothing is done after the call."""


def patch(owner, name, enter, leave=nothing):
    """Put around() around owner.name. Raises AttributeError without it."""
    setattr(owner, name, around(getattr(owner, name), enter, leave))


def patch_span(owner, name, kind, before=None):
    """Make owner.name a span; returns the wrapper."""
    wrapper = spanned(getattr(owner, name), kind, before)
    setattr(owner, name, wrapper)
    return wrapper


hide(globals())
