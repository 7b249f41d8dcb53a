# SPDX-License-Identifier: MIT
"""Write a small image data set, files DIR/CLASS/NUMBER.ppm.

    python3 make_images.py DIR [--images 2500] [--classes 4] [--size 256]

Each class has its own colour below the noise, so that a network can learn it.
Needs Python only; equal arguments give equal files.
"""
import argparse
import os
import random

COLOURS = [(200, 60, 60), (60, 200, 60), (60, 60, 200), (200, 200, 60),
           (60, 200, 200), (200, 60, 200), (120, 120, 120), (220, 220, 220)]


def image(rng, size, colour):
    """The bytes of a binary PPM."""
    pixels = size * size
    noise = rng.getrandbits(8 * 3 * pixels).to_bytes(3 * pixels, "little")
    shades = [bytes((value + level) // 2 for level in range(256))
              for value in colour]
    body = bytearray(noise)
    for channel in range(3):
        body[channel::3] = noise[channel::3].translate(shades[channel])
    return b"P6\n%d %d\n255\n" % (size, size) + bytes(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir")
    parser.add_argument("--images", type=int, default=2500)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--size", type=int, default=256)
    args = parser.parse_args()

    rng = random.Random(2026)
    for number in range(args.images):
        label = number % args.classes
        directory = os.path.join(args.dir, "class%d" % label)
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "%05d.ppm" % number)
        with open(path, "wb") as f:
            f.write(image(rng, args.size, COLOURS[label % len(COLOURS)]))


if __name__ == "__main__":
    main()
