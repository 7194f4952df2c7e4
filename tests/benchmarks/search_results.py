#!/usr/bin/env python3
"""Measures the spaces and the search engine, and writes docs/results/search.md and search.json.

    ./dev bench DATA...

DATA: folders that hold recorded tuning spaces (Kernel Tuner caches, *.cache.json or *.cache.json.gz) and
constraint-space-1 files. Needs only Python's standard library; Kernel Tuner is installed into a virtual environment
under the build folder, and its columns are left out where that fails.
"""

import argparse
import datetime
import json
import platform
import tempfile
from pathlib import Path
from statistics import mean

from measure import (KERNEL_TUNER, Lathe, Recording, engine_overhead, is_constraint_space, kernel_tuner_construction,
                     kernel_tuner_python, large_spaces)

MARKS = [25, 50, 100, 200, 400]
SINGLES = ["gaussian_process", "tree_ensemble", "local_search", "greedy_ils", "genetic", "simulated_annealing",
           "differential_evolution", "cobyla", "sbplx", "nelder_mead", "bobyqa", "crs2", "isres", "esch", "direct_l",
           "random"]
# What the default was chosen from: arms, and the evaluations without progress after which they share.
LEADER = "gaussian_process"
DEFAULT = (f"{LEADER}+greedy_ils", 200)
ALTERNATIVES = [DEFAULT, (LEADER, 200), (f"{LEADER}+greedy_ils", 100), (f"{LEADER}+greedy_ils", 50),
                (f"{LEADER}+tree_ensemble+greedy_ils", 50)]


def at(space, mark, key="fraction_of_optimum"):
    return next((r[key] for r in space["results"] if r["evaluations"] == mark), None)


def mean_at(spaces, mark, key="fraction_of_optimum"):
    return mean(at(space, mark, key) for space in spaces)


def table(header, rows):
    """Markdown; numbers are right-aligned, and the first column is text."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for row in rows:
        cells = [f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def construction(lathe, files, python):
    rows = []
    for file in files:
        ours = lathe.space(file, 51)
        theirs = kernel_tuner_construction(python, file, 5) if python else None
        rows.append({"space": ours["name"], "cartesian": ours["cartesian"], "valid": ours["valid"],
                     "construction_ms": ours["construction_ms"], "listing_ms": ours["listing_ms"],
                     "kernel_tuner": theirs})
    return rows


def construction_text(rows):
    def row(item):
        whole = item["construction_ms"] + item["listing_ms"]
        theirs = item["kernel_tuner"]
        line = [item["space"], f"{item['cartesian']:.0f}", f"{item['valid']:.0f}", item["construction_ms"], whole]
        if theirs:
            line += ["yes" if theirs["valid"] == item["valid"] else f"no: {theirs['valid']}",
                     f"{theirs['milliseconds']:.1f}", f"{theirs['milliseconds'] / item['construction_ms']:.0f} x",
                     f"{theirs['milliseconds'] / whole:.0f} x"]
        return line

    header = ["space", "cartesian", "valid", "built, ms", "built and listed, ms"]
    header += ["same count", "Kernel Tuner, ms", "ahead", "ahead, listed"] if rows and rows[0]["kernel_tuner"] else []
    return table(header, [row(item) for item in rows])


def memory(lathe, folder):
    return [{"space": name, **{key: found[key] for key in ("cartesian", "valid", "exact", "construction_ms",
                                                           "peak_megabytes")}}
            for name, file in large_spaces(folder) for found in [lathe.space(file, 1)]]


def leave_one_out(alternatives, recordings):
    """Chooses among the alternatives without one kernel's spaces, and scores the choice on these."""

    def score(choice, kernels):
        return mean(mean(at(space, mark) for mark in MARKS[1:])
                    for space in alternatives[choice] if space["kernel"] in kernels)

    kernels = sorted({recording.kernel for recording in recordings})
    rows = []
    for left_out in kernels:
        rest = [kernel for kernel in kernels if kernel != left_out]
        chosen = max(alternatives, key=lambda choice: score(choice, rest))
        scores = {choice: score(choice, [left_out]) for choice in alternatives}
        rows.append({"left_out": left_out, "chosen": chosen, "score_of_chosen": scores[chosen],
                     "score_of_default": scores[DEFAULT], "best_score": max(scores.values()),
                     "worst_score": min(scores.values())})
    return rows


