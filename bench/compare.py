#!/usr/bin/env python3
"""tenon beside PyTorch: LeNet's training step, inference and the whole training, as Markdown tables. Builds nothing.

    bench/compare.py                                   beside the PyTorch of this python
    bench/compare.py --pytorch /usr/bin/python3 --pytorch venv/bin/python --compile --jobs train inference whole

A --pytorch is a command line: assignments to environment variables, then an interpreter, such as
"LD_LIBRARY_PATH=/opt/openblas /usr/bin/python3". Both sides take turns, --rounds times, in a process of their own each
time; a figure is the median over the rounds of each round's median. "PyTorch's best" is its fastest configuration for
that figure, over all interpreters, numbers of threads and, with --compile, eager and compiled.
"""

import argparse
import collections
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
import machine  # noqa: E402

PYTORCH_SCRIPT = machine.ROOT / "bench/pytorch/lenet_pytorch.py"
TENON = "tenon"
MEGAFLOP = {"train": 13.18, "inference": 4.586}  # an image of LeNet costs: forward 4.586, backward 8.596

# What tenon should reach in a job at a batch with that many threads (None: with the number that suits it best, as its
# peers may choose theirs). `share`: of the machine's peak; `ahead`: of PyTorch's best, as a factor of time; `gain`: over
# one thread. The reference machine's peak is 225 GFLOP/s a core.
Goal = collections.namedtuple("Goal", "job batch threads kind bound text")
GOALS = [
    Goal("train", 4, 1, "seconds", 0.42e-3, "<= 0.42 ms on the reference machine"),
    Goal("train", 4, 1, "share", 0.55, ">= 55 % of peak"),
    Goal("train", 4, 1, "ahead", 3.5, ">= 3.5 x"),
    Goal("train", 4, 2, "ahead", 6, ">= 6 x"),
    *[goal for batch in (64, 256) for goal in (
        Goal("train", batch, 1, "rate", 12_000, ">= 12,000 images/s on the reference machine"),
        Goal("train", batch, 1, "share", 0.70, ">= 70 % of peak"),
        Goal("train", batch, 2, "gain", 1.8, ">= 1.8 x"),
        Goal("train", batch, 2, "ahead", 3, ">= 3 x"))],
    Goal("inference", 1, None, "ahead", 4, ">= 4 x"),
    Goal("whole", 4, 2, "seconds", 10, "<= 10 s on the reference machine"),
    Goal("whole", 4, 2, "ahead", 5, ">= 5 x"),
]
GOAL_NAMES = {"seconds": "time", "rate": "images/s", "share": "share of peak", "ahead": "times PyTorch's best",
              "gain": "times one thread"}
JOB_NAMES = {"train": "training step", "inference": "inference", "whole": "the whole job"}


class Results:
    """Seconds by configuration and figure, a value for each round."""

    def __init__(self):
        self.seconds = collections.defaultdict(list)  # (configuration, threads, job, batch)
        self.about = {}  # configuration: what its lines say, the first one where they differ
        self.lines = []

    def add(self, configuration, line):
        key = (configuration, line["threads"], line["job"], line["batch"])
        self.seconds[key].append(line["seconds"] if line["job"] == "whole" else 1e-6 * line["median_us"])
        self.about[configuration] = {**line, **self.about.get(configuration, {})}
        self.lines.append({"configuration": configuration, **line})

    def median(self, *key):
        return statistics.median(self.seconds[key]) if key in self.seconds else None

    def figures(self):
        """(job, batch) in the order in which they came."""
        return list(dict.fromkeys((job, batch) for _, _, job, batch in self.seconds))

    def columns(self):
        """(configuration, threads), the configurations in the order in which they came: tenon first."""
        order = list(self.about)
        return sorted({key[:2] for key in self.seconds}, key=lambda column: (order.index(column[0]), column[1]))

    def best_peer(self, job, batch):
        """(seconds, configuration, threads) of the fastest peer."""
        found = [(self.median(*column, job, batch), *column) for column in self.columns()
                 if column[0] != TENON and (*column, job, batch) in self.seconds]
        return min(found) if found else None

    def best_threads(self, job, batch):
        """With how many threads tenon is fastest; None if that was not measured."""
        found = [(self.median(*column, job, batch), column[1]) for column in self.columns()
                 if column[0] == TENON and (*column, job, batch) in self.seconds]
        return min(found)[1] if found else None

    def spread(self):
        """The largest distance of a round's figure from the median over the rounds, as a share of it."""
        return max((abs(value / statistics.median(values) - 1)
                    for values in self.seconds.values() for value in values), default=0)

    def peak(self):
        """FLOP/s of one core, the best of all rounds."""
        return max((1e9 * line["peak_gflops"] for line in self.lines if line["configuration"] == TENON),
                   default=math.nan)


