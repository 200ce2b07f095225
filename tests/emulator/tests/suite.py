#!/usr/bin/env python3
"""Runs the emulator's own tests for one compute capability: good programs in every mode and order, and planted bugs,
each of which must be found in the way that the table below says.

    suite.py --arch 90 --work FOLDER [--modes plain,checked,address,thread] [--only NAME]"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
EMULATE = HERE.parent / "emulate.py"
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
SKIPPED = 77  # what ctest takes for "not run here"

ORDERS = ("asc", "desc", "rand:1", "rand:2")
ALL = ("plain", "checked", "address", "thread")


@dataclass
class Program:
    sources: tuple
    modes: tuple
    arguments: dict = field(default_factory=dict)  # by mode
    environments: tuple = ({},)


GOOD = {
    "integer": Program(("integer.cu",), ("plain",)),
    "floating": Program(("floating.cu",), ("plain",)),
    "warp": Program(("warp.cu",), ALL),
    "matrix": Program(("matrix.cu",), ALL),
    "memory": Program(("memory.cu",), ALL),
    "cub": Program(("cub.cu",), ("plain", "checked")),
    "patterns": Program(("patterns.cu",), ALL, {"thread": ["strict"]}),
    "two_files": Program(("two_files.cu", "two_files_other.cu"), ("plain", "checked")),
    "runtime": Program(("runtime.cu",), ("plain", "checked"), environments=({}, {"EMU_STREAMS": "lazy"})),
    "graphs": Program(("graphs.cu",), ("plain", "checked"), environments=({}, {"EMU_STREAMS": "lazy"})),
    "bugs": Program(("bugs.cu",), ALL, environments=({}, {"EMU_STREAMS": "lazy"})),
}

WRONG = r"[1-9]\d* failed"  # the program itself sees that its result is wrong
RACE = "WARNING: ThreadSanitizer: data race"
ASAN = "ERROR: AddressSanitizer"

# bug, mode, environment, what the output must hold, least compute capability
BUGS = [
    ("no_barrier", "plain", {}, WRONG, 75),
    ("no_barrier", "checked", {}, r"race: this thread .* array .*reverse<true>.*tile", 75),
    ("no_barrier", "checked", {"EMU_RACES": "allow"}, WRONG, 75),
    ("no_barrier", "thread", {}, RACE, 75),
    ("no_second_barrier", "plain", {}, WRONG, 75),
    ("no_second_barrier", "checked", {"EMU_ORDER": "rand:3"}, "race: this thread", 75),
    ("no_second_barrier", "thread", {}, RACE, 75),
    ("no_syncwarp", "plain", {}, WRONG, 75),
    ("no_syncwarp", "checked", {}, "race: this thread", 75),
    ("no_syncwarp", "thread", {}, RACE, 75),
    ("barrier_in_branch", "plain", {}, "divergent __syncthreads", 75),
    ("barrier_in_branch", "plain", {"EMU_ORDER": "desc"}, "divergent __syncthreads", 75),
    ("early_return", "plain", {}, "returns while 50 threads wait at __syncthreads", 75),
    ("early_return", "plain", {"EMU_ORDER": "desc"}, "__syncthreads after 14 threads of the block have returned", 75),
    ("mask_of_absent_lanes", "plain", {}, "this lane returns, and other lanes of its warp wait for it|deadlock", 75),
    ("mask_without_itself", "plain", {}, "the mask does not name the lane that executes it", 75),
    ("read_outside_mask", "plain", {}, "reads lane 20, which the mask does not name", 75),
    (
        "global_index",
        "checked",
        {},
        r"byte 400 of allocation \d+ \(400 bytes\), past its end[\s\S]*global_index<true>"
        r"[\s\S]*thread \(36,0,0\)[\s\S]*bug_kernels\.cuh:\d+",
        75,
    ),
    ("global_index", "address", {}, ASAN, 75),
    ("shared_read", "plain", {}, WRONG, 75),
    ("shared_read", "checked", {}, "byte 256 of the shared array .* past its end", 75),
    ("shared_read", "address", {}, ASAN, 75),
    ("shared_write", "plain", {}, "a store 0 bytes past the end of the shared array", 75),
    ("shared_write", "checked", {}, "byte 256 of the shared array .* past its end", 75),
    ("shared_write", "address", {}, ASAN, 75),
    ("dynamic_index", "plain", {}, r"byte 256 of dynamic shared memory \(256 bytes\): past the end", 75),
    ("misaligned", "plain", {}, "an access of 16 bytes at an address that is no multiple of 16", 75),
    ("null_pointer", "plain", {}, r"memory fault at address 0\s+kernel .*store", 75),
    ("null_pointer", "checked", {}, "4 bytes at address 0: no allocation is there", 75),
    ("host_pointer", "checked", {}, "a pointer to host memory", 75),
    ("host_touches_device", "checked", {}, "host code touches device memory", 75),
    ("plain_add_in_block", "checked", {}, "race: this thread", 75),
    ("plain_add_in_block", "thread", {}, RACE, 75),
    ("plain_add_between_blocks", "checked", {}, "race between blocks", 75),
    ("plain_add_between_blocks", "thread", {}, RACE, 75),
    ("unwritten_shared", "plain", {}, WRONG, 75),
    (
        "unwritten_shared",
        "checked",
        {"EMU_UNWRITTEN": "report"},
        "shared memory that no thread of the block has written: byte 20 of",
        75,
    ),
    ("unwritten_global", "plain", {}, WRONG, 75),
    ("copy_without_wait", "plain", {}, WRONG, 80),
    ("copy_without_wait", "checked", {}, "a cp.async is still on its way to", 80),
    ("read_before_copy", "plain", {"EMU_STREAMS": "lazy"}, WRONG, 75),
    ("missing_event", "plain", {"EMU_STREAMS": "lazy"}, WRONG, 75),
    ("use_after_free", "plain", {}, WRONG, 75),
    ("use_after_free", "plain", {"EMU_STREAMS": "lazy"}, WRONG, 75),
    ("use_after_free", "checked", {}, "was freed by cudaFreeAsync", 75),
    ("use_after_free", "address", {}, ASAN, 75),
    ("assert", "plain", {}, r"assertion failed: what != 1 .*bug_kernels\.cuh:\d+[\s\S]*thread \(3,0,0\)", 75),
    ("assert", "plain", {"EMU_ON_FAULT": "error"}, "error cudaErrorAssert, then cudaErrorAssert", 75),
    ("trap", "plain", {}, r"trap\s+kernel .*fails[\s\S]*thread \(2,0,0\)", 75),
    ("trap", "plain", {"EMU_ON_FAULT": "error"}, "error cudaErrorLaunchFailure", 75),
    ("endless_wait", "plain", {}, "threads wait in a loop, and nothing else happens", 75),
]

# What a program sees of the machine: environment, what `bugs machine` must print.
MACHINES = [
    (
        {},
        r"1 devices, cudaSuccess[\s\S]*cudaMalloc of 1 MiB: cudaSuccess\s+launch: cudaSuccess\s+"
        r"peer: cudaErrorInvalidDevice",
    ),
    (
        {"EMU_DEVICES": "0"},
        r"0 devices, cudaErrorNoDevice: no CUDA-capable device is detected\s+cudaMalloc of 1 MiB: cudaErrorNoDevice",
    ),
    ({"CUDA_VISIBLE_DEVICES": ""}, "0 devices, cudaErrorNoDevice"),
    ({"EMU_DEVICES": "4", "CUDA_VISIBLE_DEVICES": "2,0,9,1"}, r"2 devices, cudaSuccess[\s\S]*peer: cudaSuccess 1"),
    ({"EMU_DRIVER": "none"}, r"0 devices, cudaErrorInsufficientDriver: CUDA driver version is insufficient"),
    ({"EMU_DRIVER": "12040"}, "0 devices, cudaErrorInsufficientDriver"),
    ({"EMU_ARCH": "70"}, "launch: cudaErrorNoKernelImageForDevice"),
    ({"EMU_MEMORY": "512K"}, "cudaMalloc of 1 MiB: cudaErrorMemoryAllocation"),
    ({"EMU_ORDER": "sideways"}, "EMU_ORDER=sideways: expected asc, desc or rand:N"),
]


class Suite:
    def __init__(self, options):
        self.options = options
        self.modes = options.modes.split(",")
        self.work = Path(options.work).absolute()
        self.passed = self.failed = self.skipped = 0

    def report(self, good: bool, what: str, output: str = ""):
        self.passed += good
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}", flush=True)
        if not good:
            print("\n".join(output.splitlines()[-40:]), flush=True)

    def objects(self, name: str) -> list:
        """nvcc's work, shared by all modes."""
        folder = self.work / f"sm_{self.options.arch}"
        folder.mkdir(parents=True, exist_ok=True)
        made = []
        for source in GOOD[name].sources:
            target = folder / f"{Path(source).stem}.o"
            arch = f"arch=compute_{self.options.arch},code=compute_{self.options.arch}"
            subprocess.run(
                [
                    NVCC,
                    "-std=c++20",
                    "-gencode",
                    arch,
                    "-no-compress",
                    "-lineinfo",
                    f"-DTEST_ARCH={self.options.arch}",
                    "-c",
                    HERE / source,
                    "-o",
                    target,
                ],
                check=True,
            )
            made.append(target)
        return made

    def build(self, name: str, mode: str, objects: list) -> Path:
        program = self.work / f"sm_{self.options.arch}" / f"{name}_{mode}"
        subprocess.run(
            [
                sys.executable,
                EMULATE,
                *objects,
                "-o",
                program,
                "--mode",
                mode,
                "--arch",
                str(self.options.arch),
                "--work",
                self.work / "emulated",
                "--jobs",
                str(os.cpu_count() or 1),
            ],
            check=True,
        )
        return program

    @staticmethod
    def run(program: Path, arguments: list, environment: dict) -> tuple:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("EMU_") and k != "CUDA_VISIBLE_DEVICES"}
        try:
            result = subprocess.run(
                [program, *arguments],
                env={**clean, **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=300,
            )
        except subprocess.TimeoutExpired:
            return -1, "timed out"
        return result.returncode, result.stdout

    def good_program(self, name: str, mode: str, program: Path):
        for environment in GOOD[name].environments:
            for order in ORDERS:
                code, output = self.run(
                    program, GOOD[name].arguments.get(mode, []), {**environment, "EMU_ORDER": order}
                )
                shown = " ".join(f"{k}={v}" for k, v in environment.items())
                complaint = re.search("tenon emulator: ERROR|Sanitizer", output)
                self.report(code == 0 and not complaint, f"{name} {mode} {order} {shown}".rstrip(), output)

    def bug(self, name: str, mode: str, environment: dict, pattern: str, program: Path):
        code, output = self.run(program, [name], environment)
        shown = " ".join(f"{k}={v}" for k, v in environment.items())
        self.report(
            code != 0 and re.search(pattern, output) is not None, f"finds {name}, {mode} {shown}".rstrip(), output
        )

    def program(self, name: str):
        objects = self.objects(name)
        for mode in [mode for mode in GOOD[name].modes if mode in self.modes]:
            built = self.build(name, mode, objects)
            self.good_program(name, mode, built)
            if name == "bugs":
                self.all_bugs(mode, built)

    def all_bugs(self, mode: str, built: Path):
        for bug, bug_mode, environment, pattern, least in BUGS:
            if bug_mode == mode and self.options.arch >= least:
                self.bug(bug, mode, environment, pattern, built)
        for environment, pattern in MACHINES if mode == "plain" else []:
            _, output = self.run(built, ["machine"], environment)
            self.report(re.search(pattern, output) is not None, f"machine {environment}", output)

    def everything(self) -> int:
        if "thread" in self.modes and not shutil.which("clang++-19"):
            print("skipped: ThreadSanitizer (clang++-19 is not installed)")
            self.skipped += 1
            self.modes.remove("thread")
        for name in [self.options.only] if self.options.only else GOOD:
            try:
                self.program(name)
            except subprocess.CalledProcessError as error:
                self.report(False, f"{name} does not build", str(error))
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return self.failed != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--work", required=True)
    parser.add_argument("--modes", default=",".join(ALL))
    parser.add_argument("--only", choices=GOOD)
    options = parser.parse_args()
    if not NVCC:
        print("skipped: nvcc is not installed")
        return SKIPPED
    return Suite(options).everything()


if __name__ == "__main__":
    sys.exit(main())
