"""What a figure depends on besides what it measures: the machine, its load, the build, the version of tenon."""

import json
import os
import pathlib
import platform
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Set by some systems for reproducible runs, they hold OpenBLAS to the kernels of another processor than this one. A
# peer is measured at its best, so the processes started here do not inherit them.
PINNING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def free_environment():
    """This process's environment without what would slow OpenBLAS down."""
    return {name: value for name, value in os.environ.items() if name not in PINNING}


def processor():
    """The processor's own name."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        return re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE).group(1)
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def vector_extensions():
    """What matters for arithmetic among the processor's features."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
    wanted = ("fma", "avx", "avx2", "avx512f", "asimd", "sve")
    return " ".join(name for name in wanted if flags and name in flags.group(1).split())


def version():
    """tenon's version, with the commit where the sources are a git repository."""
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    number = re.search(r"project\(tenon VERSION ([\d.]+)", lists).group(1)
    try:
        command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
        return f"{number}, {subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()}"
    except (OSError, subprocess.CalledProcessError):
        return number


def flags_of(program):
    """The compiler's flags for a program of a CMake build, by its compile_commands.json; warnings left out."""
    program = pathlib.Path(program).resolve()
    for folder in program.parents:
        if not (folder / "compile_commands.json").exists():
            continue
        source = ROOT / program.relative_to(folder).with_suffix(".cpp")
        for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
            if pathlib.Path(entry["file"]) == source:
                words = entry["command"].split()
                return " ".join(word for word in words if re.match(r"-(O|f|m|std=|g)", word))
    return "unknown flags"


def command_text(words):
    """A command line for a document: of paths the last part is left, where it does not matter on other machines."""
    return re.sub(r"(?<![\w.])(/[\w.+-]+)+/", ".../", shlex.join(words))


def describe(program):
    """Lines of Markdown about the machine and the build of `program`."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0
    busy = " **The machine was busy: these figures are not valid.**" if load > 0.5 else ""
    return [f"- Machine: {processor()}, {os.cpu_count()} cores ({vector_extensions()}), {platform.system()}; "
            f"load before the run {load:.1f}.{busy}",
            f"- tenon {version()}, `{flags_of(program)}`"]
