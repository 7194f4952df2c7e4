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

    def file(self, root):
        return Path(root) / self.spec

    def content(self, root):
        return json.loads(self.file(root).read_text(encoding="utf-8"))

    def problem_text(self):
        return ",".join(f"{name}={size}" for name, size in self.problem.items())


def _rmsnorm(name, values):
    return Case(name, "search_spaces/rmsnorm.json", {"d": 8192, "num_tokens": 4096}, values, ["32", "BLOCK_Y", "1"],
                ["num_tokens // ROWS", "1", "1"], "BLOCK_Y * 4")


SMALL = _rmsnorm("rmsnorm-192", {
    "VEC_SIZE": [4, 8, 16], "BLOCK_Y": [4, 8, 16, 32], "ROWS": [1, 2], "UNROLL": [1, 2], "UNROLL_2": [1],
    "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]})

LARGE = [
    _rmsnorm("rmsnorm", {
        "VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": WARPS, "ROWS": [1, 2, 4], "UNROLL": [1, 2, 4], "UNROLL_2": [1],
        "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]}),
    Case("silu_and_mul", "search_spaces/silu_and_mul.json", {"d": 14336, "num_tokens": 4096}, {
        "vec_size": [2, 4, 8, 16], "BLOCK": BLOCKS, "SPLIT": [1, 2, 4], "ROWS": [1, 2], "UNROLL": [1, 2],
        "UNROLL_2": [1], "LOAD_CACHE": [0, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
        ["BLOCK", "1", "1"], ["num_tokens // ROWS", "SPLIT", "1"]),
    Case("fused_add_rmsnorm", "search_spaces/fused_add_rmsnorm.json", {"d": 8192, "num_tokens": 4096}, {
        "VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": WARPS, "KEEP": [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16], "ROWS": [1, 2, 4],
        "UNROLL": [0, 1, 2], "UNROLL_2": [0], "LOAD_CACHE": [0, 1], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
        ["32", "BLOCK_Y", "1"], ["num_tokens // ROWS", "1", "1"],
        "((((BLOCK_Y + 4) - 1) // 4) * 4 + (d if KEEP == 0 else 0)) * 4"),
    # Few rows: a microsecond's work, for which few configurations are as good as the best.
    Case("silu_and_mul-16", "search_spaces/silu_and_mul.json", {"d": 14336, "num_tokens": 16}, {
        "vec_size": [1, 2, 4, 8, 16], "BLOCK": BLOCKS, "SPLIT": [1, 2, 4, 8, 16], "ROWS": [1], "UNROLL": [1, 2, 4],
        "UNROLL_2": [1], "LOAD_CACHE": [0, 1, 2], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
        ["BLOCK", "1", "1"], ["num_tokens // ROWS", "SPLIT", "1"]),
    # A product of matrices with tiles of shared memory: few of its configurations are good.
    Case("router_gemm", "examples/router_gemm/search_spaces/router_gemm.json",
         {"num_tokens": 1024, "num_experts": 256, "hidden_size": 2048}, {
        "TX": [8, 16, 32], "TY": [4, 8, 16], "TM": [1, 2, 4, 8], "TN": [1, 2, 4, 8], "SPLIT": [1, 2],
        "BK": [16, 32], "VEC": [4, 8], "KV": [1], "BUFFERS": [1, 2], "AHEAD": [0, 1], "MIN_BLOCKS": [1]},
        ["TX * SPLIT", "TY", "1"], ["-(-num_experts // (TX * TN))", "-(-num_tokens // (TY * TM))", "1"]),
]


def write_part(root, case, folder):
    """The specification with the case's values, beside links to what it names; its path."""
    content = case.content(root)
    for knob in content["ConfigurationSpace"]["TuningParameters"]:
        name, default = knob["Name"], knob["Default"]
        values = case.values.get(name, [default])
        if "Size" in content["Lathe"]["Knobs"].get(name, {}):  # has to be 0 or 1
            content["ConfigurationSpace"]["Conditions"].append({"Expression": f"{name} == {default}", "Parameters": [name]})
            continue
        knob["Values"] = str(values)
        if default not in values:
            knob["Default"] = values[0]
    for name, knob in content["Lathe"]["Knobs"].items():
        if name in case.values and "Default" in knob:
            knob["Default"] = case.values[name][len(case.values[name]) // 2]
    folder = Path(folder)
    (folder / "search_spaces").mkdir(parents=True, exist_ok=True)
    for name, target in (("templates", case.file(root).parent.parent / "templates"),
                         ("sglang_kernels", Path(root) / "sglang_kernels")):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target.resolve())
    path = folder / "search_spaces" / f"{case.name}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def template_source(root, case):
    return (case.file(root).parent / case.content(root)["KernelSpecification"]["KernelFile"]).read_text(encoding="utf-8")


def instance(root, case, prefix):
    """The kernel's name as a C++ expression over macros PREFIX + knob."""
    text = case.content(root)["Lathe"]["Instance"].replace("{T}", "__nv_bfloat16")
    return re.sub(r"\{(\w+)\}", lambda match: prefix + match.group(1), text)


def arguments(root, case):
    """(name, dtype, direction or None, count or value) of each kernel parameter."""
    found = []
    for argument in case.content(root)["Lathe"]["Arguments"]:
        amount = argument.get("Count", argument.get("Value"))
        amount = eval(str(amount), {}, dict(case.problem))  # an expression of the shipped specification
        found.append((argument["Name"], argument["Dtype"], argument.get("Direction"), amount))
    return found
