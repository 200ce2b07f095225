"""Prints what `nvcc -Xptxas -v` says of a training step's kernels (standard input, names demangled) as a table: a kernel's jobs, each with
the shape of its result. Fails on spills and stack frames, and if there is no kernel."""
import re
import sys

PLAIN = {"ElementJob", "SumJob"}  # whose first argument of a class type says what they compute
# Of a TileJob its operands say it: the first of these that is found.
PRODUCTS = {
    "Reversed<": "convolution input gradient",
    "Positions<": "convolution input gradient, folded",
    "Taps<": "convolution weight gradient",
    "Patches<": "convolution",
}


def arguments(text: str) -> list:
    """The template arguments of a name that begins at its '<'."""
    found, depth, begin = [], 0, 1
    for i, c in enumerate(text):
        depth += c in "<(" 
        depth -= c in ">)"
        if c == "," and depth == 1 or depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
        if depth == 0:
            break
    return found


def job_name(job: str) -> str:
    if job.find("TileJob<") >= 0:
        names = [name for operand, name in PRODUCTS.items() if operand in job] or ["product"]
    else:
        names = [name for name in re.findall(r"(\w+)<", job) if name not in PLAIN]
    shape = re.search(r"Extents<([^>]*)>", job)
    return names[0] + (" [" + ", ".join(re.findall(r"\d+", shape[1])) + "]" if shape else "")


def kernel_name(symbol: str) -> str:
    if (at := symbol.find("wave<")) < 0:
        return symbol
    return " + ".join(job_name(job) for job in arguments(symbol[at + 4 :]) if "<" in job)


def main() -> int:
    bad, count, symbol, frame = False, 0, "", (0, 0, 0)
    print(f"{'':7} registers  shared  stack  spills  kernel")
    for line in sys.stdin:
        if match := re.search(r"Compiling entry function '(.*)' for '(\w+)'", line):
            symbol, architecture = match.groups()
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = tuple(map(int, match.groups()))
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            print(f"{architecture:7} {match[1]:>9} {shared[1] if shared else 0:>7} {frame[0]:>6} {frame[1] + frame[2]:>7}  {kernel_name(symbol)}")
            bad |= any(frame)
            count += 1
    if bad:
        print("a kernel spills registers, or has a stack frame", file=sys.stderr)
    return bad or count == 0


sys.exit(main())
