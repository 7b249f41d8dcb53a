# SPDX-License-Identifier: MIT
"""Unmodified training jobs whose benchmark is compared with them.

    python3 fit_jobs.py make|train CASE DIR [--samples N] [--times N] [--epochs E]

CASE is npz, npy, members (npz of which one member of three is read), evaluated (npz of
which a fifth is read in an evaluation after each epoch), records (of 4,096 bytes in
one file without a format, at random places), rows (a CSV file is a sample), lines
(text files, one after another), h5py, webdataset or keras. "make" writes the data set DIR, "train" reads it in batches of 8 and computes some 10
ms for each. --times N makes samples of npz, npy, h5py, webdataset and keras N times
as large.
"""
import argparse
import os
import random

BATCH = 8
EPOCHS = 2
SHARDS = 8
times = 1


def sizes(samples):
    """Sizes of the samples in bytes: 20 to 200 KB, a multiple of 4."""
    rng = random.Random(7)
    return [4 * times * rng.randrange(5000, 50000) for _ in range(samples)]


def make_npz(folder, samples):
    import numpy as np

    rng = np.random.default_rng(1)
    for i, size in enumerate(sizes(samples)):
        np.savez(os.path.join(folder, "s%05d.npz" % i),
                 x=rng.integers(0, 256, size, dtype=np.uint8))


def make_npy(folder, samples):
    import numpy as np

    rng = np.random.default_rng(1)
    for i, size in enumerate(sizes(samples)):
        np.save(os.path.join(folder, "s%05d.npy" % i),
                rng.integers(0, 256, size, dtype=np.uint8))


