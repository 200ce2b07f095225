#!/usr/bin/env python3
"""The reference job in PyTorch on the CPU: LeNet's training step, inference, and the whole training.

    bench/pytorch/lenet_pytorch.py                        steps at batch 1, 4, 64, 256 and inference at batch 1
    bench/pytorch/lenet_pytorch.py --jobs whole           2 epochs over 60,000 images, batch 4, with test accuracy
    bench/pytorch/lenet_pytorch.py --threads 2 --compile  torch.compile (PyTorch 2) on two threads

PyTorch is given every advantage that costs its user nothing: images lie in memory as normalised floats, batches are
views, gradients are dropped rather than zeroed, memory is warm before the clock starts. Each line printed is a JSON
object; times are in microseconds, the median and the least over all samples. The measurements take turns, --rounds
times, so that a disturbance of the machine meets all of them. Works with PyTorch 1.13 and later.
"""

import argparse
import gzip
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
from torch import nn

SLOW_BLAS_GFLOPS = 15  # the reference BLAS reaches 2 to 6, OpenBLAS on any AVX2 core over 30
JOBS = ("train", "inference", "whole")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# glibc gives freed memory back to the system, and PyTorch pays for its return page by page: at
# batch 256 a step takes three times as long. These keep it.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4000000000", "MALLOC_TRIM_THRESHOLD_": "4000000000",
               "MALLOC_TOP_PAD_": "100000000"}
ENVIRONMENT = ("OPENBLAS_CORETYPE", "ATEN_CPU_CAPABILITY")  # what changes the kernels that PyTorch chooses


def make_lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(50 * 4 * 4, 500), nn.ReLU(), nn.Linear(500, 10))


def read_idx(folder, name):
    """The bytes of an IDX file, plain or .gz, behind its header."""
    for path, opener in ((folder / name, open), (folder / f"{name}.gz", gzip.open)):
        if path.exists():
            with opener(path, "rb") as file:
                content = file.read()
            dimensions = content[3]
            shape = np.frombuffer(content, ">u4", dimensions, 4).astype(int)
            return np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
    raise SystemExit(f"no {name} or {name}.gz in {folder}: name the folder of Fashion-MNIST's IDX files with --data "
                     "(Debian: apt-get install dataset-fashion-mnist), or measure on --data random")


class Images:
    """Normalised images (count, 1, 28, 28) and their labels, in memory."""

    def __init__(self, data, part, random_count):
        if data == "random":
            generator = torch.Generator().manual_seed(0)
            pixels = torch.randint(0, 256, (random_count, 28, 28), generator=generator, dtype=torch.uint8)
            self.label = torch.randint(0, 10, (random_count,), generator=generator)
        else:
            folder = pathlib.Path(data)
            pixels = torch.from_numpy(read_idx(folder, f"{part}-images-idx3-ubyte").copy())
            self.label = torch.from_numpy(read_idx(folder, f"{part}-labels-idx1-ubyte").astype(np.int64))
        self.x = ((pixels.float() / 255 - 0.5) / 0.5).unsqueeze(1)


class Training:
    """A network with its loss and optimiser."""

    def __init__(self, options):
        torch.manual_seed(options.seed)
        network = make_lenet()
        self.network = torch.compile(network) if options.compile else network
        self.criterion = nn.CrossEntropyLoss()
        self.optimiser = torch.optim.SGD(network.parameters(), lr=options.lr, momentum=options.momentum)

    def step(self, x, label):
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.criterion(self.network(x), label)
        loss.backward()
        self.optimiser.step()
        return loss.item()


def sample(call, seconds):
    """The time of each call in microseconds, for `seconds` in all; at least three."""
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    return times


def batches(images, batch):
    """Views of the images, batch after batch, without end."""
    count = len(images.label) // batch * batch
    if count == 0:
        raise SystemExit(f"a batch of {batch} needs more than {len(images.label)} images")
    while True:
        for first in range(0, count, batch):
            yield images.x[first:first + batch], images.label[first:first + batch]


def train_step(options, images, batch):
    training, source = Training(options), batches(images, batch)
    return lambda: training.step(*next(source))


def inference(options, images, batch):
    network, source = Training(options).network.eval(), batches(images, batch)

    def call():
        with torch.inference_mode():
            return network(next(source)[0])
    return call


