#!/usr/bin/env python3
"""Runs `lathe templatize` over kernels of production repositories, and writes docs/results/frontend.md and .json.

    ./dev frontend tests/benchmarks/sglang_kernels.json --root sglang=/path/to/checkout ...

The list names repositories with their commits, and kernels with the file, the kernel and the options each is given; its
"About" says how they were chosen. The folders where the repositories lie are given by --root. "{NAME}" in flags stands for
such a folder. Needs only Python's standard library, and no GPU.
"""

import argparse
import datetime
import json
import platform
import re
import string
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ENOUGH_KNOBS = 3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path, help="JSON: Repositories and Kernels")
    parser.add_argument("--root", action="append", default=[], metavar="NAME=FOLDER",
                        help="where a repository lies; the folder that the list has for it is below")
    parser.add_argument("--lathe", type=Path, default=ROOT / "build/dev/bin/lathe")
    parser.add_argument("--timeout", type=float, default=600, help="seconds a kernel")
    parser.add_argument("--seed", type=int, default=7, help="the guard's")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/frontend.md")
    parser.add_argument("--only", nargs="*", help="ids to measure anew; the others' rows are kept")
    return parser.parse_args()


class Runner:
    def __init__(self, options, repositories):
        self.options = options
        self.repositories = repositories
        self.roots = {name: Path(folder).resolve() for name, folder in (text.split("=", 1) for text in options.root)}

    def missing_folders(self, kernels):
        """A sentence for each folder that kernels or flags of the list want, and that --root does not give or is not there."""
        used = {entry["Repository"] for entry in kernels}
        flags = [flag for name in used for flag in self.repositories[name]["Flags"]]
        flags += [flag for entry in kernels for flag in entry.get("Flags", [])]
        used |= {name for flag in flags for _, name, _, _ in string.Formatter().parse(flag) if name}
        sentences = []
        for name in sorted(used):
            if name not in self.roots:
                wanted = self.repositories.get(name, {}).get("Name", name)
                sentences.append(f"--root {name}=FOLDER is missing: the list wants {wanted}")
            elif not self.folder(name).is_dir():
                sentences.append(f"--root {name}: there is no folder {self.folder(name)}")
        return sentences

    def folder(self, name):
        return self.roots[name] / self.repositories.get(name, {}).get("Folder", "")

    def without_paths(self, text):
        """Folders of this machine are named as their repositories."""
        for name, folder in sorted(self.roots.items(), key=lambda item: -len(str(item[1]))):
            text = text.replace(str(folder) + "/", "" if name == self.repositories[name].get("Short") else f"{name}/")
        return re.sub(r"(?<![\w.])/\S*/(?=[\w.-]+\.(?:cuh?|h|hpp)\b)", "", text)

    def lathe(self, words, folder, timeout):
        begin = time.monotonic()
        try:
            done = subprocess.run([str(self.options.lathe.resolve()), *words], cwd=folder, capture_output=True, text=True,
                                  timeout=timeout)
            return done.returncode, done.stdout, done.stderr, time.monotonic() - begin
        except subprocess.TimeoutExpired:
            return None, "", f"lathe: not done after {timeout:.0f} s", time.monotonic() - begin

    def is_listed(self, entry, folder, flags):
        code, out, _, _ = self.lathe(["templatize", entry["File"], "--list", "--kernel", entry["Kernel"], "--", *flags],
                                     folder, self.options.timeout)
        name = re.sub(r":\d+$", "", entry["Kernel"])
        return code == 0 and re.search(rf"\b{re.escape(name)}\b", out) is not None

    def is_extracted(self, entry, folder, flags):
        with tempfile.TemporaryDirectory() as output:
            code, _, errors, _ = self.lathe(
                ["templatize", entry["File"], "--kernel", entry["Kernel"], *entry.get("Options", []), "--extract",
                 str(Path(output) / "kernel.cu"), "--", *flags], folder, self.options.timeout)
        return code == 0, self.without_paths(self.sentence(errors))

    def measure(self, entry):
        repository = self.repositories[entry["Repository"]]
        folder = self.folder(entry["Repository"])
        flags = [flag.format(**self.roots) for flag in repository["Flags"] + entry.get("Flags", [])]
        row = {"Lathe": lathe_commit(), "Id": entry["Id"], "Repository": entry["Repository"], "File": entry["File"], "Kernel": entry["Kernel"],
               "Options": entry.get("Options", []), "Listed": self.is_listed(entry, folder, flags)}
        row["Compiled"], why_not = self.is_extracted(entry, folder, flags)
        with tempfile.TemporaryDirectory() as output:
            code, out, errors, seconds = self.lathe(
                ["templatize", entry["File"], "--kernel", entry["Kernel"], *row["Options"], "--seed",
                 str(self.options.seed), "-o", output, "--json", "--", *flags], folder, self.options.timeout)
            row["Seconds"] = round(seconds, 1)
            if out.lstrip().startswith("{"):
                self.read_outcome(row, json.loads(out))
            else:
                row.update(Verdict="error", Identity="", Knobs=[])
                row["Why"] = self.without_paths(self.sentence(errors)) if row["Compiled"] else why_not
        return row

    @staticmethod
    def sentence(errors):
        lines = [line for line in errors.splitlines() if line.startswith("lathe: ")]
        return lines[-1][len("lathe: "):] if lines else "no message"

    def read_outcome(self, row, outcome):
        certificate = json.loads(Path(outcome["Certificate"]).read_text())
        checks = {check["Check"]: check for check in certificate["Checks"]}
        row["Verdict"] = "accepted" if outcome["Accepted"] else "refused"
        row["Identity"] = outcome["IdentityLevel"]
        row["Knobs"] = [knob["Name"] for knob in outcome.get("Knobs", [])]
        bad = [f"{check['Check']}: {check['Detail']}" for check in certificate["Checks"]
               if check["Verdict"] in ("failed", "undecided")]
        row["Why"] = self.without_paths(bad[0]) if bad else ""


