# SPDX-License-Identifier: MIT
"""TensorFlow's profiler around the steps of --profile-steps A-B.

In a compiled training loop the fetch is part of the graph. The profile, in
profile.PID/plugins/profile/ of the trace directory, has it for those steps. It
is expensive, so it is taken on request only. IOREEL_PROFILE_STEPS is read when
TensorFlow is imported.
"""
import os

from ioreel import shim
from ioreel.finder import hide

ahead = None  # (first, last) of the steps to profile; None: none left
_profiler = None
_running = False


def arm(profiler):
    """Use @profiler (start(folder), stop()) for the requested steps."""
    global ahead, _profiler
    first, _, last = os.environ.get("IOREEL_PROFILE_STEPS", "").partition("-")
    if first.isdigit() and (last or first).isdigit():
        ahead = int(first), int(last or first)
        _profiler = profiler


def at_step(step):
    """The step @step begins: start or stop the profile."""
    global ahead, _running
    first, last = ahead
    try:
        if not _running and first <= step <= last:
            folder = os.path.join(os.environ["IOREEL_DIR"],
                                  "profile.%d" % os.getpid())
            _profiler().start(folder)
            _running = True
            shim.note("profile.steps", "%d-%d" % (step, last))
        elif step > last:
            stop()
    except Exception as error:
        ahead = None
        shim.note("profile.steps", "failed: %s" % type(error).__name__)


def stop():
    """Stop the profile after its last step or after the loop."""
    global ahead, _running
    if _running:
        ahead = None
        _running = False
        _profiler().stop()


hide(globals())
