# SPDX-License-Identifier: MIT
"""Put a function of our own around one of the framework's.

A wrapper must not be noticed: it keeps name, signature and pickling (by
reference, the wrapper being what the name gives), takes itself out of the
tracebacks (a bare raise does not enter the frame again, from Python 3.11 on)
and counts as a frame of the import system for warnings.
"""
import functools

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
            _leave(leave, token, error)
            error.__traceback__ = error.__traceback__.tb_next
            raise
        _leave(leave, token, None)
        return result

    return wrapper


def _leave(leave, token, error):
    try:
        leave(token, error)
    except Exception:
        pass


def patch(owner, name, enter, leave):
    """Put a wrapper around owner.name. Raises AttributeError without it."""
    function = getattr(owner, name)
    wrapper = around(function, enter, leave)
    setattr(owner, name, wrapper)
    return wrapper


hide(globals())
