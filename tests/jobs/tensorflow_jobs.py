# SPDX-License-Identifier: MIT
"""Unmodified TensorFlow jobs: tensorflow_jobs.py CASE, each in its own folder.

64 records in 4 files, 16 batches of 4.
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras  # noqa: E402
import tensorflow as tf  # noqa: E402


def make():
    for i in range(4):
        with tf.io.TFRecordWriter("d%d.tfrecord" % i) as w:
            for j in range(16):
                w.write(bytes([i * 16 + j]) * 64)


def parse(record):
    x = tf.io.decode_raw(record, tf.uint8)
    x = tf.cast(x[:16], tf.float32) / 255.
    return x, tf.reduce_sum(x)


def batches(files=4):
    names = ["d%d.tfrecord" % i for i in range(files)]
    return tf.data.TFRecordDataset(names).map(parse).batch(4)


def model():
    keras.utils.set_random_seed(1)
    m = keras.Sequential([keras.layers.Input((16,)), keras.layers.Dense(4),
                          keras.layers.Dense(1)])
    m.compile("sgd", "mse")
    return m


def fit():
    m = model()
    history = m.fit(batches(), epochs=2, validation_data=batches(1), verbose=0,
                    callbacks=[keras.callbacks.ModelCheckpoint("m.keras")])
    print(sorted(history.history), history.epoch)
    print([type(c).__name__ for c in history.model.history.params])
    m.evaluate(batches(1), verbose=0)


def fails():
    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise ValueError("stop")

    m = model()
    try:
        m.fit(batches(), verbose=0, callbacks=[Stops()])
    except ValueError as error:
        print("caught", error)
    m.fit(batches(), verbose=0)


def evaluates():
    """A callback evaluates in the middle of an epoch, with data read by hand."""
    class Looks(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                self.model.evaluate(batches(1), verbose=0)

    model().fit(batches(), verbose=0, callbacks=[Looks()])


def loop():
    seen = 0
    for epoch in range(2):
        for x, y in batches():
            seen += int(x.shape[0])
    data = batches()
    for epoch in range(2):
        for x, y in data.as_numpy_iterator():
            seen += len(x)
    print(seen)


def sleeping(elements=16):
    """40 ms for each batch of 4; 80 ms more for the first one of a pass."""
    import time

    def take(i):
        time.sleep(0.09 if i == 0 else 0.01)
        return i

    def load(i):
        x = tf.ensure_shape(tf.numpy_function(take, [i], tf.int64), ())
        return tf.fill((16,), tf.cast(x, tf.float32))

    return tf.data.Dataset.range(elements).map(load).batch(4)


def sleeps(look):
    data = sleeping()
    labelled = data.map(lambda x: (x, tf.reduce_sum(x, 1)))
    m = model()
    if look == "take":
        for x in data.take(1):
            print(x.shape)
    elif look == "next":
        print(next(iter(labelled))[0].shape)
    elif look == "adapt":
        normal = keras.layers.Normalization()
        normal.adapt(data)
        m = keras.Sequential([keras.layers.Input((16,)), normal,
                              keras.layers.Dense(1)])
        m.compile("sgd", "mse")
    m.fit(labelled, epochs=2, verbose=0)


def sleeps_none():
    sleeps(None)


def sleeps_take():
    sleeps("take")


def sleeps_next():
    sleeps("next")


def sleeps_adapt():
    sleeps("adapt")


def again():
    """A fit() for each epoch."""
    m = model()
    for epoch in range(3):
        m.fit(sleeping(8).map(lambda x: (x, tf.reduce_sum(x, 1))), verbose=0)


def traced():
    """Tracing a loop into a graph fetches nothing; running the graph does."""
    batches = iter(sleeping(40))

    @tf.function
    def step():
        return tf.reduce_sum(next(batches))

    print([float(step()) for i in range(2)])
    for x in sleeping(8):
        print(x.shape)


def distributed():
    """One iterator for two replicas, by both ways to make it; a graph that
    loops over it fetches nothing in Python."""
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    shared = strategy.experimental_distribute_dataset(batches())
    made = strategy.distribute_datasets_from_function(lambda _: batches())

    @tf.function
    def graph(data):
        n = 0
        for _ in data:
            n += 1
        return n

    seen = 0
    for data in shared, made, shared:
        for x, y in data:
            seen += 1
    print(seen, int(graph(shared)))


def tapes():
    """A loop that takes gradients by @how, one that evaluates after each."""
    weight = tf.Variable(tf.zeros((16,)))

    def learn(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.linalg.matvec(x, weight) - y) ** 2)
        weight.assign_sub(0.01 * tape.gradient(loss, weight))
        return loss

    graph = tf.function(learn)
    outer = tf.function(lambda x, y: graph(x, y))
    error = tf.function(lambda x, y: tf.linalg.matvec(x, weight) - y)
    for how in learn, graph, outer:
        for x, y in batches():
            how(x, y)
        for x, y in batches(1):
            error(x, y)


def trains_on_batch():
    m = model()
    train, test = batches(), batches(1)
    for epoch in range(2):
        for x, y in train:
            m.train_on_batch(x, y)
        for x, y in test:
            m.test_on_batch(x, y)


def stages():
    """Pipelines that prefetch last, cache in memory, and use several threads."""
    for data in (batches().prefetch(2), batches().prefetch(2).map(lambda x, y: x),
                 tf.data.Dataset.range(8).map(tf.abs, 2).cache().prefetch(2),
                 tf.data.Dataset.from_generator(
                     lambda: iter(range(8)),
                     output_signature=tf.TensorSpec([], tf.int32)).cache(),
                 tf.data.Dataset.range(8).map(tf.abs, 2).cache("cached"),
                 tf.data.Dataset.range(8).map(tf.abs, 2).snapshot("shot")
                 .prefetch(2)):
        for batch in data:
            pass


def saves():
    m = model()
    m.save("model.keras")
    m.save_weights("w.weights.h5")
    again = keras.models.load_model("model.keras")
    again.load_weights("w.weights.h5")
    checkpoint = tf.train.Checkpoint(model=again)
    checkpoint.restore(checkpoint.save("c"))
    tf.saved_model.save(tf.Module(), "saved")
    print(sorted(os.listdir(".")))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
