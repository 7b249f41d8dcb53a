# SPDX-License-Identifier: MIT
"""A training with TensorFlow: job_tfrecord.py make|run|turns DIR [EPOCHS]. tf.data
reads 16 TFRecord files of 4 MB, four at a time; a checkpoint ends each epoch.

epochs.py describes the output of "run" and "turns"."""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf

from epochs import HOW

FILES, EXAMPLES, SIDE = 16, 1000, 64


def make(folder):
    os.makedirs(folder)
    for i in range(FILES):
        with tf.io.TFRecordWriter("%s/%02d.tfrecord" % (folder, i)) as out:
            for k in range(EXAMPLES):
                pixels = tf.train.BytesList(value=[os.urandom(SIDE * SIDE)])
                label = tf.train.Int64List(value=[k % 10])
                out.write(tf.train.Example(features=tf.train.Features(feature={
                    "pixels": tf.train.Feature(bytes_list=pixels),
                    "label": tf.train.Feature(int64_list=label)})).SerializeToString())


def parse(record):
    one = tf.io.parse_single_example(record, {
        "pixels": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64)})
    pixels = tf.cast(tf.io.decode_raw(one["pixels"], tf.uint8), tf.float32)
    return tf.reshape(pixels / 255, [SIDE, SIDE, 1]), one["label"]


def batches(folder):
    files = tf.data.Dataset.list_files(folder + "/*.tfrecord", shuffle=True)
    return files.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=2) \
        .shuffle(512).map(parse, num_parallel_calls=2).batch(32).prefetch(2)


def run(folder, epochs):
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    kernel = tf.Variable(tf.random.normal([5, 5, 1, 8]))
    dense = tf.Variable(tf.random.normal([8, 10]))

    @tf.function
    def step(pixels, labels):
        with tf.GradientTape() as tape:
            seen = tf.nn.relu(tf.nn.conv2d(pixels, kernel, 2, "SAME"))
            logits = tf.reduce_mean(seen, [1, 2]) @ dense
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels, logits))
        for v, g in zip((kernel, dense), tape.gradient(loss, (kernel, dense))):
            v.assign_sub(0.01 * g)

    dataset = batches(folder)
    saved = tf.train.Checkpoint(kernel=kernel, dense=dense)
    for epoch in epochs:
        for pixels, labels in dataset:
            step(pixels, labels)
        saved.write("checkpoint-%d" % epoch)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        run(sys.argv[2], HOW[sys.argv[1]](int(sys.argv[3])))
