# SPDX-License-Identifier: MIT
"""The hooks that tell the shim what a Python framework is doing.

Nothing here may raise into the program, print, or keep its objects alive.
"""
