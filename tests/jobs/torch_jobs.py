# SPDX-License-Identifier: MIT
"""PyTorch jobs of all sorts: python3 torch_jobs.py DATA CASE.

Each reads 12 images below DATA in batches of 4, and prints what it did. They
know nothing of ioreel, and fail where their name says so.
"""
import os
import signal
import sys
import warnings

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Images(Dataset):
    fail = None  # what to do with the image number 6

    def __init__(self, root=None):
        root = root or sys.argv[1]
        self.files = sorted(os.path.join(base, name) for base, _, names
                            in os.walk(root) for name in names)[:12]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        with open(self.files[index], "rb") as f:
            data = f.read()
        if index == 6 and self.fail:
            getattr(self, self.fail)()
        return torch.tensor([float(b) for b in data[-8:]]), index % 2

    def broken(self):
        raise ValueError("broken image")

    def leaves(self):
        os._exit(3)

    def killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def warns(self):
        warnings.warn("odd image", stacklevel=3)


class Stream(IterableDataset):
    length = 3

    def __iter__(self):
        data = Images()
        info = torch.utils.data.get_worker_info()
        first, every = (info.id, info.num_workers) if info else (0, 1)
        return (data[i] for i in range(first, 12, every))

    def __len__(self):
        return self.length


class Twice(torch.optim.SGD):
    """A step of its own around its parent's: still one step."""

    def step(self, closure=None):
        return super().step(closure)


def images(fail):
    data = Images()
    data.fail = fail
    return data


def loop(loader, epochs=2, optimizer=torch.optim.Adam, stop=None):
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 2)
    opt = optimizer(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for number, (x, y) in enumerate(loader):
            if number == stop:
                break
            loss = torch.nn.functional.cross_entropy(model(x / 255), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, "%.6f" % loss.item(), flush=True)
        torch.save(model.state_dict(), "out%d.pt" % epoch)
    return model


def train(**options):
    loop(DataLoader(Images(), 4, **options))


def alone():
    train(num_workers=0)


def workers():
    train(num_workers=2)


def persistent():
    train(num_workers=2, persistent_workers=True)


def spawned():
    train(num_workers=2, multiprocessing_context="spawn")


def forkserver():
    train(num_workers=1, multiprocessing_context="forkserver",
          persistent_workers=True)


def iterable():
    loop(DataLoader(Stream(), 2, num_workers=2))


def short_stream():
    """PyTorch warns that the stream is longer than it said."""
    Stream.length = 2
    loader = DataLoader(Stream(), 4)
    print(len(loader))
    loop(loader, 1)


def evaluated():
    loader = DataLoader(Images(), 4)
    model = loop(loader, 1)
    with torch.no_grad():
        print(sum(int((model(x).argmax(1) == y).sum()) for x, y in loader))


def broken_off():
    loop(DataLoader(Images(), 4, num_workers=2), stop=2)


def subclass():
    loop(DataLoader(Images(), 4), optimizer=Twice)


def fails_in_loop():
    for x, y in DataLoader(Images(), 4, num_workers=2):
        raise RuntimeError("the job's own error")


def fails_in_backward():
    for x, y in DataLoader(Images(), 4):
        x.sum().backward()


def fails_in_step():
    class Bad(torch.optim.SGD):
        def step(self, closure=None):
            raise ArithmeticError("no step")
    try:
        loop(DataLoader(Images(), 4), optimizer=Bad)
    except ArithmeticError:
        print("caught")
    loop(DataLoader(Images(), 4))


def fails_in_worker():
    loop(DataLoader(images("broken"), 4, num_workers=1))


def fails_in_main():
    loop(DataLoader(images("broken"), 4))


def warns_in_main():
    loop(DataLoader(images("warns"), 4), 1)


def worker_leaves():
    loop(DataLoader(images("leaves"), 1, num_workers=1))


def worker_killed():
    loop(DataLoader(images("killed"), 1, num_workers=1))


def looks():
    """What a curious program finds."""
    import copy
    import inspect
    import pickle
    loader = DataLoader(Images(), 4)
    it = iter(loader)
    next(it)
    print(sorted(vars(it)), sorted(vars(loader)), type(it).__mro__)
    print(len(pickle.dumps(loader)), len(copy.deepcopy(loader)))
    print(inspect.signature(torch.save), torch.save.__module__,
          inspect.signature(torch.autograd.backward))
    print(pickle.loads(pickle.dumps(torch.save)) is torch.save)
    print(torch.utils.data._utils.worker._worker_loop.__qualname__)
    model = torch.nn.Linear(2, 2)
    opt = torch.optim.SGD(model.parameters(), lr=1)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 1)
    print(type(opt), inspect.signature(opt.step), copy.deepcopy(opt))
    model(torch.ones(2)).sum().backward()
    opt.step()
    schedule.step()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.optim.lr_scheduler.StepLR(opt, 1).step()
        print([str(w.message)[:30] for w in caught])


if __name__ == "__main__":
    globals()[sys.argv[2]]()
