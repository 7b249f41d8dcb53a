# SPDX-License-Identifier: MIT
"""Unmodified PyTorch jobs of different kinds: python3 torch_jobs.py DATA CASE.

Each reads 12 images below DATA in batches of 4 and prints its work. Those with
"fails" in their name fail.
"""
import itertools
import os
import signal
import sys
import threading
import time
import warnings

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Images(Dataset):
    fail = None  # called for the image number 6

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
    """PyTorch warns that the stream is longer than its length."""
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


class Slow(Images):
    """Its workers take 1 s to start, 5 % of a run of 40 s; a batch of 4 takes 0.04 s."""
    def __getitem__(self, index):
        time.sleep(0.01)
        return super().__getitem__(index)

    @staticmethod
    def starts(worker):
        time.sleep(1)


def slow_loader():
    return DataLoader(Slow(), 4, num_workers=2, worker_init_fn=Slow.starts)


def train_each(epochs):
    model = torch.nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        for x, y in slow_loader():
            opt.zero_grad()
            model(x).sum().backward()
            opt.step()
    print("done")


def loader_per_epoch():
    train_each(3)


def looked_at():
    x, y = next(iter(slow_loader()))
    print(x.shape)
    train_each(2)


def handed_over():
    """Threads and processes of the program make the batches."""
    import multiprocessing
    import queue
    from concurrent.futures import ThreadPoolExecutor
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def train(batch):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()

    def put(batches, make):
        for _ in range(4):
            time.sleep(0.05)
            batches.put(make())
    ready = queue.Queue()
    threading.Thread(target=put, args=(ready, lambda: torch.ones(3, 8))).start()
    for _ in range(4):  # the first batch comes before it trains
        train(ready.get())
    with ThreadPoolExecutor() as pool:
        pool.submit(time.sleep, 0.01).result()
        for made in [pool.submit(torch.ones, 3, 8) for _ in range(3)]:
            train(made.result())
        for batch in pool.map(torch.ones, (3, 3), (8, 8)):
            train(batch)
    fork = multiprocessing.get_context("fork")
    made = fork.Queue()
    maker = fork.Process(target=put, args=(made, lambda: [[1.] * 8, array()]))
    maker.start()
    for _ in range(4):
        train(torch.from_numpy(made.get()[1]))
    maker.join()
    with fork.Pool(1) as pool:
        for batch in pool.imap(array, range(2)):
            train(torch.from_numpy(batch))
        train(torch.from_numpy(pool.apply(array)))
    mine, other = fork.Pipe()
    other.send({"x": array()})
    train(torch.from_numpy(mine.recv()["x"]))
    print("done")


def array(_=0):
    import numpy
    return numpy.ones((3, 8), numpy.float32)


def prefetched():
    """A thread prefetches for the loop."""
    import queue
    batches = queue.Queue(1)

    def run():
        for epoch in range(2):
            for batch in DataLoader(Images(), 2):
                batches.put(batch)
        batches.put(None)

    thread = threading.Thread(target=run)
    thread.start()
    model = torch.nn.Linear(8, 2)
    for x, y in iter(batches.get, None):
        model(x).sum().backward()
    thread.join()
    print("done")


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


def by_hand():
    """The loop counts steps itself, and restarts the loader."""
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Images(), 4)
    batches = iter(loader)
    for step in range(7):
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, y = next(batches)
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
    print(step)


def constructed():
    """A loader of another library constructs PyTorch's iterator itself."""
    from torch.utils.data import dataloader

    class Loader(DataLoader):
        def __iter__(self):
            return dataloader._MultiProcessingDataLoaderIter(self)

    loop(Loader(Images(), 4, num_workers=2))


def validated():
    """Gradients are off only within the loop, with two validations: in the
    middle of an epoch, and after it."""
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    train, valid = DataLoader(Images(), 4), DataLoader(Images(), 6)

    def validate():
        model.eval()
        for x, y in valid:
            with torch.no_grad():
                model(x)
        model.train()

    for epoch in range(2):
        for number, (x, y) in enumerate(train):
            model(x).sum().backward()
            opt.step()
            if number == 1:
                validate()
        validate()
    print("done")


class Repeats(object):
    """A batch sampler that does not end."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from self.sampler


class Endless(DataLoader):
    """One iterator for all loops, as the loaders of YOLO and timm."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        object.__setattr__(self, "batch_sampler", Repeats(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


def endless():
    """Both iterators are made before the training, with their workers."""
    data = Images()
    train = Endless(data, batch_size=4, num_workers=2)
    held_out = Endless(data, batch_size=2, num_workers=1)
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    time.sleep(0.3)  # no part of the loops
    for _ in range(2):
        for x, y in train:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(sum(len(y) for x, y in held_out))


