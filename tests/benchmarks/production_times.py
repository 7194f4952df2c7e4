#!/usr/bin/env python3
"""Production's own kernels beside the raw kernels of this repository: the same sizes, data and clock.

    python3 tests/benchmarks/production_times.py prepare --root sglang=/path/to/checkout ... --output FOLDER
    python3 tests/benchmarks/production_times.py measure FOLDER --output production.json
    python3 tests/benchmarks/production_times.py page production.json --output docs/results/production.md

`prepare` extracts each kernel as it stands in its repository (`lathe templatize --no-check`; the raw side of what it
writes is production's text) and needs no GPU. `measure` times the raw kernels of both, kernel by kernel in one run, as
`lathe tune` does with a single evaluation. Needs only Python's standard library.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    prepare = commands.add_parser("prepare")
    prepare.add_argument("--list", type=Path, default=HERE / "production_times.json")
    prepare.add_argument("--root", action="append", default=[], metavar="NAME=FOLDER")
    prepare.add_argument("--output", type=Path, required=True)
    measure = commands.add_parser("measure")
    measure.add_argument("folder", type=Path)
    measure.add_argument("--output", type=Path, required=True)
    page = commands.add_parser("page")
    page.add_argument("results", type=Path)
    page.add_argument("--commit", required=True)
    page.add_argument("--output", type=Path, required=True)
    for command in (prepare, measure):
        command.add_argument("--lathe", type=Path, default=ROOT / "build/dev/bin/lathe")
    return parser.parse_args()


def problems_of_ours(name):
    spec = json.loads((ROOT / "search_spaces" / f"{name}.json").read_text(encoding="utf-8"))["Lathe"]
    return [problem["Dimensions"] for problem in spec["Problems"] if problem["Role"] == "tune"]


def prepare(options):
    listed = json.loads(options.list.read_text(encoding="utf-8"))
    roots = {name: str(Path(folder).resolve()) for name, folder in (text.split("=", 1) for text in options.root)}
    pairs = []
    for number, entry in enumerate(listed["Kernels"]):
        repository = listed["Repositories"][entry["Repository"]]
        if entry["Repository"] not in roots:
            print(f"{entry['Ours']}: left out, as no --root names {entry['Repository']}", flush=True)
            continue
        ours = problems_of_ours(entry["Ours"])
        sizes = [{name: eval(text, {"min": min, "max": max}, dict(problem)) for name, text in entry["Sizes"].items()}
                 for problem in ours]
        name = f"production_{number}_{entry['Ours']}"
        output = options.output / name
        output.mkdir(parents=True, exist_ok=True)
        workload = {"Types": {kind: [dtype] for kind, dtype in entry["Types"].items()}, "Arguments": entry["Arguments"],
                    "Problems": {"tune": sizes}}
        (output / "workload.json").write_text(json.dumps(workload), encoding="utf-8")
        flags = [flag.format(**roots) for flag in repository["Flags"]]
        done = subprocess.run(
            [str(options.lathe.resolve()), "templatize", entry["File"], "--kernel", entry["Kernel"], "--name", name,
             *entry.get("Options", []), "--workload", str((output / "workload.json").resolve()), "--no-check", "-o",
             str(output.resolve()), "--", *flags],
            cwd=Path(roots[entry["Repository"]]) / repository.get("Folder", ""), capture_output=True, text=True)
        print(f"{name}: {'prepared' if done.returncode == 0 else done.stderr.strip().splitlines()[-1]}", flush=True)
        if done.returncode == 0:
            pairs.append({"Ours": entry["Ours"], "Repository": repository["Name"], "Commit": repository["Commit"],
                          "File": entry["File"], "Kernel": entry["Kernel"], "Name": name,
                          "Note": entry.get("Note", ""), "Problems": [[a, b] for a, b in zip(ours, sizes)]})
    (options.output / "pairs.json").write_text(json.dumps(pairs, indent=1), encoding="utf-8")


def measured(options, spec, store):
    """What `lathe tune` stores about each problem of `spec`: its raw kernel's time, by the problem's sizes."""
    if store.exists():
        store.unlink()
    tuned = subprocess.run([str(options.lathe.resolve()), "tune", str(spec), "--evaluations", "1", "--results", str(store)],
                           capture_output=True, text=True, check=False)
    report = subprocess.run([str(options.lathe.resolve()), "report", "--json", "--results", str(store)],
                            capture_output=True, text=True, check=False)
    if report.returncode != 0:
        sys.exit(f"nothing of {spec} was measured: {tuned.stderr.strip()}")
    winners = json.loads(report.stdout)
    winners = winners if isinstance(winners, list) else winners["Results"]
    return winners, {frozenset(winner["Problem"].items()): winner for winner in winners}


def measure(options):
    pairs = json.loads((options.folder / "pairs.json").read_text(encoding="utf-8"))
    store = options.folder / "one.sqlite"
    for pair in pairs:
        everything, production = measured(options, options.folder / pair["Name"] / "search_spaces" / f"{pair['Name']}.json",
                                          store)
        _, ours = measured(options, ROOT / "search_spaces" / f"{pair['Ours']}.json", store)
        rows = []
        for our_sizes, their_sizes in pair.pop("Problems"):
            one, other = ours.get(frozenset(our_sizes.items())), production.get(frozenset(their_sizes.items()))
            if one and other:
                rows.append({"Problem": our_sizes, "Ours": one["Raw"], "Production": other["Raw"],
                             "Band": max(one["NoiseBand"], other["NoiseBand"])})
        pair["Rows"] = rows
        for key in ("Device", "Driver", "Toolkit", "Protocol", "Timestamp"):
            pair[key] = everything[0][key] if everything else ""
        print(f"{pair['Name']}: {len(rows)} sizes", flush=True)
    store.unlink(missing_ok=True)
    if options.output.exists():
        again = {(pair["Ours"], pair["Kernel"]) for pair in pairs}
        earlier = json.loads(options.output.read_text(encoding="utf-8"))
        pairs = [pair for pair in earlier if (pair["Ours"], pair["Kernel"]) not in again] + pairs
    options.output.write_text(json.dumps(pairs, indent=1) + "\n", encoding="utf-8")


def page(options):
    pairs = json.loads(options.results.read_text(encoding="utf-8"))
    device = next(pair for pair in pairs if pair["Rows"])
    text = f"""# Production's own kernels beside the raw kernels of this repository

