# SPDX-License-Identifier: MIT
"""Put the hooks of ioreel into a Python program that runs under its shim.

"ioreel record" puts this directory first on PYTHONPATH, so that site imports
this file instead of the program's own sitecustomize. It takes its directory
off sys.path again and hands over to the next sitecustomize; when there is
none, the ImportError that site expects is raised, and nothing of us is left
but a finder. Python 2 loads this file too: keep the syntax common.
"""
import os
import sys


def _install():
    if sys.version_info < (3, 6):
        return
    if "libioreel" not in os.environ.get("LD_PRELOAD", ""):
        return
    from ioreel import finder
    finder.install()


def _leave_path():
    here = os.path.dirname(os.path.abspath(__file__))
    if here in sys.path:
        sys.path.remove(here)
    for path in (here, os.path.join(here, "ioreel")):
        sys.path_importer_cache.pop(path, None)
    sys.modules.pop("sitecustomize", None)


try:
    _install()
except Exception:  # a guest is silent
    pass
_leave_path()
import sitecustomize  # noqa: E402,F401  the program's own, or ImportError
