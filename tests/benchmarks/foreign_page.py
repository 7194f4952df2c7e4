"""Makes the page of tunings of kernels that are not in this repository.

usage: foreign_page.py OUTPUT.md STORE.sqlite... [--notes NOTES.md]

STORE: what `lathe tune` wrote for templates of such kernels. Writes the page, and its data beside it as JSON."""

import argparse
import json
import math
import sqlite3
from collections import defaultdict
from pathlib import Path

QUERY = """SELECT k.kernel, k.workload, k.device, w.raw_median_us, w.tuned_median_us, w.ratio, w.ratio_low, w.ratio_high,
           w.noise_band, w.evaluations, w.knob_names, w.knobs FROM winners w JOIN keys k ON k.id = w.key"""


def read(stores):
    kernels = defaultdict(list)
    for store in stores:
        with sqlite3.connect(store) as database:
            for (kernel, workload, device, raw, tuned, ratio, low, high, band, evaluations, names,
                 values) in database.execute(QUERY):
                kernels[kernel].append({"Problem": workload, "Device": device, "RawMicroseconds": raw, "TunedMicroseconds": tuned,
                                        "Ratio": ratio, "Low": low, "High": high, "Band": band, "Evaluations": evaluations,
                                        "Knobs": dict(zip(json.loads(names), json.loads(values)))})
    return dict(sorted(kernels.items()))


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page(kernels, notes):
    rows = [row for problems in kernels.values() for row in problems]
    means = {kernel: mean([row["Ratio"] for row in problems]) for kernel, problems in kernels.items()}
    faster = sum(1 for row in rows if row["Low"] > 1 + row["Band"])
    slower = sum(1 for row in rows if row["High"] < 1 - row["Band"])
    lines = ["# Kernels of other repositories on a GPU", "", notes.strip(), "",
             f"- {len(kernels)} kernels, {len(rows)} problems on {', '.join(sorted({row['Device'] for row in rows}))}; "
             f"{faster} faster than raw beyond their noise band, {slower} slower.",
             f"- Geometric mean over the kernels' means: {mean(list(means.values())):.3f}.", "",
             "| kernel | problems | raw / tuned, geometric mean | best | at | configurations tried there |",
             "|---|---:|---:|---:|---|---:|"]
    for kernel, problems in sorted(kernels.items(), key=lambda item: -means[item[0]]):
        best = max(problems, key=lambda row: row["Ratio"])
        lines.append(f"| {kernel} | {len(problems)} | {means[kernel]:.3f} | {best['Ratio']:.2f} | {best['Problem']} | "
                     f"{best['Evaluations']} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("stores", nargs="+")
    parser.add_argument("--notes", default="")
    arguments = parser.parse_args()
    kernels = read(arguments.stores)
    notes = Path(arguments.notes).read_text(encoding="utf-8") if arguments.notes else ""
    Path(arguments.output).write_text(page(kernels, notes), encoding="utf-8")
    Path(arguments.output).with_suffix(".json").write_text(json.dumps(kernels, indent=1) + "\n", encoding="utf-8")


main()
