# SPDX-License-Identifier: MIT
"""Write small files xplane.pb, byte by byte: xplane_make.py FOLDER."""
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    body = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def names(field, table):
    """Maps of ids and names: events (4) or stats (5)."""
    return b"".join(message(field, number(1, i), message(2, number(1, i), message(2, name)))
                    for i, name in table.items())


def event(name, start_us, dur_us, *stats):
    return message(4, number(1, name), number(2, start_us * 1000000), number(3, dur_us * 1000000),
                   *(message(4, number(1, s), number(4, v)) for s, v in stats))


def line(i, name, at_ns, *events):
    return message(3, number(1, i), message(2, name), number(3, at_ns), *events)


def plane(i, name, *parts):
    return message(1, number(1, i), message(2, name), *parts)


STEP, ROOT, SIZE = 1, 2, 3
stats = names(5, {STEP: "step_num", ROOT: "_r", SIZE: "element_size"})
host_names = names(4, {1: "train", 2: "IteratorGetNextOp::DoCompute", 3: "MatMul:MatMul",
                       4: "a root", 5: "FunctionRun", 6: "ReduceIterator::Root",
                       7: "ReduceIterator::Root::Prefetch::Scan::Batch",
                       8: "ReduceIterator::Root::Prefetch::Scan::Batch::Map",
                       9: "PjitFunction(step)", 10: "fetch", 11: "train_step",
                       12: "$data.py:7 next_batch",
                       13: "$iterator_ops.py:824 __next__", 14: "$dataloader.py:720 __next__",
                       15: "call/gradient_tape/dense/MatMul:MatMul",
                       16: "gradient_tape/mse/range:Range"})
environment = plane(2, "Task Environment", names(5, {9: "profile_start_time"}),
                    message(6, number(1, 9), number(3, 1719853884000000000)))


def host(*lines):
    return plane(1, "/host:CPU", *lines, host_names, stats)


numbered = host(
    line(-5, "python3", 1000,
         event(1, 100, 100, (STEP, 7), (ROOT, 1)), event(1, 200, 100, (STEP, 8), (ROOT, 1)),
         event(4, 10, 5, (ROOT, 1)), event(5, 20, 5, (ROOT, 1)), event(3, 150, 3),
         message(4, number(1, 3), number(3, 9000000), number(5, 4))),  # the sum of 4
    line(6, "worker", 1000, event(2, 110, 40, (SIZE, 64)), event(2, 200, 2)))
device = plane(
    3, "/device:GPU:1",
    line(13, "Stream #13(Compute)", 2000, event(1, 150, 20), event(2, 165, 10)),
    line(14, "TensorFlow Ops", 2000, event(3, 140, 60)),
    names(4, {1: "gemm", 2: "MemcpyH2D", 3: "MatMul"}))
fetches = line(6, "worker", 1000, event(2, 110, 40, (SIZE, 64)), event(2, 300, 10, (SIZE, 64)),
               event(2, 500, 5), event(2, 700, 20, (SIZE, 64)))
tpu = plane(
    3, "/device:TPU:0",
    line(1, "Steps", 1000, event(1, 100, 50), event(2, 150, 60)),
    line(2, "XLA Ops", 1000, event(3, 100, 20)),
    names(4, {1: "41", 2: "42", 3: "fusion.1"}))
# No event becomes a span.
plain = plane(1, "/host:CPU", line(6, "worker", 1000, event(3, 100, 50), event(3, 300, 20)),
              names(4, {3: "MatMul:MatMul"}), stats)

