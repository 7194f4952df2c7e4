"""Builds one constraint-space-1 file with Kernel Tuner's default (optimised) solver and prints count and seconds."""

import json
import re
import sys
import time
import warnings

warnings.simplefilter("ignore", SyntaxWarning)  # Kernel Tuner compiles text that it made of the constraints

from kernel_tuner.searchspace import Searchspace  # noqa: E402


def python_text(expression):
    expression = expression.replace("&&", " and ").replace("||", " or ")
    expression = re.sub(r"!(?!=)", " not ", expression)
    return re.sub(r"(?<!/)/(?!/)", "//", expression)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        space = json.load(file)
    values = {parameter["name"]: parameter["values"] for parameter in space["parameters"]}
    restrictions = [python_text(constraint) for constraint in space["constraints"]]
    start = time.perf_counter()
    built = Searchspace(values, restrictions, max_threads=10**9)
    seconds = time.perf_counter() - start
    print(json.dumps({"valid": built.size, "seconds": seconds}))


if __name__ == "__main__":
    main()
