# SPDX-License-Identifier: MIT
"""TensorFlow's profiler around the steps of --profile-steps A-B.

In a compiled training loop the fetch happens inside the graph, where no hook
sees it. The profile, in PROFILE/plugins/profile/ of the trace directory, tells
it for those steps; it costs much, so it is never taken unless asked for.
IOREEL_PROFILE_STEPS is read when TensorFlow is imported.
"""
import os

from ioreel import shim
from ioreel.finder import hide

ahead = None  # the steps (first, last) that are yet to come, or to end
_profiler = None
_running = False


def arm(profiler):
    """Use @profiler (start(folder), stop()) at the steps that are asked for."""
    global ahead, _profiler
    first, _, last = os.environ.get("IOREEL_PROFILE_STEPS", "").partition("-")
    if first.isdigit() and (last or first).isdigit():
        ahead = int(first), int(last or first)
        _profiler = profiler


def at_step(step):
    """The step with this number begins."""
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
    """The loop is over, or the steps are."""
    global ahead, _running
    if _running:
        ahead = None
        _running = False
        _profiler().stop()


hide(globals())
