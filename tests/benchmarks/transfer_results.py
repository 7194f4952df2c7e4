#!/usr/bin/env python3
"""Measures what earlier results do to a search: those of other devices or problem sizes, whole or cut down to what a
search has stored of them, and wrong ones.

    transfer_results.py FOLDER... --build BUILD [--seeds N] [--budget N] [--kinds KIND...] [--targets TEXT]

FOLDER: recorded spaces (Kernel Tuner caches or T4 files). Recordings that have the same knobs belong to one kernel and
are each other's earlier results. Prints the table of means; `search_results.py` has the whole page.
"""

import argparse
import gzip
import json
from pathlib import Path

from measure import Lathe, vendor_of
from search_tables import MARKS, at, transfer_kernels, transfer_means

HISTORIES = [0, 100, 30]  # 0: the whole recording
CHANGES = ["shuffled", "inverted", "permuted"]


class Space:
    """A recorded space: which kernel it is of, and where it was measured."""

    def __init__(self, path):
        self.path, self.name = path, path.name.split(".cache.json")[0].split(".T4.json")[0]
        with gzip.open(path, "rt", encoding="utf-8") if path.name.endswith(".gz") else path.open(encoding="utf-8") as file:
            content = json.load(file)
        if "cache" in content:
            self.knobs, self.device = frozenset(content["tune_params_keys"]), content["device_name"]
        else:
            self.knobs, self.device = frozenset(content["results"][0]["configuration"]), ""
        self.kernel = self.name

    def relation(self, other):
        if self.device == other.device:
            return "other problem"
        return "same vendor" if vendor_of(self.device) == vendor_of(other.device) else "other vendor"


def read_spaces(files):
    """The recordings, one of each space; a kernel is named after the first of its recordings."""
    spaces, names = {}, set()
    for path in sorted(files):
        if path.name.endswith((".cache.json", ".cache.json.gz", ".T4.json", ".T4.json.gz")):
            space = Space(path)
            if space.name not in names: # a Kernel Tuner cache may lie beside a T4 file of the same
                names.add(space.name)
                spaces[path] = space
    found = list(spaces.values())
    for space in found:
        space.kernel = next(other.kernel for other in found if other.knobs == space.knobs)
    return found


def kind_of(relation, history, change):
    amount = f"history of {history}" if history else "everything"
    return f"{change or relation}, {amount}"


def cases(spaces):
    """(target, kind, name of the earlier one, its file, history, change) for every pair and every spoilt one."""
    for target in spaces:
        for other in spaces:
            if other is not target and other.kernel == target.kernel:
                for history in HISTORIES:
                    yield target, kind_of(target.relation(other), history, ""), other, history, ""
        for change in CHANGES:
            for history in HISTORIES:
                yield target, kind_of("", history, change), target, history, change


def measure(lathe, spaces, seeds, budget=200, kinds=None, targets="", say=print, options=()):
    """One row a case, and before them one a target without earlier results."""
    rows = []
    marks = [mark for mark in MARKS if mark <= budget]

    def run(target, kind, of, *more):
        say(f"{target.name}: {kind}{' of ' + of if of else ''}")
        space = lathe.replay([target.path], seeds=seeds, budget=budget, more=[*more, *options])[0]
        rows.append({"space": target.name, "kernel": target.kernel, "kind": kind, "of": of,
                     "fractions": {str(mark): at(space, mark) for mark in marks},
                     "errors": {str(mark): at(space, mark, "standard_error") for mark in marks}})

    chosen = [case for case in cases(spaces) if targets in case[0].name and (not kinds or any(k in case[1] for k in kinds))]
    for target in dict.fromkeys(case[0] for case in chosen):
        run(target, "cold", "")
        for _, kind, other, history, change in [case for case in chosen if case[0] is target]:
            run(target, kind, other.name, "--prior", other.path, "--prior-history", history,
                "--prior-change", change or "none")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--build", type=Path, required=True, help="a build folder with bin/lathe")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=100)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--kinds", nargs="*", help="only kinds that contain one of these texts")
    parser.add_argument("--targets", default="", help="only targets that contain this text")
    parser.add_argument("--paced", action="store_true", help="as many under way as lathe tune has")
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    arguments = parser.parse_args()
    spaces = read_spaces(file for folder in arguments.folders for file in folder.rglob("*") if file.is_file())
    rows = measure(Lathe(arguments.build / "bin" / "lathe", arguments.threads), spaces, arguments.seeds,
                   arguments.budget, arguments.kinds, arguments.targets, lambda text: None,
                   ["--paced"] if arguments.paced else [])
    print(transfer_means(rows))
    print()
    print(transfer_kernels(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
