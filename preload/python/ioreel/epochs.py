# SPDX-License-Identifier: MIT
"""Epochs, steps and fetches of the data loaders, as spans of each thread.

The spans of a thread must nest, but loaders need not: zip(a, b), or iterators
advanced in turn. So one loader leads: its step runs from the start of a fetch
to the start of its next one, whoever else fetches in between. Two iterators
in turn show when one fetches while the epoch of the other stands above its
own. The one with fewer fetches so far follows: it has fetches only, its epoch
is taken back if it stands above, and its loader opens no other while one is
open. A loop within a loop nests, and has epochs and steps of its own.

Numbers: an epoch counts the loader's iterators from 0, a step the loader's
batches from 0, on through its epochs. Iterators made with gradients off are
evals: fetches, but no steps.

Nothing is stored in the program's objects, and they are referred to weakly.
A weak reference may call back at any allocation, in any thread: it only puts
its epoch on the owner's list when the owner is busy or elsewhere.
"""
import atexit
import collections
import os
import threading
import weakref

from ioreel import shim
from ioreel.finder import hide

_local = threading.local()
_loaders = {}  # id of a loader: its Loader
_epochs = {}   # id of an iterator: its Epoch


class Loader(object):
    """What is known of a DataLoader while it lives."""

    def __init__(self, loader):
        key = id(loader)
        self.ref = weakref.ref(loader, lambda ref: _loaders.pop(key, None))
        self.counts = {shim.EPOCH: 0, shim.EVAL: 0}
        self.steps = 0
        self.follows = False

    @staticmethod
    def of(loader):
        known = _loaders.get(id(loader))
        if known is None:
            known = _loaders[id(loader)] = Loader(loader)
        return known


class Epoch(object):
    """One pass of an iterator, from its start to its end."""

    def __init__(self, iterator, loader, kind, thread):
        self.loader = loader
        self.kind = kind
        self.thread = thread
        self.fetches = 0
        self.on_stack = False
        self.in_step = False
        self.ended = False
        self.key = id(iterator)
        self.ref = weakref.ref(iterator, self._gone)

    def _gone(self, ref):
        try:
            if _epochs.get(self.key) is self:
                del _epochs[self.key]
            self.thread.abandon(self)
        except Exception:  # the interpreter is going down
            pass


class Thread(object):
    """The open epochs of one thread, outermost first."""

    def __init__(self):
        self.stack = []
        self.kinds = set()  # of the spans of calls that are open
        self.abandoned = collections.deque()
        self.busy = False

    def abandon(self, epoch):
        self.abandoned.append(epoch)
        if not self.busy and current() is self:
            self.reap()

    def reap(self):
        self.busy = True
        try:
            while self.abandoned:
                self.close(self.abandoned.popleft())
        finally:
            self.busy = False

    def open(self, epoch):
        for other in self.stack:
            if other.loader is epoch.loader:
                self.close(other)
                break
        if self.kinds or (epoch.loader.follows and self.stack):
            return
        counts = epoch.loader.counts
        shim.begin(epoch.kind, counts[epoch.kind])
        counts[epoch.kind] += 1
        epoch.on_stack = True
        self.stack.append(epoch)

    def close(self, epoch):
        """End @epoch now, or with the ones that stand above it."""
        epoch.ended = True
        while self.stack and self.stack[-1].ended:
            top = self.stack.pop()
            top.on_stack = False
            self.end_step(top)
            shim.end(top.kind)

    def lead(self, epoch):
        """True when @epoch leads, its rivals having been taken back."""
        while self.stack[-1] is not epoch:
            top = self.stack[-1]
            if top.fetches > epoch.fetches:
                epoch.loader.follows = True
                return False
            top.loader.follows = True
            self.take_back(top)
        return True

    def take_back(self, top):
        self.stack.pop()
        top.on_stack = False
        if top.in_step:
            top.in_step = False
            shim.cancel(shim.STEP)
        top.loader.counts[top.kind] -= 1
        shim.cancel(top.kind)

    def end_step(self, epoch):
        if epoch.in_step:
            epoch.in_step = False
            shim.end(shim.STEP)

    def next_step(self, epoch):
        """Returns the number of the step that begins, -1 when none does."""
        leads = epoch.on_stack and not self.kinds and self.lead(epoch)
        epoch.fetches += 1
        if not leads:
            return -1
        self.end_step(epoch)
        if epoch.kind != shim.EPOCH:
            return -1
        epoch.in_step = True
        shim.begin(shim.STEP, epoch.loader.steps)
        return epoch.loader.steps


def current():
    """The calling thread's Thread."""
    try:
        return _local.thread
    except AttributeError:
        thread = _local.thread = Thread()
        return thread


def _forked():
    """In the child of a fork nothing is open: what was is the parent's."""
    _epochs.clear()
    _local.thread = Thread()


if hasattr(os, "register_at_fork"):  # from Python 3.7 on, as PyTorch
    os.register_at_fork(after_in_child=_forked)


def started(iterator, loader, kind):
    """@iterator was made from @loader, or starts again from its beginning."""
    thread = current()
    thread.reap()
    thread.busy = True
    try:
        before = _epochs.get(id(iterator))
        if before is not None and before.thread is thread:
            thread.close(before)
        epoch = Epoch(iterator, Loader.of(loader), kind, thread)
        _epochs[id(iterator)] = epoch
        thread.open(epoch)
    finally:
        thread.busy = False


def fetch_begins(iterator):
    """Returns the token for fetch_ends()."""
    thread = current()
    if thread.abandoned:
        thread.reap()
    thread.busy = True
    try:
        epoch = _epochs.get(id(iterator))
        if epoch is None or epoch.thread is not thread:
            shim.begin(shim.FETCH, -1)
            return thread, None, -1
        step = thread.next_step(epoch)
        shim.begin(shim.FETCH, step)
        return thread, epoch, step
    finally:
        thread.busy = False


def fetch_ends(token, error):
    if token is None:
        return
    thread, epoch, step = token
    if not isinstance(error, StopIteration):
        shim.end(shim.FETCH)
        if step >= 0:
            epoch.loader.steps += 1
        return
    thread.busy = True
    try:
        shim.cancel(shim.FETCH)
        if epoch is None:
            return
        if step >= 0 and epoch.in_step:
            epoch.in_step = False
            shim.cancel(shim.STEP)
        thread.close(epoch)
    finally:
        thread.busy = False
    thread.reap()


@atexit.register
def _finish():
    """The thread that ends the interpreter ends its spans."""
    try:
        thread = current()
        thread.busy = True
        for epoch in reversed(thread.stack[:]):
            thread.close(epoch)
    except Exception:
        pass


hide(globals())
