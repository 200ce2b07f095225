"""The text format of the data files: named tensors.

    # a comment, up to the end of the line
    name dtype d0 d1 ...
    value value ...          as many as the shape holds, row-major, over any number of lines

A scalar has no dimensions and one value. dtype is f64 (17 significant digits at most, the shortest text that reads
back as the same number), f32 (9 digits) or i64. `nan`, `inf` and `-inf` are written as such.
"""

import inspect

import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64}
VALUES_A_LINE = 16


def text_of(value, dtype):
    """The shortest text for an f64, nine digits for an f32; integral numbers without a point."""
    if dtype == "i64":
        return str(int(value))
    text = repr(float(value)) if dtype == "f64" else f"{float(value):.9g}"
    return text[:-2] if text.endswith(".0") else text


class Table:
    """One data file: comments and tensors in the order in which they were added."""

    def __init__(self):
        self.lines = []
        self.tensors = {}

    def comment(self, text):
        self.lines += [f"# {line}".rstrip() for line in inspect.cleandoc(text).splitlines() or ['']]

    def add(self, name, array, dtype="f64"):
        """Adds an array (numpy or torch) or a number under a name without spaces."""
        if name in self.tensors or " " in name:
            raise ValueError(f"'{name}' is taken or holds a space")
        if hasattr(array, "detach"):
            array = array.detach().numpy()
        given = np.asarray(array)
        array = given.astype(DTYPES[dtype])
        if not np.array_equal(array.astype(np.float64), given.astype(np.float64), equal_nan=True):
            raise ValueError(f"'{name}' does not fit {dtype} exactly")
        self.tensors[name] = (dtype, array)
        self.lines.append(" ".join([name, dtype, *map(str, array.shape)]))
        row = array.shape[-1] if array.ndim and array.shape[-1] <= VALUES_A_LINE else VALUES_A_LINE
        values = [text_of(value, dtype) for value in array.ravel()]
        self.lines += [" ".join(values[i:i + row]) for i in range(0, len(values), row)]

    def text(self):
        return "\n".join(self.lines) + "\n"


def read(path):
    """The tensors of a data file: {name: (dtype, array)}."""
    tensors = {}
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    for header in lines:
        name, dtype, *extents = header.split()
        shape = tuple(map(int, extents))
        values = []
        while len(values) < np.prod(shape, dtype=int):
            values += next(lines).split()
        kind = DTYPES[dtype]
        tensors[name] = (dtype, np.array([kind(value) for value in values], dtype=kind).reshape(shape))
    return tensors