def transfer(lathe, recordings, seeds, folder):
    """Same-vendor, other-vendor, shuffled and inverted results as the prior of each recording."""
    rows = []
    for target in recordings:
        others = [r for r in recordings if r.kernel == target.kernel and r.device != target.device]
        priors = [("same vendor" if r.vendor == target.vendor else "other vendor", r.device, r.path) for r in others]
        priors += [("unrelated", "shuffled results", target.with_shuffled_costs(folder)),
                   ("unrelated", "inverted results", target.with_inverted_costs(folder))]
        for kind, label, prior in priors:
            space = lathe.replay([target.path], seeds=seeds, budget=200, prior=prior)[0]
            rows.append({"space": target.name, "kind": kind, "prior": label,
                         "fractions": {mark: at(space, mark) for mark in MARKS[:4]}})
    return rows


def choice_text(choice):
    return f"{choice[0].replace('+', ' + ')}, {choice[1]}" if "+" in choice[0] else choice[0]


def transfer_text(rows, cold):
    by_name = dict(cold)
    lines = []
    for row in rows:
        own = by_name[row["space"]]
        lines.append([row["space"], row["kind"], row["prior"], *[row["fractions"][m] for m in MARKS[:4]],
                      at(own, 25), at(own, 100), at(own, 200)])
    header = ["space", "prior", "from", "25", "50", "100", "200", "cold 25", "cold 100", "cold 200"]
    return table(header, lines)


def transfer_means(rows, cold):
    by_name = dict(cold)
    lines = []
    for kind in ("same vendor", "other vendor", "unrelated"):
        chosen = [row for row in rows if row["kind"] == kind]
        if chosen:
            lines.append([kind, len(chosen), *[mean(r["fractions"][m] for r in chosen) for m in MARKS[:4]],
                          *[mean(at(by_name[r["space"]], m) for r in chosen) for m in MARKS[:4]]])
    header = ["prior", "pairs", *[str(m) for m in MARKS[:4]], *[f"cold {m}" for m in MARKS[:4]]]
    return table(header, lines)


