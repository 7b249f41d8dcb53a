# SPDX-License-Identifier: MIT
"""A job with stand-ins for libraries that save, load and fetch by themselves.

    python3 checkpoint_libs.py make DIR    write packages of their names and versions
    PYTHONPATH=DIR python3 checkpoint_libs.py run | loop | workers

The packages have only the functions that the hooks wrap. None calls PyTorch.
"""
import multiprocessing
import os
import sys

FILES = {
    "safetensors/__init__.py": "__version__ = '0.8.0'\n",
    "safetensors/numpy.py": """
def save_file(tensors, path):
    with open(path, "wb") as f:
        f.write(tensors)
def load_file(path):
    with open(path, "rb") as f:
        return f.read()
""",
    "transformers/__init__.py": "__version__ = '5.23.0'\n",
    "transformers/modeling_utils.py": """
from safetensors.numpy import load_file, save_file
class PreTrainedModel:
    def save_pretrained(self, where):
        for part in "12":
            save_file(b"x" * 100, where + part)
    @classmethod
    def from_pretrained(cls, where):
        "Give a model."
        if not load_file(where + "1") == load_file(where + "2"):
            raise ValueError
        return cls()
""",
    "transformers/trainer.py": """
class Trainer:
    def save_model(self):
        self.model.save_pretrained("final")
    def _save_checkpoint(self, model, trial):
        with open("state", "w") as f:
            f.write("state")
        model.save_pretrained("trained")
""",
    "accelerate/__init__.py": "__version__ = '7.0'\n",
    "accelerate/accelerator.py": """
class Accelerator:
    def save_state(self, where):
        open(where, "w").close()
""",
    "lightning/__init__.py": "__version__ = '2.6.6'\n",
    "lightning/fabric/plugins/io/torch_io.py": """
class TorchCheckpointIO:
    def save_checkpoint(self, checkpoint, path, storage_options=None):
        if storage_options is not None:
            raise TypeError("options")
        with open(path, "wb") as f:
            f.write(checkpoint)
    def load_checkpoint(self, path, map_location=None):
        with open(path, "rb") as f:
            return f.read()
""",
    "grain/_src/core/version.py": "__version__ = '0.2.18'\n",
    "grain/_src/python/data_loader.py": """
class DataLoaderIterator:
    def __init__(self, data_loader, state, validate_state=True):
        self.left = data_loader.batches
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        with open("alone", "rb") as f:
            return f.read()
class DataLoader:
    batches = 3
    def __iter__(self):
        return DataLoaderIterator(self, None)
""",
    "grain/_src/python/dataset/dataset.py": """
class IterDataset:
    pass
class DatasetIterator:
    def __init__(self, parents=()):
        if isinstance(parents, DatasetIterator):
            parents = (parents,)
        self._parents = tuple(parents)
    def __iter__(self):
        return self
""",
    "grain/_src/python/dataset/transformations/iterators.py": """
from grain._src.python.dataset import dataset
class Source(dataset.DatasetIterator):
    def __init__(self, left):
        super().__init__()
        self.left = left
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        with open("alone", "rb") as f:
            return f.read()
class Batch(dataset.DatasetIterator):
    def __next__(self):
        return next(self._parents[0]) + next(self._parents[0])
""",
    "grain/_src/python/dataset/transformations/process_prefetch.py": """
def _put_dataset_elements_in_buffer(batches, buffer):
    it = iter(range(batches))
    try:
        while True:
            buffer.put(next(it))
    except StopIteration:
        buffer.put(None)
""",
    "webdataset/__init__.py": "__version__ = '1.0.2'\n",
    "webdataset/compat.py": """
class DataPipeline:
    def __init__(self, *stages):
        self.pipeline = list(stages)
    def __iter__(self):
        return self.iterator()
    def iterator(self):
        source = iter(self.pipeline[0])
        for stage in self.pipeline[1:]:
            source = stage(source)
        yield from source
class WebLoader(DataPipeline):
    pass
""",
    "torchdata/__init__.py": "__version__ = '0.11.0'\n",
    "torchdata/nodes/loader.py": """
class Loader:
    def __init__(self, root):
        self.root = root
        self.it = None
    def __iter__(self):
        if self.it is None:
            self.it = LoaderIterator(self)
        self.it.reset(None)
        return self.it
class LoaderIterator:
    def __init__(self, loader):
        self.loader = loader
    def reset(self, state=None):
        self.left = self.loader.root
    def __iter__(self):
        return self
    def __next__(self):
        return self.next()
    def next(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        with open("alone", "rb") as f:
            return f.read()
""",
    "torchdata/stateful_dataloader/worker.py": """
def _worker_loop(batches, buffer):
    for i in list(range(batches)) + [None]:
        buffer.put(i)
""",
}


