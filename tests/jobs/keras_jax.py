# SPDX-License-Identifier: MIT
"""Keras on JAX, reduced to the functions that its hooks wrap.

    python3 keras_jax.py make DIR     write a stand-in for Keras to DIR
    python3 keras_jax.py fit          train with batches from files
    python3 keras_jax.py unknown      the same without a length
    python3 keras_jax.py fails        a batch fails
    python3 keras_jax.py loaders KIND...  data sets of these kinds
"""
import os
import sys

FILES = {
    "keras/__init__.py": "from keras.src.models.model import Model",
    "keras/src/__init__.py": "",
    "keras/src/version.py": "__version__ = '3.15.1'",
    "keras/src/callbacks/__init__.py": "",
    "keras/src/callbacks/callback_list.py": """
class CallbackList(object):
    model = None
    def on_epoch_begin(self, epoch): pass
    def on_train_batch_begin(self, batch): pass
    def on_train_batch_end(self, batch): pass
    def on_epoch_end(self, epoch): pass
""",
    "keras/src/models/__init__.py": "",
    "keras/src/models/model.py": """
from keras.src.backend.jax.trainer import JAXTrainer
class Model(JAXTrainer):
    pass
""",
    "keras/src/trainers/__init__.py": "",
    "keras/src/trainers/data_adapters/__init__.py": "",
    "keras/src/trainers/data_adapters/py_dataset_adapter.py": """
class PyDatasetAdapter(object):
    def __init__(self, x, class_weight=None, shuffle=False):
        print("PyDataset", x.workers)
        if x.use_multiprocessing:
            from multiprocessing import Pool
            with Pool(1, init_pool_generator, (2,)) as pool:
                print(pool.apply(get_index, (3,)))
def init_pool_generator(times):
    global _times
    _times = times
def get_index(i):
    return i * _times
""",
    "keras/src/trainers/data_adapters/generator_data_adapter.py": """
class GeneratorDataAdapter(object):
    def __init__(self, generator):
        print("generator", generator)
""",
    "keras/src/backend/__init__.py": "",
    "keras/src/backend/jax/__init__.py": "",
    "keras/src/backend/jax/trainer.py": """
from keras.src.callbacks.callback_list import CallbackList
class JAXEpochIterator(object):
    def __init__(self, data):
        self.data = data
    def _get_iterator(self):
        return self.data()
class JAXTrainer(object):
    def fit(self, data, steps, epochs):
        callbacks = CallbackList()
        callbacks.model = self
        for epoch in range(epochs):
            callbacks.on_epoch_begin(epoch)
            batches = iter(JAXEpochIterator(data)._get_iterator())
            try:
                for step in range(steps):
                    callbacks.on_train_batch_begin(step)
                    self.train(next(batches))
                    callbacks.on_train_batch_end(step)
            except StopIteration:
                pass
            self.evaluate(data)
            callbacks.on_epoch_end(epoch)
    def train(self, batch):
        print("train", batch)
    def evaluate(self, data):
        print("loss", sum(1 for _ in JAXEpochIterator(data)._get_iterator()))
    def predict(self, data):
        pass
""",
}


def make(folder):
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)


def batches():
    for i in range(2):
        with open("batch%d" % i, "rb") as f:
            yield len(f.read())


def failing():
    yield 1
    raise ValueError("no batch")


def main(case):
    import keras
    for i in range(2):
        with open("batch%d" % i, "wb") as f:
            f.write(bytes(1000))
    data, steps = {"fit": (batches, 2), "unknown": (batches, 9),
                   "fails": (failing, 2)}[case]
    keras.Model().fit(data, steps, 2)


class Dataset(object):
    def __init__(self, workers, use_multiprocessing):
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing


def loaders(kinds):
    from keras.src.trainers.data_adapters import generator_data_adapter
    from keras.src.trainers.data_adapters import py_dataset_adapter
    for kind in kinds:
        if kind == "generator":
            generator_data_adapter.GeneratorDataAdapter(1)
        else:
            py_dataset_adapter.PyDatasetAdapter({
                "none": Dataset(1, False), "threads": Dataset(2, False),
                "processes": Dataset(1, True)}[kind], shuffle=True)


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "loaders":
    loaders(sys.argv[2:])
else:
    main(sys.argv[1])
