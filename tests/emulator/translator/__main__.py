"""python3 -m translator MODULE.ptx > MODULE.cpp: translates PTX text, for a look at what a kernel becomes."""

import sys

from .emit import Emitter
from .fatbin import fingerprint
from .parse import TranslationError, parse


def main(path: str) -> int:
    with open(path, "rb") as file:
        text = file.read()
    try:
        sys.stdout.write(Emitter(parse(text.decode()), fingerprint(text), path).write())
    except TranslationError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