def make_members(folder, samples):
    """Archives of three arrays, of which the second is read."""
    import numpy as np

    rng = np.random.default_rng(1)
    for i, size in enumerate(sizes(samples)):
        np.savez(os.path.join(folder, "s%05d.npz" % i), **{
            name: rng.integers(0, 256, n, dtype=np.uint8)
            for name, n in (("mask", size // 2), ("image", size),
                            ("weights", 3 * size))})


def make_evaluated(folder, samples):
    import numpy as np

    for part, n in (("train", samples * 4 // 5), ("valid", samples // 5)):
        os.makedirs(os.path.join(folder, part))
        for i in range(n):
            np.savez(os.path.join(folder, part, "s%05d.npz" % i),
                     x=np.zeros(40000, dtype=np.uint8))


def make_records(folder, samples):
    with open(os.path.join(folder, "data.bin"), "wb") as out:
        out.write(os.urandom(4096 * samples))


def make_rows(folder, samples):
    for i, size in enumerate(sizes(samples)):
        with open(os.path.join(folder, "s%05d.csv" % i), "w") as out:
            out.write("0.25,0.50\n" * (size // 10))


def make_lines(folder, samples):
    for i, size in enumerate(sizes(SHARDS)):
        with open(os.path.join(folder, "s%05d.txt" % i), "w") as out:
            for j in range(samples // SHARDS):
                out.write("x" * (size // 25) + "\n")


def make_h5py(folder, samples):
    """SHARDS files with one contiguous array each, a sample a row."""
    import h5py
    import numpy as np

    rng = np.random.default_rng(1)
    rows = samples // SHARDS
    for i in range(SHARDS):
        with h5py.File(os.path.join(folder, "d%02d.h5" % i), "w") as f:
            f.create_dataset("records", data=rng.integers(
                0, 256, (rows, 100000 * times), dtype=np.uint8))


def make_webdataset(folder, samples):
    import webdataset as wds

    rng = random.Random(1)
    each = samples // SHARDS
    size = sizes(samples)
    for i in range(SHARDS):
        with wds.TarWriter(os.path.join(folder, "d-%04d.tar" % i)) as out:
            for j in range(i * each, (i + 1) * each):
                out.write({"__key__": "%06d" % j, "bin": rng.randbytes(size[j])})


def make_keras(folder, samples):
    import tensorflow as tf

    rng = random.Random(1)
    each = samples // SHARDS
    size = sizes(samples)
    for i in range(SHARDS):
        name = os.path.join(folder, "train-%05d-of-%05d.tfrecord" % (i, SHARDS))
        with tf.io.TFRecordWriter(name) as out:
            for j in range(i * each, (i + 1) * each):
                out.write(rng.randbytes(size[j]))


def loop(loader, epochs, evaluation=()):
    """The training loop of the jobs of PyTorch."""
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in loader:
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            for batch in evaluation:
                model(batch)


def tensor_of(data):
    """4,096 numbers of the bytes @data."""
    import torch

    return torch.frombuffer(bytearray(data[:4096]),
                            dtype=torch.uint8).float() / 255


def archives(folder, member="x"):
    """A data set of PyTorch: the array @member of each archive of @folder, or, of
    None, the array that each file is."""
    import numpy as np
    from torch.utils.data import Dataset

    class Files(Dataset):
        def __init__(self):
            self.names = sorted(os.listdir(folder))

        def __len__(self):
            return len(self.names)

        def __getitem__(self, i):
            path = os.path.join(folder, self.names[i])
            if member is None:
                return tensor_of(np.load(path).tobytes())
            with np.load(path) as f:
                return tensor_of(f[member].tobytes())

    return Files()


def train_npz(folder, epochs, member="x"):
    from torch.utils.data import DataLoader

    loop(DataLoader(archives(folder, member), batch_size=BATCH, shuffle=True,
                    num_workers=2), epochs)


def train_evaluated(folder, epochs):
    from torch.utils.data import DataLoader

    train, valid = (archives(os.path.join(folder, part))
                    for part in ("train", "valid"))
    loop(DataLoader(train, batch_size=BATCH, shuffle=True, num_workers=2),
         epochs, DataLoader(valid, batch_size=2 * BATCH, num_workers=1))


def train_npy(folder, epochs):
    train_npz(folder, epochs, None)


def train_members(folder, epochs):
    train_npz(folder, epochs, "image")


def train_records(folder, epochs):
    from torch.utils.data import DataLoader, Dataset

    class Records(Dataset):
        fd = None

        def __len__(self):
            return os.path.getsize(os.path.join(folder, "data.bin")) // 4096

        def __getitem__(self, i):
            if self.fd is None:
                self.fd = os.open(os.path.join(folder, "data.bin"), os.O_RDONLY)
            return tensor_of(os.pread(self.fd, 4096, i * 4096))

    loop(DataLoader(Records(), batch_size=BATCH, shuffle=True, num_workers=2),
         epochs)


def train_rows(folder, epochs):
    from torch.utils.data import DataLoader, Dataset

    class Tables(Dataset):
        def __init__(self):
            self.names = sorted(os.listdir(folder))

        def __len__(self):
            return len(self.names)

        def __getitem__(self, i):
            fd = os.open(os.path.join(folder, self.names[i]), os.O_RDONLY)
            data = os.read(fd, 262144)  # as pandas reads
            for _ in range(2):
                os.read(fd, 262144)
            os.close(fd)
            return tensor_of(data)

    loop(DataLoader(Tables(), batch_size=BATCH, shuffle=True, num_workers=2),
         epochs)


def train_lines(folder, epochs):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Lines(IterableDataset):
        def __iter__(self):
            names = sorted(os.listdir(folder))
            worker = get_worker_info()
            for name in names[worker.id::worker.num_workers]:
                with open(os.path.join(folder, name)) as lines:
                    for line in lines:
                        yield tensor_of(line.encode().ljust(4096))

    loop(DataLoader(Lines(), batch_size=BATCH, num_workers=2), epochs)


def train_h5py(folder, epochs):
    import h5py
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self):
            self.names = [n for n in sorted(os.listdir(folder))
                          if n.endswith(".h5")]
            self.files = {}
            with h5py.File(os.path.join(folder, self.names[0]), "r") as f:
                self.rows = f["records"].shape[0]

        def __len__(self):
            return self.rows * len(self.names)

        def __getitem__(self, i):
            name = self.names[i // self.rows]
            if name not in self.files:
                self.files[name] = h5py.File(os.path.join(folder, name), "r")
            row = self.files[name]["records"][i % self.rows]
            return tensor_of(row.tobytes())

    loop(DataLoader(Rows(), batch_size=BATCH, shuffle=True, num_workers=2),
         epochs)


def train_webdataset(folder, epochs):
    import webdataset as wds
    from torch.utils.data import DataLoader

    names = [os.path.join(folder, n) for n in sorted(os.listdir(folder))
             if n.endswith(".tar")]
    data = wds.WebDataset(names, shardshuffle=False).map(
        lambda s: tensor_of(s["bin"]))
    loop(DataLoader(data, batch_size=BATCH, num_workers=2), epochs)


def train_keras(folder, epochs):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras
    import tensorflow as tf

    def parse(record):
        x = tf.io.decode_raw(tf.strings.substr(record, 0, 4096), tf.uint8)
        x = tf.ensure_shape(tf.cast(x, tf.float32) / 255., (4096,))
        return x, tf.reduce_sum(x)

    names = sorted(os.path.join(folder, n) for n in os.listdir(folder)
                   if n.endswith(".tfrecord"))
    data = tf.data.TFRecordDataset(names).map(parse).batch(BATCH).prefetch(2)
    model = keras.Sequential([keras.layers.Input((4096,)),
                              keras.layers.Dense(512), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data, epochs=epochs, verbose=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("make", "train"))
    parser.add_argument("case",
                        choices=("npz", "npy", "members", "evaluated", "records",
                                 "rows", "lines", "h5py", "webdataset",
                                 "keras"))
    parser.add_argument("dir")
    parser.add_argument("--samples", type=int, default=1600)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    args = parser.parse_args()
    global times
    times = args.times
    if args.what == "make":
        os.makedirs(args.dir, exist_ok=True)
        globals()["make_" + args.case](args.dir, args.samples)
    else:
        globals()["train_" + args.case](args.dir, args.epochs)


if __name__ == "__main__":
    main()
