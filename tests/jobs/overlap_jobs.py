# SPDX-License-Identifier: MIT
"""Unmodified jobs whose steps do I/O: overlap_jobs.py CASE, each in its own
folder."""
import os
import sys
import threading

import numpy as np

BATCHES, BATCH = 12, 4


def make():
    for i in range(BATCHES * BATCH):
        np.full(4096, i, "f4").tofile("item%d" % i)


def write_through(name, data):
    with open(name, "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())


class Items:
    """Every item whose index is the rank modulo @ranks."""

    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks

    def __len__(self):
        return BATCHES * BATCH // self.ranks

    def __getitem__(self, i):
        return np.fromfile("item%d" % (i * self.ranks + self.rank), "f4")


def loader(torch, workers, rank=0, ranks=1):
    return torch.utils.data.DataLoader(Items(rank, ranks), BATCH,
                                       num_workers=workers)


def train(torch, model, batches, after=None):
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    for step, x in enumerate(batches):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        if after:
            after(step)


def torch_log():
    """Each step writes 2 MiB and syncs them to disk."""
    import torch
    data = bytes(2 << 20)
    train(torch, torch.nn.Linear(4096, 64), loader(torch, 2),
          lambda step: write_through("log", data))


def torch_savez():
    """Checkpoints by numpy, a log by another thread, an evaluation."""
    import torch
    model = torch.nn.Linear(4096, 64)

    def after(step):
        behind = threading.Thread(target=write_through,
                                  args=("behind", bytes(1 << 20)))
        behind.start()
        if step % 4 == 3:
            with open("check.npz", "wb") as f:
                np.savez(f, model.weight.detach().numpy())
                f.flush()
                os.fsync(f.fileno())
        behind.join()

    for _ in range(2):
        train(torch, model, loader(torch, 2), after)
        model.eval()
        with torch.no_grad():
            for x in loader(torch, 0):
                model(x)
        model.train()


def torch_save():
    """torch.save, followed by an fsync."""
    import torch
    model = torch.nn.Linear(4096, 64)

    def after(step):
        if step % 3 == 2:
            torch.save(model.state_dict(), "model.pt")
            fd = os.open("model.pt", os.O_RDWR)
            os.fsync(fd)
            os.close(fd)

    train(torch, model, loader(torch, 0), after)


def rank_of_two(rank, port):
    import torch
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    # Without a network the host name may have no address.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Linear(4096, 64))
    train(torch, model, loader(torch, 1 + rank, rank, 2),
          lambda step: write_through("log%d" % rank, bytes(1 << 18)))
    dist.destroy_process_group()


def ddp():
    import socket
    import torch.multiprocessing as mp
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    mp.spawn(rank_of_two, (port,), 2)


def data_set(tf):
    names = ["item%d" % i for i in range(BATCHES * BATCH)]

    def parse(name):
        x = tf.io.decode_raw(tf.io.read_file(name), tf.float32)
        x = tf.ensure_shape(x, [4096])
        return x, tf.reduce_sum(x)

    return tf.data.Dataset.from_tensor_slices(names).map(parse).batch(BATCH)


def keras_model():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras
    m = keras.Sequential([keras.layers.Input((4096,)), keras.layers.Dense(1)])
    m.compile(keras.optimizers.SGD(1e-12), "mse")
    return keras, m


def keras_fit():
    """Read one batch, then run steps that write and fetch in their graph."""
    keras, m = keras_model()
    import tensorflow as tf

    class Log(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            write_through("log", bytes(1 << 18))

    for x, y in data_set(tf).take(1):
        m.predict_on_batch(x)
    m.fit(data_set(tf), epochs=2, verbose=0,
          callbacks=[Log(), keras.callbacks.ModelCheckpoint("m.keras")])


def keras_loop():
    """A loop with visible fetches, and writes."""
    _, m = keras_model()
    import tensorflow as tf
    for _ in range(2):
        for x, y in data_set(tf):
            m.train_on_batch(x, y)
            write_through("log", bytes(1 << 18))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
