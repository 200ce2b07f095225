"""Prints what `nvcc -Xptxas -v` says of LeNet's kernels (standard input) as rows of a table; fails on spills and stack frames."""
import re
import sys


def name(symbol: str) -> str:
    """LeNet's name of a kernel, from the mangled types of its problem."""
    if "8Channels" in symbol:
        return "conv1 dw" if "11ConvolutionILi1E" in symbol else "conv2 dw"
    if "8Reversed" in symbol or "9Positions" in symbol:
        return "conv2 dx"
    if "7Patches" in symbol:
        return "conv1 forward" if "11ConvolutionILi1E" in symbol else "conv2 forward"
    layer = "fc1" if "Ll800E" in symbol else "fc2"
    if "4Rows" not in symbol:
        return f"{layer} dw"
    return f"{layer} dx" if "7Columns" in symbol else f"{layer} forward"


def main() -> int:
    architecture, precision, batch = sys.argv[1:]
    bad, symbol, frame = False, "", (0, 0, 0)
    for line in sys.stdin:
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            symbol = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            frame = tuple(map(int, match.groups()))
        elif match := re.search(r"Used (\d+) registers.*?(\d+) bytes smem", line):
            tile = re.search(r"4TileI((?:Li\d+E)+)", symbol)[1]
            sizes = re.findall(r"\d+", tile)
            shape = f"{sizes[0]}x{sizes[1]}x{sizes[2]} {'x'.join(sizes[3:6])} s{sizes[6]} k{sizes[7]}"
            print(f"sm_{architecture:4} {precision:7} {batch:>5}  {name(symbol):14} {shape:26} registers {match[1]:>3}  shared {match[2]:>6}  "
                  f"stack {frame[0]}  spills {frame[1]}/{frame[2]}", flush=True)
            bad |= any(frame)
    return bad


sys.exit(main())
