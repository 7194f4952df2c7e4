#!/usr/bin/env python3
"""Measures the spaces and the search engine, and writes docs/results/search.md and search.json.

    ./dev bench DATA... [--only SECTION...]

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

import transfer_results
from measure import (KERNEL_TUNER, Lathe, Recording, engine_overhead, is_constraint_space, kernel_tuner_construction,
                     kernel_tuner_python, kernel_tuner_search, large_spaces)
from search_tables import MARKS, at, mean_at, render

SINGLES = ["gaussian_process", "tree_ensemble", "local_search", "greedy_ils", "genetic", "simulated_annealing",
           "differential_evolution", "cobyla", "sbplx", "nelder_mead", "bobyqa", "crs2", "isres", "esch", "direct_l",
           "random"]
# What the default was chosen from: arms, and the evaluations without progress after which they share. The default
# comes first.
LEADER = "gaussian_process"
ALTERNATIVES = [(f"{LEADER}+greedy_ils", 200), (LEADER, 200), (f"{LEADER}+greedy_ils", 100), (f"{LEADER}+greedy_ils", 50),
                (f"{LEADER}+tree_ensemble+greedy_ils", 50)]
# Those of Kernel Tuner's strategies that lead at some mark in the recorded figures, or nearly.
STRATEGIES = ["adaptive_tabu_greywolf", "dual_annealing", "genetic_algorithm", "hybrid_vndx", "pso"]


class Measurement:
    """Each method measures one section of the results; the order is that of the measuring."""

    def __init__(self, arguments, files, recordings, spaces, folder):
        self.lathe = Lathe(arguments.build / "bin" / "lathe", arguments.threads)
        self.build, self.seeds, self.folder = arguments.build, arguments.seeds, folder
        self.recordings, self.spaces = recordings, spaces
        self.transferred = transfer_results.read_spaces(files)
        self.problems = transfer_results.read_spaces(Path(__file__).with_name("h200_problems").glob("*.gz"))
        self.paths = [recording.path for recording in recordings]
        self.python = kernel_tuner_python(arguments.build / "kernel_tuner")

    def construction(self):
        rows = []
        for file in self.spaces:
            ours = self.lathe.space(file, 51)
            theirs = kernel_tuner_construction(self.python, file, 5) if self.python else None
            keys = ("cartesian", "valid", "construction_ms", "listing_ms")
            rows.append({"space": ours["name"], **{key: ours[key] for key in keys}, "kernel_tuner": theirs})
        return rows

    def large_spaces(self):
        keys = ("cartesian", "valid", "exact", "construction_ms", "process_peak_megabytes")
        return [{"space": name, **{key: found[key] for key in keys}}
                for name, file in large_spaces(self.folder) for found in [self.lathe.space(file, 1)]]

    def engine(self):
        return engine_overhead(self.build / "bin" / "bench_search")

    def default(self):
        found = self.lathe.replay(self.paths, seeds=self.seeds, budget=400)
        for space, recording in zip(found, self.recordings):
            space["file"] = recording.name
        return found

    def kernel_tuner_search(self):
        """Mean over the recordings at the marks, by strategy."""
        if not self.python or not all(recording.has_constraints() for recording in self.recordings):
            return {}
        found = {}
        for strategy in STRATEGIES:
            say(strategy)
            runs = [kernel_tuner_search(self.python, path, strategy, self.seeds, MARKS) for path in self.paths]
            if all(runs):
                found[strategy] = [mean(mean(run[i] for run in space) for space in runs) for i in range(len(MARKS))]
        return found

    def single_techniques(self):
        found = {}
        for technique in SINGLES:
            say(technique)
            spaces = self.lathe.replay(self.paths, technique, self.seeds)
            found[technique] = [{"mark": mark, "mean": mean_at(spaces, mark)} for mark in MARKS[:4]]
        return found

    def alternatives(self):
        words = [recording.with_text_values(self.folder) for recording in self.recordings]
        numbers, rows = {}, []
        for choice in ALTERNATIVES:
            arms, patience = choice
            say(f"{arms}, {patience}")
            numbers[choice] = self.lathe.replay(self.paths, arms, self.seeds, 400, patience)
            with_words = self.lathe.replay(words, arms, max(1, self.seeds // 2), 400, patience)
            rows.append({"choice": choice_text(choice), "mean": {mark: mean_at(numbers[choice], mark) for mark in MARKS},
                         "words": {mark: mean_at(with_words, mark) for mark in MARKS}})
        return {"rows": rows, "leave_one_kernel_out": self._leave_one_out(numbers)}

    def _leave_one_out(self, numbers):
        """Chooses among the alternatives without one kernel's spaces, and scores the choice on these."""

        def score(choice, kernels):
            return mean(mean(at(space, mark) for mark in MARKS[1:])
                        for space in numbers[choice] if space["kernel"] in kernels)

        kernels = sorted({recording.kernel for recording in self.recordings})
        rows = []
        for left_out in kernels if len(kernels) > 1 else []:
            rest = [kernel for kernel in kernels if kernel != left_out]
            chosen = max(ALTERNATIVES, key=lambda choice: score(choice, rest))
            scores = {choice: score(choice, [left_out]) for choice in ALTERNATIVES}
            rows.append({"left_out": left_out, "chosen": choice_text(chosen), "score_of_chosen": scores[chosen],
                         "score_of_default": scores[ALTERNATIVES[0]], "best_score": max(scores.values()),
                         "worst_score": min(scores.values())})
        return rows

    def transfer(self):
        """What related, short and wrong earlier results do."""
        return transfer_results.measure(self.lathe, self.transferred, self.seeds, say=say)

    def problems_transfer(self):
        """The same of one kernel's problems at several sizes."""
        return transfer_results.measure(self.lathe, self.problems, self.seeds, budget=100, say=say)


