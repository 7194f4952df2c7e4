#!/usr/bin/env python3
"""Judges mutants of the shipped templates and writes docs/results/guard_newest.json and the tables of guard.md.

  guard_results.py run LATHE FOLDER [--mutants N] [--seed S] [KERNEL ...]
      `LATHE check KERNEL.json --mutants=N --seed S --json` for each kernel, one after the other, with the next
      seed each; each answer goes to FOLDER/KERNEL.json, and a kernel whose answer is there is not judged again.
  guard_results.py tables FOLDER
      The answers of the folder as docs/results/guard_newest.json, and its tables on standard output. What stands around
      the tables in docs/results/guard.md, and what survivors are, is written by hand.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FATES = ["refused", "equivalent", "alike", "broken", "survived"]


def run(arguments):
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, spec in enumerate(sorted((ROOT / "search_spaces").glob("*.json"))):
        answer = folder / spec.name
        if answer.exists() or (arguments.kernels and spec.stem not in arguments.kernels):
            continue
        command = [arguments.lathe, "check", str(spec), f"--mutants={arguments.mutants}", "--seed", str(arguments.seed + number), "--json"]
        result = subprocess.run(command, capture_output=True, text=True)
        try:
            certificate = json.loads(result.stdout)
        except json.JSONDecodeError:
            print(f"{spec.stem}: {result.stderr.strip()}", file=sys.stderr)
            continue
        answer.write_text(json.dumps(certificate, indent=1) + "\n")
        verdict = "accepted" if certificate["Accepted"] else "REFUSED"
        print(f"{spec.stem}: {verdict}, {len(certificate.get('Mutants', []))} mutants", flush=True)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def tables(arguments):
    certificates = {path.stem: json.loads(path.read_text()) for path in sorted(pathlib.Path(arguments.folder).glob("*.json"))}
    if not certificates:
        sys.exit(f"{arguments.folder} has no answers: guard_results.py run writes them")
    mutants = {name: certificate.get("Mutants", []) for name, certificate in certificates.items()}
    fates = {name: collections.Counter(mutant["Fate"] for mutant in of) for name, of in mutants.items()}
    everything = [mutant for of in mutants.values() for mutant in of]
    total = collections.Counter(mutant["Fate"] for mutant in everything)

    def row(name, of, counts):
        seconds = sum(mutant["Seconds"] for mutant in of) / max(1, len(of))
        return [name, len(of), *(counts[fate] for fate in FATES), f"{seconds:.1f}"]

    rows = [row(name, of, fates[name]) for name, of in mutants.items()]
    table(["kernel", "mutants", *FATES, "s a mutant"], [*rows, row("all", everything, total)])
    checks = collections.Counter(mutant["Check"] for mutant in everything if mutant["Fate"] == "refused")
    table(["check", "refused first by it"], checks.most_common())
    kinds = collections.defaultdict(collections.Counter)
    for mutant in everything:
        kinds[mutant["Kind"]][mutant["Fate"]] += 1
    table(["kind", *FATES], [[kind, *(kinds[kind][fate] for fate in FATES)] for kind in sorted(kinds)])
    table(["template", "accepted", "identity", "s"],
          [[name, "yes" if c["Accepted"] else "**no**", c["Identity"], f"{c['Seconds']:.1f}"] for name, c in certificates.items()])
    for name, of in mutants.items():
        for mutant in of:
            if mutant["Fate"] in ("alike", "survived"):
                print(f"| {name} | {mutant['Fate']} | {mutant['Kind']}, {mutant['Description']} | {mutant['Detail']} |")
    out = {
        "Schema": 2,
        "Seeds": {name: certificate["Seed"] for name, certificate in certificates.items()},
        "Honest": {name: {"Accepted": c["Accepted"], "Identity": c["Identity"], "Seconds": c["Seconds"]} for name, c in certificates.items()},
        "Mutants": mutants,
    }
    text = re.sub(r"/\S*/lathe-mutant-\w+/", "", json.dumps(out, indent=1))  # where a mutant was for a moment
    (ROOT / "docs/results/guard_newest.json").write_text(text + "\n")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(required=True)
command = commands.add_parser("run")
command.add_argument("lathe")
command.add_argument("folder")
command.add_argument("kernels", nargs="*")
command.add_argument("--mutants", type=int, default=40)
command.add_argument("--seed", type=int, default=31)
command.set_defaults(work=run)
command = commands.add_parser("tables")
command.add_argument("folder")
command.set_defaults(work=tables)
given = parser.parse_args()
given.work(given)