def whole_job(options, train, test):
    """Trains for options.epochs and evaluates; the clock runs over both. Shuffles like a DataLoader, at less cost."""
    training = Training(options)
    count = len(train.label)
    warm_up = Training(options)
    for x, label in [next(batches(train, options.job_batch))] * 20:
        warm_up.step(x, label)
    epochs = []
    start = time.perf_counter()
    for _ in range(options.epochs):
        loss_sum = 0.0
        order = torch.randperm(count)
        for first in range(0, count, options.job_batch):
            chosen = order[first:first + options.job_batch]
            loss_sum += training.step(train.x[chosen], train.label[chosen]) * len(chosen)
        epochs.append(round(loss_sum / count, 4))
    trained = time.perf_counter()
    with torch.inference_mode():
        right = sum(int((training.network(x).argmax(1) == label).sum())
                    for x, label in zip(test.x.split(500), test.label.split(500)))
    return {"seconds": round(time.perf_counter() - start, 3), "train_seconds": round(trained - start, 3),
            "epochs": options.epochs, "mean_loss": epochs, "accuracy": right / len(test.label)}


def matrix_product_gflops():
    """The speed of a 512 x 512 matrix product on one thread: shows which BLAS this PyTorch found."""
    torch.set_num_threads(1)
    a = torch.rand(512, 512)
    gflops = 2 * 512 ** 3 / (1e3 * min(sample(lambda: a @ a, 0.3)))
    if gflops < SLOW_BLAS_GFLOPS:
        print(f"matrix products reach only {gflops:.1f} GFLOP/s: PyTorch seems to run on the reference BLAS, which "
              "makes its figures meaningless (Debian: apt-get install libopenblas0-pthread)", file=sys.stderr)
    return round(gflops, 1)


def environment(options):
    """What a figure depends on besides what it measures."""
    cpu = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), cpu)
    return {"torch": torch.__version__, "mode": "compile" if options.compile else "eager", "cpu": cpu,
            "cores": os.cpu_count(), "matrix_product_gflops": matrix_product_gflops(),
            "data": "random" if options.data == "random" else "fashion_mnist",
            "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=["train", "inference"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 4, 64, 256], help="of the training step")
    parser.add_argument("--inference-batches", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", metavar="FOLDER",
                        help="Fashion-MNIST's IDX files (default: where Debian puts them), or 'random'")
    parser.add_argument("--rounds", type=int, default=5, help="how often the measurements take turns (default 5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement in each round (default 0.5)")
    parser.add_argument("--job-batch", type=int, default=4, help="batch of the whole job (default 4)")
    parser.add_argument("--epochs", type=int, default=2, help="of the whole job (default 2)")
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="torch.compile the network (PyTorch 2)")
    options = parser.parse_args()
    if options.compile and not hasattr(torch, "compile"):
        parser.error(f"PyTorch {torch.__version__} has no torch.compile")
    return options


def settings(threads):
    """Environment variables: some BLAS libraries take their number of threads, and glibc its thresholds, only there."""
    return {**{name: str(threads) for name in THREAD_VARIABLES}, **KEEP_MEMORY}


def in_a_process_each(options):
    """Runs this script once for each number of threads, with all that only the environment can say."""
    for threads in options.threads:
        variables = {**os.environ, **settings(threads)}
        run = subprocess.run([sys.executable, *sys.argv, "--threads", str(threads)], env=variables, check=False)
        if run.returncode != 0:
            return run.returncode
    return 0


def measure(options):
    threads = options.threads[0]
    about = environment(options)
    torch.set_num_threads(threads)
    train = Images(options.data, "train", 60_000 if "whole" in options.jobs else 4096)

    calls = {}  # (job, batch): what is timed
    for job, sizes, make in (("train", options.batches, train_step),
                             ("inference", options.inference_batches, inference)):
        for batch in sizes if job in options.jobs else []:
            calls[job, batch] = make(options, train, batch)
            for _ in range(10):  # fills the allocator's caches, builds the kernels, compiles
                calls[job, batch]()
    times = {key: [] for key in calls}
    for _ in range(options.rounds):
        for key, call in calls.items():
            sample(call, 0.1 * options.seconds)  # wakes the threads and the caches
            times[key] += sample(call, options.seconds)
    for (job, batch), measured in times.items():
        median = statistics.median(measured)
        print(json.dumps({"job": job, "batch": batch, "threads": threads, "median_us": round(median, 1),
                          "least_us": round(min(measured), 1), "images_per_s": round(1e6 * batch / median),
                          "samples": len(measured), **about}), flush=True)

    if "whole" in options.jobs:
        test = Images(options.data, "t10k", 10_000)
        print(json.dumps({"job": "whole", "batch": options.job_batch, "threads": threads, "seed": options.seed,
                          **whole_job(options, train, test), **about}), flush=True)
    return 0


def main():
    options = parse_options()
    is_set = all(os.environ.get(name) == value for name, value in settings(options.threads[0]).items())
    return measure(options) if len(options.threads) == 1 and is_set else in_a_process_each(options)


if __name__ == "__main__":
    sys.exit(main())
