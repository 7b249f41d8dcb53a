# SPDX-License-Identifier: MIT
"""Print the spans of loops over loaders, with a shim written in Python.

    python3 nested_loaders.py HOOKS CASE

Without a framework: a loader is a list whose iterator makes the calls of the
hooks. The output is the tree of spans of each thread, E epoch, V eval, S step,
F fetch, with their numbers, without cancelled ones; spans that do not nest are
reported.
"""
import gc
import itertools
import os
import queue
import sys
import threading
import types

NAMES = {1: "E", 2: "S", 3: "F", 6: "B", 7: "O", 8: "P", 9: "C", 10: "V"}
streams = {}


def fake_shim():
    shim = types.ModuleType("ioreel.shim")
    for number, name in ((1, "EPOCH"), (2, "STEP"), (3, "FETCH"),
                         (6, "BACKWARD"), (7, "OPTIMIZER"),
                         (8, "PREPROCESS"), (9, "CHECKPOINT"), (10, "EVAL")):
        setattr(shim, name, number)

    clock = itertools.count(1)
    shim.now = clock.__next__

    def put(*record):
        streams.setdefault(threading.get_ident(), []).append(record)

    def begin(kind, detail, since=0):
        now = next(clock)
        put("begin", kind, detail, since or now)

    shim.begin = begin
    shim.end = lambda kind, at=0: put("end", kind)
    shim.cancel = lambda kind: put("cancel", kind)
    shim.within = lambda: 0
    shim.fetching = lambda: 0
    shim.recording = lambda: True
    shim.forget = lambda: None
    shim.note = lambda key, value: None
    return shim


def tree(stream):
    stack = [["", [], 0]]
    for what, kind, *detail in stream:
        name = NAMES[kind]
        if what == "begin":
            number, since = detail
            before = stack[-1][1]
            first = sum(begun < since for _, begun in before)
            stack.append([name + ("" if number < 0 else str(number)),
                          before[first:], since])
            del before[first:]
            continue
        top, children, since = stack.pop()
        if top[0] != name:
            return "%s of %s inside %s" % (what, name, top)
        if since < stack[-1][2]:
            return "%s began before %s" % (top, stack[-1][0])
        if what == "cancel":
            stack[-1][1].extend(children)
        else:
            stack[-1][1].append((top + listed(children, "(%s)"), since))
    return listed(stack[0][1]) + listed(stack[1:], " open:%s")


def listed(spans, form="%s"):
    return form % " ".join(span[0] for span in spans) if spans else ""


class Iterator(object):
    def __init__(self, loader):
        self.loader = loader
        self.start()

    def start(self):
        self.left = self.loader.batches
        token = epochs.construction_begins(self, self.loader, self.loader.kind)
        epochs.request_ends(token, None)

    def __iter__(self):
        return self

    def __next__(self):
        token = epochs.fetch_begins(self)
        if not self.left:
            error = StopIteration()
            epochs.fetch_ends(token, error)
            raise error
        self.left -= 1
        epochs.fetch_ends(token, None)


class Sized(Iterator):
    def __len__(self):
        return self.loader.batches


class Loader(object):
    def __init__(self, batches, kind=1, iterator=Iterator):
        self.batches = batches
        self.kind = kind
        self.iterator = iterator

    def __iter__(self):
        return self.iterator(self)


class Data(object):
    pass


def plain():
    loader = Loader(2)
    for _ in range(2):
        for _ in loader:
            pass


def broken():
    loader = Loader(5)
    for _ in range(2):
        for _ in loader:
            epochs.trains(6)
            break


def again():
    """Iterators that are kept while the next one is created."""
    loader = Loader(2)
    for _ in range(2):
        it = iter(loader)
        next(it)
        epochs.trains(6)
    del it


def persistent():
    it = iter(Loader(1))
    list(it)
    it.start()
    list(it)


def validated():
    train, valid = Loader(2), Loader(1, 10)
    for _ in train:
        for _ in valid:
            pass


def nested():
    outer, inner = Loader(2), Loader(2)
    for _ in outer:
        for _ in inner:
            pass


def nested_break():
    outer, inner = Loader(2), Loader(2)
    for _ in outer:
        for _ in inner:
            epochs.trains(6)
            break


def zipped():
    a, b = Loader(2), Loader(3)
    for _ in range(2):
        for _ in zip(a, b):
            pass


def in_turn():
    """Two loaders of different length, each restarted at its end."""
    loaders = [Loader(2), Loader(3)]
    its = [iter(loader) for loader in loaders]
    for _ in range(5):
        for i in (0, 1):
            try:
                next(its[i])
            except StopIteration:
                its[i] = iter(loaders[i])
                next(its[i])
        epochs.trains(6)
    its.clear()


def rare():
    """An iterator that is created first and advanced rarely does not lead."""
    seldom, often = Loader(9), Loader(3)
    it = iter(seldom)
    for _ in often:
        next(it)
    for _ in often:
        pass
    del it


