# SPDX-License-Identifier: MIT
"""Install hooks by framework version, and note the result.

A framework of an unknown version gets a note and no hooks. A part of a known
version whose functions are missing is left out and named in the note.
install() does not raise.
"""
from ioreel import shim, wrap
from ioreel.finder import hide

RESTORE = "restore"
_RESTORING = 31  # not a kind of span: for enter() and leave()
# a load within these is not a restore: samples of a data set, a nested load
_WITHIN = 1 << shim.PREPROCESS | 1 << shim.CHECKPOINT | 1 << _RESTORING


def install(key, framework, version, known, parts, module):
    """Call hook(module) for each (name, hook) of @parts.

    @known: prefixes of known versions; others get no hooks. The notes are
    "framework" and "hook:KEY": "on", "on, without ...", "unsupported VERSION".
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


_noted = set()


def note_loader(name):
    """Note what prepares the batches of the program, at its first use: its
    import alone says nothing."""
    if name not in _noted:
        _noted.add(name)
        shim.note("loader", name)


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
    """Make owner.name a span "restore", unless it is nested in _WITHIN."""
    wrap.patch(owner, name, _restore_begins, _restore_ends)


hide(globals())
