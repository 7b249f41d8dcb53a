# SPDX-License-Identifier: MIT
"""Which hooks are put in, and what is said about it.

A framework of an unknown version gets none, and a note; a part of a known one
that is not as we know it is left out, and named. Nothing ever raises.
"""
from ioreel import shim, wrap
from ioreel.finder import hide

RESTORE = "restore"
_RESTORING = 31  # no kind of span: for enter() and leave()
# where a load is not a restore: of samples by a data set, within another
_WITHIN = 1 << shim.PREPROCESS | 1 << shim.CHECKPOINT | 1 << _RESTORING


def install(key, framework, version, known, parts, module):
    """Call hook(module) of each (name, hook) of @parts, if the version is.

    @known: how versions begin that are. The notes are "framework" and
    "hook:KEY": "on", "on, without ...", "unsupported VERSION".
    """
    if not shim.recording():
        return
    version = str(version).split("+")[0]
    if framework:
        shim.note("framework", framework + " " + version)
    if not version.startswith(known):
        shim.note("hook:" + key, "unsupported " + version)
        return
    missing = []
    for name, hook in parts:
        try:
            hook(module)
        except Exception:
            missing.append(name)
    shim.note("hook:" + key, "on" if not missing
              else "on, without " + ", ".join(missing))


def _restore_begins(*args, **kwargs):
    if shim.within() & _WITHIN:
        return False
    shim.enter(_RESTORING)
    shim.open_span(RESTORE, -1)
    return True


def _restore_ends(began, error):
    if began:
        shim.close_span(RESTORE)
        shim.leave(_RESTORING)


def patch_restore(owner, name):
    """Make owner.name a span "restore", unless it is called within others."""
    wrap.patch(owner, name, _restore_begins, _restore_ends)


hide(globals())
