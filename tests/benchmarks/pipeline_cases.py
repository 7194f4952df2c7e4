"""The spaces on which tuning is timed beside Kernel Tuner: parts of shipped specifications, without the values that
stand for "as launched", so that both sides see the same configurations with the same launches."""

import json
import re
from pathlib import Path

BLOCKS = [32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024]
WARPS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32]


class Case:
    """values: of the knobs; others keep one value. block, grid, shared: Python over knobs and dimensions."""

    def __init__(self, name, spec, problem, values, block, grid, shared="0"):
        self.name, self.spec, self.problem, self.values = name, spec, problem, values
        self.block, self.grid, self.shared = block, grid, shared

    def problem_text(self):
        return ",".join(f"{name}={size}" for name, size in self.problem.items())


def _rmsnorm(name, values):
    return Case(name, "rmsnorm", {"d": 8192, "num_tokens": 4096}, values, ["32", "BLOCK_Y", "1"],
                ["num_tokens // ROWS", "1", "1"], "BLOCK_Y * 4")


SMALL = _rmsnorm("rmsnorm-192", {
    "VEC_SIZE": [4, 8, 16], "BLOCK_Y": [4, 8, 16, 32], "ROWS": [1, 2], "UNROLL": [1, 2], "UNROLL_2": [1],
    "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]})

LARGE = [
    _rmsnorm("rmsnorm", {
        "VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": WARPS, "ROWS": [1, 2, 4], "UNROLL": [1, 2, 4], "UNROLL_2": [1],
        "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]}),
    Case("silu_and_mul", "silu_and_mul", {"d": 14336, "num_tokens": 4096}, {
        "vec_size": [2, 4, 8, 16], "BLOCK": BLOCKS, "SPLIT": [1, 2, 4], "ROWS": [1, 2], "UNROLL": [1, 2],
        "UNROLL_2": [1], "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
        ["BLOCK", "1", "1"], ["num_tokens // ROWS", "SPLIT", "1"]),
    Case("fused_add_rmsnorm", "fused_add_rmsnorm", {"d": 8192, "num_tokens": 4096}, {
        "VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": WARPS, "KEEP": [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16], "ROWS": [1, 2, 4],
        "UNROLL": [0, 1, 2], "UNROLL_2": [0], "LOAD_CACHE": [0, 1], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
        ["32", "BLOCK_Y", "1"], ["num_tokens // ROWS", "1", "1"],
        "((((BLOCK_Y + 4) - 1) // 4) * 4 + (d if KEEP == 0 else 0)) * 4"),
]


def write_part(root, case, folder):
    """The specification with the case's values, beside links to what it names; its path."""
    source = Path(root) / "search_spaces" / f"{case.spec}.json"
    content = json.loads(source.read_text(encoding="utf-8"))
    for knob in content["ConfigurationSpace"]["TuningParameters"]:
        if knob["Name"] in case.values:
            knob["Values"] = str(case.values[knob["Name"]])
            if knob["Default"] not in case.values[knob["Name"]]:
                knob["Default"] = case.values[knob["Name"]][0]
    for name, knob in content["Lathe"]["Knobs"].items():
        if name in case.values and "Default" in knob:
            knob["Default"] = case.values[name][len(case.values[name]) // 2]
    folder = Path(folder)
    (folder / "search_spaces").mkdir(parents=True, exist_ok=True)
    for name in ("templates", "sglang_kernels"):
        link = folder / name
        if not link.exists():
            link.symlink_to((Path(root) / name).resolve())
    path = folder / "search_spaces" / f"{case.name}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def template_source(root, case):
    return (Path(root) / "templates" / case.spec / f"{case.spec}.cuh").read_text(encoding="utf-8")


def instance(root, case, prefix):
    """The kernel's name as a C++ expression over macros PREFIX + knob."""
    content = json.loads((Path(root) / "search_spaces" / f"{case.spec}.json").read_text(encoding="utf-8"))
    text = content["Lathe"]["Instance"].replace("{T}", "__nv_bfloat16")
    return re.sub(r"\{(\w+)\}", lambda match: prefix + match.group(1), text)


def arguments(root, case):
    """(name, dtype, direction or None, count or value) of each kernel parameter."""
    content = json.loads((Path(root) / "search_spaces" / f"{case.spec}.json").read_text(encoding="utf-8"))
    found = []
    for argument in content["Lathe"]["Arguments"]:
        amount = argument.get("Count", argument.get("Value"))
        amount = eval(str(amount), {}, dict(case.problem))  # an expression of the shipped specification
        found.append((argument["Name"], argument["Dtype"], argument.get("Direction"), amount))
    return found
