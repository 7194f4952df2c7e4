"""How fast configurations are tried, and a good one is found, beside Kernel Tuner in one run on one GPU.

usage: pipeline_results.py --lathe PROGRAM --root FOLDER --output FILE.json [--case NAME]... [--kernel-tuner-seconds 60]
       [--seeds 2] [--only-small]

Both sides start with cold caches. The truth of a space is Lathe's exhaustive run over it (every configuration verified
and timed with an interval of 1 %). Writes JSON; pipeline_page.py makes the page of it. Needs a GPU; Kernel Tuner is
left out, and named as left out, where it cannot be imported."""

import argparse
import datetime
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pipeline_cases

HERE = Path(__file__).resolve().parent
STRATEGY = "adaptive_tabu_greywolf"  # Kernel Tuner's best on recorded spaces (docs/results/search.md)
CLOSE = 1.05


def run_lathe(arguments, spec, case, folder, options):
    """One tuning with nothing cached: wall time, the -v text, and the evaluations with their times since the start."""
    store = Path(folder) / "results.sqlite"
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path(folder) / "cache")}
    command = [arguments.lathe, "tune", str(spec), "--problem", case.problem_text(), "--no-transfer", "--no-profile", "-v",
               "--results", str(store), *map(str, options)]
    start = time.time()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    wall = time.time() - start
    if done.returncode != 0:
        sys.exit(f"pipeline_results: lathe failed: {done.stderr[-600:]}")
    rows = []
    with sqlite3.connect(store) as database:
        query = "SELECT knob_names, knobs, outcome, median_us, timestamp FROM evaluations ORDER BY id"
        for names, knobs, outcome, median, stamp in database.execute(query):
            at = datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() - start
            rows.append({"Knobs": dict(zip(json.loads(names), json.loads(knobs))), "Outcome": outcome,
                         "Microseconds": median, "Seconds": at})
    busy = re.search(r"pipeline: ([\d.]+) s of evaluating.*compile workers (\d+) % busy, device (\d+) %", done.stdout)
    return {"Wall": wall, "Rows": rows, "Evaluating": float(busy.group(1)) if busy else None,
            "CompileBusy": int(busy.group(2)) / 100 if busy else None,
            "DeviceBusy": int(busy.group(3)) / 100 if busy else None}


def run_kernel_tuner(arguments, case, valid, strategy, seconds, seed, folder):
    path = Path(folder) / "valid.json"
    path.write_text(json.dumps(valid), encoding="utf-8")
    environment = {**os.environ, "CUPY_CACHE_DIR": str(Path(folder) / "cupy")}
    start = time.time()
    done = subprocess.run([sys.executable, str(HERE / "kernel_tuner_pipeline.py"), arguments.root, case.name, str(path), strategy,
                           str(seconds), str(seed)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        return {"Missing": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it failed"}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    # How long the process was busy importing and making inputs before tune_kernel was called.
    return result | {"Process": time.time() - start, "StartUp": result.pop("Began") - start}


def first_close(rows, truth, limit):
    """Seconds and evaluations until the first configuration whose true time is within `limit` of the optimum."""
    best = min(truth.values())
    for count, row in enumerate(rows, 1):
        time_there = truth.get(json.dumps(row["Knobs"], sort_keys=True))
        if time_there is not None and time_there <= limit * best and row["Seconds"] is not None:
            return {"Seconds": row["Seconds"], "Evaluations": count}
    return None


def without_rows(result):
    rows = result.get("Rows", [])
    times = [row["Seconds"] for row in rows if row["Seconds"] is not None]
    return {key: value for key, value in result.items() if key != "Rows"} | {
        "Configurations": len({json.dumps(row["Knobs"], sort_keys=True) for row in rows}), "Rows": len(rows),
        "Timed": sum(1 for row in rows if row.get("Milliseconds", row.get("Microseconds")) is not None),
        "LastSeconds": max(times) if times else None}


def brute_force(arguments, case):
    with tempfile.TemporaryDirectory() as folder:
        spec = pipeline_cases.write_part(arguments.root, case, folder)
        return run_lathe(arguments, spec, case, folder, ["--evaluations", 10**9, "--finalists", 1, "--technique", "random"])


def small_case(arguments):
    case = pipeline_cases.SMALL
    lathe = brute_force(arguments, case)
    valid = [row["Knobs"] for row in lathe["Rows"]]
    with tempfile.TemporaryDirectory() as folder:
        peer = run_kernel_tuner(arguments, case, valid, "brute_force", 0, 1, folder)
    return {"Case": case.name, "Problem": case.problem_text(), "Lathe": without_rows(lathe), "KernelTuner": without_rows(peer)}


def large_case(arguments, case):
    exhaustive = brute_force(arguments, case)
    truth = {json.dumps(row["Knobs"], sort_keys=True): row["Microseconds"] for row in exhaustive["Rows"] if row["Outcome"] == "ok"}
    best = min(truth.values())
    close = sum(1 for us in truth.values() if us <= CLOSE * best)
    result = {"Case": case.name, "Problem": case.problem_text(), "Valid": len(exhaustive["Rows"]), "Working": len(truth),
              "Close": close, "BestMicroseconds": best, "Exhaustive": without_rows(exhaustive), "Runs": []}
    valid = [row["Knobs"] for row in exhaustive["Rows"]]
    for seed in range(1, arguments.seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            spec = pipeline_cases.write_part(arguments.root, case, folder)
            lathe = run_lathe(arguments, spec, case, folder, ["--evaluations", 300, "--seed", seed])
            found = first_close(lathe["Rows"], truth, CLOSE)
            result["Runs"].append({"Tool": "lathe", "Seed": seed, "Close": found, **without_rows(lathe)})
        with tempfile.TemporaryDirectory() as folder:
            peer = run_kernel_tuner(arguments, case, valid, STRATEGY, arguments.kernel_tuner_seconds, seed, folder)
            found = None if "Missing" in peer else first_close(peer["Rows"], truth, CLOSE)
            result["Runs"].append({"Tool": "kernel_tuner", "Seed": seed, "Close": found, **without_rows(peer)})
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lathe", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--kernel-tuner-seconds", type=float, default=60)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only-small", action="store_true")
    arguments = parser.parse_args()
    devices = subprocess.run([arguments.lathe, "devices", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    result = {"Devices": json.loads(devices.stdout), "Cores": os.cpu_count(), "Strategy": STRATEGY, "CloseWithin": CLOSE,
              "Date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "Large": []}

    def keep():
        Path(arguments.output).write_text(json.dumps(result, indent=1), encoding="utf-8")

    if not arguments.case:
        result["Small"] = small_case(arguments)
        keep()
    for case in pipeline_cases.LARGE:
        if not arguments.only_small and (not arguments.case or case.name in arguments.case):
            result["Large"].append(large_case(arguments, case))
            keep()


main()
