# SPDX-License-Identifier: MIT
"""Epochs, steps and fetches of the data loaders, as spans of each thread.

The spans of a thread must nest, but loaders need not: zip(a, b), or iterators
advanced in turn. So one loader leads: its step runs from the start of a fetch
to the start of its next one, whoever else fetches in between. Two iterators
in turn show when one fetches while the epoch of the other stands above its
own. The one with fewer fetches so far follows: it has fetches only, its epoch
is taken back if it stands above, and its loader opens no other while one is
open. A loop within a loop nests, and has epochs and steps of its own.

Numbers: epochs and steps are counted from 0 in each thread, on through all its
loaders. Those of a loop within a loop are counted apart, and so are evals.

An epoch begins before its iterator is made, which may start processes. That is
a fetch of its own, and part of the first step, which is therefore told when the
first batch is asked for, and began before.

An eval is an epoch that trains nothing: fetches, but no steps. It is one when
its iterator was made with gradients off, or when another loader has trained
and neither this one nor its data set has, or in a thread that is not the main
one, which may prefetch for it. A backward or optimizer call makes
an epoch of it after all, from its start on; its steps begin with the one that
trains.

A look at a batch is neither: an iterator that is left after its first batch,
before a call that trains or another loop. It has fetches only.

Lightning keeps the iterators of a training until its end, and asks for no batch
behind the last: neither exhaustion nor deletion tells that a loop was left.
Gradients that are on again do, of an eval made with them off; and that
training and evaluation take turns when all batches were fetched.

A thread that trains without a loop of its own is fed by another one: the loops
of threads that do not train have no steps, and their fetches are preprocessing.

Nothing is stored in the program's objects, and they are referred to weakly.
A weak reference may call back at any allocation, in any thread: it only puts
its epoch on the owner's list when the owner is busy or elsewhere.
"""
import atexit
import collections
import os
import threading
import weakref

from ioreel import profile, shim
from ioreel.finder import hide

_FED = -2  # no step: the fetch is preprocessing

_local = threading.local()
_loaders = {}   # id of a loader: its Loader
_epochs = {}    # id of an iterator: its Epoch
_unsure = set()  # open epochs that have not trained yet
_trained = {}   # id of a data set that was trained with: a reference to it
_training = []  # not empty once anything has trained
_fed = []  # not empty once a thread was that trains without a loop of its own


class Loader(object):
    """What is known of a DataLoader while it lives."""

    def __init__(self, loader):
        key = id(loader)
        # Bound now: at the interpreter's end a module's names are gone first.
        forget, forget_data = _loaders.pop, _trained.pop
        self.ref = weakref.ref(loader, lambda ref: forget(key, None))
        self.follows = False
        try:
            data = id(loader.dataset)
            self.data = weakref.ref(loader.dataset,
                                    lambda ref: forget_data(data, None))
            self.trains = data in _trained
        except Exception:  # it has none, or one that cannot be referred to
            self.data = None
            self.trains = False

    @staticmethod
    def of(loader):
        known = _loaders.get(id(loader))
        if known is None:
            known = _loaders[id(loader)] = Loader(loader)
        return known

    def trained(self):
        self.trains = True
        data = self.data and self.data()
        if data is not None:
            _trained[id(data)] = self.data


class Epoch(object):
    """One pass of an iterator, from its start to its end."""

    def __init__(self, iterator, loader, kind, without, thread):
        self.start = self.since = shim.now()  # since: of its latest fetch
        self.loader = loader
        self.kind = kind
        self.without = without  # gradients
        self.thread = thread
        self.fetches = 0
        self.level = 0  # epochs around it
        self.step = 0  # the latest
        self.on_stack = False
        self.in_step = False
        self.ended = False
        self.exhausted = False
        self.key = id(iterator)
        self.ref = weakref.ref(iterator, self._gone)

    def _gone(self, ref):
        try:
            if _epochs.get(self.key) is self:
                del _epochs[self.key]
            self.thread.abandon(self)
        except Exception:  # the interpreter is going down
            pass

    def drained(self):
        """Whether no batch is left. Not a loader's length: that is noted."""
        try:
            return self.fetches >= len(self.ref())
        except Exception:  # it is gone, or nobody knows
            return False

    def looked(self):
        """Whether it was but a look at the data."""
        return not self.fetches or (
            self.kind == shim.EPOCH and self in _unsure and
            self.fetches == 1 and not self.exhausted)

    def left_for(self, other):
        """Whether this loop is over, though within it @other goes on."""
        return (self.without and not other.without or
                self.kind != other.kind and self.drained())


