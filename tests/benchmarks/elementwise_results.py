#!/usr/bin/env python3
"""What a vector width gives to kernels that were written an element at a time.

  elementwise_results.py specs LATHE FOLDER     templates of elementwise.cu, with the rules that add a vector
                                                width (FOLDER/vector) and without them (FOLDER/scalar)
  elementwise_results.py page VECTOR SCALAR     a Markdown table of two `lathe report --json` files

Between the two, on a GPU, in both folders:

  lathe tune search_spaces/*.json --budget 120s --results results.sqlite
  lathe report --json --results results.sqlite -o results.json
"""
import json
import math
import pathlib
import re
import subprocess
import sys

PROBLEMS = {
    "axpy": ["n=65536", "n=4194304", "n=67108864"],
    "bias_relu": ["rows=64,columns=4096", "rows=4096,columns=4096", "rows=4096,columns=14336"],
    "row_squares": ["rows=64,columns=4096", "rows=4096,columns=4096", "rows=4096,columns=14336"],
    "norm_rows": ["rows=64,columns=4096", "rows=4096,columns=4096", "rows=4096,columns=14336"],
    "scale_add": ["count=65536", "count=4194304", "count=67108864"],
    "gelu": ["count=65536", "count=4194304", "count=67108864"],
    "residual_rows": ["rows=64,columns=4096", "rows=4096,columns=4096", "rows=4096,columns=14336"],
}
VECTOR_RULES = {"vectorize-loop", "vectorize-element"}


def templatize(lathe, kernel, folder, rules):
    source = pathlib.Path(__file__).with_name("elementwise.cu")
    command = [lathe, "templatize", source, "--kernel", kernel, "--output", folder]
    for problem in PROBLEMS[kernel]:
        command += ["--problem", problem]
    if rules:
        command += ["--rules", ",".join(rules)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def specs(lathe, folder):
    for kernel in PROBLEMS:
        said = templatize(lathe, kernel, folder / "vector", None)
        rules = [line.split()[0] for line in said.splitlines() if re.match(r"  [a-z-]+ +(applied|refused) ", line)]
        assert VECTOR_RULES <= set(rules), said
        templatize(lathe, kernel, folder / "scalar", [rule for rule in rules if rule not in VECTOR_RULES])
        print(kernel, flush=True)


def rows_of(file):
    return {(row["Kernel"], row["Workload"]): row for row in json.loads(pathlib.Path(file).read_text())["Results"]}


def page(vector_file, scalar_file):
    vector, scalar = rows_of(vector_file), rows_of(scalar_file)
    print("| kernel | problem | raw, us | raw / tuned without a vector width | with one | what it adds | VEC |")
    print("|---|---|---:|---:|---:|---:|---:|")
    ratios = []
    for key, row in vector.items():
        with_one, without = row["Ratio"], scalar[key]["Ratio"]
        ratios.append(with_one / without)
        print(f"| {key[0]} | {key[1]} | {row['Raw']['MedianMicroseconds']:.2f} | {without:.3f} | {with_one:.3f} | "
              f"{with_one / without:.3f} | {row['Configuration']['VEC']} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\nGeometric mean of what the width adds: {mean:.3f} over {len(ratios)} problems.")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "specs":
        specs(sys.argv[2], pathlib.Path(sys.argv[3]))
    elif len(sys.argv) == 4 and sys.argv[1] == "page":
        page(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
