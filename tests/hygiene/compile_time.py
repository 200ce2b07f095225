#!/usr/bin/env python3
"""Prints what tenon costs to compile: seconds and peak memory, for each compiler found here.

usage: compile_time.py [--repeat N] [--networks NODES...] [FILE...]
       (default: each folder of headers, the front door, the examples, and networks of 250, 500, 1,000 and 2,000 nodes)

The first line is an empty file: what the compiler costs by itself. Headers are only checked (nvcc: compiled); examples
are compiled as the README says. A network is planned at compile time and nothing else: its graph of so many nodes is
written, differentiated, given its updates, fused, and laid out in memory. A star: only with a higher limit on constant
evaluation than the compiler's own. Seconds are the processor's, which other programs disturb less than the clock's;
each figure is the best of N runs. The standard library of Python is all that this needs.
"""
import argparse
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# By compiler: how to check a header, how to compile an example, how to plan a network.
COMPILERS = {
    "g++": {"header": ["-fsyntax-only"], "example": ["-O3", "-march=native", "-c"], "network": ["-fsyntax-only"]},
    "clang++": {"header": ["-fsyntax-only"], "example": ["-O3", "-march=native", "-c"], "network": ["-fsyntax-only"]},
    "nvcc": {"header": ["-x", "cu", "-c"], "example": ["-O3", "-x", "cu", "-c"]},
}
# What raises a compiler's limit on constant evaluation.
NO_LIMIT = {"g++": ["-fconstexpr-ops-limit=100000000000", "-fconstexpr-loop-limit=100000000"],
            "clang++": ["-fconstexpr-steps=2000000000"]}

# LAYERS times Linear and ReLU: five nodes each (two parameters, product, bias, ReLU), as many again around them.
NETWORK = """\
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/program.hpp>
using namespace tenon;

template <int Layers>
int plan() {
    using Net = Network<Input{64}, Repeat<Layers, Linear{.out = 64}, ReLU{}>, Linear{.out = 10}>;
    using Source = training::TrainingSource<Net, CrossEntropy, SGD, graph::BatchLayout{64, 16}, true>;
    constexpr int nodes = [] {
        graph::Builder b;
        (void)Net::write(b);
        return b.size();
    }();
    static_assert(nodes >= NODES);
    static_assert(graph::Compiled<Source>::tables.memory.total > 0);
    return nodes;
}
int main() { return plan<LAYERS>() < 0; }
"""


def measure(command):
    """Runs the command: (seconds of processor time, peak MB of its largest process), or None if it fails."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(command, repeat):
    """The least seconds and the least memory of several runs, or None if the command fails."""
    runs = [measure(command) for _ in range(repeat)]
    return None if None in runs else tuple(min(figures) for figures in zip(*runs))


def subjects(work, networks):
    """(name, file, kind) of what is measured by default."""
    empty = work / "empty.cpp"
    empty.write_text("")
    yield "(an empty file)", empty, "header"
    for folder in sorted(path for path in (INCLUDE / "tenon").iterdir() if path.is_dir()):
        headers = sorted(folder.rglob("*.hpp"))
        if headers:
            file = work / f"{folder.name}.cpp"
            file.write_text("".join(f"#include <{header.relative_to(INCLUDE)}>\n" for header in headers))
            yield f"tenon/{folder.name}/ ({len(headers)})", file, "header"
    if (INCLUDE / "tenon/tenon.hpp").exists():
        file = work / "front_door.cpp"
        file.write_text("#include <tenon/tenon.hpp>\n")
        yield "tenon/tenon.hpp", file, "header"
    for example in sorted((ROOT / "examples").glob("*.cpp")):
        yield f"examples/{example.name}", example, "example"
    for nodes in networks:
        file = work / f"network_{nodes}.cpp"
        layers = max(1, math.ceil((nodes - 5) / 5))
        file.write_text(NETWORK.replace("NODES", str(nodes)).replace("LAYERS", str(layers)))
        yield f"network of {nodes} nodes", file, "network"


def cost(compiler, kind, file, work, repeat):
    """(seconds, MB, a star if the compiler's own limits are too low), or why there is none."""
    if kind not in COMPILERS[compiler]:
        return "-"
    flags = COMPILERS[compiler][kind]
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", *flags, str(file), "-o", str(work / "object.o")]
    figures, star = best(command, repeat), " "
    if figures is None and kind == "network":
        figures, star = best(command + NO_LIMIT[compiler], repeat), "*"
    return "does not compile" if figures is None else (*figures, star)


def print_growth(compilers, seconds):
    """How the time grows with a network, beside n log n."""
    for compiler in compilers:
        of = seconds.get(compiler, {})
        if len(of) > 1:
            small, large = min(of), max(of)
            allowed = large * math.log(large) / (small * math.log(small))
            print(f"{compiler}: from {small} to {large} nodes the time grows by a factor of "
                  f"{of[large] / of[small]:.1f}; n log n grows by {allowed:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--networks", type=int, nargs="*", default=[250, 500, 1000, 2000], metavar="NODES")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()

    compilers = [name for name in COMPILERS if shutil.which(name)]
    seconds = {}  # of networks: compiler, nodes
    print(f"{'':34}" + "".join(f"{name:>18} " for name in compilers))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        chosen = ([(str(file), file, "header" if file.suffix == ".hpp" else "example") for file in arguments.files]
                  or subjects(work, arguments.networks))
        for name, file, kind in chosen:
            print(f"{name:34}", end="", flush=True)
            for compiler in compilers:
                found = cost(compiler, kind, file, work, arguments.repeat)
                if isinstance(found, str):
                    print(f"{found:>18} ", end="", flush=True)
                    continue
                print(f"{found[0]:7.1f} s {found[1]:5.0f} MB{found[2]}", end="", flush=True)
                if kind == "network":
                    seconds.setdefault(compiler, {})[int(name.split()[2])] = found[0]
            print()
    print_growth(compilers, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
