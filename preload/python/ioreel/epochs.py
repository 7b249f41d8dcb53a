# SPDX-License-Identifier: MIT
"""Epochs, steps and fetches of the data loaders, as spans of each thread.

The spans of a thread must nest, but loaders need not: zip(a, b), or iterators
advanced in turn. So one loader leads: its step lasts from the start of a fetch
to the start of its next one, even if other loaders fetch in between. Iterators
advance in turn if one fetches while the epoch of another is above its own on
the stack. The one with fewer fetches so far follows: it has fetches only, its
epoch is cancelled if it is above, and its loader opens no other epoch while
one is open. A loop within a loop nests, and has epochs and steps of its own.

Numbers: epochs and steps are counted from 0 in each thread, across all its
loaders. Those of inner loops are counted separately, and so are evals.

An epoch begins before its iterator is constructed, which may start processes.
The construction is a fetch, and part of the first step. So that step is
recorded at the request for the first batch, with a start in the past.

An eval is an epoch without training: it has fetches, but no steps. An epoch is
an eval if its iterator was made with gradients off, or if another loader has
trained and neither this one nor its data set has, or in a thread other than
the main one, which may prefetch for it. A backward or optimizer call turns it
into an epoch from its start on; its steps begin with the one that trains.

A peek at a batch is neither: an iterator that is dropped after its first
batch, before a call that trains or another loop. It has fetches only. One that
trains after it was dropped, as in a loop over next(iter(loader)), is an epoch
until the next loop begins.

Lightning keeps the iterators of a training until its end, and requests no
batch after the last: neither exhaustion nor deletion shows the end of a loop.
For an eval made with gradients off, gradients on again show it; else the
change between training and evaluation after all batches were fetched.

A thread that trains without a loop of its own is fed by another thread: then
the loops of threads that do not train have no steps, and their fetches are
preprocessing. So are those of a thread that a loader starts for itself.

A loader may advance iterators of another one in its fetches: those are no
loops of their own.

No attribute is stored in the program's objects; they are referenced weakly. A
weak reference may call back at any allocation, in any thread: it only puts its
epoch on the owner's list if the owner is busy or another thread.
"""
import atexit
import collections
import os
import threading
import time
import weakref

from ioreel import profile, shim
from ioreel.finder import hide

_FED = -2  # not a step: the fetch is preprocessing
_STOP = -2  # REEL_FETCH_STOP: a fetch that stops workers, and has no batch

_local = threading.local()
_loaders = {}   # id of a loader: its Loader
_epochs = {}    # id of an iterator: its Epoch
_unsure = set()  # open epochs that have not trained yet
_trained = {}   # id of a data set used in training: a reference to it
_training = []  # not empty after the first training call
_fed = []  # not empty once a thread trained without a loop of its own
_cpu = []  # the processor time of this process when its first step began