def threads():
    """The iterator is advanced and deleted in another thread."""
    box = [iter(Loader(1))]

    def run():
        list(box.pop())
        gc.collect()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    for _ in Loader(1):
        pass


def fed():
    """One thread prefetches, this one trains."""
    put, got = threading.Semaphore(0), threading.Semaphore(0)

    def run():
        for _ in range(2):
            for _ in Loader(2):
                put.release()
                got.acquire()

    thread = threading.Thread(target=run)
    thread.start()
    for _ in range(4):
        put.acquire()
        epochs.trains(6)
        got.release()
    thread.join()


def fed_by_hand():
    """... from an iterator that this thread created."""
    it = iter(Loader(3))
    epochs.trains(6)
    thread = threading.Thread(target=list, args=(it,))
    thread.start()
    thread.join()
    epochs.trains(6)
    epochs._finish()  # the iterator is deleted at exit, or before


def trains_in_thread():
    """The loop that trains is in a thread, and another one evaluates."""
    thread = threading.Thread(target=train, args=(training,))
    thread.start()
    thread.join()
    for _ in validation:
        pass


def trains_between():
    """A training without a loop, then one with it."""
    next(iter(validation))
    epochs.trains(6)
    epochs.trains(6)
    train(training)


def forked():
    """A forked child does not end spans of the parent."""
    it = iter(Loader(2))
    next(it)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        streams.clear()
        del it
        for _ in Loader(1):
            pass
        print("child:", *(tree(s) for s in streams.values()))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    list(it)


def train(loader):
    for _ in loader:
        epochs.trains(6)


def evaluated():
    """The second loop is an unmarked evaluation that starts with gradients on:
    it trains nothing, and the first loop has trained."""
    for _ in range(2):
        train(training)
        for _ in validation:
            pass


def evaluated_within():
    for _ in training:
        epochs.trains(6)
        for _ in validation:
            pass


def second_stage():
    """A second loader that trains too, from its first batch on."""
    train(training)
    second = Loader(2)
    train(second)
    train(second)


def second_zip():
    """A second training that takes its batches from two new loaders."""
    train(training)
    a, b = Loader(2), Loader(2)
    for _ in range(2):
        for _ in zip(a, b):
            epochs.trains(6)


def second_rare():
    """... one of which is created first and advanced rarely."""
    train(training)
    often, seldom = Loader(3), Loader(9)
    it = iter(seldom)
    for i, _ in enumerate(often):
        if i != 1:
            next(it)
        epochs.trains(6)
    del it


def same_data():
    """A new loader for each epoch, over the same data set."""
    data = Data()
    for _ in range(2):
        loader = Loader(1)
        loader.dataset = data
        train(loader)
        del loader


def new_data(first=0):
    """A new loader over a new data set for each epoch."""
    for _ in range(3):
        for i, _ in enumerate(Loader(2)):
            if i >= first:
                epochs.trains(6)


def new_data_late():
    """... that trains only with the second batch."""
    new_data(1)


def new_data_nested():
    """... in a loop over another one."""
    for _ in training:
        train(Loader(2))


def looked():
    """One batch is read before the training, and one after it."""
    next(iter(training))
    train(training)
    next(iter(training))
    train(training)


def looked_kept():
    """One batch is read, and its iterator kept during the training."""
    it = iter(training)
    next(it)
    train(training)
    train(training)
    del it


def looked_often():
    """A training with a new iterator for each batch."""
    for _ in range(3):
        next(iter(training))
        epochs.trains(6)
    epochs._finish()  # ends the last one


def looked_and_trained():
    """The optimizer's step after the backward pass is in the loop's step."""
    for _ in range(2):
        next(iter(training))
        epochs.trains(6)
        epochs.shim.begin(7, -1)
        epochs.shim.end(7)
    epochs._finish()


def never_asked():
    """An iterator without a request for a batch."""
    it = iter(training)
    del it
    train(training)


def part(loader, batches):
    """Like Lightning: it stops before the end, and keeps the iterator."""
    held[loader] = it = iter(loader)
    for _ in range(batches):
        next(it)
        if loader.kind == 1:
            epochs.trains(6)
    return it


def held_loops():
    """Two batches as a test of the evaluation, then training."""
    train, valid = Loader(2, 1, Sized), Loader(3, 10, Sized)
    part(valid, 2)
    for _ in range(2):
        part(train, 2)
        part(valid, 3)
    held.clear()


def held_within():
    """Evaluations between the steps, of some of the batches and of all."""
    train, valid = Loader(3, 1, Sized), Loader(2, 10, Sized)
    it = part(train, 1)
    part(valid, 1)
    next(it)
    part(valid, 2)
    next(it)
    held.clear()


def held_unsized():
    """Loaders without a length: gradients distinguish evaluations."""
    train, valid = Loader(2), Loader(2, 10)
    for _ in range(2):
        part(train, 2)
        part(valid, 2)
    held.clear()


