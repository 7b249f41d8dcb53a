# SPDX-License-Identifier: MIT
"""Keras jobs whose bottleneck is known: verdict_keras.py fast | slow | peek.

fast    samples that cost nothing, steps that compute
slow    samples that sleep in the pipeline
peek    the same, after one look at the data set
"""
import sys
import time

import keras
import numpy as np
import tensorflow as tf

case = sys.argv[1]


def sample(i):
    if case != "fast":
        time.sleep(0.04)
    return np.full((512,), i, np.float32), np.float32(1)


def load(i):
    x, y = tf.numpy_function(sample, [i], [tf.float32, tf.float32])
    return tf.ensure_shape(x, [512]), tf.ensure_shape(y, [])


data = tf.data.Dataset.range(100).map(load).batch(1)
if case == "fast":
    data = data.cache().prefetch(8)
if case == "peek":
    for batch in data.take(1):
        print("peeked", batch[0].shape)
wide = 4096 if case == "fast" else 64
model = keras.Sequential([keras.Input((512,)), keras.layers.Dense(wide), keras.layers.Dense(wide),
                          keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, epochs=3 if case == "fast" else 2, verbose=0)
