#!/usr/bin/env python3
"""Builds the operators of lathe_ops.cu, checks them against PyTorch, and times them beside the raw kernel and
PyTorch's own: samples taken in turn, cold L2, an A/A band. Needs a CUDA GPU, PyTorch 2.4 or newer, and nvcc.

    python3 bench.py --headers FOLDER --output pytorch.json

FOLDER holds silu_and_mul.h and fused_add_rmsnorm.h as `lathe export` wrote them."""
import argparse
import json
import pathlib
import random
import sys

import paired

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ("bfloat16", "float16", "float32")
SHAPES = {
    "silu_and_mul": [(t, d) for t in (1, 16, 64, 256, 1024, 4096, 16384) for d in (4096, 14336)],
    "fused_add_rmsnorm": [(t, d) for t in (1, 16, 64, 256, 1024, 4096, 16384) for d in (4096, 8192)],
}
# Shapes of the checks: one token, a prime, more rows than multiprocessors; columns that were and were not tuned for.
CHECKED = [(t, d) for t in (1, 7, 64, 300) for d in (512, 4096, 5120, 8192, 14336)]
EPS = 1e-6
MAX_BUFFERS = 64
MOST_BYTES = 8 << 30  # of all buffers of a contestant


def build(torch, headers, folder):
    from torch.utils.cpp_extension import load

    for name in SHAPES:
        if not (headers / f"{name}.h").exists():
            sys.exit(f"bench.py: there is no {headers / (name + '.h')}: write it with lathe export")
    folder.mkdir(parents=True, exist_ok=True)
    # PyTorch builds extensions without the operators and conversions of half types, which kernels need.
    allowed = [f"-U__CUDA_NO_{name}__" for name in
               ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS")]
    load(name="lathe_ops", sources=[str(HERE / "lathe_ops.cu")], build_directory=str(folder),
         extra_include_paths=[str(headers)], extra_cuda_cflags=["-O3", *allowed], is_python_module=False, verbose=True)
    return torch.ops.lathe_tuned


# What PyTorch does by itself.

def torch_silu_and_mul(torch, x):
    d = x.shape[-1] // 2
    return torch.nn.functional.silu(x[..., :d]) * x[..., d:]


def torch_fused_add_rmsnorm(torch, x, residual, weight):
    residual.add_(x)
    x.copy_(torch.nn.functional.rms_norm(residual, (x.shape[-1],), weight, EPS))


# Correctness: against double precision.

def error_of(found, expected, torch):
    """The largest difference over (|expected| + 1)."""
    difference = (found.double() - expected).abs() / (expected.abs() + 1)
    return float("inf") if not torch.isfinite(difference).all() else difference.max().item()


def check_all(torch, ops):
    rows = []
    for dtype_name in TYPES:
        dtype = getattr(torch, dtype_name)
        # Two units in the last place: of the result's rounding and of a sum in another order.
        allowed = 2 * torch.finfo(dtype).eps if dtype != torch.float32 else 1e-5
        for tokens, d in CHECKED:
            torch.manual_seed(tokens * 100003 + d)
            x = torch.randn(tokens, 2 * d, device="cuda", dtype=dtype)
            gate, up = x[..., :d].double(), x[..., d:].double()
            expected = gate / (1 + torch.exp(-gate)) * up
            row = {"Operator": "silu_and_mul", "Type": dtype_name, "Tokens": tokens, "Columns": d, "Allowed": allowed}
            row["TunedError"] = error_of(ops.silu_and_mul(x), expected, torch)
            out = torch.full((tokens, d), float("nan"), device="cuda", dtype=dtype)
            ops.silu_and_mul_out(out, x, True)
            row["RawError"] = error_of(out, expected, torch)
            row["TorchError"] = error_of(torch_silu_and_mul(torch, x), expected, torch)
            rows.append(row)

            x, r = (torch.randn(tokens, d, device="cuda", dtype=dtype) for _ in range(2))
            weight = torch.randn(d, device="cuda", dtype=dtype)
            total = x.double() + r.double()
            expected = total * torch.rsqrt((total * total).mean(-1, keepdim=True) + EPS) * weight.double()
            row = {"Operator": "fused_add_rmsnorm", "Type": dtype_name, "Tokens": tokens, "Columns": d,
                   "Allowed": allowed}
            for name, call in (("Tuned", lambda a, b: ops.fused_add_rmsnorm_(a, b, weight, EPS, False)),
                               ("Raw", lambda a, b: ops.fused_add_rmsnorm_(a, b, weight, EPS, True)),
                               ("Torch", lambda a, b: torch_fused_add_rmsnorm(torch, a, b, weight))):
                a, b = x.clone(), r.clone()
                call(a, b)
                row[name + "Error"] = max(error_of(a, expected, torch), error_of(b, total, torch))
            rows.append(row)
    for row in rows:
        row["Correct"] = row["TunedError"] <= row["Allowed"] and row["RawError"] <= row["Allowed"]
    return rows


def check_fake_tensors(torch, ops):
    """The operators' shapes are known without data: torch.compile goes through them."""
    meta = ops.silu_and_mul(torch.empty(3, 1024, device="meta", dtype=torch.bfloat16))
    return tuple(meta.shape) == (3, 512)


# Time.

class Contestant:
    """A call over rotating buffers as one CUDA graph; each buffer is used once a replay, so that none is warm."""

    def __init__(self, torch, name, call, buffers):
        self.name, self.samples, self.launches = name, [], len(buffers)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):  # loads modules, compiles, fills the allocator
                call(*buffers[0])
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for buffer in buffers:
                call(*buffer)


