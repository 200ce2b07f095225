#!/usr/bin/python3
"""Makes the reference values that the C++ tests compare with: one text file of tensors per subject.

    tests/reference/make_reference.py                 rewrites the .txt files beside this script
    tests/reference/make_reference.py conv2d lenet    rewrites these two
    tests/reference/make_reference.py --check         compares fresh values with the files instead, writes nothing

Needs PyTorch 1.13 or later and numpy (Debian: python3-torch). All inputs come from a counter-based generator, so a
second run with the same PyTorch writes the same bytes; another version agrees to rounding.
"""

import argparse
import pathlib
import sys

import numpy as np
import torch

from generator import layers, losses, optimisers, philox, table, training

SUBJECTS = {
    "random": philox.random_numbers,
    "conv2d": layers.conv2d,
    "max_pool2d": layers.max_pool2d,
    "avg_pool2d": layers.avg_pool2d,
    "linear": layers.linear,
    "activation": layers.activation,
    "flatten": layers.flatten,
    "cross_entropy": losses.cross_entropy,
    "mse": losses.mse,
    "sgd": optimisers.sgd,
    "adam": optimisers.adam,
    "schedule": optimisers.schedule,
    "lenet": training.lenet,
    "residual": training.residual,
}

# How far two versions of PyTorch, or two processors, may lie apart: |a - b| <= tolerance * (1 + |b|).
TOLERANCE = {"f64": 1e-10, "f32": 1e-4, "i64": 0}


def differences(expected, found):
    """One line for each tensor that is missing, new or different."""
    for name in sorted(expected.keys() ^ found.keys()):
        yield f"{name} is only in the {'file' if name in expected else 'fresh values'}"
    for name in sorted(expected.keys() & found.keys()):
        (dtype, a), (found_dtype, b) = expected[name], found[name]
        if dtype != found_dtype or a.shape != b.shape:
            yield f"{name} is {dtype} {a.shape} in the file and {found_dtype} {b.shape} now"
        elif not np.allclose(b, a, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True):
            differs = ~np.isclose(b, a, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True)
            first = tuple(map(int, np.argwhere(differs)[0]))
            yield f"{name} differs in {differs.sum()} of {a.size}: at {first} {a[first]} in the file, {b[first]} now"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent,
                        help="where the files are (default: beside this script)")
    arguments = parser.parse_args()
    unknown = set(arguments.subjects) - SUBJECTS.keys()
    if unknown:
        parser.error(f"unknown subject {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    philox.self_check()
    failures = 0
    for subject in arguments.subjects or SUBJECTS:
        print(subject)
        made, path = SUBJECTS[subject](), arguments.folder / f"{subject}.txt"
        if not arguments.check:
            path.write_text(made.text())
            continue
        for line in differences(table.read(path), made.tensors):
            print(f"  {line}")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
