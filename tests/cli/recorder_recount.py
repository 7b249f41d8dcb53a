#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The calls of a folder of Recorder by the text that its recorder2text printed, a
line each: rank, name, path, bytes asked; with --times the start and the end in
ticks, of the files of times themselves."""
import os
import struct
import sys
import zlib

SIZES = {'write': 2, 'read': 2, 'pread': 2, 'pwrite': 2, 'fread': (1, 2), 'fwrite': (1, 2)}


def calls(text):
    for line in open(text):
        head, arguments = line.split('(', 1)
        arguments = arguments.rsplit(')', 1)[0].split()
        yield head.split(), arguments


def times(folder, rank):
    """Pairs (start, end) in ticks."""
    one = os.path.join(folder, 'recorder.ts')
    if os.path.exists(one):
        data = open(one, 'rb').read()
        ranks, = struct.unpack_from('<i', open(os.path.join(folder, 'recorder.mt'), 'rb').read())
        sizes = struct.unpack_from('<%dQ' % ranks, data)
        data = data[8 * ranks + sum(sizes[:rank]):][:sizes[rank]]
        if open(os.path.join(folder, 'recorder.mt'), 'rb').read()[36]:
            data = zlib.decompress(data[16:])
    else:
        data = open(os.path.join(folder, '%d.ts' % rank), 'rb').read()
    start = 0
    for delta, end in struct.iter_unpack('<II', data):
        yield start + delta, start + end
        start += delta


def main():
    folder = sys.argv[1]
    rank = 0
    while os.path.exists('%s.%d.txt' % (folder, rank)):
        for (head, arguments), (start, end) in zip(
                calls('%s.%d.txt' % (folder, rank)), times(folder, rank)):
            size = SIZES.get(head[2], ())
            size = (size,) if isinstance(size, int) else size
            asked = 1
            for i in size:
                asked *= int(arguments[i])
            path = next((a for a in arguments if a.startswith('/')), '-')
            print(rank, head[2], path, asked if size else '-', start, end - start, sep='|')
        rank += 1


main()