class Timer:
    def __init__(self, torch):
        self.torch = torch
        properties = torch.cuda.get_device_properties(0)
        self.l2_bytes = getattr(properties, "L2_cache_size", 0) or (128 << 20)
        self.flush_buffer = torch.empty(4 * self.l2_bytes, device="cuda", dtype=torch.int8)

    def sample(self, contestant, restore):
        torch = self.torch
        restore()
        self.flush_buffer.zero_()  # also keeps the GPU busy while the host queues what follows
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        contestant.graph.replay()
        end.record()
        end.synchronize()
        contestant.samples.append(begin.elapsed_time(end) * 1e3 / contestant.launches)

    def compare(self, contestants, restore, samples):
        for contestant in contestants:  # the first replay of a graph uploads it
            self.sample(contestant, restore)
            contestant.samples.clear()
        order = list(contestants)
        for _ in range(samples):
            random.shuffle(order)  # nobody is always behind the same one
            for contestant in order:
                self.sample(contestant, restore)


def number_of_buffers(bytes_each):
    return max(1, min(MAX_BUFFERS, MOST_BYTES // max(1, bytes_each)))


def contestants_of(torch, ops, operator, tokens, d, dtype, compiled):
    """The contestants, how to restore what they overwrite, and the bytes that a call has to move."""
    if compiled:
        torch._dynamo.reset()  # after eight shapes it would stop compiling and run eagerly under the same name
    size = torch.finfo(dtype).bits // 8
    if operator == "silu_and_mul":
        moved = tokens * 3 * d * size
        count = number_of_buffers(moved)
        buffers = [(torch.empty(tokens, d, device="cuda", dtype=dtype),
                    torch.randn(tokens, 2 * d, device="cuda", dtype=dtype)) for _ in range(count)]
        plain = lambda out, x: torch_silu_and_mul(torch, x)  # noqa: E731
        calls = {"raw": lambda out, x: ops.silu_and_mul_out(out, x, True),
                 "raw again": lambda out, x: ops.silu_and_mul_out(out, x, True),
                 "tuned": lambda out, x: ops.silu_and_mul_out(out, x, False), "torch eager": plain}
        if compiled:
            fused = torch.compile(lambda x: torch_silu_and_mul(torch, x), dynamic=False)
            calls["torch compiled"] = lambda out, x: fused(x)
        restore = lambda: None  # noqa: E731
    else:
        moved = (tokens * 4 * d + d) * size
        count = number_of_buffers(2 * moved)
        weight = torch.randn(d, device="cuda", dtype=dtype)
        buffers = [tuple(torch.randn(tokens, d, device="cuda", dtype=dtype) for _ in range(2)) for _ in range(count)]
        pristine = [tuple(t.clone() for t in pair) for pair in buffers]
        calls = {"raw": lambda x, r: ops.fused_add_rmsnorm_(x, r, weight, EPS, True),
                 "raw again": lambda x, r: ops.fused_add_rmsnorm_(x, r, weight, EPS, True),
                 "tuned": lambda x, r: ops.fused_add_rmsnorm_(x, r, weight, EPS, False),
                 "torch eager": lambda x, r: torch_fused_add_rmsnorm(torch, x, r, weight)}
        if compiled:
            fused = torch.compile(lambda x, r: torch_fused_add_rmsnorm(torch, x, r, weight), dynamic=False)
            calls["torch compiled"] = lambda x, r: fused(x, r)

        def restore():
            for pair, kept in zip(buffers, pristine):
                for tensor, values in zip(pair, kept):
                    tensor.copy_(values)

    made, failures = [], {}
    for name, call in calls.items():
        try:
            made.append(Contestant(torch, name, call, buffers))
        except Exception as failure:  # torch.compile may lack a compiler: one contestant fewer
            if not name.startswith("torch"):
                raise
            failures[name] = str(failure).split("\n")[0][:200]
    return made, failures, restore, moved


def measure(torch, ops, timer, operator, tokens, d, dtype_name, options):
    made, failures, restore, moved = contestants_of(torch, ops, operator, tokens, d, getattr(torch, dtype_name),
                                                    not options.no_compile)
    timer.compare(made, restore, options.samples)
    samples = {contestant.name: contestant.samples for contestant in made}
    noise = paired.band(samples["raw"], samples["raw again"])
    row = {"Operator": operator, "Type": dtype_name, "Tokens": tokens, "Columns": d, "Samples": options.samples,
           "Launches": made[0].launches, "NoiseBand": noise, "NotMeasured": failures,
           "Microseconds": {name: paired.median(times) for name, times in samples.items()},
           "Interval95": {name: paired.median_interval(times) for name, times in samples.items()},
           "GigabytesPerSecond": {name: moved / paired.median(times) / 1e3 for name, times in samples.items()},
           "Against": {}}
    for name in samples:
        if name in ("tuned", "raw again"):
            continue
        found = paired.ratio(samples[name], samples["tuned"])
        row["Against"][name] = {"Ratio": found[0], "Interval95": found[1:], "Gain": paired.is_gain(found, noise)}
    return row


def print_row(row):
    times = "  ".join(f"{name} {time:.2f}" for name, time in row["Microseconds"].items() if name != "raw again")
    ratios = "  ".join(f"{name} / tuned {against['Ratio']:.3f}{'' if against['Gain'] else ' (no gain)'}"
                       for name, against in row["Against"].items())
    print(f"{row['Operator']:18} {row['Tokens']:6} x {row['Columns']:6}  us: {times}  {ratios}  "
          f"A/A {100 * row['NoiseBand']:.1f} %", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", type=pathlib.Path, required=True, help="folder of the exported headers")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("pytorch.json"))
    parser.add_argument("--build", type=pathlib.Path, default=HERE / "build", help="folder for the built extension")
    parser.add_argument("--build-only", action="store_true", help="build, and run nothing")
    parser.add_argument("--samples", type=int, default=41, help="of each contestant and shape")
    parser.add_argument("--type", choices=TYPES, default="bfloat16", help="that is timed; all are checked")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    try:
        import torch
    except ImportError as failure:
        sys.exit(f"bench.py: PyTorch is not there ({failure}): install it first")
    if not options.build_only and not torch.cuda.is_available():
        print("bench.py: no GPU that PyTorch can use", file=sys.stderr)
        sys.exit(3)
    ops = build(torch, options.headers.resolve(), options.build.resolve())
    if options.build_only:
        return
    random.seed(1)
    checks = check_all(torch, ops)
    wrong = [row for row in checks if not row["Correct"]]
    print(f"checks: {len(checks) - len(wrong)} of {len(checks)} right")
    for row in wrong:
        print("WRONG", json.dumps(row))
    properties = torch.cuda.get_device_properties(0)
    report = {"Schema": 1, "Device": properties.name, "Torch": torch.__version__, "Cuda": torch.version.cuda,
              "Protocol": "CUDA graph over rotating buffers, each used once a replay; L2 flushed by a write of four times "
                          "its size before each replay; buffers restored; contestants in random order within a round; "
                          "ratios are medians over rounds with their 95 % interval; A/A: the raw kernel twice a round",
              "FakeTensors": check_fake_tensors(torch, ops), "Checks": checks, "Results": []}
    timer = Timer(torch)
    report["L2Bytes"] = timer.l2_bytes
    for operator, shapes in SHAPES.items():
        for tokens, d in shapes:
            report["Results"].append(measure(torch, ops, timer, operator, tokens, d, options.type, options))
            print_row(report["Results"][-1])
            options.output.write_text(json.dumps(report, indent=1) + "\n")
            torch.cuda.empty_cache()
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(f"wrote {options.output}")
    sys.exit(1 if wrong or not report["FakeTensors"] else 0)


if __name__ == "__main__":
    main()