def run(command, environment, configuration_of, results):
    """Runs one side once and adds its lines."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{shlex.join(map(str, command))} failed with exit status {done.returncode}")
    for text in done.stdout.splitlines():
        line = json.loads(text)
        results.add(configuration_of(line), line)


def split_command(text):
    """Environment variables and the command of a --pytorch."""
    words = shlex.split(text)
    assigned = {}
    while words and "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        assigned[name] = value
    if not words:
        raise SystemExit(f"--pytorch '{text}' names no interpreter")
    return assigned, words


def name_of_peer(line):
    mode = "" if line["mode"] == "eager" else f" {line['mode']}d"
    return f"PyTorch {line['torch'].split('+')[0]}{mode}"


def has_compile(peer):
    """torch.compile came with PyTorch 2."""
    assigned, words = split_command(peer)
    probe = subprocess.run([*words, "-c", "import torch; print(hasattr(torch, 'compile'))"], text=True,
                           env={**machine.free_environment(), **assigned}, stdout=subprocess.PIPE, check=False)
    if probe.returncode != 0:
        raise SystemExit(f"'{peer}' does not find PyTorch")
    return "True" in probe.stdout


def measure(options):
    results = Results()
    free = machine.free_environment()
    peers = [(peer, compiled) for peer in options.pytorch
             for compiled in ([False, True] if options.compile and has_compile(peer) else [False])]
    calls = [job for job in options.jobs if job != "whole"]
    data = ["--data", options.data] if options.data else []
    rounds = [(calls, options.rounds)] if calls else []
    rounds += [(["whole"], options.whole_rounds)] if "whole" in options.jobs else []
    for jobs, count in rounds:
        for number in range(count):
            print(f"{', '.join(jobs)}: round {number + 1} of {count}", file=sys.stderr, flush=True)
            for threads in map(str, options.threads):
                common = ["--jobs", *jobs, "--threads", threads, "--rounds", "1", "--seconds", str(options.seconds),
                          "--batches", *map(str, options.batches), *data]
                run([options.tenon, *common], free, lambda _: TENON, results)
                for peer, compiled in peers:
                    assigned, words = split_command(peer)
                    run([*words, str(PYTORCH_SCRIPT), *common, *(["--compile"] if compiled else [])],
                        {**free, **assigned}, name_of_peer, results)
    return results


def time_text(seconds):
    if seconds is None:
        return "-"
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} us"


def threads_text(threads):
    return "1 thread" if threads == 1 else f"{threads} threads"


def accuracy_text(line):
    return f"test accuracy {100 * line['accuracy']:.1f} % after the whole job"


def figure_name(job, batch):
    return f"{JOB_NAMES[job]}, batch {batch}"


def table(header, rows):
    yield "| " + " | ".join(header) + " |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def table_of_times(results):
    columns = results.columns()
    rows = []
    for figure in results.figures():
        best = results.best_peer(*figure)
        mine = [results.median(*column, *figure) for column in columns if column[0] == TENON]
        mine = min((seconds for seconds in mine if seconds is not None), default=None)
        ahead = f"{best[0] / mine:.1f} x" if best and mine else "-"
        rows.append([figure_name(*figure), *(time_text(results.median(*column, *figure)) for column in columns),
                     ahead])
    header = ["", *(f"{name}, {threads_text(threads)}" for name, threads in columns), "PyTorch's best / tenon's best"]
    yield from table(header, rows)


def value_of(goal, results):
    """What was measured for a goal; None if it was not measured."""
    mine = results.median(TENON, goal.threads, goal.job, goal.batch)
    if mine is None:
        return None
    if goal.kind == "seconds":
        return mine
    if goal.kind == "rate":
        return goal.batch / mine
    if goal.kind == "share":
        return goal.batch * 1e6 * MEGAFLOP[goal.job] / mine / (goal.threads * results.peak())
    if goal.kind == "ahead":
        best = results.best_peer(goal.job, goal.batch)
        return best[0] / mine if best else None
    one = results.median(TENON, 1, goal.job, goal.batch)
    return one / mine if one else None


def value_text(kind, value):
    if kind == "seconds":
        return time_text(value)
    return f"{value:,.0f}" if kind == "rate" else f"{100 * value:.0f} %" if kind == "share" else f"{value:.1f} x"


def table_of_goals(results):
    rows = []
    for goal in GOALS:
        if goal.threads is None:
            goal = goal._replace(threads=results.best_threads(goal.job, goal.batch))
        value = value_of(goal, results)
        if value is None:
            continue
        met = value <= goal.bound if goal.kind == "seconds" else value >= goal.bound
        best = results.best_peer(goal.job, goal.batch) if goal.kind == "ahead" else None
        beside = f" ({best[1]}, {threads_text(best[2])}: {time_text(best[0])})" if best else ""
        rows.append([f"{figure_name(goal.job, goal.batch)}, {threads_text(goal.threads)}",
                     GOAL_NAMES[goal.kind] + beside, value_text(goal.kind, value), goal.text, "yes" if met else "no"])
    yield from table(["", "figure", "found", "goal", "reached"], rows)


def report(options, about_machine, results):
    yield from about_machine
    if TENON in results.about:
        line = results.about[TENON]
        yield (f"- Compiler: {line['compiler']}, {line['vector_bits']}-bit vectors. One core: "
               f"{1e-9 * results.peak():.0f} GFLOP/s of multiply-adds, {line['copy_gb_per_s']:.1f} GB/s of copying "
               "(read and written).")
    for name, line in results.about.items():
        if name != TENON:
            accuracy = f"; {accuracy_text(line)}" if "accuracy" in line else ""
            yield (f"- {name} ({line['torch']}): 512 x 512 matrix product {line['matrix_product_gflops']:.0f} GFLOP/s "
                   f"on one thread{accuracy}")
        elif "accuracy" in line:
            yield f"- tenon: {accuracy_text(line)}"
    yield f"- Medians over the rounds; the round farthest from its median was {100 * results.spread():.0f} % away."
    yield f"- Command: `{options.command}`"
    yield ""
    yield from table_of_times(results)
    yield ""
    yield from table_of_goals(results)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", default=machine.ROOT / "build/bench/bench/lenet", metavar="PROGRAM",
                        help="bench/lenet as built (default: by the preset 'bench')")
    parser.add_argument("--pytorch", action="append", metavar="COMMAND",
                        help="an interpreter that has PyTorch; may be repeated")
    parser.add_argument("--compile", action="store_true", help="torch.compile as well, where there is such a thing")
    parser.add_argument("--jobs", nargs="+", choices=JOB_NAMES, default=["train", "inference"])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 4, 64, 256], help="of the training step")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="(default: 1 2)")
    parser.add_argument("--data", metavar="FOLDER", help="Fashion-MNIST's IDX files, or 'random'")
    parser.add_argument("--rounds", type=int, default=5, help="how often both sides take turns (default 5)")
    parser.add_argument("--whole-rounds", type=int, default=1, help="the same for the whole job (default 1)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement in each round (default 0.5)")
    parser.add_argument("--output", type=pathlib.Path, default=machine.ROOT / "build/compare.md", metavar="FILE",
                        help="where the tables go besides the terminal; FILE.jsonl gets every line measured")
    options = parser.parse_args()
    options.pytorch = options.pytorch or [shlex.quote(sys.executable)]
    options.command = machine.command_text(["bench/compare.py", *sys.argv[1:]])
    if not pathlib.Path(options.tenon).exists():
        parser.error(f"there is no {options.tenon}: cmake --workflow --preset bench builds it, or name it with --tenon")
    return options


def main():
    options = parse_options()
    about_machine = machine.describe(options.tenon)
    results = measure(options)
    text = "\n".join(report(options, about_machine, results)) + "\n"
    print(text, end="")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(line) + "\n" for line in results.lines)
    pathlib.Path(f"{options.output}.jsonl").write_text(lines, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
