#!/usr/bin/env python3
"""Times PyTorch, eager and compiled, beside the shipped raw kernels: what `lathe optimize --baselines` and `lathe ablate`
print in their columns. Needs a CUDA GPU, PyTorch 2.4 or newer, and nvcc.

    python3 tests/benchmarks/pytorch_baselines.py --output baselines.json [--headers FOLDER] [--page PAGE.md]

FOLDER holds NAME.h as `lathe export` wrote them, as many as there are: these kernels' tuned time is measured as well.
A kernel or a contestant that fails is written down with its error, and the others go on. The protocol is that of
examples/pytorch/bench.py. `--convert RESULT.json` writes the same file of what bench.py measured, without a GPU."""
import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples" / "pytorch"))

import bench  # noqa: E402
import paired  # noqa: E402

CONTESTANTS = {"raw": "Raw", "torch eager": "Eager", "torch compiled": "Compile", "tuned": "Tuned"}
CXX = {"T": "__nv_bfloat16", "bf16": "__nv_bfloat16", "e4m3": "__nv_fp8_e4m3", "f32": "float", "i64": "long long",
       "i32": "int", "u64": "unsigned long long", "u32": "unsigned int", "bool": "bool", "Index": "long long"}
EPS = 1e-6
GROUP_EPS, LARGEST_E4M3 = 1e-10, 448.0
MAX_BUFFERS, MOST_BYTES = 32, 2 << 30  # of all copies of a problem's buffers


# What the kernels compute, as a PyTorch program would have it. Arguments: the kernel's buffers in its order, which hold
# the inputs; what is written comes back in the order of `outputs`, in place where the kernel works in place.

def silu_and_mul(torch, out, x):
    d = x.shape[-1] // 2
    return (torch.nn.functional.silu(x[..., :d]) * x[..., d:],)


def gelu_and_mul(torch, out, x):
    d = x.shape[-1] // 2
    return (torch.nn.functional.gelu(x[..., :d]) * x[..., d:],)


def fused_add_rmsnorm(torch, x, residual, weight):
    residual.add_(x)
    x.copy_(torch.nn.functional.rms_norm(residual, (x.shape[-1],), weight, EPS))
    return x, residual


def rmsnorm(torch, x, weight, out):
    return (torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, EPS),)


def rotary_embedding(torch, positions, query, key, cache):
    cos, sin = cache[positions].unsqueeze(1).chunk(2, dim=-1)
    for tensor in (query, key):
        first, second = tensor[..., :cos.shape[-1]], tensor[..., cos.shape[-1]:2 * cos.shape[-1]]
        turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
        tensor[..., :turned.shape[-1]] = turned
    return query, key


def merge_attn_states_lse(torch, out, out_lse, prefix, prefix_lse, suffix, suffix_lse):
    total = torch.logaddexp(prefix_lse, suffix_lse)
    p, s = torch.exp(prefix_lse - total).unsqueeze(-1), torch.exp(suffix_lse - total).unsqueeze(-1)
    return (prefix * p + suffix * s).to(prefix.dtype), total


def to_fp8(torch, x):
    return x.clamp(-LARGEST_E4M3, LARGEST_E4M3).to(torch.float8_e4m3fn)


def per_token_quant_fp8(torch, x, out, scales):
    scale = x.abs().amax(dim=-1, keepdim=True).float() / LARGEST_E4M3
    return to_fp8(torch, x.float() / scale), scale.squeeze(-1)


def per_tensor_quant_fp8(torch, x, out, scale):
    return (to_fp8(torch, x.float() / scale),)


def per_token_group_quant_fp8(torch, x, out, scales):
    scale = x.abs().amax(dim=-1, keepdim=True).float().clamp(min=GROUP_EPS) / LARGEST_E4M3
    return to_fp8(torch, x.float() / scale), scale.squeeze(-1)


def topk_softmax(torch, logits, weights, experts):
    values, chosen = torch.softmax(logits.float(), dim=-1).topk(weights.shape[-1], dim=-1)
    return values / values.sum(dim=-1, keepdim=True), chosen.int()


