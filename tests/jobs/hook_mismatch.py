# SPDX-License-Identifier: MIT
"""A framework that differs from the ones that the hooks support, and a job with it.

    python3 hook_mismatch.py make DIR VERSION MISSING
    python3 hook_mismatch.py job

The first writes a package torch below DIR without the attribute MISSING (its
last name); the second trains with the functions that exist, and prints all.
"""
import os
import re
import sys

INIT = '''
__version__ = "VERSION"
from torch import autograd, optim, serialization, utils
from torch.serialization import save, load
def is_grad_enabled():
    return True
'''
FILES = {
    "torch/__init__.py": INIT,
    "torch/serialization.py": '''
def save(obj, f):
    print("save", obj, f)
def load(f):
    print("load", f)
''',
    "torch/autograd.py": '''
def backward(tensors):
    print("backward", tensors)
''',
    "torch/optim.py": '''
class Optimizer(object):
    def __init__(self):
        getattr(self, "_hook_for_profile", int)()
    def _hook_for_profile(self):
        print("prepared")
    def step(self):
        print("step")
''',
    "torch/utils/__init__.py": "from torch.utils import data\n",
    "torch/utils/data/__init__.py":
        "from torch.utils.data import _utils, dataloader\n"
        "DataLoader = dataloader.DataLoader\n",
    "torch/utils/data/_utils/__init__.py":
        "from torch.utils.data._utils import fetch, worker\n",
    "torch/utils/data/_utils/worker.py": '''
def _worker_loop(*args):
    print("worker", args)
''',
    "torch/utils/data/_utils/fetch.py": '''
class _MapDatasetFetcher(object):
    def fetch(self, index):
        return index
class _IterableDatasetFetcher(_MapDatasetFetcher):
    pass
''',
    "torch/utils/data/dataloader.py": '''
class _BaseDataLoaderIter(object):
    __slots__ = ("left",)  # without weak references
    def __init__(self, loader):
        self.left = 3
    def _reset(self, loader, first_iter=False):
        self.left = 3
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left
class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super(_MultiProcessingDataLoaderIter, self).__init__(loader)
        self._shutdown = False
    def _shutdown_workers(self):
        self._shutdown = True
class DataLoader(object):
    def _get_iterator(self):
        return _BaseDataLoaderIter(self)
    def __iter__(self):
        return self._get_iterator()
''',
}


def make(folder, version, missing):
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(re.sub(r"\b%s\b" % missing, missing + "_renamed",
                           text.replace("VERSION", version)))


def job():
    import torch
    print(torch.__version__)
    fetch = torch.utils.data._utils.fetch
    for use in (
            lambda: list(torch.utils.data.dataloader._BaseDataLoaderIter(())),
            lambda: list(
                torch.utils.data.dataloader._MultiProcessingDataLoaderIter(())),
            lambda: list(torch.utils.data.DataLoader()),
            lambda: fetch._MapDatasetFetcher().fetch(7),
            lambda: torch.utils.data._utils.worker._worker_loop(1),
            lambda: torch.autograd.backward(1),
            lambda: torch.optim.Optimizer().step(),
            lambda: torch.save(1, "file"), lambda: torch.load("file"),
            lambda: torch.save(nobody="knows this")):
        try:
            print(use())
        except Exception as error:
            print(type(error), error)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
