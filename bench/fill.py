#!/usr/bin/env python3
"""Puts what a measurement printed into docs/performance.md, in place of what stood there.

    bench/compare.py ... | bench/fill.py compare
    python3 tests/hygiene/compile_time.py | bench/fill.py compile_time --plain

The place is what stands between the lines <!-- NAME --> and <!-- end of NAME -->.
"""

import argparse
import pathlib
import re
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "docs/performance.md"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--plain", action="store_true", help="the text is no Markdown: shown as it is")
    parser.add_argument("--document", type=pathlib.Path, default=DOCUMENT, metavar="FILE")
    options = parser.parse_args()

    text = sys.stdin.read().strip("\n")
    if not text:
        raise SystemExit("nothing came in: the document stays as it is")
    if options.plain:
        text = f"```\n{text}\n```"
    document = options.document.read_text(encoding="utf-8")
    begin, end = f"<!-- {options.name} -->", f"<!-- end of {options.name} -->"
    place = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if len(place.findall(document)) != 1:
        raise SystemExit(f"{options.document} does not hold '{begin}' and '{end}', once each")
    options.document.write_text(place.sub(lambda _: f"{begin}\n{text}\n{end}", document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
