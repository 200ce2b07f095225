"""Values of the layers, computed in float64 by torch.nn.functional."""

import numpy as np
import torch
import torch.nn.functional as F

from .cases import grid, integers, real, record, small_integers
from .table import Table

NAN, INF = float("nan"), float("inf")


def conv2d():
    """y (N, out, H', W') = conv2d(x (N, in, H, W), weight (out, in / groups, kh, kw), bias (out)).

    All values are integers that float holds exactly: the results are to be equal, not close.
    """
    table = Table()
    table.comment(conv2d.__doc__)
    # name, (N, in, H, W), out, options that are not PyTorch's defaults
    cases = (
        ("plain", (3, 2, 7, 9), 5, 3, {}),
        ("one_by_one", (7, 6, 5, 4), 3, 1, {}),
        ("even_kernel", (5, 3, 6, 7), 4, 2, {}),
        ("whole_image", (4, 2, 4, 4), 3, 4, {}),
        ("strided", (3, 3, 11, 8), 4, 3, {"stride": 2}),
        ("stride_over_kernel", (2, 2, 9, 10), 3, 2, {"stride": 3}),
        ("padded", (2, 3, 6, 7), 5, 5, {"padding": 2}),
        ("padding_over_kernel", (3, 1, 4, 3), 2, 2, {"padding": 3}),  # some outputs are the bias alone
        ("dilated", (3, 2, 10, 9), 3, 3, {"dilation": 2}),
        ("grouped", (4, 6, 5, 7), 9, 3, {"groups": 3}),
        ("depthwise", (5, 5, 6, 5), 5, 3, {"padding": 1, "groups": 5}),
        ("channel_multiplier", (1, 3, 5, 6), 6, 3, {"padding": 1, "groups": 3}),
        ("no_bias", (1, 3, 5, 5), 2, 2, {"bias": False}),
        ("everything", (7, 4, 11, 9), 6, 3, {"stride": 2, "padding": 2, "dilation": 2, "groups": 2}),
        ("like_lenet", (2, 1, 10, 10), 20, 5, {}),
        ("rectangular", (3, 2, 9, 8), 3, (2, 3), {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2)}),
    )
    for case, shape, out, kernel, changed in cases:
        options = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1, **changed}
        bias = options.pop("bias", True)
        kh, kw = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        leaves = {"x": integers(f"conv2d.{case}.x", *shape),
                  "weight": integers(f"conv2d.{case}.weight", out, shape[1] // options["groups"], kh, kw)}
        if bias:
            leaves["bias"] = integers(f"conv2d.{case}.bias", out)
        record(table, case, F.conv2d, options=options, upstream=integers, **leaves)
    return table


def max_pool2d():
    """y (N, C, H', W') = max_pool2d(x (N, C, H, W)); index: h * W + w of the element that won, and gets the gradient.

    Ties go to the first element of the window; padding never wins; a NaN wins, and of several NaNs the last.
    """
    table = Table()
    table.comment(max_pool2d.__doc__)

    def max_pool(x, **options):
        return F.max_pool2d(x, **options)

    def add(case, x, kernel_size, stride=None, padding=0):
        options = {"kernel_size": kernel_size, "stride": stride or kernel_size, "padding": padding}
        record(table, case, max_pool, options=options, x=x)
        _, index = F.max_pool2d(torch.tensor(x), **options, return_indices=True)
        table.add(f"{case}.index", index, "i64")

    add("plain", grid("max_pool2d.plain", 3, 2, 8, 6), 2)
    add("cut_edges", grid("max_pool2d.cut_edges", 5, 3, 7, 9), 2)
    add("kernel3", grid("max_pool2d.kernel3", 2, 3, 10, 11), 3)
    add("overlapping", grid("max_pool2d.overlapping", 7, 2, 9, 7), 3, 2)
    add("stride1", grid("max_pool2d.stride1", 1, 2, 6, 5), 3, 1)
    add("stride_over_kernel", grid("max_pool2d.stride_over_kernel", 4, 1, 9, 8), 2, 3)
    add("padded", grid("max_pool2d.padded", 5, 2, 7, 6), 3, 2, 1)
    add("padded_negative", grid("max_pool2d.padded_negative", 3, 2, 5, 5) - 3, 2, 2, 1)
    add("wide_padding", grid("max_pool2d.wide_padding", 2, 2, 7, 5), 5, 3, 2)
    add("ties", small_integers("max_pool2d.ties", 6, 2, 8, 8), 2)
    add("ties_overlapping", small_integers("max_pool2d.ties_overlapping", 3, 2, 7, 7), 3, 2, 1)
    add("all_equal", np.full((2, 1, 4, 6), 0.5), 2)

    x = grid("max_pool2d.one_nan", 3, 2, 6, 8)
    for image, channel, h, w in ((0, 0, 0, 0), (0, 1, 3, 5), (1, 0, 2, 1), (1, 1, 5, 7), (2, 0, 4, 6), (2, 1, 1, 2)):
        x[image, channel, h, w] = NAN  # each of the four places of a window once, and one NaN a window at most
    add("one_nan", x, 2)
    add("one_nan_overlapping", x, 3, 2, 1)

    x = grid("max_pool2d.minus_inf", 3, 2, 6, 6)
    x[0, 0, :2, :4] = -INF  # two whole windows
    x[1, 1, 2:4, 2:4] = -INF
    x[2, 0, 0, 0] = x[2, 1, 5, 5] = -INF
    x[2, 0, 3, 3] = INF
    add("infinite", x, 2)
    add("infinite_padded", x, 3, 2, 1)

    x = grid("max_pool2d.many_nans", 2, 1, 4, 6)
    x[0, 0, 0, :2] = x[0, 0, 2, 3] = x[0, 0, 3, 2] = x[1, 0, :, 4:] = NAN
    add("many_nans", x, 2)
    return table


def avg_pool2d():
    """y (N, C, H', W') = avg_pool2d(x (N, C, H, W)); padding counts as zeros (count_include_pad, PyTorch's default)."""
    table = Table()
    table.comment(avg_pool2d.__doc__)
    cases = (
        ("plain", (3, 2, 8, 6), 2, 2, 0),
        ("cut_edges", (5, 3, 7, 9), 2, 2, 0),
        ("kernel3", (2, 3, 10, 11), 3, 3, 0),
        ("overlapping", (7, 2, 9, 7), 3, 2, 0),
        ("stride1", (1, 2, 6, 5), 3, 1, 0),
        ("stride_over_kernel", (4, 1, 9, 8), 2, 3, 0),
        ("padded", (5, 2, 7, 6), 3, 2, 1),
        ("wide_padding", (2, 2, 7, 5), 5, 3, 2),
        ("whole_image", (6, 3, 5, 5), 5, 5, 0),
    )
    for case, shape, kernel_size, stride, padding in cases:
        options = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        record(table, case, F.avg_pool2d, options=options, x=grid(f"avg_pool2d.{case}", *shape))
    return table


def linear():
    """y (N, out) = linear(x (N, in), weight (out, in), bias (out)) = x weight^T + bias. Integers, as for conv2d."""
    table = Table()
    table.comment(linear.__doc__)
    cases = (("plain", 5, 37, 11, True), ("one_image", 1, 13, 7, True), ("no_bias", 7, 19, 6, False),
             ("one_output", 3, 23, 1, True), ("one_input", 6, 1, 9, True), ("tall", 2, 5, 67, True))
    for case, batch, inputs, outputs, bias in cases:
        leaves = {"x": integers(f"linear.{case}.x", batch, inputs),
                  "weight": integers(f"linear.{case}.weight", outputs, inputs)}
        if bias:
            leaves["bias"] = integers(f"linear.{case}.bias", outputs)
        record(table, case, F.linear, upstream=integers, **leaves)
    return table


def activation():
    """Pointwise layers: y = f(x). <name>.special holds the edges: signed zeros, tiny, huge, infinite, NaN."""
    table = Table()
    table.comment(activation.__doc__)
    finite = [0.0, -0.0, 1e-30, -1e-30, 1.0, -1.0, 20.0, -20.0, 90.0, -90.0, 1e4, -1e4, NAN]
    # Where the limit at minus infinity is the product of infinity and zero PyTorch says NaN; tenon need not.
    layers = (
        ("relu", F.relu, {}, finite + [INF, -INF]),
        ("tanh", torch.tanh, {}, finite + [INF, -INF]),
        ("sigmoid", torch.sigmoid, {}, finite + [INF, -INF]),
        ("gelu_erf", F.gelu, {"approximate": "none"}, finite),
        ("gelu_tanh", F.gelu, {"approximate": "tanh"}, finite),
        ("silu", F.silu, {}, finite),
        ("leaky_relu", F.leaky_relu, {"negative_slope": 0.01}, finite + [INF, -INF]),
        ("softplus", F.softplus, {"beta": 1, "threshold": 20}, finite + [INF, -INF]),
        ("elu", F.elu, {"alpha": 1.0}, finite + [INF, -INF]),
    )
    for name, function, options, special in layers:
        def call(x, function=function, options=options):
            return function(x, **options)
        call.__name__ = " ".join([function.__name__, *(f"{k}={v}" for k, v in options.items())])
        record(table, name, call, x=real(f"activation.{name}", 5, 3, 7, scale=6))
        record(table, f"{name}.special", call, x=np.array(special).astype(np.float32).astype(np.float64))
    return table


def flatten():
    """y (N, C * H * W) = flatten(x (N, C, H, W), 1)."""
    table = Table()
    table.comment(flatten.__doc__)

    def flatten_from_1(x):
        return torch.flatten(x, 1)

    for case, shape in (("plain", (3, 2, 4, 5)), ("one_image", (1, 3, 3, 2)), ("flat_already", (7, 5))):
        record(table, case, flatten_from_1, x=grid(f"flatten.{case}", *shape))
    return table