class Thread(object):
    """The open epochs of one thread, outermost first."""

    def __init__(self):
        self.stack = []
        self.epochs = {}  # by level
        self.steps = {}
        self.evals = 0
        self.latest = None  # the epoch that fetched last
        self.trains = False
        self.learned = False  # it trained in a loop of its own
        self.asking = 0  # calls that make an iterator
        self.making = 0  # the kind of span that is open for them
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
        self.settle()
        while self.stack and self.stack[-1].left_for(epoch):
            self.close(self.stack[-1])
        if shim.within() or (epoch.loader.follows and self.stack):
            return
        self.begin(epoch)
        _unsure.add(epoch)

    def begin(self, epoch):
        if epoch.kind == shim.EPOCH:
            epoch.level = sum(e.kind == shim.EPOCH for e in self.stack)
            epoch.number = self.epochs.setdefault(epoch.level, 0)
            self.steps.setdefault(epoch.level, 0)
            self.epochs[epoch.level] += 1
        else:
            epoch.number = self.evals
            self.evals += 1
        shim.begin(epoch.kind, epoch.number, epoch.start)
        epoch.on_stack = True
        self.stack.append(epoch)

    def close(self, epoch):
        """End @epoch now, or with the ones that stand above it."""
        epoch.ended = True
        if len(self.stack) > 1 or not epoch.looked() or not epoch.fetches:
            self.settle()

    def settle(self):
        """End what has ended: all, also a look whose batch may be trained
        with when its iterator is gone."""
        while self.stack and self.stack[-1].ended:
            looked = self.stack[-1].looked()
            top = self.off()
            if looked:
                self.take_back(top)
                continue
            self.end_step(top)
            shim.end(top.kind)

    def off(self):
        top = self.stack.pop()
        top.on_stack = False
        _unsure.discard(top)
        return top

    def lead(self, epoch):
        """True when @epoch leads, its rivals having been taken back."""
        while self.stack[-1] is not epoch:
            top = self.stack[-1]
            if top.ended or top.left_for(epoch):
                self.close(top)
                if not epoch.on_stack:
                    return False
                continue
            if top.fetches > epoch.fetches:
                epoch.loader.follows = True
                return False
            top.loader.follows = True
            self.take_back(self.off())
        return True

    def take_back(self, epoch):
        self.take_back_step(epoch)
        if epoch.kind == shim.EPOCH:
            self.epochs[epoch.level] -= 1
        else:
            self.evals -= 1
        shim.cancel(epoch.kind)

    def take_back_step(self, epoch):
        if epoch.in_step:
            epoch.in_step = False
            self.steps[epoch.level] = epoch.step
            shim.cancel(shim.STEP)

    def end_step(self, epoch):
        if epoch.in_step:
            epoch.in_step = False
            shim.end(shim.STEP)

    def begin_step(self, epoch, since):
        epoch.in_step = True
        step = epoch.step = self.steps[epoch.level]
        self.steps[epoch.level] = step + 1
        shim.begin(shim.STEP, step, since)
        return step

    def next_step(self, epoch):
        """Returns the number of the step that begins, -1 when none does."""
        if (not epoch.on_stack or shim.within() or
                (self.stack[-1] is not epoch and not self.lead(epoch))):
            epoch.fetches += 1
            return -1
        epoch.fetches += 1
        if epoch.in_step:  # most: begin_step() without its call
            shim.end(shim.STEP)
            step = epoch.step = self.steps[epoch.level]
            self.steps[epoch.level] = step + 1
            shim.begin(shim.STEP, step)
        elif epoch.kind == shim.EPOCH:
            step = self.begin_step(
                epoch, epoch.start if epoch.fetches == 1 else 0)
        else:
            if epoch.fetches > 1:
                epoch.since = shim.now()
            return -1
        if profile.ahead is not None:
            profile.at_step(step)
        return step

    def feeds(self):
        return _fed and not self.trains

    def hand(self, epoch):
        """The batches of @epoch are for another thread, which trains."""
        while epoch.on_stack:
            self.take_back(self.off())

    def learn(self):
        """This thread trains: so do its latest epoch and those around it.

        One that follows does so with the one that leads.
        """
        latest = self.latest
        if latest is not None and latest.loader.follows and self.stack:
            latest.loader.trained()
            latest = self.stack[-1]
        if latest not in self.stack:
            return
        self.learned = True
        for epoch in self.stack[:self.stack.index(latest) + 1]:
            epoch.loader.trained()
            _unsure.discard(epoch)
        if self.stack[-1] is latest and latest.kind == shim.EVAL:
            self.turn()
            self.begin_step(latest, latest.since)
        self.settle()

    def turn(self):
        """Make epochs of the evals at the top."""
        evals = []
        while self.stack and self.stack[-1].kind == shim.EVAL:
            evals.append(self.off())
            self.take_back(evals[-1])
        for epoch in reversed(evals):
            epoch.kind = shim.EPOCH
            self.begin(epoch)


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
    _unsure.clear()
    _local.thread = Thread()
    shim.forget()