class Loader(object):
    """The state of a DataLoader, while that exists."""

    def __init__(self, loader):
        key = id(loader)
        # Bound now: at interpreter exit module globals are cleared first.
        forget, forget_data = _loaders.pop, _trained.pop
        self.ref = weakref.ref(loader, lambda ref: forget(key, None))
        self.follows = False
        try:
            data = id(loader.dataset)
            self.data = weakref.ref(loader.dataset,
                                    lambda ref: forget_data(data, None))
            self.trains = data in _trained
        except Exception:  # no data set, or no weak reference to it
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

    def __init__(self, iterator, loader, kind, without, thread, batches=0):
        self.start = self.since = shim.now()  # since: start of latest fetch
        self.loader = loader
        self.kind = kind
        self.without = without  # made with gradients off
        self.thread = thread
        self.batches = batches  # 0: the iterator has a length, or none is known
        self.fetches = 0
        self.level = 0  # number of enclosing epochs
        self.step = 0  # number of the latest step
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
        except Exception:  # at interpreter exit
            pass

    def is_drained(self):
        """Whether no batch is left. len() of the loader may cause warnings."""
        try:
            return self.fetches >= (self.batches or len(self.ref()))
        except Exception:  # no iterator, or no length
            return False

    def is_peek(self):
        """Whether it was only a peek at the data."""
        return not self.fetches or (
            self.kind == shim.EPOCH and self in _unsure and
            self.fetches == 1 and not self.exhausted)

    def is_over(self, other):
        """Whether this loop ended before @other began, without notice."""
        return (self.without and not other.without or
                self.kind != other.kind and self.is_drained())


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
        self.feeder = False  # a loader started it
        self.within = False  # in a call of a loader that may advance others
        self.asking = 0  # active calls that may construct an iterator
        self.making = 0  # the kind of span that is open for them
        self.joined = None  # what joins the iterators that are made now: its
        # loader, and the time when its construction began
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
        self.end_closed()
        while self.stack and self.stack[-1].is_over(epoch):
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
        """End @epoch now, or after the ones above it on the stack."""
        epoch.ended = True
        if len(self.stack) > 1 or not epoch.is_peek() or not epoch.fetches:
            self.end_closed()

    def end_closed(self):
        """End the closed epochs on top, including a peek, although its batch
        may still be used in training."""
        while self.stack and self.stack[-1].ended:
            looked = self.stack[-1].is_peek()
            top = self.pop_epoch()
            if looked:
                self.cancel_epoch(top)
                continue
            # Nothing shows when a loop was left: a step that ends with its
            # epoch says so.
            at = 0 if top.exhausted else shim.now()
            self.end_step(top, at)
            shim.end(top.kind, at)

    def pop_epoch(self):
        top = self.stack.pop()
        top.on_stack = False
        _unsure.discard(top)
        return top

    def is_leading(self, epoch):
        """Cancel rivals of @epoch with fewer fetches. True if it leads."""
        while self.stack[-1] is not epoch:
            top = self.stack[-1]
            if top.ended or top.is_over(epoch):
                self.close(top)
                if not epoch.on_stack:
                    return False
                continue
            if top.fetches > epoch.fetches:
                epoch.loader.follows = True
                return False
            top.loader.follows = True
            self.cancel_epoch(self.pop_epoch())
        return True

    def cancel_epoch(self, epoch):
        self.cancel_step(epoch)
        if epoch.kind == shim.EPOCH:
            self.epochs[epoch.level] -= 1
        else:
            self.evals -= 1
        shim.cancel(epoch.kind)

    def cancel_step(self, epoch):
        if epoch.in_step:
            epoch.in_step = False
            self.steps[epoch.level] = epoch.step
            shim.cancel(shim.STEP)

    def end_step(self, epoch, at=0):
        if epoch.in_step:
            epoch.in_step = False
            shim.end(shim.STEP, at)

    def begin_step(self, epoch, since):
        if not _cpu:
            _cpu.append(time.process_time())
        epoch.in_step = True
        step = epoch.step = self.steps[epoch.level]
        self.steps[epoch.level] = step + 1
        shim.begin(shim.STEP, step, since)
        return step

    def next_step(self, epoch):
        """Returns the number of the step that begins, -1 if none does."""
        if (not epoch.on_stack or shim.within() or
                (self.stack[-1] is not epoch and not self.is_leading(epoch))):
            epoch.fetches += 1
            return -1
        epoch.fetches += 1
        if epoch.in_step:  # the usual case: begin_step() inlined
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
        return self.feeder or _fed and not self.trains

    def cancel_fed(self, epoch):
        """Cancel @epoch: its batches are for another thread, which trains."""
        while epoch.on_stack:
            self.cancel_epoch(self.pop_epoch())

    def mark_training(self):
        """This thread trains: mark its latest epoch and the enclosing ones.

        For an epoch that follows, mark the one that leads.
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
            self.promote_evals()
            self.begin_step(latest, latest.since)
        if self.stack[-1] is not latest or not latest.ended:
            self.end_closed()  # else its step goes on with this call

    def promote_evals(self):
        """Turn the evals on top into epochs."""
        evals = []
        while self.stack and self.stack[-1].kind == shim.EVAL:
            evals.append(self.pop_epoch())
            self.cancel_epoch(evals[-1])
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
    """In a forked child no span is open: open ones are the parent's."""
    _epochs.clear()
    _unsure.clear()
    del _cpu[:]
    _local.thread = Thread()
    _local.trains = False  # a worker, that a training forked
    shim.forget()


if hasattr(os, "register_at_fork"):  # from Python 3.7 on, as PyTorch
    os.register_at_fork(after_in_child=_forked)


def request_begins(*args, **kwargs):
    """A call begins that may construct an iterator. Returns the token for
    request_ends()."""
    thread = current()
    thread.asking += 1
    return thread


def request_ends(thread, error):
    if thread is not None:
        thread.asking -= 1
        if thread.making and not thread.asking:
            shim.end(thread.making)
            thread.making = 0


def construction_begins(iterator, loader, kind):
    """The construction of @iterator begins. Returns the token for
    request_ends()."""
    thread = request_begins()
    try:
        iterator_started(iterator, loader, kind)
    except Exception:
        pass
    return thread


def joined_begins(loader):
    """The construction of an iterator begins that joins others, one for each
    replica: those are no loops. Returns the token for joined_ends()."""
    thread = request_begins()
    thread.joined = loader, shim.now()
    return thread


def joined_made(iterator, kind):
    """@iterator joins the ones that were made since joined_begins()."""
    thread = current()
    if thread.joined is not None:
        loader, since = thread.joined
        iterator_started(iterator, loader, kind, since=since)


def joined_ends(thread, error):
    if thread is not None:
        thread.joined = None
        request_ends(thread, error)


def iterator_started(iterator, loader, kind, learns=False, since=0, batches=0):
    """@iterator is constructed from @loader, or restarts from its beginning.

    @learns: trains() is called if its batches are used in training.
    @since: when that began, if not now.
    @batches: of this pass, where the iterator does not say it.
    """
    thread = current()
    if thread.within:
        return
    thread.reap()
    thread.busy = True
    try:
        before = _epochs.get(id(iterator))
        if before is not None and before.thread is thread:
            thread.close(before)
        known = Loader.of(loader)
        without = kind == shim.EVAL
        if without:  # an evaluation follows no training
            known.follows = False
        if not known.trains and (_training or learns and
                                 threading.current_thread() is not
                                 threading.main_thread()):
            kind = shim.EVAL
        epoch = Epoch(iterator, known, kind, without, thread, batches)
        if since:
            epoch.start = epoch.since = since
        _epochs[id(iterator)] = epoch
        feeds = thread.feeds()
        if not feeds:
            thread.open(epoch)
        if thread.asking and not thread.making:
            thread.making = shim.PREPROCESS if feeds else shim.FETCH
            shim.begin(thread.making, -1, since)
    finally:
        thread.busy = False