def make(folder):
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)


def run():
    import accelerate.accelerator
    import lightning.fabric.plugins.io.torch_io as torch_io
    import transformers.trainer
    import transformers.modeling_utils as modeling
    from safetensors.numpy import load_file, save_file

    class Model(modeling.PreTrainedModel):
        pass

    save_file(b"abc", "alone")
    print(load_file("alone"))
    model = Model()
    model.save_pretrained("model")
    again = Model.from_pretrained("model")
    print(type(again).__name__, Model.from_pretrained.__doc__,
          Model.from_pretrained.__self__ is Model)
    trainer = transformers.trainer.Trainer()
    trainer.model = model
    trainer._save_checkpoint(model, None)
    trainer.save_model()
    accelerate.accelerator.Accelerator().save_state("unknown")
    io = torch_io.TorchCheckpointIO()
    io.save_checkpoint(b"weights", "last.ckpt")
    print(io.load_checkpoint("last.ckpt", map_location="cpu"))
    try:
        io.save_checkpoint(b"weights", "last.ckpt", storage_options=1)
    except TypeError as error:
        print("TypeError", error)


def loop():
    from grain._src.python.data_loader import DataLoader
    loader = DataLoader()
    for _ in range(2):
        for batch in loader:
            print(batch)


def datasets():
    """Nested iterators of Grain. The parent of an iterator of the program's own
    class, or one that a thread advances for its child, is no loop."""
    import threading
    from grain._src.python.dataset import dataset
    from grain._src.python.dataset.transformations import iterators

    class Own(dataset.DatasetIterator):
        def __next__(self):
            return next(self._parents[0])

    for _ in range(2):
        for batch in iterators.Batch(iterators.Source(4)):
            print(batch)
    print(list(Own(iterators.Source(2))))
    parent = iterators.Source(2)
    child = iterators.Batch(parent)  # else the parent is outermost
    thread = threading.Thread(target=lambda: print(list(parent)))
    thread.start()
    thread.join()
    del child


def stages():
    """A WebLoader that makes other batches of those of its loader, and one
    that does not; a pipeline of samples is no loop."""
    from grain._src.python.data_loader import DataLoader
    from webdataset.compat import DataPipeline, WebLoader

    def batched(batches):
        yield list(batches)

    print(list(WebLoader(DataLoader(), batched)))
    print(list(WebLoader(DataLoader())))
    print(list(DataPipeline(range(2), batched)))


def nodes():
    import types
    sys.modules["torch"] = types.SimpleNamespace(is_grad_enabled=lambda: True)
    from torchdata.nodes.loader import Loader
    loader = Loader(2)
    for _ in range(2):
        for batch in loader:
            print(batch)


def workers():
    """Workers of Grain, spawned, and of torchdata, forked."""
    from grain._src.python.dataset.transformations import process_prefetch
    from torchdata.stateful_dataloader import worker
    for start, loop in (
            ("spawn", process_prefetch._put_dataset_elements_in_buffer),
            ("fork", worker._worker_loop)):
        context = multiprocessing.get_context(start)
        buffer = context.Queue()
        process = context.Process(target=loop, args=(3, buffer))
        process.start()
        print(list(iter(buffer.get, None)))
        process.join()


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        globals()[sys.argv[1]]()
