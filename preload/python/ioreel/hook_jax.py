# SPDX-License-Identifier: MIT
"""The name of JAX, for the report.

It is noted when JAX gets a device, because other libraries import it only to
look whether it is there. JAX loads no data, so there is nothing else to hook,
and no hook to miss where that function has another name.
"""
from ioreel import shim, wrap
from ioreel.finder import hide

_noted = []


def _device_begins(*args, **kwargs):
    if not _noted:
        from jax.version import __version__
        _noted.append(True)
        shim.note("framework", "JAX " + __version__)


def install(module):
    """Called once, when a module of JAX has been imported."""
    if shim.recording() and hasattr(module, "_init_backend"):
        wrap.patch(module, "_init_backend", _device_begins)


hide(globals())
