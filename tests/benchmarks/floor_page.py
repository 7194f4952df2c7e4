#!/usr/bin/env python3
"""Makes docs/results/floor.md: the problems that take more than 1.35 times a copy of the same bytes, and what the counters
say of them.

usage: floor_page.py BENCH.json NOTES.md PAGE.md REPORT.json...

BENCH is `lathe bench search_spaces/*.json --json`, each REPORT `lathe report search_spaces/KERNEL.json --json` of the same
store. NOTES.md has what the numbers do not tell. The data go beside the page, as PAGE.json."""

import collections
import json
import math
import sys
from pathlib import Path

FAR = 1.35   # times the copy
LARGE = 40   # microseconds of the copy: bandwidth decides there
NEAR = 1.05


def times_copy(row):
    return row["Tuned"]["MedianMicroseconds"] / row["CopyFloorMicroseconds"]


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def profiles(files):
    """What limits the winner, or the raw kernel where that is what is shipped."""
    found = {}
    for file in files:
        for search in json.loads(Path(file).read_text(encoding="utf-8"))["Searches"]:
            found[search["Kernel"], search["Workload"]] = search["WinnerProfile"] or search["RawProfile"]
    return found


def kernels(rows):
    lines = ["| kernel | searched | raw / tuned | configurations tried, each | kept out | raw / tuned |", "|---|---:|---:|---:|---:|---:|"]
    for kernel in sorted({row["Kernel"] for row in rows}):
        searched = [row for row in rows if row["Kernel"] == kernel and row["Role"] == "tune"]
        others = [row["Ratio"] for row in rows if row["Kernel"] == kernel and row["Role"] != "tune"]
        tried = sum(row["Evaluations"] for row in searched) / len(searched)
        lines.append(f"| {kernel} | {len(searched)} | {mean(row['Ratio'] for row in searched):.3f} | {tried:.0f} | {len(others)} | "
                     f"{mean(others):.3f} |")
    return lines


HEAD = ["| kernel | problem | role | tuned us | times the copy | raw / tuned | limited by |", "|---|---|---|---:|---:|---:|---|"]


def line(row, profile):
    why = f"{profile['Bottleneck']}: {profile['Verdict']}" if profile else "not profiled"
    return (f"| {row['Kernel']} | {row['Workload']} | {row['Role']} | {row['Tuned']['MedianMicroseconds']:.2f} | {times_copy(row):.2f} | "
            f"{row['Ratio']:.3f} | {why} |")


def main():
    bench, notes, page, *reports = sys.argv[1:]
    rows = json.loads(Path(bench).read_text(encoding="utf-8"))["Results"]
    known = profiles(reports)
    far = sorted((row for row in rows if times_copy(row) > FAR), key=lambda row: (row["Kernel"], -times_copy(row)))
    counted = collections.Counter((known.get((row["Kernel"], row["Workload"])) or {"Bottleneck": "not profiled"})["Bottleneck"] for row in far)
    big = [row for row in rows if row["CopyFloorMicroseconds"] > LARGE and times_copy(row) > NEAR]
    of_large = sum(row["CopyFloorMicroseconds"] > LARGE for row in rows)
    text = Path(notes).read_text(encoding="utf-8").rstrip() + "\n\n"
    text += f"{len(far)} of {len(rows)} problems take more than {FAR} times the copy, by what limits them: "
    text += ", ".join(f"{kind} {count}" for kind, count in counted.most_common()) + ".\n\n"
    text += "\n".join(HEAD + [line(row, known.get((row["Kernel"], row["Workload"]))) for row in far]) + "\n\n"
    text += f"## Large problems\n\nOf the {of_large} problems whose copy takes more than {LARGE} microseconds, {of_large - len(big)} are within 5 % of it."
    if big:
        text += " The others:\n\n"
        text += "\n".join(HEAD + [line(row, known.get((row["Kernel"], row["Workload"]))) for row in sorted(big, key=times_copy, reverse=True)])
    text += "\n\n## All kernels of this run\n\n" + "\n".join(kernels(rows)) + "\n"
    Path(page).write_text(text, encoding="utf-8")
    data = [{**{name: row[name] for name in ("Kernel", "Workload", "Role", "Device", "Driver", "Toolkit", "Configuration", "Ratio",
                                             "RatioInterval95", "NoiseBand", "CopyFloorMicroseconds", "Evaluations")},
             "RawMicroseconds": row["Raw"]["MedianMicroseconds"], "TunedMicroseconds": row["Tuned"]["MedianMicroseconds"],
             "Profile": known.get((row["Kernel"], row["Workload"]))} for row in rows]
    Path(page).with_suffix(".json").write_text(json.dumps({"Schema": 1, "Results": data}, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main()
