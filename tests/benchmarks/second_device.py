#!/usr/bin/env python3
"""What the results of one GPU are worth on another one: in a header that falls back to them, and to a new search.

    second_device.py run STORE FOLDER [--lathe build/dev/bin/lathe] [--specs search_spaces] [--seeds 2] [--evaluations 1000]
    second_device.py page FOLDER --commit HASH [--output docs/results/h100.md]

STORE is a results store that `lathe tune` filled on the other GPU, of the same architecture. For each problem that was searched
there, `run` measures on the GPU at hand

    fallback   the other GPU's winner beside the raw kernel (`lathe bench`): what an exported header launches here
    cold       a search of 100 configurations without the other GPU's results
    prior      a search of 25 with them
    long       a search of --evaluations without them

each in a store of its own, and leaves FOLDER/fallback.json and FOLDER/runs.jsonl. `page` makes the tables. Only Python's
standard library is needed.
"""
import argparse
import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLD, PRIOR = 100, 25


def call(lathe, *words):
    done = subprocess.run([str(lathe), *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"second_device.py: lathe {' '.join(map(str, words))}: {done.stderr.strip()}")
    return json.loads(done.stdout)["Results"], done.stderr


def problem_text(row):
    return ",".join(f"{name}={value}" for name, value in row["Problem"].items())


def types_text(row):
    return ",".join(f"{name}={value}" for name, value in row["Types"].items())


def run(options):
    options.folder.mkdir(parents=True, exist_ok=True)
    rows, _ = call(options.lathe, "report", "--json", "--results", options.store)
    kernels = sorted({row["Kernel"] for row in rows})
    specs = {kernel: options.specs / f"{kernel}.json" for kernel in kernels}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "fallback.sqlite"
        shutil.copy(options.store, copy)
        fallback, said = call(options.lathe, "bench", *specs.values(), "--results", copy, "--json")
        print(said, end="", flush=True)
        (options.folder / "fallback.json").write_text(json.dumps({"Other": rows, "Results": fallback}), encoding="utf-8")
        plan = [(kind, seed, count, with_prior) for seed in range(1, options.seeds + 1)
                for kind, count, with_prior in (("prior", PRIOR, True), ("cold", COLD, False))]
        plan.append(("long", 1, options.evaluations, False))
        with (options.folder / "runs.jsonl").open("w", encoding="utf-8") as log:
            for kind, seed, count, with_prior in plan:
                for number, row in enumerate(rows):
                    store = Path(scratch) / f"{kind}-{seed}-{number}.sqlite"
                    if with_prior:
                        shutil.copy(options.store, store)
                    words = ["tune", specs[row["Kernel"]], "--problem", problem_text(row), "--seed", seed, "--results", store,
                             "--evaluations", count, "--no-profile", "--json"]
                    words += ["--types", types_text(row)] if row["Types"] else []
                    begin = time.monotonic()
                    found, _ = call(options.lathe, *words)
                    log.write(json.dumps({"Kind": kind, "Seed": seed, "Evaluations": count,
                                          "Seconds": round(time.monotonic() - begin, 2), "Result": found[0]}) + "\n")
                    log.flush()
                print(f"{kind}, seed {seed}: done", flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def key(row):
    return row["Kernel"], row["Workload"]


def gains(row):
    return row["RatioInterval95"][0] > 1 and row["Ratio"] - 1 > row["NoiseBand"]


def loses(row):
    return row["RatioInterval95"][1] < 1 and 1 - row["Ratio"] > row["NoiseBand"]


def page(options):
    bench = json.loads((options.folder / "fallback.json").read_text(encoding="utf-8"))
    runs = [json.loads(line) for line in (options.folder / "runs.jsonl").read_text(encoding="utf-8").splitlines()]
    other = {key(row): row for row in bench["Other"]}
    fallback = {key(row): row for row in bench["Results"]}
    kinds = {}
    for one in runs:
        kinds.setdefault(one["Kind"], {}).setdefault(key(one["Result"]), []).append(one)
    here, there = bench["Results"][0]["Device"], bench["Other"][0]["Device"]
    seeds = max(one["Seed"] for one in runs)

    def ratios(kind, problem):
        return [one["Result"]["Ratio"] for one in kinds[kind][problem]]

    lines = [f"# An {here.removeprefix('NVIDIA ')} with the results of an {there.removeprefix('NVIDIA ')}", "",
             "What the results of one GPU are worth on another one of its architecture.",
             f"{here}, driver {bench['Results'][0]['Driver']}, {bench['Results'][0]['Timestamp'][:10]}, Lathe at {options.commit}.",
             f"The store of the {there}: one search of each problem without other problems' results. Data:",
             f"[{options.output.with_suffix('.json').name}]({options.output.with_suffix('.json').name}). Again, on such a GPU:", "",
             "    python3 tests/benchmarks/second_device.py run STORE FOLDER", "",
             f"- **fallback**: the winner of the {there} here, beside the raw kernel (`lathe bench`).",
             f"- **prior {PRIOR}**: the winner of a search of {PRIOR} configurations with the other GPU's results; **cold {COLD}**: of {COLD}",
             f"  without them. Geometric means of {seeds} seeds. **long**: of {max(one['Evaluations'] for one in runs)} without them, one seed.",
             "- All columns but the first are raw / tuned, each of a comparison of its own.", "",
             f"| kernel | problem | raw us here | on the {there.split()[-1]} | fallback | prior {PRIOR} | cold {COLD} | long | "
             "fallback / long |", "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    table = []
    for problem, row in fallback.items():
        values = (other[problem]["Ratio"], row["Ratio"], mean(ratios("prior", problem)), mean(ratios("cold", problem)),
                  mean(ratios("long", problem)))
        table.append(values)
        lines.append(f"| {row['Kernel']} | {row['Workload']} | {row['Raw']['MedianMicroseconds']:.2f} | " +
                     " | ".join(f"{value:.3f}" for value in values) + f" | {values[1] / values[4]:.3f} |")
    means = [mean(column) for column in zip(*table)]
    lines.append("| geometric mean | | | " + " | ".join(f"{value:.3f}" for value in means) + f" | {means[1] / means[4]:.3f} |")
    missing = len(other) - len(fallback)
    kept = [values[1] / values[0] for values in table]
    lines += ["", f"Of {len(fallback)} fallbacks {sum(map(gains, fallback.values()))} are faster than the raw kernel beyond their "
              f"noise, {sum(map(loses, fallback.values()))} slower" + (f"; {missing} did not run" if missing else "") + ".",
              f"A configuration kept {min(kept):.2f} to {max(kept):.2f} of its raw / tuned. An exported header therefore uses another GPU's winner",
              "only where it gained a fifth or more there (`tuner/emit/winning_table.cpp`), and the raw kernel elsewhere, until",
              "`lathe bench --record` or `lathe tune` has measured on this GPU.", "",
              f"With the other GPU's results {PRIOR} configurations reach {means[2] / means[3]:.3f} of what {COLD} reach without them."]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    options.output.with_suffix(".json").write_text(
        json.dumps({"Schema": 1, "Commit": options.commit, **bench, "Searches": runs}, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("store", type=Path)
    running.add_argument("folder", type=Path)
    running.add_argument("--lathe", type=Path, default=Path("build/dev/bin/lathe"))
    running.add_argument("--specs", type=Path, default=Path("search_spaces"))
    running.add_argument("--seeds", type=int, default=2)
    running.add_argument("--evaluations", type=int, default=300)
    running.set_defaults(command=run)
    paging = commands.add_parser("page")
    paging.add_argument("folder", type=Path)
    paging.add_argument("--commit", required=True)
    paging.add_argument("--output", type=Path, default=Path("docs/results/h100.md"))
    paging.set_defaults(command=page)
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
