"""Values of the losses (means over the batch), computed in float64 by torch.nn.functional."""

import numpy as np
import torch.nn.functional as F

from .cases import labels, real, record
from .table import Table

NO_CLASS = -100  # PyTorch's default ignore_index: no row is ignored unless labelled so


def cross_entropy():
    """y () = cross_entropy(x (N, classes), target (N), weight (classes)): the weighted mean over rows not ignored."""
    table = Table()
    table.comment(cross_entropy.__doc__)

    def add(case, x, target, weight=None, label_smoothing=0.0, ignore_index=NO_CLASS):
        constants = {"target": np.asarray(target)}
        if weight is not None:
            constants["weight"] = np.asarray(weight, dtype=np.float64)
        options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}

        def loss(x, target, weight=None, **options):
            return F.cross_entropy(x, target, weight, **options)
        loss.__name__ = "cross_entropy"
        record(table, case, loss, options=options, constants=constants, x=x)

    def logits(case, rows, classes, scale=5):
        return real(f"cross_entropy.{case}.x", rows, classes, scale=scale)

    def target(case, rows, classes):
        return labels(f"cross_entropy.{case}.target", rows, classes)

    weight = [0.5, 1.25, 2.0, 0.75, 3.0]
    add("plain", logits("plain", 7, 10), target("plain", 7, 10))
    add("one_row", logits("one_row", 1, 3), target("one_row", 1, 3))
    add("two_classes", logits("two_classes", 5, 2), target("two_classes", 5, 2))
    add("many_classes", logits("many_classes", 3, 67), target("many_classes", 3, 67))
    add("weights", logits("weights", 6, 5), target("weights", 6, 5), weight)
    add("smoothing", logits("smoothing", 5, 5), target("smoothing", 5, 5), label_smoothing=0.1)
    add("ignore", logits("ignore", 7, 5), [4, 1, 0, 1, 2, 3, 1], ignore_index=1)
    add("ignore_negative", logits("ignore_negative", 5, 5), [NO_CLASS, 2, 0, NO_CLASS, 4])
    add("weights_smoothing", logits("weights_smoothing", 6, 5), target("weights_smoothing", 6, 5), weight, 0.2)
    add("weights_ignore", logits("weights_ignore", 6, 5), [2, 4, 2, 0, 1, 3], weight, ignore_index=2)
    add("smoothing_ignore", logits("smoothing_ignore", 5, 5), [3, 0, 3, 1, 2], None, 0.3, 3)
    add("everything", logits("everything", 7, 5), [0, 3, 2, 4, 3, 1, 0], weight, 0.1, 3)
    add("zero_weight", logits("zero_weight", 4, 5), [0, 1, 2, 4], [0.0, 1.0, 2.0, 0.0, 1.0])

    extreme = np.array([[1000.0, 0, -1000], [-1000, -1000, -1000], [0, -20, -80], [1e30, -1e30, 0], [-1e-30, 0, 1e-30]])
    add("extreme", extreme, [2, 0, 0, 0, 1])
    add("extreme_everything", extreme, [2, 0, 1, 0, 1], [1.0, 2.0, 4.0], 0.1, 1)
    add("extreme_surest", np.array([[0.0, -20], [30, 0], [-40, 40]]), [0, 0, 1])

    # Three rows by hand, the last one ignored: 0.479525, 0.503498, 0.562859, 0.672186.
    rows = np.array([[2.0, 0, 1], [0, 1, 0], [5, 5, 5]])
    add("hand", rows, [0, 1, 2], ignore_index=2)
    add("hand_weights", rows, [0, 1, 2], [1, 2, 4], ignore_index=2)
    add("hand_smoothing", rows, [0, 1, 2], None, 0.1, 2)
    add("hand_everything", rows, [0, 1, 2], [1, 2, 4], 0.1, 2)
    return table


def mse():
    """y () = mse_loss(x, target): the mean over all elements."""
    table = Table()
    table.comment(mse.__doc__)

    def mse_loss(x, target):
        return F.mse_loss(x, target)

    for case, shape in (("plain", (5, 7)), ("one_row", (1, 3)), ("one_column", (7, 1)), ("images", (3, 2, 5, 4))):
        record(table, case, mse_loss, constants={"target": real(f"mse.{case}.target", *shape, scale=3)},
               x=real(f"mse.{case}.x", *shape, scale=3))
    return table