def is_open(iterator, without):
    """Whether a pass of @iterator has begun, and goes on: one that trains ends
    with the first fetch made with gradients off (@without)."""
    epoch = _epochs.get(id(iterator))
    return (epoch is not None and not epoch.ended and
            (epoch.without or not without))


def taken_over(iterator, other):
    """@other advances @iterator, in a thread of its own: the pass of @iterator
    is that of @other. Whether it has one that began in this thread."""
    epoch = _epochs.get(id(iterator))
    if epoch is None or epoch.thread is not current():
        return False
    try:
        epoch.batches = epoch.batches or len(iterator)
    except Exception:  # no length
        pass
    del _epochs[id(iterator)]
    epoch.key = id(other)
    epoch.ref = weakref.ref(other, epoch._gone)
    _epochs[epoch.key] = epoch
    return True


def feeder_begins(*args, **kwargs):
    """The calling thread is one that a loader started to make its batches."""
    current().feeder = True


def end_closed():
    """Another loop begins in this thread, so a single batch was a peek."""
    thread = current()
    thread.busy = True
    try:
        thread.end_closed()
    finally:
        thread.busy = False


def trains(kind):
    """A call of @kind begins, which only training makes."""
    _local.trains = True
    if not _unsure:
        return
    thread = current()
    thread.busy = True
    try:
        _training[:] = [True]
        thread.trains = True
        if thread.stack and thread.latest is not None:
            thread.mark_training()
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
    if thread.within:
        return None
    if thread.abandoned:
        thread.reap()
    thread.busy = True
    try:
        epoch = _epochs.get(id(iterator))
        if (_fed or thread.feeder) and thread.feeds():
            if epoch is not None and epoch.thread is thread:
                thread.cancel_fed(epoch)
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


def _void_step(thread, epoch):
    """A fetch that raised an error gave no batch: the loop waited, and the step
    that it began is none."""
    thread.busy = True
    try:
        thread.cancel_step(epoch)
    finally:
        thread.busy = False


def fetch_ends(token, error):
    if token is None:
        return
    thread, epoch, step = token
    exhausted = error is not None and isinstance(error, StopIteration)
    if step == _FED:
        (shim.cancel if exhausted else shim.end)(shim.PREPROCESS)
        return
    if not exhausted:
        shim.end(shim.FETCH)
        if error is not None and epoch is not None and step >= 0:
            _void_step(thread, epoch)
        return
    thread.busy = True
    try:
        shim.cancel(shim.FETCH)
        if epoch is None:
            return
        if step >= 0:
            thread.cancel_step(epoch)
        epoch.exhausted = True
        thread.close(epoch)
    finally:
        thread.busy = False
    thread.reap()


def takes_itself():
    """Whether this thread trains, never in a loop over a loader, and fetches
    nothing now: what it waits for may be a batch."""
    if not getattr(_local, "trains", False):
        return False
    thread = current()
    return not (thread.learned or thread.stack or shim.within() or
                shim.fetching())


def stopping_begins(iterator):
    """The workers of @iterator are stopped, and the loop waits for them: a
    fetch without a batch. Returns the token for stopping_ends()."""
    thread = current()
    epoch = _epochs.get(id(iterator))
    if (epoch is None or epoch.thread is not thread or thread.within or
            thread.feeds()):
        return None
    shim.begin(shim.FETCH, _STOP)
    return thread


def stopping_ends(token, error):
    if token is not None:
        shim.end(shim.FETCH)


def is_apart():
    """Whether this thread is in a call whose iterators are no loops."""
    return current().within


def apart_begins(*args, **kwargs):
    """A call begins whose iterators are no loops. Returns the token for
    apart_ends()."""
    thread = current()
    before = thread.within
    thread.within = True
    return thread, before


def apart_ends(token, error):
    if token is not None:
        token[0].within = token[1]


def enclosing_begins(iterator):
    """As fetch_begins(), of a loader that may advance others in this call.
    Returns the token for enclosing_ends()."""
    token = fetch_begins(iterator)
    if token is not None:
        token[0].within = True
    return token


def enclosing_ends(token, error):
    if token is not None:
        token[0].within = False
        fetch_ends(token, error)


@atexit.register
def _finish():
    """At exit: end the open spans of this thread."""
    try:
        thread = current()
        thread.busy = True
        for epoch in reversed(thread.stack[:]):
            thread.close(epoch)
        thread.end_closed()
        if _cpu:
            shim.note("loop.cpu_ns",
                      "%d" % ((time.process_time() - _cpu[0]) * 1e9))
    except Exception:
        pass


hide(globals())
