"""Kernel Tuner on one of the cases, in a process of its own: prints one JSON object with what it evaluated and when.

usage: kernel_tuner_pipeline.py ROOT CASE VALID.json STRATEGY SECONDS SEED
VALID.json: the valid configurations, a list of objects. Needs kernel_tuner and cupy."""

import contextlib
import datetime
import io
import json
import os
import random
import sys
import time
from pathlib import Path

import kernel_tuner
import numpy

import pipeline_cases

PREFIX = "KT_"
CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")
SCALARS = {"i32": numpy.int32, "u32": numpy.uint32, "f32": numpy.float32}


def device_argument(kind, direction, amount, generator):
    if direction is None:
        return SCALARS[kind](amount)
    if kind == "f32":
        return generator.standard_normal(int(amount), dtype=numpy.float32)
    values = generator.standard_normal(int(amount), dtype=numpy.float32)
    return (values.view(numpy.uint32) >> 16).astype(numpy.uint16)  # bfloat16, rounded down


def main():
    root, name, valid_path, strategy, seconds, seed = sys.argv[1:7]
    case = next(c for c in [pipeline_cases.SMALL, *pipeline_cases.LARGE] if c.name == name)
    valid = json.loads(Path(valid_path).read_text(encoding="utf-8"))
    names = list(valid[0])
    allowed = {tuple(one[k] for k in names) for one in valid}
    random.seed(int(seed))
    numpy.random.seed(int(seed))
    generator = numpy.random.default_rng(int(seed))
    parameters = {PREFIX + k: sorted({one[k] for one in valid}) for k in names}
    # Kernel Tuner takes a block's size from parameters: one of its own for every size that a configuration has.
    block_names = [PREFIX + "BLOCK_" + axis for axis in "XYZ"]
    sizes = {tuple(one[k] for k in names): [int(eval(text, {}, {**case.problem, **one})) for text in case.block] for one in valid}
    for axis, block_name in enumerate(block_names):
        parameters[block_name] = sorted({size[axis] for size in sizes.values()})

    def of(p, text):
        return int(eval(text, {}, {**case.problem, **{k: p[PREFIX + k] for k in names}}))

    def is_valid(p):  # Kernel Tuner takes a lambda apart and must not see one here
        configuration = tuple(p[PREFIX + k] for k in names)
        return configuration in allowed and [p[name] for name in block_names] == sizes[configuration]

    arguments = [device_argument(kind, direction, amount, generator)
                 for _, kind, direction, amount in pipeline_cases.arguments(root, case)]
    options = {"strategy": strategy, "strategy_options": {"time_limit": float(seconds)}} if strategy != "brute_force" else {}
    start = time.time()
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = kernel_tuner.tune_kernel(
            pipeline_cases.instance(root, case, PREFIX), pipeline_cases.template_source(root, case),
            lambda p: tuple(of(p, text) for text in case.grid), arguments, parameters, lang="cupy",
            grid_div_x=[], grid_div_y=[], grid_div_z=[], block_size_names=block_names,
            restrictions=is_valid,
            smem_args={"size": lambda p: of(p, case.shared)}, verbose=False,
            compiler_options=["-std=c++17", f"-I{root}/tuner/compile/nvrtc_std", f"-I{CUDA}/include"], **options)
    end = time.time()
    rows = []
    for one in results:
        stamp = one.get("timestamp")
        at = datetime.datetime.fromisoformat(str(stamp)).timestamp() - start if stamp else None
        rows.append({"Knobs": {k: one[PREFIX + k] for k in names}, "Seconds": at,
                     "Milliseconds": one["time"] if isinstance(one["time"], float) else None})
    print(json.dumps({"Version": kernel_tuner.__version__, "Strategy": strategy, "Began": start, "Wall": end - start, "Rows": rows}))


main()