def apply_token_bitmask(torch, logits, bitmask):
    bits = torch.arange(32, device=logits.device, dtype=torch.int32)
    allowed = ((bitmask.unsqueeze(-1) >> bits) & 1).bool().flatten(-2)
    return (logits.masked_fill_(~allowed, float("-inf")),)


def concat_mla_k(torch, k, k_nope, k_rope):
    return (torch.cat((k_nope, k_rope.unsqueeze(1).expand(-1, k_nope.shape[1], -1)), dim=-1),)


def store_kv_cache(torch, k_cache, v_cache, loc, k, v):
    k_cache[loc] = k
    v_cache[loc] = v
    return k_cache, v_cache


# Buffers of a problem, in the kernel's order.

class Maker:
    def __init__(self, torch):
        self.torch = torch

    def real(self, *shape, dtype="bfloat16", spread=1.0):
        return (spread * self.torch.randn(*shape, device="cuda")).to(getattr(self.torch, dtype))

    def room(self, *shape, dtype="bfloat16"):
        return self.torch.zeros(*shape, device="cuda", dtype=getattr(self.torch, dtype))

    def room_fp8(self, *shape):
        return self.room(*shape, dtype="uint8").view(self.torch.float8_e4m3fn)

    def integers(self, low, high, *shape, dtype="int64"):
        return self.torch.randint(low, high, shape, device="cuda", dtype=getattr(self.torch, dtype))


class Case:
    """`raw`: the launcher's call in sglang_kernels; `make`: the buffers; `outputs`: positions of what is written;
    `allowed`: the largest difference over (|expected| + 1); `unlike`: the share of elements that may differ by more, where
    numbers are rounded to few values; `compared`: what is compared of the buffers and the outputs."""

    def __init__(self, raw, torch_code, make, outputs, restored=(), allowed=1 / 32, unlike=0.0,
                 compared=lambda buffers, outputs: outputs):
        self.raw, self.torch_code, self.make, self.outputs = raw, torch_code, make, outputs
        self.restored, self.allowed, self.unlike, self.compared = restored, allowed, unlike, compared


