# SPDX-License-Identifier: MIT
"""Wrap functions of the frameworks.

A wrapper is transparent: it keeps name, signature and pickling (by reference,
as the name refers to the wrapper), removes itself from tracebacks (since
Python 3.11 a bare raise does not add the frame again) and counts as a frame of
the import system for warnings. torch.compile breaks its graph at a wrapper; it
also breaks it at the unwrapped functions.
"""
import functools

from ioreel import shim
from ioreel.finder import hide


def around(function, enter, leave):
    """@function, with enter(...) before and leave(token, error) after it.

    enter gets the arguments of @function; @token is its result, None if it
    failed; @error is the exception that @function raised, or None.
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
    """@function as a span of @kind; nested calls belong to the outer span.

    The span of a call that raises StopIteration is cancelled. before(kind) is
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
    """A leave() for around() that does nothing."""


def patch(owner, name, enter, leave=nothing):
    """Wrap owner.name by around(). Raises AttributeError if it is missing."""
    setattr(owner, name, around(getattr(owner, name), enter, leave))


def patch_worker(module, name):
    """The function of worker processes, which takes each batch by next()."""
    def began(*args, **kwargs):
        shim.note("role", "worker")
        module.next = spanned(next, shim.PREPROCESS)

    patch(module, name, began)


def patch_span(owner, name, kind, before=None):
    """Make owner.name a span; returns the wrapper."""
    wrapper = spanned(getattr(owner, name), kind, before)
    setattr(owner, name, wrapper)
    return wrapper


hide(globals())
