"""What every layer's and loss's cases share: random inputs, and the recording of a call with its gradients."""

import zlib

import numpy as np
import torch

from . import philox


def _bits(name, shape):
    """Random words that depend on the name alone, so that a new case changes no other."""
    count = int(np.prod(shape, dtype=int))
    return philox.bits(zlib.crc32(name.encode()), philox.stream(philox.USER, 0), np.arange(count)).reshape(shape)


def integers(name, *shape):
    """-8 to 8. Sums of products of these are exact in float, and the factors in half precision too."""
    return (_bits(name, shape) % np.uint64(17)).astype(np.float64) - 8


def grid(name, *shape):
    """Multiples of 1/64 in [-2, 2]: exact in float, few ties."""
    return (_bits(name, shape) % np.uint64(257)).astype(np.float64) / 64 - 2


def small_integers(name, *shape):
    """-1, 0 and 1: many ties."""
    return (_bits(name, shape) % np.uint64(3)).astype(np.float64) - 1


def real(name, *shape, scale):
    """Uniform in [-scale, scale) with all the digits a float has."""
    u = (_bits(name, shape) >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
    return (scale * (2 * u - 1)).astype(np.float32).astype(np.float64)


def labels(name, count, classes):
    return (_bits(name, (count,)) % np.uint64(classes)).astype(np.int64)


def record(table, case, function, *, options=None, constants=None, upstream=grid, **leaves):
    """Calls function(x, **other leaves, **constants, **options) and adds all that a test needs under `case.`.

    leaves are float64 arrays that get a gradient; constants (labels, class weights) get none; an option (number or
    pair) is recorded and passed on; upstream makes dy. Recorded: every argument, the output y, a random upstream
    gradient dy, and for each leaf its gradient, named d<leaf>.
    """
    options, constants = options or {}, constants or {}
    table.comment("")
    table.comment(f"{case}: {function.__name__} {', '.join(f'{k}={v}' for k, v in options.items())}".rstrip())
    for name, value in options.items():
        if not isinstance(value, str):
            table.add(f"{case}.{name}", value, "i64" if np.asarray(value).dtype.kind in "ib" else "f64")
    for name, value in constants.items():
        table.add(f"{case}.{name}", value, "i64" if value.dtype.kind == "i" else "f64")
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in leaves.items()}
    parameters = {name: tensor for name, tensor in tensors.items() if name != "x"}
    y = function(tensors["x"], **parameters, **{k: torch.tensor(v) for k, v in constants.items()}, **options)
    dy = upstream(f"{case}.dy {function.__name__}", *y.shape)
    y.backward(torch.tensor(dy))
    for name, value in leaves.items():
        table.add(f"{case}.{name}", value)
    table.add(f"{case}.y", y)
    table.add(f"{case}.dy", dy)
    for name, tensor in tensors.items():
        table.add(f"{case}.d{name}", tensor.grad)