files = {
    "numbered": numbered + device + environment + message(4, "node7"),
    # Names before the events, as another writer may order them.
    "derived": plane(1, "/host:CPU", host_names, stats, fetches),
    "tpu": tpu,
    # A loop over a data set inside a graph: the scan takes a batch and runs the body.
    "loop": host(line(6, "tf_data_prefetch", 1000, event(6, 100, 90), event(7, 100, 40), event(8, 100, 39),
                      event(6, 190, 60), event(7, 200, 30), event(8, 200, 29), event(6, 290, 15), event(7, 300, 1))),
    # Another reduction; the last fetch finds the end of the data.
    "reduce": host(line(6, "tf_data_reduce_dataset", 1000, event(6, 100, 40), event(6, 200, 30), event(6, 300, 1))),
    "reduce_too": host(line(6, "worker", 1000, event(2, 100, 40, (SIZE, 64)), event(6, 150, 1),
                            event(2, 300, 10, (SIZE, 64)))),
    "jax": plane(4, "/host:metadata", names(5, {1: "jax_version"})) + plain,
    "jax_old": host(line(6, "python", 1000, event(9, 100, 40))),
    "jax_tf_data": host(line(6, "python", 1000, event(9, 100, 40), event(2, 150, 40))),
    "annotated": host(line(6, "python", 1000, event(1, 100, 90, (STEP, 3)), event(10, 100, 40), event(12, 101, 38))),
    "named": host(line(6, "python", 1000, event(11, 100, 90), event(10, 100, 40))),
    # The function train_step() takes each batch from the loop around it.
    "function": host(line(6, "python", 1000, event(2, 100, 40, (SIZE, 64)), event(11, 150, 10),
                          event(2, 170, 40, (SIZE, 64)), event(11, 220, 10), event(2, 240, 2))),
    # The profiler of JAX sees the functions of Python only.
    "python": host(line(6, "python", 1000, event(13, 100, 40), event(9, 150, 10), event(13, 170, 2))),
    "loader": host(line(6, "python", 1000, event(14, 100, 40), event(9, 150, 10), event(14, 170, 2))),
    "operator": host(line(6, "python", 1000, event(13, 100, 40), event(2, 101, 38, (SIZE, 64)))),
    # Two steps that train, an evaluation of two batches, a step.
    "evaluation": host(line(6, "python", 1000, event(2, 100, 10), event(2, 200, 10), event(2, 300, 10),
                            event(2, 400, 10), event(2, 500, 10), event(2, 600, 10)),
                       line(7, "tf_Compute", 1000, event(15, 120, 5), event(15, 130, 5), event(15, 220, 5),
                            event(15, 520, 5))),
    # XLA compiles the steps: only constants of the first are seen.
    "compiled": host(line(6, "python", 1000, event(2, 100, 10), event(2, 200, 10), event(2, 300, 10),
                          event(2, 400, 10)),
                     line(7, "tf_Compute", 1000, event(16, 120, 5))),
    # The loop begins a step, and finds no batch.
    "ended": host(line(6, "python", 1000, event(1, 100, 50, (STEP, 1)), event(2, 110, 10, (SIZE, 64)),
                       event(1, 200, 50, (STEP, 2)), event(2, 210, 10, (SIZE, 64)),
                       event(15, 130, 5), event(15, 230, 5),
                       event(1, 300, 50, (STEP, 3)), event(2, 310, 10))),
    # Two replicas, in any threads.
    "replicas": host(line(6, "a", 1000, event(2, 100, 40, (SIZE, 64)), event(2, 201, 40, (SIZE, 64)),
                          event(2, 250, 3, (SIZE, 64))),
                     line(7, "b", 1000, event(2, 101, 45, (SIZE, 64)), event(2, 200, 40, (SIZE, 64)))),
    "plain": plain,
    "none": plane(1, "/host:CPU"),
    # An event whose length is past that of its line.
    "length": plane(1, "/host:CPU", message(3, varint(4 << 3 | 2) + varint(200) + b"x")),
    "cut": numbered[:-40],
    "time": host(line(1, "t", 1000, event(1, -5, 100, (STEP, 1)), event(1, 1, -1, (STEP, 1)),
                      event(1, 1, 1, (STEP, 1)))),
}
for name, content in files.items():
    with open(f"{sys.argv[1]}/{name}.xplane.pb", "wb") as f:
        f.write(content)
