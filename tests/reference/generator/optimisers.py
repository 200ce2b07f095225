"""Trajectories of torch.optim in float64, and the learning rates of torch.optim.lr_scheduler step by step."""

import math

import numpy as np
import torch

from .cases import real
from .table import Table

STEPS = 10
PARAMETERS = 7


def _trajectory(table, case, kind, **options):
    """Ten steps over given gradients: start (7), gradient (10, 7), parameter (10, 7) and state after each step."""
    table.comment("")
    table.comment(f"{case}: {kind.__name__} {', '.join(f'{k}={v}' for k, v in options.items())}")
    for name, value in options.items():
        table.add(f"{case}.{name}", value, "i64" if isinstance(value, bool) else "f64")
    start = real(f"{kind.__name__}.{case}.start", PARAMETERS, scale=1)
    gradient = real(f"{kind.__name__}.{case}.gradient", STEPS, PARAMETERS, scale=2)
    parameter = torch.tensor(start, requires_grad=True)
    optimiser = kind([parameter], **options)
    history = {}
    for step in range(STEPS):
        parameter.grad = torch.tensor(gradient[step])
        optimiser.step()
        history.setdefault("parameter", []).append(parameter.detach().clone().numpy())
        for name, value in optimiser.state[parameter].items():
            if name != "step" and value is not None:
                history.setdefault(name, []).append(value.clone().numpy())
    table.add(f"{case}.start", start)
    table.add(f"{case}.gradient", gradient)
    for name, values in history.items():
        table.add(f"{case}.{name}", np.stack(values))


def sgd():
    """torch.optim.SGD. The first step's momentum_buffer is the gradient, without dampening."""
    table = Table()
    table.comment(f"{sgd.__doc__}\n{_trajectory.__doc__}")
    cases = (
        ("plain", {}),
        ("momentum", {"momentum": 0.9}),
        ("dampening", {"momentum": 0.9, "dampening": 0.5}),
        ("nesterov", {"momentum": 0.9, "nesterov": True}),
        ("weight_decay", {"weight_decay": 0.1}),
        ("momentum_weight_decay", {"momentum": 0.8, "weight_decay": 0.05}),
        ("dampening_weight_decay", {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.05}),
        ("nesterov_weight_decay", {"momentum": 0.7, "weight_decay": 0.02, "nesterov": True}),
    )
    for case, changed in cases:
        options = {"lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, **changed}
        _trajectory(table, case, torch.optim.SGD, **options)
    return table


def adam():
    """torch.optim.Adam (weight decay added to the gradient) and AdamW (decoupled); betas (beta1, beta2)."""
    table = Table()
    table.comment(f"{adam.__doc__}\n{_trajectory.__doc__}")
    cases = (
        ("adam", torch.optim.Adam, {}),
        ("adam_weight_decay", torch.optim.Adam, {"weight_decay": 0.1}),
        ("adam_betas", torch.optim.Adam, {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3}),
        ("adamw", torch.optim.AdamW, {"weight_decay": 0.01}),
        ("adamw_strong_decay", torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.5}),
        ("adamw_betas", torch.optim.AdamW, {"lr": 0.02, "betas": (0.9, 0.95), "eps": 1e-6, "weight_decay": 0.1}),
    )
    for case, kind, changed in cases:
        options = {"lr": 0.01, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.0, **changed}
        _trajectory(table, case, kind, **options)
    return table


def schedule():
    """<case>.lr (steps): the learning rate that step 0, 1, 2, ... uses, from the base rate 0.1."""
    table = Table()
    table.comment(schedule.__doc__)

    def add(case, description, make, steps):
        optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        scheduler = make(optimiser)
        rates = []
        for _ in range(steps):
            rates.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            scheduler.step()
        table.comment("")
        table.comment(f"{case}: {description}")
        table.add(f"{case}.lr", np.array(rates))

    s = torch.optim.lr_scheduler
    add("step", "StepLR(step_size=7, gamma=0.3)", lambda o: s.StepLR(o, 7, 0.3), 30)
    add("cosine", "CosineAnnealingLR(T_max=20)", lambda o: s.CosineAnnealingLR(o, 20), 21)
    add("cosine_floor", "CosineAnnealingLR(T_max=13, eta_min=0.01)", lambda o: s.CosineAnnealingLR(o, 13, 0.01), 14)
    add("linear", "LinearLR(start_factor=0.25, total_iters=6)", lambda o: s.LinearLR(o, 0.25, total_iters=6), 12)
    add("warm_up", "LambdaLR: (step + 1) / 5, at most 1", lambda o: s.LambdaLR(o, lambda t: min(1, (t + 1) / 5)), 12)
    add("warm_up_cosine", "LambdaLR: (step + 1) / 5 for 5 steps, then 0.5 (1 + cos(pi (step - 5) / 15))",
        lambda o: s.LambdaLR(o, lambda t: (t + 1) / 5 if t < 5 else 0.5 * (1 + math.cos(math.pi * (t - 5) / 15))), 21)
    return table
