#!/usr/bin/env python3
"""Makes docs/results/h200.md and .json of what the tuner and the bench printed on a GPU host.

usage: h200_page.py BENCH.json AGAIN.json TUNE.log NOTES.md [SEED.json ...] PAGE.md COMMIT SEARCH_COMMIT

BENCH and AGAIN are two runs of `lathe bench search_spaces/*.json --json` after `lathe tune`, whose output is TUNE.log; each
SEED.json is `lathe report --json` of one search of the same problems under a seed of its own. Without any, the page keeps the
section on seeds that it has. NOTES.md has what the numbers do not tell, as Markdown: the machines, the commands, and what was
peculiar about the run.
"""
import collections
import json
import math
import re
import sys
from pathlib import Path

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
           "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty")
AUTHORS = {"rotary_embedding": "model", "topk_softmax": "model, finished by hand"}


def mean(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def rows_of(file):
    return json.loads(Path(file).read_text(encoding="utf-8"))["Results"]


def shipped(row):
    """A row that keeps the raw kernel's configuration has no gain and no loss."""
    return row["Ratio"] if gains(row) else 1


def gains(row):
    return row["RatioInterval95"][0] > 1 and row["Ratio"] - 1 > row["NoiseBand"]


def is_slower(row):
    return row["RatioInterval95"][1] < 1 and 1 - row["Ratio"] > row["NoiseBand"]


def summary(rows):
    lines = ["| kernel | searched | geometric mean | best | kept out of the search | geometric mean | template by |",
             "|---|---:|---:|---:|---:|---:|---|"]
    for kernel in sorted({row["Kernel"] for row in rows}):
        searched = [row["Ratio"] for row in rows if row["Kernel"] == kernel and row["Role"] == "tune"]
        others = [row["Ratio"] for row in rows if row["Kernel"] == kernel and row["Role"] != "tune"]
        lines.append(f"| {kernel} | {len(searched)} | {mean(searched):.3f} | {max(searched):.2f} | {len(others)} | "
                     f"{mean(others):.3f} | {AUTHORS.get(kernel, 'rules')} |")
    return lines


def general(log):
    lines = ["| kernel | problems | configuration | raw / tuned | worst | at |", "|---|---:|---|---:|---:|---|"]
    pattern = re.compile(r"(\w+), one configuration for all (\d+) problems: (.*), raw / tuned ([\d.]+), worst ([\d.]+) \((.*)\)$")
    found = {}  # a search that went on says it again
    for line in Path(log).read_text(encoding="utf-8").splitlines():
        if match := pattern.match(line):
            found[match.group(1)] = "| " + " | ".join(match.groups()) + " |"
    return lines + [found[kernel] for kernel in sorted(found)]


SEEDS_BEGIN, SEEDS_END = "## The same search under other seeds\n", "\n## Problem by problem\n"


def seeds_of(page):
    text = Path(page).read_text(encoding="utf-8")
    return text[text.index(SEEDS_BEGIN):text.index(SEEDS_END)]


def seeds(files):
    found = [{(row["Kernel"], row["Workload"]): row for row in rows_of(file)} for file in files]
    lines = ["| problem | " + " | ".join(f"seed {i + 1}" for i in range(len(files))) + " | slowest over fastest |",
             "|---|" + "---:|" * (len(files) + 1)]
    for key in found[0]:
        ratios = [rows[key]["Ratio"] for rows in found if key in rows]
        cells = [f"{rows[key]['Ratio']:.3f}" if key in rows else "not measured" for rows in found]
        lines.append(f"| {key[0]}, {key[1]} | {' | '.join(cells)} | {max(ratios) / min(ratios):.3f} |")
    return lines


def problems(rows):
    lines = ["| kernel | problem | role | raw us | tuned us | raw / tuned | 95 % interval | A/A band | share of copy | configuration |"
             " tried |", "|---|---|---|---:|---:|---:|---|---:|---:|---|---:|"]
    for row in rows:
        tuned = row["Tuned"]["MedianMicroseconds"]
        knobs = " ".join(f"{name}={value}" for name, value in row["Configuration"].items())
        low, high = row["RatioInterval95"]
        lines.append(f"| {row['Kernel']} | {row['Workload']} | {row['Role']} | {row['Raw']['MedianMicroseconds']:.2f} | {tuned:.2f} | "
                     f"{row['Ratio']:.3f} | {low:.3f} to {high:.3f} | {100 * row['NoiseBand']:.1f} % | "
                     f"{100 * row['CopyFloorMicroseconds'] / tuned:.1f} % | {knobs} | {row['Evaluations']} |")
    return lines


def main():
    bench, again, log, notes, *seed_files, page, commit, search_commit = sys.argv[1:]
    rows = rows_of(bench)
    repeated = {(row["Kernel"], row["Workload"]): row for row in rows_of(again)}
    apart = sorted(abs(math.log(repeated[row["Kernel"], row["Workload"]]["Ratio"] / row["Ratio"])) for row in rows)
    searched = [row for row in rows if row["Role"] == "tune"]
    report = [row for row in rows if row["Role"] == "report"]
    by_kernel = collections.defaultdict(list)
    for row in searched:
        by_kernel[row["Kernel"]].append(row["Ratio"])
    faster, slower = sum(map(gains, rows)), sum(map(is_slower, rows))
    band = {name: max(row["NoiseBand"] for row in rows if low < row["Raw"]["MedianMicroseconds"] <= high)
            for name, low, high in (("long", 20, math.inf), ("short", 3, 20))}
    far = [row for row in rows if row["Tuned"]["MedianMicroseconds"] > 1.35 * row["CopyFloorMicroseconds"]]
    large = [row for row in rows if row["CopyFloorMicroseconds"] > 40]
    within = [sum(row["Tuned"]["MedianMicroseconds"] <= limit * row["CopyFloorMicroseconds"] for row in large)
              for limit in (1.05, 1.10)]
    first = rows[0]
    kernels = NUMBERS[len(by_kernel)]
    unaided = NUMBERS[len(by_kernel) - len(AUTHORS)]
    text = f"""# {kernels.capitalize()} kernels on an H200

The raw kernels of `sglang_kernels/` (production's algorithm, launch geometry and vector widths) and their templates, every
problem of their specifications: {len(searched)} searched, {len(rows) - len(searched)} kept out of the search. {unaided.capitalize()} templates are as `lathe templatize` wrote them
unaided; those of `rotary_embedding` and `topk_softmax` are a [language model's](model_loop.md), the second finished by hand.
Data: [h200.json](h200.json).

{Path(notes).read_text(encoding='utf-8').rstrip()}
- {faster} problems are faster than raw beyond their noise band, {slower} slower, {len(rows) - faster - slower} neither. Geometric mean over the {len(searched)} searched
  shapes {mean(row['Ratio'] for row in searched):.3f}; over the {kernels} kernels' means of their searched shapes {mean(map(mean, by_kernel.values())):.3f}; over the {len(report)} report-only shapes, which no
  search saw, {mean(row['Ratio'] for row in report):.3f}; over all {len(rows)}, {mean(row['Ratio'] for row in rows):.3f} ({mean(map(shipped, rows)):.3f} with a ratio of 1 where nothing is gained).
- A second `lathe bench` in a process of its own: of {len(rows)} ratios {sum(x > 0.01 for x in apart)} differ by more than 1 %, {sum(x > 0.02 for x in apart)} by more than 2 %, none by more than {100 * apart[-1]:.1f} %.
- `raw / tuned` is the median of paired samples taken in turn; the A/A band is what the raw kernel shows against itself in the
  same samples: at most {100 * band['long']:.1f} % above 20 microseconds and {100 * band['short']:.1f} % from 3 to 20.
- `share of copy` is the time of a device-to-device copy that moves the same bytes, over the tuned time. Below some
  20 microseconds neither is limited by bandwidth, and the share says little: {len(far)} of the {len(rows)} shapes take more than 1.35 times the
  copy's time, {sum(row['Tuned']['MedianMicroseconds'] < 10 for row in far)} of them below 10 microseconds. Of the {len(large)} shapes whose copy takes more than 40, {within[0]} are within 5 % of it,
  {within[1]} within 10 %.
- Problems marked `tune` were searched. On `report` problems only the winners of the others were tried, on `select` ones also what came
  next to winning. The header takes `report` problems as no reason to choose one.
- `per_token_quant_fp8` has both of production's kernels, chosen by production's threshold on the raw side and by the knob
  `KERNEL` in the template.
- How the raw kernels compare with production's own, measured beside them: [production.md](production.md). Where they differ
  by more than 3 % (`topk_softmax`, `apply_token_bitmask`, `moe_align_block_size`, the decode step at one size), the raw kernels
  here are the faster ones.

"""
    text += "\n".join(summary(rows))
    text += """

## One configuration for all problems of a kernel

What a build without dispatch would use (`lathe tune --general`), by the search's times. Where it is below 1, the raw
kernel's own configuration is the better one for all; the header dispatches by size and does not use these.

"""
    text += "\n".join(general(log))
    text += "\n\n"
    text += seeds_of(page) if not seed_files else f"""{SEEDS_BEGIN}
One H200, an own store for each seed, 1000 configurations a problem, without other problems' results
(`--no-transfer --no-profile`). Raw over tuned of the winners.

{chr(10).join(seeds(seed_files))}
"""
    text += f"{SEEDS_END}\n- {first['Protocol']}\n\n"
    text += "\n".join(problems(rows)) + "\n"
    Path(page).write_text(text, encoding="utf-8")
    content = {"Schema": 2, "Commit": commit, "SearchCommit": search_commit, "Command": "lathe bench search_spaces/*.json --json",
               "Results": rows}
    Path(page).with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 8:
        sys.exit(__doc__)
    main()
