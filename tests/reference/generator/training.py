"""Losses of whole trainings in float32, from weights and images that any program can remake from a seed."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from . import philox
from .table import Table

CLASSES = 10
WEIGHTS_SHOWN = 8  # elements recorded of each parameter after the last step
NOISE = 5e-7  # of a layer's standard deviation; eps of float32 is 1.2e-7
NOISY_RUNS = 5

CONVENTIONS = philox.CONVENTION + """
Initial value e of parameter number k (numbered as they appear, weight before bias):
    float(1 / sqrt(fan_in)) * (2 u - 1), u = (bits(stream(0, k), e) >> 8) * 2^-24
Image i of P pixels: label = bits(stream(3, 0), i) % 10
    prototype byte = bits(stream(3, 1), label * P + pixel) >> 24
    noise byte     = bits(stream(3, 2), i * P + pixel) >> 24
    byte = (3 * prototype + noise) / 4 (integer division), x = (byte / 255 - 0.5) / 0.5 in float
Batches take the images 0, 1, 2, ... in order; each epoch starts again at image 0; a short last batch is a mean over its
real count. Loss: the mean cross entropy of each batch, before its update."""


class LeNet(nn.Sequential):
    """Conv2d 1->20 k5, ReLU, MaxPool 2; Conv2d 20->50 k5, ReLU, MaxPool 2; Linear 800->500, ReLU; Linear 500->10."""

    def __init__(self):
        super().__init__(nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(50 * 4 * 4, 500), nn.ReLU(), nn.Linear(500, CLASSES))


class ResidualNet(nn.Module):
    """Conv2d 3->4 k3 p1, ReLU, x + Conv2d 4->4 k3 p1(ReLU(Conv2d 4->4 k3 p1(x))), ReLU, AvgPool 2, Linear 64->10."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.inner = nn.Conv2d(4, 4, 3, padding=1)
        self.outer = nn.Conv2d(4, 4, 3, padding=1)
        self.classifier = nn.Linear(4 * 4 * 4, CLASSES)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.outer(F.relu(self.inner(x))))
        return self.classifier(F.avg_pool2d(x, 2).flatten(1))


def set_initial_weights(network, seed):
    """Fills the parameters as CONVENTIONS says. A bias has its weight's bound."""
    with torch.no_grad():
        for number, parameter in enumerate(network.parameters()):
            if parameter.dim() > 1:
                bound = np.float32(1 / np.sqrt(parameter[0].numel()))
            u = philox.uniform(seed, philox.stream(philox.INITIAL_WEIGHTS, number), np.arange(parameter.numel()))
            parameter.copy_(torch.from_numpy(bound * (2 * u - 1)).reshape(parameter.shape))


def images(seed, count, pixels):
    """Labels (count) and bytes (count, pixels)."""
    def stream(number):
        return philox.stream(philox.USER, number)

    label = philox.bits(seed, stream(0), np.arange(count)) % np.uint64(CLASSES)
    pixel = np.arange(pixels, dtype=np.uint64)
    prototype = philox.bits(seed, stream(1), label[:, None] * np.uint64(pixels) + pixel) >> np.uint64(24)
    noise = philox.bits(seed, stream(2), np.arange(count)[:, None] * pixels + np.arange(pixels)) >> np.uint64(24)
    return label.astype(np.int64), (np.uint64(3) * prototype + noise) // np.uint64(4)


