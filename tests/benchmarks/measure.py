"""Runs what the search's results are made of: lathe, its benchmark and Kernel Tuner, each in its own process."""

import gzip
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

KERNEL_TUNER = ["kernel_tuner==1.4.0", "python-constraint2==2.6.0"]


def output_of(command):
    """Standard output; ends the program after the command's own message when it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"search_results: failed: {' '.join(str(part) for part in command)}")
    return done.stdout


def read_json(path):
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def is_constraint_space(path):
    try:
        return read_json(path).get("format") == "constraint-space-1"
    except (OSError, ValueError, AttributeError):
        return False


def vendor_of(device):
    return "AMD" if any(mark in device for mark in ("AMD", "Radeon", "Instinct", "gfx")) else "NVIDIA"


class Recording:
    """A recorded tuning space in Kernel Tuner's cache format."""

    def __init__(self, path):
        self.path = path
        self.name = path.name.split(".cache.json")[0]
        content = read_json(path)
        self.kernel, self.device = content["kernel_name"], content["device_name"]

    def has_constraints(self):
        return self.path.with_name(f"{self.name}.space.json").exists()

    def _write(self, change, folder, suffix):
        content = read_json(self.path)
        change(content)
        path = Path(folder) / f"{self.name}-{suffix}.cache.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def with_text_values(self, folder):
        """Every number a word: no order and no distance is left among the values of a knob."""

        def change(content):
            keys = content["tune_params_keys"]
            content["tune_params"] = {k: [f"v{v}" for v in content["tune_params"][k]] for k in keys}
            for record in content["cache"].values():
                for key in keys:
                    record[key] = f"v{record[key]}"
            content["cache"] = {",".join(r[k] for k in keys): r for r in content["cache"].values()}

        return self._write(change, folder, "text")


class Lathe:
    def __init__(self, program, threads):
        self.program, self.threads = program, threads

    def replay(self, files, technique="ensemble", seeds=20, budget=200, patience=None, more=()):
        command = [self.program, "replay", *files, "--json", "--technique", technique]
        command += ["--seeds", seeds, "--budget", budget, "--threads", self.threads]
        command += ["--patience", patience] if patience else []
        command += more
        return json.loads(output_of(command))["spaces"]

    def space(self, file, repeat):
        command = [self.program, "spaces", file, "--repeat", repeat, "--samples", 0, "--json"]
        return json.loads(output_of(command))[0]


def kernel_tuner_python(folder):
    """A virtual environment with Kernel Tuner; made where there is none. None where it cannot be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    installed = subprocess.run([python, "-m", "pip", "install", "--quiet", *KERNEL_TUNER], check=False)
    return python if installed.returncode == 0 else None


def kernel_tuner_construction(python, file, repeat):
    script = Path(__file__).with_name("kernel_tuner_construction.py")
    runs = [json.loads(output_of([python, script, file])) for _ in range(repeat)]
    return {"valid": runs[0]["valid"], "milliseconds": 1e3 * statistics.median(r["seconds"] for r in runs)}


def kernel_tuner_search(python, file, strategy, seeds, marks):
    """The fractions of every seed at the marks; nothing where the strategy fails or needs too long."""
    script = Path(__file__).with_name("kernel_tuner_search.py")
    command = [python, script, file, strategy, seeds, *marks]
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=900, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return []
    return json.loads(done.stdout)


def engine_overhead(program):
    rows = []
    for run in json.loads(output_of([program, "--benchmark_format=json"]))["benchmarks"]:
        space, evaluations = run["name"].split("/")[:2]
        rows.append({"space": space.removesuffix("_search"), "evaluations": int(evaluations),
                     "ms_per_evaluation": run["ms_per_evaluation"], "ms_at_the_end": run["ms_at_the_end"]})
    return rows


def large_spaces(folder):
    """Spaces of 10^9 points: two with structure, one whose condition has none."""
    parameters = [{"name": f"p{i}", "values": list(range(1, 11))} for i in range(9)]
    hashed = " + ".join(f"p{i} * p{(i + 1) % 9} * {101 + i * 37}" for i in range(9))
    spaces = {
        "bounded products": [f"p{i} * p{i + 1} <= 30" for i in range(8)],
        "a given sum": [" + ".join(f"p{i}" for i in range(9)) + " == 40", "p0 * p4 <= 40"],
        "a hash": [f"({hashed}) % 100 == 7"],
    }
    for name, constraints in spaces.items():
        path = Path(folder) / f"{name}.json"
        path.write_text(json.dumps({"format": "constraint-space-1", "name": name, "parameters": parameters,
                                    "constraints": constraints}), encoding="utf-8")
        yield name, path
