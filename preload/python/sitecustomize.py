# SPDX-License-Identifier: MIT
"""Put the hooks of ioreel into a Python program that runs under its shim.

"ioreel record" puts this directory first on PYTHONPATH, so that site imports
this file instead of the program's own sitecustomize. It removes its directory
from sys.path and imports the next sitecustomize. If there is none, the
ImportError that site expects is raised, and only a finder remains. Every
Python process reads this file, and compiles it where bytecode cannot be
stored, so it is short: the rest is loaded when a framework is imported. Python
2 loads this file too: keep the syntax common.
"""
import os
import sys


# The first part of the names in ioreel.finder.HOOKS.
_FRAMEWORKS = ("torch", "torchdata", "tensorflow", "keras", "tf_keras",
               "safetensors", "accelerate", "transformers", "lightning",
               "lightning_fabric", "orbax", "grain", "jax",
               "prefetch_generator", "monai", "ray", "nvidia",
               "batchgenerators", "paddle")


class _Waiting(object):
    """A finder that ioreel.finder.Finder replaces at a framework's import."""

    def __init__(self, here):
        self.here = here
        self.finder = None

    def find_spec(self, name, path=None, target=None):
        try:
            if name == "ioreel":
                return self.package()
            if name in _FRAMEWORKS:
                return self.real().find_spec(name, path, target)
        except Exception:  # the hooks never raise
            pass
        return None

    def package(self):
        for finder in sys.meta_path:
            spec = finder is not self and finder.find_spec("ioreel", [self.here])
            if spec:
                sys.path_importer_cache.pop(self.here, None)
                return spec
        return None

    def real(self):
        from ioreel.finder import Finder
        self.finder = self.finder or Finder()
        if self in sys.meta_path:  # at its index: the list is being iterated
            sys.meta_path[sys.meta_path.index(self)] = self.finder
        return self.finder


def _install(here):
    if sys.version_info < (3, 6):
        return
    if "libioreel" in os.environ.get("LD_PRELOAD", ""):
        sys.meta_path.insert(0, _Waiting(here))


def _leave_path(here):
    if here in sys.path:
        sys.path.remove(here)
    sys.path_importer_cache.pop(here, None)
    sys.modules.pop("sitecustomize", None)


_here = os.path.dirname(os.path.abspath(__file__))
try:
    _install(_here)
except Exception:
    pass
_leave_path(_here)
import sitecustomize  # noqa: E402,F401  the program's own, or ImportError