SECTIONS = ["construction", "large_spaces", "engine", "default", "kernel_tuner_search", "single_techniques",
            "alternatives", "transfer", "problems_transfer"]


def choice_text(choice):
    arms, patience = choice
    return f"{arms.replace('+', ' + ')}, {patience}" if "+" in arms else arms


def say(text):
    print(f"search_results: {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with bin/lathe and bin/bench_search")
    parser.add_argument("--output", type=Path, required=True, help="the Markdown file to write; its JSON lies beside it")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS,
                        help="measure these sections; take the others from the JSON file")
    parser.add_argument("--note", default="", help="a sentence on the page, such as which sections are of an earlier day")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=0, help="replays at a time; 0: one a core")
    arguments = parser.parse_args()
    files = sorted(file for folder in arguments.data for file in folder.rglob("*") if file.is_file())
    recordings = [Recording(file) for file in files if file.name.endswith((".cache.json", ".cache.json.gz"))]
    spaces = [file for file in files if file.suffix == ".json" and is_constraint_space(file)]
    if not recordings or not spaces:
        parser.error("found no recorded spaces (*.cache.json.gz) or no constraint-space-1 files in the folders given")

    record = arguments.output.with_suffix(".json")
    record.parent.mkdir(parents=True, exist_ok=True)
    data = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    if missing := set(SECTIONS) - set(arguments.only) - set(data):
        parser.error(f"{record} has no {', '.join(sorted(missing))}: measure that too")
    data |= {"date": datetime.date.today().isoformat(), "host": f"{platform.machine()}, {platform.system()}",
             "seeds": arguments.seeds, "peers": KERNEL_TUNER, "note": arguments.note}
    with tempfile.TemporaryDirectory() as folder:
        measurement = Measurement(arguments, files, recordings, spaces, folder)
        for section in SECTIONS:
            if section in arguments.only:
                say(f"== {section}")
                data[section] = getattr(measurement, section)()
                record.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    arguments.output.write_text(render(json.loads(record.read_text(encoding="utf-8"))), encoding="utf-8")
    say(f"wrote {arguments.output} and {record}")


if __name__ == "__main__":
    main()
