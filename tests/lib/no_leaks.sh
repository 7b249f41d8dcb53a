#!/bin/sh
# SPDX-License-Identifier: MIT
# Linked under the name of a program, in a folder before its own in PATH: that program
# without a search for leaks.
here=$(dirname "$0")
PATH=${PATH#"$here:"}
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export PATH ASAN_OPTIONS
exec "$(basename "$0")" "$@"
