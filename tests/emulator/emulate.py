#!/usr/bin/env python3
"""Builds a CUDA program that runs on the CPU.

    emulate.py SOURCE... -o PROGRAM [--arch 90] [--mode plain|thread|address|checked] [--optimise 1] [--work FOLDER]
               [-- NVCC_FLAG...]

Sources are .cu and .cpp files, which nvcc compiles, or objects that it compiled (-no-compress, PTX inside). All that is
built goes to the work folder (default: PROGRAM.emulated); programs that name the same one share the runtime in it.
README.md beside this file says what is emulated, and which environment variables the program then reads."""

import argparse
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from translator import fatbin  # noqa: E402
from translator.emit import Emitter  # noqa: E402
from translator.parse import TranslationError, parse  # noqa: E402

MODES = ("plain", "thread", "address", "checked")
# ThreadSanitizer follows fibers in clang's runtime; g++ 12's loses their stacks.
THREAD_COMPILER = "clang++-19"


class BuildError(Exception):
    pass


def find_toolkit() -> Path:
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if not nvcc:
        raise BuildError("nvcc is not installed")
    return Path(nvcc).resolve().parent.parent


def run(command: list, verbose: bool):
    if verbose:
        print("+ " + shlex.join(map(str, command)), file=sys.stderr)
    result = subprocess.run(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if result.returncode:
        raise BuildError(f"{shlex.join(map(str, command))}\n{result.stdout}")
    if result.stdout.strip():
        sys.stderr.write(result.stdout)


def processor_flags() -> list:
    """A fused multiply-add is one instruction where the compiler may use it, and a slow function elsewhere."""
    try:
        flags = set(re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    except (OSError, TypeError):
        return []
    return ["-mfma", "-mavx2"] if {"fma", "avx2"} <= flags else []


def numeric_flags() -> list:
    return [
        "-std=c++20",
        "-g",
        "-fno-strict-aliasing",
        "-fno-math-errno",
        "-ffp-contract=off",
        "-fwrapv",
        *processor_flags(),
    ]


class Build:
    def __init__(self, options):
        self.options = options
        self.toolkit = find_toolkit()
        self.output = Path(options.output).absolute()
        self.work = Path(options.work or f"{self.output}.emulated").absolute()
        self.compiler = os.environ.get("CXX", "g++")
        if "clang" not in self.compiler and not shutil.which(self.compiler):
            raise BuildError(f"{self.compiler} is not installed")
        if options.mode == "thread" and not shutil.which(THREAD_COMPILER):
            raise BuildError(f"mode thread needs {THREAD_COMPILER}, which is not installed")

    # ---- the runtime: compiled once for a work folder, never instrumented

    def runtime(self) -> Path:
        checked = self.options.mode == "checked"
        folder = self.work / "runtime"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another build of the same folder may be at it
            headers = sorted(HERE.glob("*/*.hpp"))
            version = hashlib.sha256(b"".join(h.read_bytes() for h in headers)).hexdigest()
            jobs = []
            objects = []
            for source in sorted([*HERE.glob("execution/*.cpp"), *HERE.glob("cudart/*.cpp")]):
                variant = "checked" if checked and source.parent.name == "execution" else "plain"
                target = folder / variant / f"{source.parent.name}_{source.stem}.o"
                objects.append(target)
                stamp = target.with_suffix(".stamp")
                current = hashlib.sha256(source.read_bytes()).hexdigest() + version
                if not target.exists() or not stamp.exists() or stamp.read_text() != current:
                    jobs.append((source, target, stamp, current, variant))
            with ThreadPoolExecutor(self.options.jobs) as pool:
                list(pool.map(lambda job: self.compile_runtime(*job), jobs))
            archive = folder / ("checked.a" if checked else "plain.a")
            if jobs or not archive.exists():
                archive.unlink(missing_ok=True)
                run(["ar", "rcs", archive, *objects], self.options.verbose)
            return archive

    def compile_runtime(self, source: Path, target: Path, stamp: Path, current: str, variant: str):
        target.parent.mkdir(exist_ok=True)
        run(
            [
                self.compiler,
                *numeric_flags(),
                "-O2",
                "-Wall",
                "-Wextra",
                *(["-DEMU_CHECKED"] if variant == "checked" else []),
                *(["-frounding-math"] if source.stem == "directed" else []),
                "-I",
                HERE,
                "-isystem",
                self.toolkit / "include",
                "-c",
                source,
                "-o",
                target,
            ],
            self.options.verbose,
        )
        stamp.write_text(current)

    # ---- the program

    def program(self):
        folder = self.work / self.output.name
        folder.mkdir(parents=True, exist_ok=True)
        runtime = self.runtime()
        sources = [Path(source).absolute() for source in self.options.sources]
        names = [f"{i}_{source.stem}" for i, source in enumerate(sources)]
        with ThreadPoolExecutor(self.options.jobs) as pool:
            parts = list(pool.map(lambda pair: self.compile_source(folder, *pair), zip(sources, names)))
        objects = [path for part in parts for path in part]
        compiler, flags = self.kernel_compiler()
        self.output.parent.mkdir(parents=True, exist_ok=True)
        run(
            [compiler, *flags, *objects, runtime, "-o", self.output, "-lpthread", "-ldl", *self.options.link],
            self.options.verbose,
        )

    def compile_source(self, folder: Path, source: Path, name: str) -> list:
        if source.suffix in (".o", ".a"):
            host = source
        else:
            host = folder / f"{name}.o"
            arch = self.options.arch
            run(
                [
                    self.toolkit / "bin" / "nvcc",
                    f"-std={self.options.std}",
                    "-gencode",
                    f"arch=compute_{arch},code=compute_{arch}",
                    "-no-compress",
                    "-lineinfo",
                    "-ccbin",
                    self.compiler,
                    *self.options.nvcc,
                    "-c",
                    source,
                    "-o",
                    host,
                ],
                self.options.verbose,
            )
        return [host] + self.translate(folder, host, name)

    def translate(self, folder: Path, host: Path, name: str) -> list:
        if host.suffix == ".a":
            return []
        texts = fatbin.ptx_entries(fatbin.section(host.read_bytes(), ".nv_fatbin"))
        wanted = [text for text in texts if re.search(rb"\.target sm_%d\b" % self.options.arch, text)] or texts[-1:]
        objects = []
        compiler, flags = self.kernel_compiler()
        for i, text in enumerate(wanted):
            stem = folder / f"{name}_{i}"
            stem.with_suffix(".ptx").write_bytes(text)
            try:
                code = Emitter(parse(text.decode()), fatbin.fingerprint(text), name).write()
            except TranslationError as error:
                raise BuildError(f"{stem}.ptx: {error}") from error
            if "Kernel const kernels[] = {{}};" in code and "Variable const variables[] = {{}};" in code:
                continue
            stem.with_suffix(".cpp").write_text(code)
            run(
                [
                    compiler,
                    *flags,
                    "-w",
                    f"-O{self.options.optimise}",
                    "-I",
                    HERE,
                    "-c",
                    stem.with_suffix(".cpp"),
                    "-o",
                    f"{stem}.kernels.o",
                ],
                self.options.verbose,
            )
            objects.append(f"{stem}.kernels.o")
        return objects

    def kernel_compiler(self) -> tuple:
        flags = {
            "plain": [],
            "thread": ["-fsanitize=thread"],
            "address": ["-fsanitize=address"],
            "checked": ["-DEMU_CHECKED"],
        }
        compiler = THREAD_COMPILER if self.options.mode == "thread" else self.compiler
        return compiler, [*numeric_flags(), *flags[self.options.mode]]


def parse_arguments(arguments: list):
    nvcc = []
    if "--" in arguments:
        split = arguments.index("--")
        arguments, nvcc = arguments[:split], arguments[split + 1 :]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sources", nargs="+", help=".cu and .cpp files, objects compiled by nvcc, archives of host code"
    )
    parser.add_argument("-o", "--output", required=True, help="the program")
    parser.add_argument(
        "--arch", type=int, default=90, help="compute capability of the device code: 75, 80, 86, 89, 90, 100, 120"
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="plain",
        help="plain: fastest; checked: every access checked; thread, address: under the sanitizer of that name",
    )
    parser.add_argument("--optimise", type=int, default=1, choices=(0, 1, 2, 3), help="of the translated kernels")
    parser.add_argument("--std", default="c++20")
    parser.add_argument("--work", help="folder for what is built on the way")
    parser.add_argument("--link", action="append", default=[], help="a flag for the linker; may be given again")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print each command")
    options = parser.parse_args(arguments)
    options.nvcc = nvcc
    return options


def main(arguments: list) -> int:
    try:
        Build(parse_arguments(arguments)).program()
    except (BuildError, fatbin.FatbinError) as error:
        print(f"emulate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
