#!/usr/bin/env python3
"""Prints what tenon's headers and examples cost to compile: seconds and peak memory, for each compiler found here.

usage: compile_time.py [--repeat N] [FILE...]     (default: each folder of headers, the front door, the examples)

The first line is an empty file: what the compiler costs by itself. Headers are only checked (nvcc: compiled); examples are
compiled as the README says. Each figure is the best of N runs. The standard library of Python is all that this needs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# By compiler: how to check a header, how to compile an example.
COMPILERS = {
    "g++": (["-fsyntax-only"], ["-O3", "-march=native", "-c"]),
    "clang++": (["-fsyntax-only"], ["-O3", "-march=native", "-c"]),
    "nvcc": (["-x", "cu", "-c"], ["-O3", "-x", "cu", "-c"]),
}


def measure(command):
    """Runs the command: (seconds, peak MB of its largest process), or None if it fails."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        return None
    return time.monotonic() - start, usage.ru_maxrss / 1024


def subjects(work):
    """(name, file, is it an example?) of what is measured by default."""
    empty = work / "empty.cpp"
    empty.write_text("")
    yield "(an empty file)", empty, False
    for folder in sorted(path for path in (INCLUDE / "tenon").iterdir() if path.is_dir()):
        headers = sorted(folder.rglob("*.hpp"))
        if headers:
            file = work / f"{folder.name}.cpp"
            file.write_text("".join(f"#include <{header.relative_to(INCLUDE)}>\n" for header in headers))
            yield f"tenon/{folder.name}/ ({len(headers)})", file, False
    if (INCLUDE / "tenon/tenon.hpp").exists():
        file = work / "front_door.cpp"
        file.write_text("#include <tenon/tenon.hpp>\n")
        yield "tenon/tenon.hpp", file, False
    for example in sorted((ROOT / "examples").glob("*.cpp")):
        yield f"examples/{example.name}", example, True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()

    compilers = [name for name in COMPILERS if shutil.which(name)]
    print(f"{'':34}" + "".join(f"{name:>18}" for name in compilers))
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        chosen = [(str(file), file, file.suffix != ".hpp") for file in arguments.files] or subjects(work)
        for name, file, is_example in chosen:
            print(f"{name:34}", end="", flush=True)
            for compiler in compilers:
                flags = COMPILERS[compiler][1 if is_example else 0]
                command = [compiler, "-std=c++20", f"-I{INCLUDE}", *flags, str(file), "-o", str(work / "object.o")]
                runs = [measure(command) for _ in range(arguments.repeat)]
                if None in runs:
                    print(f"{'does not compile':>18}", end="", flush=True)
                else:
                    print(f"{min(run[0] for run in runs):7.1f} s {min(run[1] for run in runs):5.0f} MB", end="", flush=True)
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
