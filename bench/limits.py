#!/usr/bin/env python3
"""Runs Google Benchmark programs that report shares of the machine's limits, for one Markdown table. Builds nothing.

    bench/limits.py                          the expressions and the kernels, as the preset 'bench' built them
    bench/limits.py build/bench/bench/expressions --repetitions 5

A share is a counter named of_<limit>: of_peak or peak (multiply-adds of one core), of_copy and of_read (the best
copying or reading loop), of_openblas. Expressions are measured beside their limits, in turn; kernels beside the peak
that their program found when it began. The table holds the best rate of the repetitions, since other programs can only
slow a loop down, and the median of the shares.
"""

import argparse
import collections
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import machine  # noqa: E402

BUILT = machine.ROOT / "build/bench/bench"
RATES = {"FLOP/s": "GFLOP/s", "bytes/s": "GB/s"}  # counters and how they are shown
# (benchmark, share, goal): the first entry that matches counts. Work that also writes is held against copying.
GOALS = [
    (r"chain_of_6", "of_copy", 0.95),
    (r"softmax_rows|normalise_rows", "of_copy", 0.90),
    (r"logsumexp_rows|sum_of_all|row_statistics", "of_read", 0.90),
    (r"square_product", "of_openblas", 0.90),
    (r"LeNet/conv2/forward/64", "of_peak", 0.88),
    (r"LeNet/conv2/weight_gradient/64", "of_peak", 0.80),
    (r"LeNet/conv2/input_gradient/64", "of_peak", 0.85),
    (r"LeNet/conv1/.*/64", "of_peak", 0.80),
]


def run(program, options):
    """What a program's benchmarks found: name: {counter: value}."""
    command = [program, "--benchmark_format=json", f"--benchmark_repetitions={options.repetitions}",
               f"--benchmark_min_time={options.seconds}", f"--benchmark_filter={options.filter}"]
    done = subprocess.run(command, env=machine.free_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))} failed with exit status {done.returncode}")
    measured = json.loads(done.stdout)["benchmarks"] if done.stdout else []  # nothing passes the filter
    repetitions = collections.defaultdict(list)
    for entry in measured:
        if entry["run_type"] == "iteration":
            renamed = {"of_peak" if key == "peak" else key: value for key, value in entry.items()}
            repetitions[entry["name"].removesuffix("/manual_time")].append(renamed)
    return {name: summary(entries) for name, entries in repetitions.items()}


def summary(entries):
    found = {"label": entries[0].get("label", "")}
    for key in entries[0]:
        values = [entry[key] for entry in entries]
        if key in RATES:
            found[key] = max(values)
        elif key.startswith("of_"):
            found[key] = statistics.median(values)
    return found


def goal_of(name):
    return next(((share, goal) for pattern, share, goal in GOALS if re.search(pattern, name)), (None, None))


def row(name, entry):
    rates = [f"{1e-9 * entry[counter]:.1f} {unit}" for counter, unit in RATES.items() if counter in entry]
    shares = [f"{100 * entry[key]:.0f} % of {key.removeprefix('of_')}" for key in entry if key.startswith("of_")]
    share, goal = goal_of(name)
    wanted = f">= {100 * goal:.0f} % of {share.removeprefix('of_')}" if share in entry else ""
    reached = ("yes" if entry[share] >= goal else "no") if wanted else ""
    return [name, ", ".join(rates), ", ".join(shares), entry["label"], wanted, reached]


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--filter", default=".", metavar="REGEX", help="which benchmarks")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each benchmark in each repetition (default 0.5)")
    options = parser.parse_args()
    options.programs = options.programs or [BUILT / "expressions", BUILT / "cpu/kernels"]
    for program in options.programs:
        if not program.exists():
            parser.error(f"there is no {program}: cmake --workflow --preset bench builds it")
    return options


def main():
    options = parse_options()
    print("\n".join(machine.describe(options.programs[0])))
    command = machine.command_text(["bench/limits.py", *sys.argv[1:]])
    print(f"- Command: `{command}`; one thread, {options.repetitions} repetitions.\n")
    print("| benchmark | rate | share | limit | goal | reached |\n|---|---|---|---|---|---|")
    for program in options.programs:
        for name, entry in run(program, options).items():
            print("| " + " | ".join(row(name, entry)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
