# SPDX-License-Identifier: MIT
"""TFRecord files written, read by tf.data in parallel, and a checkpoint."""
import tensorflow as tf

for i in range(4):
    with tf.io.TFRecordWriter("part%d.tfrecord" % i) as w:
        for k in range(500):
            w.write(bytes([k % 256]) * (k + 1))
files = tf.data.Dataset.list_files("part*.tfrecord", shuffle=False)
data = tf.data.TFRecordDataset(files, num_parallel_reads=2).batch(10)
print(sum(int(tf.reduce_sum(tf.strings.length(b))) for b in data))
v = tf.Variable(tf.ones([1000]))
path = tf.train.Checkpoint(v=v).save("ckpt/c")
v.assign_add(v)
tf.train.Checkpoint(v=v).restore(path)
print(float(tf.reduce_sum(v)))
