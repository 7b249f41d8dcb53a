# SPDX-License-Identifier: MIT
"""Save a file under a temporary name, like Lightning, and a checkpoint that a
thread writes while the loop continues. Argument: a folder."""
import os
import sys
import threading
import time

import ioreel


def save(path):
    with ioreel.span("checkpoint"), open(path, "wb") as f:
        f.write(bytes(65536))
        time.sleep(0.2)


folder = sys.argv[1]
with open(folder + "/tmp1234", "wb") as f:
    f.write(b"weights")
os.rename(folder + "/tmp1234", folder + "/model.pt")
for i in range(2):
    save("%s/waited%d" % (folder, i))
behind = threading.Thread(target=save, args=(folder + "/behind",))
for i in ioreel.steps(range(3)):
    if i == 1:
        behind.start()
    if i == 2:
        behind.join()