def lathe_commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def groups(rows):
    """By id: a kernel of production often has several forms (D4, D4b)."""
    found = {}
    for row in rows:
        found.setdefault(re.match(r"[A-Z]+\d+", row["Id"]).group(), []).append(row)
    return found


def word(value):
    return {True: "yes", False: "no", None: "not reached"}[value]


def shortened(text, limit=260):
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " ..."


def render(results):
    rows, by_id = results["Rows"], groups(results["Rows"])
    accepted = [row for row in rows if row["Verdict"] == "accepted"]
    with_knobs = [name for name, group in by_id.items()
                  if any(row["Verdict"] == "accepted" and len(row["Knobs"]) >= ENOUGH_KNOBS for row in group)]
    commits = " and ".join(sorted({row.get("Lathe", results["Lathe"]) for row in rows}))
    lines = ["# The front end on production kernels", "",
             "`lathe templatize` on kernels as they stand in production repositories, by the rules alone and judged by the",
             f"guard (seed {results['Seed']}). {results['Date']}, Lathe at {commits},",
             f"{results['Machine']}; no GPU.", ""]
    if results.get("About"):
        lines += [results["About"], ""]
    for name, repository in results["Repositories"].items():
        lines.append(f"* {name}: {repository['Name']} at {repository['Commit']}"
                     + (f", below `{repository['Folder']}`" if repository.get("Folder") else ""))
    lines += ["", f"- {len(rows)} kernels of {len(by_id)} entries; listed: {sum(row['Listed'] for row in rows)}; extracted and",
              f"  compiled by NVRTC: {sum(row['Compiled'] is True for row in rows)}; accepted: {len(accepted)}.",
              f"- Entries with an accepted template of at least {ENOUGH_KNOBS} knobs: **{len(with_knobs)} of {len(by_id)}**"
              f" ({', '.join(with_knobs)}).", "",
              "| id | file | kernel | listed | NVRTC | verdict | identity | knobs | s |",
              "|---|---|---|---|---|---|---|---:|---:|"]
    for row in rows:
        lines.append(f"| {row['Id']} | {row['File']} | {row['Kernel']} | {word(row['Listed'])} | {word(row['Compiled'])} | "
                     f"{row['Verdict']} | {row['Identity']} | {len(row['Knobs'])} | {row['Seconds']:.0f} |")
    failed = [row for row in rows if row["Verdict"] != "accepted"]
    if failed:
        lines += ["", "What stands against the others, in the tool's own words:", ""]
        lines += [f"* {row['Id']}, {row['Kernel']}: {shortened(row['Why'])}" for row in failed]
    given = [row for row in rows if row["Options"]]
    if given:
        lines += ["", "Options that were given, because the source leaves them open:", "", "| id | options |", "|---|---|"]
        lines += [f"| {row['Id']} | `{shortened(' '.join(row['Options']), 700)}` |" for row in given]
    lines += ["", "NVRTC: whether `lathe templatize --extract` writes a file that NVRTC compiles alone. Seconds are wall clock of the whole",
              "command; listing and extracting go before it, and leave parsed headers and compiled code in the caches.", ""]
    return "\n".join(lines)


def main():
    options = arguments()
    given = json.loads(options.list.read_text())
    runner = Runner(options, given["Repositories"])
    missing = runner.missing_folders(given["Kernels"])
    if missing:
        raise SystemExit("\n".join(missing))
    data = options.output.with_suffix(".json")
    kept, about = {}, given.get("About", "")
    if options.only and data.exists():
        before = json.loads(data.read_text())
        kept = {row["Id"]: row for row in before["Rows"]}
        about = before.get("About", about)  # what it says is of the rows that stay, too
    rows = []

    def write():
        results = {"Date": datetime.date.today().isoformat(), "Lathe": lathe_commit(),
                   "Machine": f"{platform.machine()}, {platform.system()}", "Seed": options.seed,
                   "About": about, "Repositories": given["Repositories"], "Rows": rows}
        data.write_text(json.dumps(results, indent=1) + "\n")
        options.output.write_text(render(results))

    for entry in given["Kernels"]:
        if options.only and entry["Id"] not in options.only and entry["Id"] in kept:
            rows.append(kept[entry["Id"]])
            continue
        row = runner.measure(entry)
        print(f"{row['Id']:<5} {row['Kernel']:<60} {row['Verdict']:<9} {row['Identity']:<3} "
              f"{len(row['Knobs'])} knobs {row['Seconds']:.0f} s  {row['Why'][:120]}", flush=True)
        rows.append(row)
        write()  # after each kernel: a run takes long and may be ended
    write()


if __name__ == "__main__":
    main()
