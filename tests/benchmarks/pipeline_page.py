"""Makes docs/results/pipeline.md and .json of what pipeline_results.py wrote.

usage: pipeline_page.py --output PAGE.md --commit COMMIT [--isolation FILE.json] RESULT.json...

FILE.json: the shares "between the processes" that `lathe tune -v` printed, by hand."""

import argparse
import json
from pathlib import Path

HEAD = """# The measuring pipeline beside Kernel Tuner

{device}, driver {driver}, CUDA 13.0, {cores} cores, {date}, commit {commit}. Kernel Tuner {version} with its CuPy backend,
the same templates, configurations and launches, both with cold caches, one after the other on the same machine:

    python3 tests/benchmarks/pipeline_results.py --lathe build/dev/bin/lathe --root . --output pipeline.json

Lathe verifies every configuration (twice before timing; again in timed calls unless it is clearly beaten), gives every timed
call new input values and poisoned outputs, and repeats until the interval is 1 %. Kernel Tuner runs each configuration
seven times on the same buffers and verifies nothing here.

"""


def per_second(count, seconds):
    return f"{count / seconds:.1f}" if seconds else "not measured"


def small_table(small):
    lathe, peer = small["Lathe"], small["KernelTuner"]
    text = f"## {lathe['Configurations']} configurations of rmsnorm ({small['Problem']}), all of them\n\n"
    text += "| | whole process s | configurations/s | of evaluating alone | compile workers busy | device busy |\n"
    text += "|---|---:|---:|---:|---:|---:|\n"
    text += (f"| Lathe | {lathe['Wall']:.2f} | {per_second(lathe['Configurations'], lathe['Wall'])} | "
             f"{per_second(lathe['Configurations'], lathe['Evaluating'])} | {100 * lathe['CompileBusy']:.0f} % | "
             f"{100 * lathe['DeviceBusy']:.0f} % |\n")
    whole = peer.get("Process", peer["Wall"])
    text += (f"| Kernel Tuner | {whole:.2f} | {per_second(peer['Configurations'], whole)} | "
             f"{per_second(peer['Configurations'], peer['Wall'])} | not measured | not measured |\n\n")
    text += (f"Whole processes: {whole / lathe['Wall']:.1f}x. Evaluating alone, against Kernel Tuner's tune_kernel call: "
             f"{peer['Wall'] / lathe['Evaluating']:.1f}x.\n\n")
    return text


def large_tables(cases):
    text = "## Exhaustive runs of Lathe\n\n| space | valid | within 5 % of the best | s | configurations/s | compile workers busy | device busy |\n"
    text += "|---|---:|---:|---:|---:|---:|---:|\n"
    for case in cases:
        run = case["Exhaustive"]
        text += (f"| {case['Case']}, {case['Problem']} | {case['Valid']} | {case['Close']} ({100 * case['Close'] / case['Valid']:.2f} %) | "
                 f"{run['Wall']:.1f} | {per_second(case['Valid'], run['Wall'])} | {100 * run['CompileBusy']:.0f} % | "
                 f"{100 * run['DeviceBusy']:.0f} % |\n")
    text += "\n## Seconds to the first configuration within 5 % of the exhaustive best\n\n"
    text += ("Since the process began; Kernel Tuner's second column since tune_kernel was called, which leaves out its imports and "
             "the making of its inputs. Strategy of Kernel Tuner: adaptive_tabu_greywolf.\n\n")
    text += ("| space | seed | Lathe s | evaluations | Kernel Tuner s | since its call | evaluations | ratio | of its call |\n"
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
    for case in cases:
        for seed in sorted({run["Seed"] for run in case["Runs"]}):
            found = {run["Tool"]: run["Close"] for run in case["Runs"] if run["Seed"] == seed}
            lathe, peer = found.get("lathe"), found.get("kernel_tuner")
            cell = lambda one, key, form: form.format(one[key]) if one else "not found"  # noqa: E731
            begun = next((run["StartUp"] for run in case["Runs"] if run["Seed"] == seed and "StartUp" in run), 0)
            whole = {"Seconds": peer["Seconds"] + begun} if peer else None
            ratio = lambda one: f"{one['Seconds'] / lathe['Seconds']:.1f}" if lathe and one else "not measured"  # noqa: E731
            text += (f"| {case['Case']} | {seed} | {cell(lathe, 'Seconds', '{:.2f}')} | {cell(lathe, 'Evaluations', '{}')} | "
                     f"{cell(whole, 'Seconds', '{:.2f}')} | {cell(peer, 'Seconds', '{:.2f}')} | {cell(peer, 'Evaluations', '{}')} | "
                     f"{ratio(whole)} | {ratio(peer)} |\n")
    text += "\nA run that did not come within 5 % in its time is 'not measured'.\n"
    return text


def isolation_table(isolation):
    listed = lambda values: ", ".join(f"{value:g}" for value in values)  # noqa: E731
    text = ("## What isolation costs\n\n"
            "The runner measures in a process of its own. Of the wall time of evaluating, the share that passes between sending a "
            "configuration and its answer, less what the runner itself says that it took, is what a loop in one process would not pay. "
            f"{isolation['Device']}, {isolation['Cores']} cores, {isolation['Date']}, commit {isolation['Commit']}; the same machine for "
            "all rows, `lathe tune -v --technique random --evaluations 1000000000 --finalists 1 --no-profile`.\n\n"
            "| space | cubins | compile workers | between the processes, % | whole process, s |\n|---|---|---|---:|---:|\n")
    for run in isolation["Runs"]:
        text += (f"| {run['Case']} | {run['Cubins']} | {run['Workers']} | {listed(run['BetweenPercent'])} | "
                 f"{listed(run['WholeSeconds'])} |\n")
    return text + ("\nWith a worker a core at equal priority the two processes that wait for each other also wait for a core: workers run at a "
                   "lower priority since.\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--commit", required=True)
    parser.add_argument("--isolation")
    parser.add_argument("results", nargs="+")
    arguments = parser.parse_args()
    results = [json.loads(Path(path).read_text(encoding="utf-8")) for path in arguments.results]
    small = [result["Small"] for result in results if "Small" in result][-1]
    cases = [case for result in results for case in result["Large"]]
    device = results[-1]["Devices"][0]
    text = HEAD.format(device=device["name"], driver=device["driver"], cores=results[-1]["Cores"], date=results[-1]["Date"],
                       commit=arguments.commit, version=small["KernelTuner"]["Version"])
    text += small_table(small) + large_tables(cases)
    isolation = json.loads(Path(arguments.isolation).read_text(encoding="utf-8")) if arguments.isolation else None
    if isolation:
        text += "\n" + isolation_table(isolation)
    page = Path(arguments.output)
    page.write_text(text, encoding="utf-8")
    for result in results:
        for one in result["Devices"]:
            one.pop("uuid", None)
    content = {"Commit": arguments.commit, "Results": results} | ({"Isolation": isolation} if isolation else {})
    page.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


main()
