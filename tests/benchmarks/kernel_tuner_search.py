"""Replays one recording with one of Kernel Tuner's strategies in its simulation mode, seed by seed.

    kernel_tuner_search.py NAME.cache.json[.gz] STRATEGY SEEDS MARK...

The constraints are read from NAME.space.json beside the recording. Prints for each seed optimum / best so far after so
many distinct configurations, failed ones included; asking again for one is free.
"""

import contextlib
import gzip
import io
import json
import random
import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("ignore")

import kernel_tuner  # noqa: E402
import numpy  # noqa: E402
from kernel_tuner_construction import python_text  # noqa: E402

path, strategy, seeds, marks = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), [int(m) for m in sys.argv[4:]]
text = (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8").read()
recording = json.loads(text)
space = json.loads(path.with_name(path.name.split(".cache.json")[0] + ".space.json").read_text(encoding="utf-8"))
keys = recording["tune_params_keys"]
for record in recording["cache"].values():  # what the simulation does not use takes most of its time to read
    record["times"] = []
    for unused in ("GFLOP/s", "GB/s"):
        record.pop(unused, None)
text = json.dumps(recording)
optimum = min(r["time"] for r in recording["cache"].values() if not isinstance(r["time"], str))

with tempfile.TemporaryDirectory() as folder:
    cache = Path(folder) / "cache.json"
    runs = []
    for seed in range(1, seeds + 1):
        cache.write_text(text, encoding="utf-8")
        random.seed(seed)
        numpy.random.seed(seed)
        with contextlib.redirect_stdout(io.StringIO()):
            results, _ = kernel_tuner.tune_kernel(
                recording["kernel_name"], "__global__ void kernel() {}", recording["problem_size"], [],
                {key: recording["tune_params"][key] for key in keys},
                restrictions=[python_text(constraint) for constraint in space["constraints"]],
                strategy=strategy, strategy_options={"max_fevals": max(marks)}, cache=str(cache),
                simulation_mode=True, quiet=True)
        best, seen, progress = float("inf"), set(), []
        for result in results:
            point = tuple(result[key] for key in keys)
            if point in seen:
                continue
            seen.add(point)
            if isinstance(result["time"], (int, float)):
                best = min(best, result["time"])
            progress.append(optimum / best)
        runs.append([progress[min(mark, len(progress)) - 1] for mark in marks])
print(json.dumps(runs))