def train(make_network, shape, dtype, seed, count, batch, steps, make_optimiser):
    """The network after `steps` steps over `count` images, and the loss of each step."""
    network = make_network()
    set_initial_weights(network, seed)
    network.to(dtype)
    label, pixels = images(seed, count, int(np.prod(shape)))
    x = ((pixels.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.5)).reshape(count, *shape)
    x, label = torch.from_numpy(x).to(dtype), torch.from_numpy(label)
    optimiser = make_optimiser(network.parameters())
    losses = []
    while len(losses) < steps:
        for first in range(0, count, batch):
            loss = F.cross_entropy(network(x[first:first + batch]), label[first:first + batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            if len(losses) == steps:
                break
    return network, np.array(losses)


def jostled(make_network, generator):
    """The network with noise on every layer's output, some times what float32's rounding does to it.

    Where two elements of a max-pooling window or the two sides of a ReLU lie closer than rounding, a correct program
    may choose the other one, and the trajectories part: by up to 10 % within 100 steps of LeNet. The runs' seeds are
    ones for which no choice hangs on that: runs with noise end where the run without noise does.
    """
    def add_noise(_, __, output):
        noise = torch.randn(output.shape, generator=generator, dtype=output.dtype)
        return output + NOISE * output.detach().std() * noise

    def make():
        network = make_network()
        for layer in network.modules():
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                layer.register_forward_hook(add_noise)
        return network
    return make


def relative_distance(a, b):
    return np.abs(a / b - 1).max()


def _record(table, run, make_network, shape, *, seed, count, batch, steps, optimiser, **options):
    """Adds a run's settings, its losses in both precisions, some last weights, and how far rounding moves these."""
    def make_optimiser(parameters):
        return optimiser(parameters, **options)

    arguments = (seed, count, batch, steps, make_optimiser)
    network, losses = train(make_network, shape, torch.float32, *arguments)
    exact_network, exact = train(make_network, shape, torch.float64, *arguments)
    generator = torch.Generator().manual_seed(0)
    noisy = [train(jostled(make_network, generator), shape, torch.float32, *arguments)[1] for _ in range(NOISY_RUNS)]
    weights = list(zip(network.parameters(), exact_network.parameters()))
    weight_drift = max((p - q).abs().max().item() for p, q in weights)
    drift = (f"relative to float64 the losses of float32 drift by {relative_distance(losses, exact):.1e}, with noise "
             f"by up to {max(relative_distance(each, exact) for each in noisy):.1e}; "
             f"the last weights by {weight_drift:.1e} absolute")
    print(f"  {run}: {steps} losses {losses[0]:.4f} ... {losses[-1]:.4g} (lowest {losses.min():.4g}); {drift}")

    table.comment("")
    table.comment(f"{run}: {optimiser.__name__} {', '.join(f'{k}={v}' for k, v in options.items())}")
    table.comment(drift)
    for name, value in {"seed": seed, "images": count, "batch": batch}.items():
        table.add(f"{run}.{name}", value, "i64")
    for name, value in options.items():
        table.add(f"{run}.{name}", value, "i64" if isinstance(value, bool) else "f64")
    table.add(f"{run}.losses", losses.astype(np.float32), "f32")
    table.add(f"{run}.losses_f64", exact)
    for number, (parameter, exact_parameter) in enumerate(weights):
        element = np.linspace(0, parameter.numel() - 1, min(parameter.numel(), WEIGHTS_SHOWN)).astype(np.int64)
        table.add(f"{run}.parameter{number}.element", element, "i64")
        table.add(f"{run}.parameter{number}.value", parameter.detach().flatten()[element], "f32")
        table.add(f"{run}.parameter{number}.value_f64", exact_parameter.detach().flatten()[element])


def _record_start(table, network, shape, seed):
    """Adds what a reader checks first: some labels, bytes and initial weights, and the first image's logits."""
    pixels = int(np.prod(shape))
    label, byte = images(seed, 20, pixels)
    set_initial_weights(network, seed)
    table.comment("")
    table.comment("The start: labels, first bytes of images 0 and 19, first values of each parameter, and in float64 "
                  "the logits of three images.")
    table.add("start.seed", seed, "i64")
    table.add("start.labels", label, "i64")
    table.add("start.image0", byte[0, :64], "i64")
    table.add("start.image19", byte[19, :64], "i64")
    for number, parameter in enumerate(network.parameters()):
        table.add(f"start.parameter{number}", parameter.flatten()[:WEIGHTS_SHOWN], "f32")
    x = torch.from_numpy((byte.astype(np.float32) / np.float32(255) - np.float32(0.5)) / np.float32(0.5))
    table.add("start.logits", network.double()(x.reshape(20, *shape).double())[:3])


def lenet():
    """LeNet on 1x28x28 images."""
    table = Table()
    table.comment(f"{lenet.__doc__} {LeNet.__doc__}\n{CONVENTIONS}")
    shape = (1, 28, 28)
    _record_start(table, LeNet(), shape, seed=7)
    common = {"optimiser": torch.optim.SGD, "momentum": 0.9}
    _record(table, "batch4", LeNet, shape, seed=7, count=400, batch=4, steps=100, lr=0.01, **common)
    _record(table, "batch4_slow", LeNet, shape, seed=7, count=400, batch=4, steps=100, lr=0.001, **common)
    _record(table, "batch6_short_last", LeNet, shape, seed=2, count=200, batch=6, steps=100, lr=0.01, **common)
    _record(table, "batch64", LeNet, shape, seed=7, count=1000, batch=64, steps=30, lr=0.01, **common)
    return table


def residual():
    """A residual network on 3x8x8 images."""
    table = Table()
    table.comment(f"{residual.__doc__} {ResidualNet.__doc__}\n{CONVENTIONS}")
    shape = (3, 8, 8)
    _record_start(table, ResidualNet(), shape, seed=2)
    common = {"seed": 2, "count": 60, "batch": 7, "steps": 50}  # 8 batches of 7 and one of 4
    sgd = torch.optim.SGD
    _record(table, "momentum", ResidualNet, shape, **common, optimiser=sgd, lr=0.02, momentum=0.9)
    _record(table, "nesterov", ResidualNet, shape, **common, optimiser=sgd, lr=0.02, momentum=0.9, nesterov=True,
            weight_decay=0.01)
    _record(table, "adamw", ResidualNet, shape, **common, optimiser=torch.optim.AdamW, lr=0.003, weight_decay=0.05)
    return table