def library(part, *classes):
    """A module of a library with loaders, hooked by the @part of the hooks."""
    from ioreel import hook_loaders
    module = types.ModuleType("library")
    for c in classes:
        setattr(module, c.__name__, c)
    hooks = part(hook_loaders)
    for hook in hooks if isinstance(hooks, tuple) else (hooks,):
        hook(module)


class Gradients(object):
    """Stands for torch: are gradients on?"""
    on = True

    def is_grad_enabled(self):
        return self.on


class BackgroundGenerator(threading.Thread):
    """As that of prefetch_generator: its thread advances @generator."""

    def __init__(self, generator):
        super().__init__()
        self.generator = generator
        self.ready = queue.Queue()
        self.start()

    def run(self):
        for batch in itertools.chain(self.generator, (None,)):
            self.ready.put(batch or self)
        ended.wait()  # the next thread has another identity

    def __iter__(self):
        return self

    def __next__(self):
        batch = self.ready.get()
        if batch is self:
            raise StopIteration
        return batch


class Numbered(Iterator):
    """Its batches are numbers."""

    def __next__(self):
        super().__next__()
        return self.left + 1


def background():
    """A training, and an evaluation with gradients on."""
    library(lambda hooks: (hooks._background, hooks._feeder(
        "BackgroundGenerator", "run")[1]), BackgroundGenerator)
    sys.modules["torch"] = Gradients()
    for loader, kind in ((Loader(2, 1, Numbered), 6),
                         (Loader(1, 1, Numbered), 0)):
        for _ in BackgroundGenerator(iter(loader)):
            if kind:
                epochs.trains(kind)
    ended.set()


class Generated(object):
    def __iter__(self):
        yield from Loader(2)


def generated():
    library(lambda hooks: hooks._iterable("library", "Generated")[1],
            Generated)
    loader = Generated()
    train(loader)
    train(loader)


class Repeated(object):
    """An iterator that lives as long as the job; @end: of each pass."""

    def __init__(self, end=0):
        self.end = self.left = end
        next(self)  # as DALI's, which makes its first batch
        self.left = end

    def __iter__(self):
        return self

    def __next__(self):
        if self.end and not self.left:
            self.left = self.end
            raise StopIteration
        self.left -= 1


def hook_repeated():
    library(lambda hooks: hooks._iterator("library", "Repeated")[1], Repeated)
    sys.modules["torch"] = Gradients()
    return sys.modules["torch"]


def without_end():
    """As nnU-Net: a look at both, then trainings and evaluations in turn."""
    torch = hook_repeated()
    train, valid = Repeated(), Repeated()
    for it in (train, valid):
        next(it)
    for _ in range(2):
        for _ in range(2):
            next(train)
            epochs.trains(6)
        torch.on = False
        for _ in range(2):
            next(valid)
        torch.on = True
    epochs._finish()


def with_end():
    hook_repeated()
    it = Repeated(2)
    for _ in range(2):
        train(it)


class Array(object):
    dtype = "f4"

    def __init__(self, *shape):
        self.shape = shape


class Sample(object):
    def __init__(self):
        self.input = [Array(8)]


def own_queue():
    """A training that takes its batches from a queue: what else it gets, and
    what it does not get, is none of them."""
    from ioreel import hook_queues
    hook_queues.install(queue)
    batches = queue.Queue()

    def get(value, timeout=None):
        if timeout is None:
            batches.put(value)
        try:
            batches.get(timeout=timeout)
        except queue.Empty:
            pass

    get(Array(4))  # it does not train yet
    epochs.trains(6)
    for value in (Array(4), {"x": (Array(2, 2), 0)}, Sample(), 7, None, "end",
                  Array(), [1, Array()], Loader(1)):
        get(value)
    get(None, 0.01)
    sys.modules["ioreel.shim"].fetching = lambda: 1
    get(Array(4))  # the program marks it
    sys.modules["ioreel.shim"].fetching = lambda: 0
    sys.stdout.flush()
    child = os.fork()
    if child == 0:  # a worker of a loader, which trains nothing
        streams.clear()
        get(Array(4))
        print("child:", *(tree(s) for s in streams.values()))
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)


def own_queue_beside():
    """Nor is that of one which has a loader."""
    from ioreel import hook_queues
    hook_queues.install(queue)
    batches = queue.Queue()
    for _ in Loader(1):
        epochs.trains(6)
        batches.put(Array(4))
        batches.get()
    batches.put(Array(4))
    batches.get()


def left_open():
    """The end of the interpreter closes open spans."""
    global kept
    kept = iter(Loader(3))
    next(kept)
    epochs.trains(6)
    epochs._finish()


sys.path.insert(0, sys.argv[1])
import ioreel  # noqa: E402
ioreel.shim = sys.modules["ioreel.shim"] = fake_shim()
from ioreel import epochs  # noqa: E402

training, validation = Loader(2), Loader(1)
ended = threading.Event()
held = {}
globals()[sys.argv[2]]()
for stream in streams.values():
    print(tree(stream))