def write_markdown(path, data, text):
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with bin/lathe and bin/bench_search")
    parser.add_argument("--output", type=Path, required=True, help="the Markdown file to write; its JSON lies beside it")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=0, help="replays at a time; 0: one a core")
    arguments = parser.parse_args()
    files = sorted(file for folder in arguments.data for file in folder.rglob("*") if file.is_file())
    recordings = [Recording(file) for file in files if file.name.endswith((".cache.json", ".cache.json.gz"))]
    spaces = [file for file in files if file.suffix == ".json" and is_constraint_space(file)]
    if not recordings or not spaces:
        parser.error("found no recorded spaces (*.cache.json.gz) or no constraint-space-1 files in the folders given")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    lathe = Lathe(arguments.build / "bin" / "lathe", arguments.threads)
    paths, seeds = [recording.path for recording in recordings], arguments.seeds

    def say(text):
        print(f"search_results: {text}", flush=True)

    say("construction")
    python = kernel_tuner_python(arguments.build / "kernel_tuner")
    built = construction(lathe, spaces, python)
    with tempfile.TemporaryDirectory() as folder:
        say("spaces of 10^9 points")
        large = memory(lathe, folder)
        say("the engine's own time")
        engine = engine_overhead(arguments.build / "bin" / "bench_search")
        say("the default ensemble")
        default = lathe.replay(paths, seeds=seeds, budget=400)
        singles = {}
        for technique in SINGLES:
            say(technique)
            singles[technique] = lathe.replay(paths, technique, seeds)
        texts = [recording.with_text_values(folder) for recording in recordings]
        alternatives, as_text = {}, {}
        for choice in ALTERNATIVES:
            say(choice_text(choice))
            alternatives[choice] = default if choice == DEFAULT else lathe.replay(paths, choice[0], seeds, 400, choice[1])
            as_text[choice] = lathe.replay(texts, choice[0], max(1, seeds // 2), 400, choice[1])
        say("transfer")
        transferred = transfer(lathe, recordings, seeds, folder)

    peers = json.loads(Path(__file__).with_name("kernel_tuner_search.json").read_text(encoding="utf-8"))
    names = [recording.name for recording in recordings]
    peers = peers if sorted(names) == sorted(peers["spaces"]) else None
    left_out = leave_one_out(alternatives, recordings)
    cold = list(zip(names, default))
    host = f"{platform.machine()}, {platform.system()}"
    for space, name in zip(default, names):
        space["file"] = name
    data = {"date": datetime.date.today().isoformat(), "host": host, "seeds": seeds, "peers": KERNEL_TUNER,
            "construction": built, "large_spaces": large, "engine": engine, "default": default,
            "single_techniques": {name: [{"mark": m, "mean": mean_at(found, m)} for m in MARKS[:4]]
                                  for name, found in singles.items()},
            "alternatives": [{"choice": choice_text(c), "mean": {m: mean_at(alternatives[c], m) for m in MARKS},
                              "words": {m: mean_at(as_text[c], m) for m in MARKS}} for c in ALTERNATIVES],
            "leave_one_kernel_out": [{**row, "chosen": choice_text(row["chosen"])} for row in left_out],
            "transfer": transferred}
    sections = {
        "construction": construction_text(built),
        "memory": table(["space of 10^9 points", "valid", "exact", "built, ms", "peak memory, MB"],
                        [[r["space"], f"{r['valid']:.0f}", "yes" if r["exact"] else "no",
                          f"{r['construction_ms']:.0f}" if r["construction_ms"] > 100 else r["construction_ms"],
                          f"{r['peak_megabytes']:.0f}"] for r in large]),
        "search": search_text(default, peers),
        "spaces": spaces_text(names, default),
        "singles": table(["technique", *[str(m) for m in MARKS[:4]]],
                         [[name, *[mean_at(found, m) for m in MARKS[:4]]] for name, found in singles.items()]),
        "alternatives": table(["arms, patience", *[str(m) for m in MARKS[1:]], *[f"words {m}" for m in MARKS[1:]]],
                              [[choice_text(c) + (" (default)" if c == DEFAULT else ""),
                                *[mean_at(alternatives[c], m) for m in MARKS[1:]],
                                *[mean_at(as_text[c], m) for m in MARKS[1:]]] for c in ALTERNATIVES]),
        "leave_one_out": table(["kernel left out", "chosen on the others", "its score", "the default's",
                                "best of all", "worst of all"],
                               [[r["left_out"], choice_text(r["chosen"]), r["score_of_chosen"],
                                 r["score_of_default"], r["best_score"], r["worst_score"]] for r in left_out]),
        "transfer_means": transfer_means(transferred, cold),
        "transfer": transfer_text(transferred, cold),
        "gap": table(["evaluations", "true gap, mean", "estimated gap, mean", "estimates that held"],
                     [[str(m), *[f"{100 * mean_at(default, m, key):.1f} %" for key in
                                 ("remaining_gap", "estimated_remaining_gap", "gap_estimates_that_held")]]
                      for m in MARKS]),
        "engine": table(["space", "evaluations", "ms an evaluation", "ms over the last tenth"],
                        [[r["space"], str(r["evaluations"]), r["ms_per_evaluation"], r["ms_at_the_end"]]
                         for r in engine]),
    }
    template = Path(__file__).with_name("search_results.md.in").read_text(encoding="utf-8")
    for name, text in {**sections, "date": data["date"], "host": host, "seeds": str(seeds),
                       "peers": " with ".join(KERNEL_TUNER)}.items():
        template = template.replace(f"@{name}@", text.rstrip("\n"))
    write_markdown(arguments.output, data, template)
    say(f"wrote {arguments.output} and {arguments.output.with_suffix('.json')}")


def search_text(default, peers):
    rows = [["**lathe, default ensemble**", *[mean_at(default, m) for m in MARKS]]]
    if peers:
        rows += [[f"Kernel Tuner {name}", *values] for name, values in peers["strategies"].items()]
        best = [max(column) for column in zip(*peers["strategies"].values())]
        ahead = [100 * (mine - theirs) for mine, theirs in zip(rows[0][1:], best)]
        rows.insert(1, ["ahead of the best of Kernel Tuner's, points", *[f"{points:+.1f}" for points in ahead]])
    rows.append(["random search (exact expectation)", *[mean_at(default, m, "random") for m in MARKS]])
    return table(["strategy", *[str(m) for m in MARKS]], rows)


def spaces_text(names, default):
    rows = []
    for name, space in zip(names, default):
        near = space["median_evaluations_to_95_percent"]
        rows.append([name, *[f"{at(space, m):.3f} ({at(space, m, 'random'):.3f})" for m in MARKS],
                     "-" if near is None else str(near), space["performance_score"]])
    return table(["space", *[str(m) for m in MARKS], "to 95 %", "score"], rows)


if __name__ == "__main__":
    main()