CASES = {
    "silu_and_mul": Case(
        "silu_and_mul<T>(out, input, num_tokens, d, stream)", silu_and_mul,
        lambda m, num_tokens, d: (m.room(num_tokens, d), m.real(num_tokens, 2 * d)), (0,)),
    "gelu_and_mul": Case(
        "gelu_and_mul<T>(out, input, num_tokens, d, stream)", gelu_and_mul,
        lambda m, num_tokens, d: (m.room(num_tokens, d), m.real(num_tokens, 2 * d)), (0,)),
    "fused_add_rmsnorm": Case(
        f"fused_add_rmsnorm<T>(input, residual, weight, num_tokens, d, {EPS}f, stream)", fused_add_rmsnorm,
        lambda m, num_tokens, d: (m.real(num_tokens, d), m.real(num_tokens, d), m.real(d)), (0, 1), (0, 1)),
    "rmsnorm": Case(
        f"rmsnorm<T>(input, weight, output, num_tokens, d, {EPS}f, stream)", rmsnorm,
        lambda m, num_tokens, d: (m.real(num_tokens, d), m.real(d), m.room(num_tokens, d)), (2,)),
    "rotary_embedding": Case(
        "rotary_embedding<T>(positions, query, key, cos_sin_cache, num_tokens, num_heads, num_kv_heads, head_size, "
        "rot_dim, stream)", rotary_embedding,
        lambda m, num_tokens, num_heads, head_size, num_kv_heads, rot_dim: (
            m.integers(0, 4096, num_tokens), m.real(num_tokens, num_heads, head_size),
            m.real(num_tokens, num_kv_heads, head_size), m.real(4096, rot_dim, spread=0.5)), (1, 2), (1, 2), unlike=0.001),
    "merge_attn_states_lse": Case(
        "merge_attn_states_lse<T>(output, output_lse, prefix_output, prefix_lse, suffix_output, suffix_lse, num_tokens, "
        "num_heads, head_size, stream)", merge_attn_states_lse,
        lambda m, num_tokens, num_heads, head_size: (
            m.room(num_tokens, num_heads, head_size), m.room(num_tokens, num_heads, dtype="float32"),
            m.real(num_tokens, num_heads, head_size), m.real(num_tokens, num_heads, dtype="float32", spread=2.0),
            m.real(num_tokens, num_heads, head_size), m.real(num_tokens, num_heads, dtype="float32", spread=2.0)), (0, 1)),
    "per_token_quant_fp8": Case(
        "per_token_quant_fp8<T>(input, output, scales, num_tokens, d, stream)", per_token_quant_fp8,
        lambda m, num_tokens, d: (m.real(num_tokens, d), m.room_fp8(num_tokens, d),
                                  m.room(num_tokens, dtype="float32")), (1, 2), unlike=0.02),
    "per_tensor_quant_fp8": Case(
        "per_tensor_quant_fp8<T>(input, output, scale, num_elements, stream)", per_tensor_quant_fp8,
        lambda m, num_elements: (m.real(num_elements), m.room_fp8(num_elements),
                                 m.room(1, dtype="float32") + 0.0125), (1,), unlike=0.02),
    "per_token_group_quant_fp8": Case(
        f"per_token_group_quant_fp8<T>(input, output, scales, num_groups, group_size, {GROUP_EPS}f, stream)",
        per_token_group_quant_fp8,
        lambda m, num_groups, group_size: (
            m.real(num_groups, group_size), m.room_fp8(num_groups, group_size),
            m.room(num_groups, dtype="float32")), (1, 2), unlike=0.02),
    # Logits that are equal in bf16 may be taken in another order: the experts' logits are compared.
    "topk_softmax": Case(
        "topk_softmax<T>(logits, weights, experts, num_tokens, k, stream)", topk_softmax,
        lambda m, num_tokens, k: (m.real(num_tokens, 256, spread=2.0), m.room(num_tokens, k, dtype="float32"),
                                  m.room(num_tokens, k, dtype="int32")), (1, 2),
        compared=lambda buffers, outputs: (outputs[0], buffers[0].gather(-1, outputs[1].long()))),
    "apply_token_bitmask": Case(
        "apply_token_bitmask<T>(logits, bitmask, num_rows, vocab_size, stream)", apply_token_bitmask,
        lambda m, vocab_size, num_rows: (m.real(num_rows, vocab_size), m.integers(-2**31, 2**31, num_rows, vocab_size // 32,
                                                                                  dtype="int32")), (0,), (0,)),
    "concat_mla_k": Case(
        "concat_mla_k(k, k_nope, k_rope, num_tokens, stream)", concat_mla_k,
        lambda m, num_tokens: (m.room(num_tokens, 128, 192), m.real(num_tokens, 128, 128), m.real(num_tokens, 64)), (0,)),
    "store_kv_cache": Case(
        "store_kv_cache(k_cache, v_cache, loc, length, k, v, row_bytes, stream)", store_kv_cache,
        lambda m, length, row_bytes: (
            m.room(length, row_bytes // 8, dtype="int64"), m.room(length, row_bytes // 8, dtype="int64"),
            m.torch.randperm(length, device="cuda"), m.integers(0, 10**6, length, row_bytes // 8),
            m.integers(0, 10**6, length, row_bytes // 8)), (0, 1)),
}


# The raw and the tuned kernels, each in a library of its own: one that does not compile costs itself alone.

def source_of(name, spec, header):
    """A CUDA file with `int run(const long long* sizes, void* const* buffers, void* stream)`: of the raw kernel, or of the
    exported header."""
    sizes = "".join(f"  [[maybe_unused]] const int {dimension} = static_cast<int>(sizes[{i}]);\n"
                    for i, dimension in enumerate(spec["Dimensions"]))
    buffers, arguments, count = "", [], 0
    for argument in spec["Arguments"]:
        cxx = CXX[argument["Dtype"]]
        if "Count" in argument:
            buffers += f"  [[maybe_unused]] const untyped {argument['Name']}{{buffers[{count}]}};\n"
            constant = "const " if argument["Direction"] == "in" else ""
            arguments.append(f"static_cast<{constant}{cxx}*>(buffers[{count}])")
            count += 1
        else:
            arguments.append(f"static_cast<{cxx}>({argument['Value']})")
    problem = ", ".join(f"static_cast<long long>({dimension})" for dimension in spec["Dimensions"])
    call = (f"  return lathe_tuned::{name}::launch({{{problem}}}, stream, {', '.join(arguments)});\n" if header else
            buffers + f"  {CASES[name].raw};\n  return cudaGetLastError();\n")
    return (f"#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n"
            f'#include "{header or ROOT / "sglang_kernels" / (name + ".cu")}"\n'
            "namespace {\nstruct untyped {\n  void* pointer;\n  template <class U> operator U*() const {\n"
            "    return static_cast<U*>(pointer);\n  }\n};\nusing T [[maybe_unused]] = __nv_bfloat16;\n}\n"
            'extern "C" int run(const long long* sizes, void* const* buffers, void* on) {\n'
            "  const cudaStream_t stream = static_cast<cudaStream_t>(on);\n" + sizes + call + "}\n")


def specification(name):
    return json.loads((ROOT / "search_spaces" / f"{name}.json").read_text(encoding="utf-8"))["Lathe"]


def compile_library(name, header, folder, architecture):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    stem = folder / (name + (".tuned" if header else ".raw"))
    source, library = stem.with_name(stem.name + ".cu"), stem.with_name(stem.name + ".so")
    source.write_text(source_of(name, specification(name), header), encoding="utf-8")
    done = subprocess.run([nvcc, "-O3", "-std=c++17", "-shared", "-Xcompiler", "-fPIC", f"-arch={architecture}",
                           "-o", str(library), str(source)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr + done.stdout).splitlines()
        raise RuntimeError("nvcc: " + next((line for line in lines if "error" in line), f"exit code {done.returncode}"))
    return library


def compile_all(names, headers, folder, architecture):
    """Libraries and errors by (name, whether it is the tuned one)."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {(name, False): None for name in names}
    for name in names if headers else []:
        if (headers / f"{name}.h").exists():
            wanted[name, True] = (headers / f"{name}.h").resolve()
    libraries, errors = {}, {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {key: pool.submit(compile_library, key[0], header, folder.resolve(), architecture)
                for key, header in wanted.items()}
        for key, job in jobs.items():
            try:
                libraries[key] = job.result()
            except Exception as failure:
                errors[key] = first_line(failure)
    return libraries, errors


class Kernel:
    """One library's kernel at one size: a call over buffers, on the current stream."""

    def __init__(self, library, torch, sizes):
        self.function = ctypes.CDLL(str(library)).run
        self.torch = torch
        self.sizes = (ctypes.c_longlong * len(sizes))(*sizes.values())

    def __call__(self, *buffers):
        pointers = (ctypes.c_void_p * len(buffers))(*(buffer.data_ptr() for buffer in buffers))
        status = self.function(self.sizes, pointers, ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream))
        if status != 0:
            raise RuntimeError(f"the launch failed with CUDA error {status}")


def first_line(failure):
    return (str(failure).strip() or type(failure).__name__).split("\n")[0][:300]


# Correctness: of the raw kernel and of both forms of PyTorch against PyTorch in eager mode on the same data.

def difference(case, found, expected):
    """None where all is right, else what is not."""
    for position, (a, b) in enumerate(zip(found, expected, strict=True)):
        a, b = a.float().double().flatten(), b.float().double().flatten()  # of fp8 by way of float
        error = (a - b).abs() / (b.abs() + 1)
        error[(a == b)] = 0  # infinities
        wrong = ~(error <= case.allowed)
        if wrong.double().mean().item() > case.unlike:
            return f"output {position} differs in {int(wrong.sum())} of {wrong.numel()} elements, by up to {error.max().item():.3g}"
    return None


def check(torch, case, buffers, calls):
    """Contestants that are wrong, with why."""
    expected = case.compared(buffers, case.torch_code(torch, *(tensor.clone() for tensor in buffers)))
    wrong = {}
    for name, call in calls.items():
        copies = [tensor.clone() for tensor in buffers]
        try:
            returned = call(*copies)
            torch.cuda.synchronize()
            found = [copies[i] for i in case.outputs] if returned is None else returned
            if why := difference(case, case.compared(buffers, found), expected):
                wrong[name] = why
        except Exception as failure:
            wrong[name] = first_line(failure)
    return wrong


def problems_of(name, count):
    """`count` of the sizes that the search tunes for, up to the largest, evenly among them by size."""
    sizes = [problem["Dimensions"] for problem in specification(name)["Problems"] if problem["Role"] == "tune"]
    sizes.sort(key=lambda problem: math.prod(problem.values()))
    picked = sorted({round((i + 1) * (len(sizes) - 1) / count) for i in range(count)})
    order = specification(name)["Dimensions"]
    return [{dimension: sizes[i][dimension] for dimension in order} for i in picked]


def measure(torch, timer, name, sizes, libraries, samples):
    case = CASES[name]
    first = case.make(Maker(torch), **sizes)
    bytes_each = sum(tensor.numel() * tensor.element_size() for tensor in first)
    copies = max(1, min(MAX_BUFFERS, MOST_BYTES // bytes_each))
    buffers = [first] + [tuple(tensor.clone() for tensor in first) for _ in range(copies - 1)]
    pristine = {i: first[i].clone() for i in case.restored}

    torch._dynamo.reset()  # each shape is compiled anew, not as one of many
    raw = Kernel(libraries[name, False], torch, sizes)
    calls = {"raw": raw, "raw again": raw, "torch eager": lambda *tensors: case.torch_code(torch, *tensors),
             "torch compiled": torch.compile(lambda *tensors: case.torch_code(torch, *tensors), dynamic=False)}
    if (name, True) in libraries:
        calls["tuned"] = Kernel(libraries[name, True], torch, sizes)
    failures = check(torch, case, first, calls)
    contestants = []
    for contestant, call in calls.items():
        if contestant in failures:
            continue
        try:
            contestants.append(bench.Contestant(torch, contestant, call, buffers))
        except Exception as failure:
            failures[contestant] = first_line(failure)

    def restore():
        for tensors in buffers:
            for i, values in pristine.items():
                tensors[i].copy_(values)

    timer.compare(contestants, restore, samples)
    times = {contestant.name: contestant.samples for contestant in contestants}
    return {"Kernel": name, "Problem": sizes, "Types": {"T": "bf16"}, "Samples": samples, "Launches": copies,
            "Microseconds": {written: paired.median(times[spoken]) for spoken, written in CONTESTANTS.items() if spoken in times},
            "Interval95": {written: paired.median_interval(times[spoken]) for spoken, written in CONTESTANTS.items()
                           if spoken in times},
            "NoiseBand": paired.band(times["raw"], times["raw again"]) if "raw again" in times and "raw" in times else None,
            "NotMeasured": {CONTESTANTS.get(spoken, spoken): why for spoken, why in failures.items()}}


def nothing_measured(name, sizes, why):
    return {"Kernel": name, "Problem": sizes, "Types": {"T": "bf16"}, "Samples": 0, "Launches": 0, "Microseconds": {},
            "Interval95": {}, "NoiseBand": None, "NotMeasured": {"all": why}}


PROTOCOL = ("CUDA graph over rotating buffers; L2 flushed by a write of four times its size before each replay; what is "
            "overwritten is restored; contestants in random order within a round; medians with their 95 % interval; "
            "A/A: the raw kernel twice a round; every contestant's results compared with PyTorch's, eager, first")


def driver_version():
    """Of the first GPU; "" where nvidia-smi does not say."""
    try:
        told = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                              text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.split("\n")[0].strip()


def measure_all(torch, options):
    names = options.kernel or list(CASES)
    properties = torch.cuda.get_device_properties(0)
    begin = time.monotonic()
    libraries, errors = compile_all(names, options.headers, options.build, f"sm_{properties.major}{properties.minor}")
    report = {"Schema": 1, "Device": properties.name, "Driver": driver_version(), "Date": time.strftime("%Y-%m-%d"),
              "Commit": options.commit, "Torch": torch.__version__, "Cuda": torch.version.cuda,
              "Protocol": PROTOCOL, "Baselines": []}
    timer = bench.Timer(torch)
    rows = [(name, sizes, turn) for name in names for turn, sizes in enumerate(problems_of(name, options.problems))]
    rows.sort(key=lambda row: row[2])  # one size of every kernel before the second of any
    for name, sizes, _ in rows:
        try:
            if (name, False) in errors:
                raise RuntimeError(errors[name, False])
            if time.monotonic() - begin > options.seconds:
                raise RuntimeError("the time was up")
            random.seed(1)
            torch.manual_seed(1)
            row = measure(torch, timer, name, sizes, libraries, options.samples)
            if (name, True) in errors:
                row["NotMeasured"]["Tuned"] = errors[name, True]
        except Exception as failure:
            row = nothing_measured(name, sizes, first_line(failure))
        report["Baselines"].append(row)
        print(f"{time.monotonic() - begin:6.1f} s  {name} {sizes}: {row['Microseconds']} {row['NotMeasured'] or ''}", flush=True)
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        torch.cuda.empty_cache()
    report["Baselines"].sort(key=lambda row: names.index(row["Kernel"]))
    return report


def converted(file):
    """What examples/pytorch/bench.py measured, as baselines."""
    content = json.loads(file.read_text(encoding="utf-8"))
    rows = []
    for result in content["Results"]:
        times = {written: result["Microseconds"][spoken] for spoken, written in CONTESTANTS.items()
                 if spoken in result["Microseconds"]}
        rows.append({"Kernel": result["Operator"], "Problem": {"num_tokens": result["Tokens"], "d": result["Columns"]},
                     "Types": {"T": {"bfloat16": "bf16", "float16": "f16", "float32": "f32"}[result["Type"]]},
                     "Samples": result["Samples"], "Launches": result["Launches"], "Microseconds": times,
                     "Interval95": {written: result["Interval95"][spoken] for spoken, written in CONTESTANTS.items()
                                    if spoken in result["Interval95"]},
                     "NoiseBand": result["NoiseBand"], "NotMeasured": result["NotMeasured"]})
    return {"Schema": 1, "Device": content["Device"], "Torch": content["Torch"], "Cuda": content["Cuda"],
            "Protocol": content["Protocol"], "Baselines": rows}


def mean_ratio(rows, slower, faster):
    """Geometric mean over the rows that have both, as text."""
    logarithms = [math.log(row["Microseconds"][slower] / row["Microseconds"][faster]) for row in rows
                  if {slower, faster} <= row["Microseconds"].keys()]
    return f"{math.exp(sum(logarithms) / len(logarithms)):.3f}" if logarithms else "not measured"


def means_of(report):
    """The ratios' means over each kernel's sizes, and over all rows."""
    lines = ["| kernel | sizes | raw / tuned | eager / tuned | compile / tuned | raw / compile |", "|---|---:|---:|---:|---:|---:|"]
    names = list(dict.fromkeys(row["Kernel"] for row in report["Baselines"]))
    for name in [*names, None]:
        rows = [row for row in report["Baselines"] if name in (None, row["Kernel"])]
        lines.append(f"| {name or '**all rows**'} | {len(rows)} | {mean_ratio(rows, 'Raw', 'Tuned')} | {mean_ratio(rows, 'Eager', 'Tuned')} | "
                     f"{mean_ratio(rows, 'Compile', 'Tuned')} | {mean_ratio(rows, 'Raw', 'Compile')} |")
    return lines


def page_of(report):
    """Both columns of PyTorch in every row."""
    told = [f"driver {report['Driver']}" if report.get("Driver") else "", report.get("Date") or "",
            f"commit {report['Commit']}" if report.get("Commit") else ""]
    lines = ["# PyTorch as baseline", "",
             ", ".join([report["Device"], *filter(None, told), f"PyTorch {report['Torch']}", f"CUDA {report['Cuda']}"]) +
             f", bf16. Microseconds of one call: {report['Protocol']}. Written by `tests/benchmarks/pytorch_baselines.py`.", "",
             "Geometric means; above 1 the second is faster.", "", *means_of(report), "",
             "| kernel | problem | raw | tuned | PyTorch eager | torch.compile | raw / eager | raw / compile | A/A |",
             "|---|---|---:|---:|---:|---:|---:|---:|---:|"]
    for row in report["Baselines"]:
        times = row["Microseconds"]
        cell = lambda name: f"{times[name]:.2f}" if name in times else "not measured"  # noqa: E731
        ratio = lambda name: f"{times['Raw'] / times[name]:.3f}" if {"Raw", name} <= times.keys() else "not measured"  # noqa: E731
        problem = ", ".join(f"{name}={value}" for name, value in row["Problem"].items())
        band = "not measured" if row["NoiseBand"] is None else f"{100 * row['NoiseBand']:.1f} %"
        lines.append(f"| {row['Kernel']} | {problem} | {cell('Raw')} | {cell('Tuned')} | {cell('Eager')} | {cell('Compile')} | "
                     f"{ratio('Eager')} | {ratio('Compile')} | {band} |")
    reasons = [f"- {row['Kernel']}, {who}: {why}" for row in report["Baselines"] for who, why in row["NotMeasured"].items()]
    return "\n".join(lines + (["", "Not measured:", "", *reasons] if reasons else [])) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the JSON file")
    parser.add_argument("--page", type=pathlib.Path, help="a page of the same numbers")
    parser.add_argument("--headers", type=pathlib.Path, help="folder of exported headers: measures tuned kernels as well")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/pytorch_baselines"), help="folder for libraries")
    parser.add_argument("--kernel", action="append", choices=list(CASES), help="only this one (repeatable)")
    parser.add_argument("--problems", type=int, default=2, help="sizes of each kernel")
    parser.add_argument("--samples", type=int, default=21, help="of each contestant and size")
    parser.add_argument("--seconds", type=float, default=200, help="after which no further size is begun")
    parser.add_argument("--convert", type=pathlib.Path, metavar="RESULT.json", help="take what bench.py measured; needs no GPU")
    parser.add_argument("--commit", default="", help="of the kernels and headers, for the page")
    parser.add_argument("--redraw", action="store_true", help="write the page of what --output holds; needs no GPU")
    parser.add_argument("--build-only", action="store_true", help="compile the libraries for sm_90 and run nothing")
    options = parser.parse_args()
    if options.build_only:
        _, errors = compile_all(options.kernel or list(CASES), options.headers, options.build, "sm_90")
        sys.exit("\n".join(f"{name}, {'tuned' if is_tuned else 'raw'}: {why}" for (name, is_tuned), why in errors.items()) or 0)
    if options.redraw:
        report = json.loads(options.output.read_text(encoding="utf-8"))
    elif options.convert:
        report = converted(options.convert)
    else:
        try:
            import torch
        except ImportError as failure:
            sys.exit(f"pytorch_baselines.py: PyTorch is not there ({failure}): install it first")
        if not torch.cuda.is_available():
            print("pytorch_baselines.py: no GPU that PyTorch can use", file=sys.stderr)
            sys.exit(3)
        report = measure_all(torch, options)
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.page:
        options.page.write_text(page_of(report), encoding="utf-8")
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