Each kernel as it stands in its repository (extracted by `lathe templatize`, unchanged but for what its section says), and the raw kernel of
`sglang_kernels/` that restates it, at the same sizes on data of the same kind, timed by the same protocol one after the
other in one run. {device["Device"]}, driver {device["Driver"]}, {device["Toolkit"]}, {device["Timestamp"][:10]}, commit
{options.commit}, but for kernels whose section gives another date. Data:
[{options.results.name}]({options.results.name}). Again:

    python3 tests/benchmarks/production_times.py prepare --root sglang=... --root flashinfer=... --root cutlass=... --root vllm=... --output FOLDER
    python3 tests/benchmarks/production_times.py measure FOLDER --output production.json
    python3 tests/benchmarks/production_times.py page production.json --commit COMMIT --output docs/results/production.md

`raw / production` above 1: this repository's raw kernel is the slower one, and its ratios against tuned flatter by as much.

| raw kernel | production's | sizes | raw / production, geometric mean | least | most |
|---|---|---:|---:|---:|---:|
"""
    details = ""
    for pair in pairs:
        ratios = [row["Ours"]["MedianMicroseconds"] / row["Production"]["MedianMicroseconds"] for row in pair["Rows"]]
        title = f"{pair['Ours']} | {pair['Repository']}, {pair['Kernel']}"
        if not ratios:
            text += f"| {title} | 0 | not measured | | |\n"
            continue
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        text += f"| {title} | {len(ratios)} | {mean:.3f} | {min(ratios):.3f} | {max(ratios):.3f} |\n"
        details += (f"\n## {pair['Ours']} beside {pair['Kernel']}\n\n{pair['Repository']}, {pair['File']}, at "
                    f"{pair['Commit']}. {pair.get('Note', '')}".rstrip()
                    + (f" Measured {pair['Timestamp'][:10]}." if pair["Timestamp"][:10] != device["Timestamp"][:10] else "")
                    + "\n\n| sizes | production us | raw us | raw / production | noise |\n|---|---:|---:|---:|---:|\n")
        for row, ratio in zip(pair["Rows"], ratios):
            sizes = " ".join(f"{name}={size}" for name, size in row["Problem"].items())
            details += (f"| {sizes} | {row['Production']['MedianMicroseconds']:.2f} | {row['Ours']['MedianMicroseconds']:.2f} | "
                        f"{ratio:.3f} | {100 * row['Band']:.1f} % |\n")
    options.output.write_text(text + details, encoding="utf-8")


if __name__ == "__main__":
    chosen = arguments()
    sys.exit({"prepare": prepare, "measure": measure, "page": page}[chosen.command](chosen))
