# SPDX-License-Identifier: MIT
"""Train a small convolutional network on a directory of PPM images.

    python3 train_images.py DATA [--epochs 2] [--workers 2] [--out DIR]

DATA has a directory for each class. Each epoch ends with a checkpoint in the
output directory. Equal arguments give equal results.
"""
import argparse
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Random crops of the images below @root, a class for each directory."""

    def __init__(self, root, crop):
        self.crop = crop
        self.classes = sorted(os.listdir(root))
        self.files = [(os.path.join(root, name, file), label)
                      for label, name in enumerate(self.classes)
                      for file in sorted(os.listdir(os.path.join(root, name)))]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        with open(path, "rb") as f:
            data = f.read()
        kind, width, height = data[:32].split(maxsplit=3)[:3]
        assert kind == b"P6", path
        width, height = int(width), int(height)
        image = torch.frombuffer(bytearray(data), dtype=torch.uint8,
                                 offset=len(data) - 3 * width * height)
        image = image.view(height, width, 3).permute(2, 0, 1)
        return self.part(image).float() / 255, label

    def part(self, image):
        """A random square of @image, mirrored with probability 1/2."""
        top, left = (int(torch.randint(n - self.crop + 1, ()))
                     for n in image.shape[1:])
        image = image[:, top:top + self.crop, left:left + self.crop]
        return image.flip(2) if torch.rand(()) < 0.5 else image


def network(classes):
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, stride=2), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
        nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, classes))


def train(args):
    torch.set_num_threads(1)  # leave the other cores to the loader workers
    torch.manual_seed(args.seed)
    data = Images(args.data, args.crop)
    loader = DataLoader(data, batch_size=args.batch, shuffle=True,
                        num_workers=args.workers, drop_last=True)
    model = network(len(data.classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_of = nn.CrossEntropyLoss()
    os.makedirs(args.out, exist_ok=True)
    for epoch in range(args.epochs):
        total = 0.0
        for images, labels in loader:
            loss = loss_of(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d: loss %.4f" % (epoch, total / len(loader)), flush=True)
        torch.save({"epoch": epoch, "model": model.state_dict(),
                    "optimizer": optimizer.state_dict()},
                   os.path.join(args.out, "epoch%d.pt" % epoch))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--out", default="checkpoints")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--crop", type=int, default=80)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