if hasattr(os, "register_at_fork"):  # from Python 3.7 on, as PyTorch
    os.register_at_fork(after_in_child=_forked)


def asks(*args, **kwargs):
    """A call begins that may make an iterator. Returns the token for asked().
    """
    thread = current()
    thread.asking += 1
    return thread


def asked(thread, error):
    if thread is not None:
        thread.asking -= 1
        if thread.making and not thread.asking:
            shim.end(thread.making)
            thread.making = 0


def made(iterator, loader, kind):
    """A call begins that makes @iterator. Returns the token for asked()."""
    thread = asks()
    try:
        started(iterator, loader, kind)
    except Exception:
        pass
    return thread


def started(iterator, loader, kind, learns=False):
    """@iterator is made from @loader, or starts again from its beginning.

    @learns: if its batches are trained with, trains() is called.
    """
    thread = current()
    thread.reap()
    thread.busy = True
    try:
        before = _epochs.get(id(iterator))
        if before is not None and before.thread is thread:
            thread.close(before)
        known = Loader.of(loader)
        without = kind == shim.EVAL
        if not known.trains and (_training or learns and
                                 threading.current_thread() is not
                                 threading.main_thread()):
            kind = shim.EVAL
        epoch = Epoch(iterator, known, kind, without, thread)
        _epochs[id(iterator)] = epoch
        feeds = thread.feeds()
        if not feeds:
            thread.open(epoch)
        if thread.asking and not thread.making:
            thread.making = shim.PREPROCESS if feeds else shim.FETCH
            shim.begin(thread.making, -1)
    finally:
        thread.busy = False


def settle():
    """Another loop begins in this thread: a look at a batch was but that."""
    thread = current()
    thread.busy = True
    try:
        thread.settle()
    finally:
        thread.busy = False


def trains(kind):
    """A call of @kind begins in this thread that only training makes."""
    if not _unsure:
        return
    thread = current()
    thread.busy = True
    try:
        _training[:] = [True]
        thread.trains = True
        if thread.stack and thread.latest is not None:
            thread.learn()
        elif not thread.learned:
            _fed[:] = [True]
            for epoch in list(_unsure):
                epoch.loader.trained()
                _unsure.discard(epoch)
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
        if _fed and thread.feeds():
            if epoch is not None and epoch.thread is thread:
                thread.hand(epoch)
            shim.begin(shim.PREPROCESS, -1)
            return thread, None, _FED
        if epoch is None or epoch.thread is not thread:
            shim.begin(shim.FETCH, -1)
            return thread, None, -1
        step = thread.next_step(epoch)
        thread.latest = epoch
        shim.begin(shim.FETCH, step)
        return thread, epoch, step
    finally:
        thread.busy = False


def fetch_ends(token, error):
    if token is None:
        return
    thread, epoch, step = token
    if step == _FED:
        shim.end(shim.PREPROCESS)
        return
    if error is None or not isinstance(error, StopIteration):
        shim.end(shim.FETCH)
        return
    thread.busy = True
    try:
        shim.cancel(shim.FETCH)
        if epoch is None:
            return
        if step >= 0:
            thread.take_back_step(epoch)
        epoch.exhausted = True
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
        thread.settle()
    except Exception:
        pass


hide(globals())