def accumulated():
    """Three backwards for an optimizer step, with scaled gradients."""
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 2)
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    for number, (x, y) in enumerate(DataLoader(Images(), 2)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).sum() / 3
        scaler.scale(loss).backward()
        if number % 3 == 2:
            scaler.step(opt)
            scaler.update()
            opt.zero_grad()
    print("done")


def averaged():
    """A pass for statistics, before the training with another loader."""
    mean = sum(x.mean() for x, _ in DataLoader(Images(), 4, num_workers=2))
    print("mean %.3f" % (mean / 3))
    train(num_workers=2)


def cached():
    """A training with a copy of the batches in memory."""
    batches = list(DataLoader(Images(), 4))
    loop(batches)


def compiled():
    model = torch.compile(torch.nn.Linear(8, 2), backend="eager")
    opt = torch.optim.SGD(model.parameters(), lr=0.01)

    @torch.compile(backend="eager")
    def update():
        opt.step()

    for x, y in DataLoader(Images(), 4):
        model(x).sum().backward()
        update()
        opt.zero_grad()
    print("done")


def loads():
    class Saved(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return torch.load("saved.pt")

    torch.save({"w": torch.ones(3)}, "saved.pt")
    print(torch.load("saved.pt"))
    for batch in DataLoader(Saved(), 2):
        print(batch["w"].shape)
    try:
        torch.load("absent.pt")
    except OSError as error:
        print(error)


def distributed():
    import torch.distributed.checkpoint as dcp
    state = {"w": torch.ones(3), "v": torch.zeros(5)}
    dcp.save(state, checkpoint_id="saved")
    dcp.load(state, checkpoint_id="saved")
    dcp.async_save(state, checkpoint_id="later").result()
    print(sorted(os.listdir("saved")), sorted(os.listdir("later")))
    for name in ("saved", "later"):  # they contain random names
        for each in os.listdir(name):
            os.unlink(name + "/" + each)


def lightning():
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 2)

        def training_step(self, batch, index):
            return self.layer(batch[0]).sum()

        def validation_step(self, batch, index):
            self.layer(batch[0])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, devices=1,
        enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, default_root_dir=".")
    trainer.fit(Model(), DataLoader(Images(), 4), DataLoader(Images(), 6))
    trainer.save_checkpoint("end.ckpt")
    print(trainer.global_step, os.path.getsize("end.ckpt") > 0)
    os.unlink("end.ckpt")


def webdataset():
    """A loader that is a pipeline, created for each epoch."""
    import webdataset
    with webdataset.TarWriter("d.tar") as tar:
        for i in range(8):
            tar.write({"__key__": "%03d" % i, "x.txt": str(i)})
    model = torch.nn.Linear(1, 1)
    for epoch in range(2):
        data = webdataset.WebDataset("d.tar", shardshuffle=False).map(
            lambda sample: torch.tensor([float(sample["x.txt"])]))
        for x in webdataset.WebLoader(data, batch_size=4, num_workers=1):
            model(x).sum().backward()
    os.unlink("d.tar")
    print("done")


def trained_and_evaluated(train, held_out):
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(2):
        for x in itertools.islice(train, 3):
            optimizer.zero_grad()
            model(torch.as_tensor(x[0])).sum().backward()
            optimizer.step()
        with torch.no_grad():
            for x in itertools.islice(held_out, 3):
                model(torch.as_tensor(x[0]))
    print("done")


def prefetch_generator():
    """A thread advances the iterator of a DataLoader."""
    from prefetch_generator import BackgroundGenerator

    class Loader(DataLoader):
        def __iter__(self):
            return BackgroundGenerator(super().__iter__())

    trained_and_evaluated(Loader(Images(), 4), Loader(Images(), 4))


def monai_thread():
    from monai.data import ThreadDataLoader
    trained_and_evaluated(ThreadDataLoader(Images(), batch_size=4),
                          ThreadDataLoader(Images(), batch_size=4))


def augmented():
    """As nnU-Net: iterators without an end, with worker processes."""
    from batchgenerators.dataloading.nondet_multi_threaded_augmenter import (
        NonDetMultiThreadedAugmenter)

    class Batches(object):
        def __init__(self):
            self.data = Images()

        def set_thread_id(self, number):
            self.number = number

        def __next__(self):
            return [torch.stack([self.data[i][0] for i in range(4)]).numpy()]

    train = NonDetMultiThreadedAugmenter(Batches(), None, 1)
    held_out = NonDetMultiThreadedAugmenter(Batches(), None, 1)
    next(train)
    trained_and_evaluated(train, held_out)
    for loader in (train, held_out):
        loader._finish()


def looks():
    """The hooked objects as a program can inspect them."""
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


def join_feeders():
    """The thread of a queue may be the last owner of a semaphore and unlink it. If
    the process ends before the thread notifies the resource tracker, the tracker
    warns of a leak, bare and recorded."""
    for thread in threading.enumerate():
        if thread.name == "QueueFeederThread":
            thread.join()


if __name__ == "__main__":
    globals()[sys.argv[2]]()
    join_feeders()
