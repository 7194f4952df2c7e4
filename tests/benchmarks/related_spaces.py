"""Records the same space of a shipped kernel at several problem sizes: what earlier results are worth to a search of
another size of the same kernel (docs/results/search.md) is judged on these.

usage: related_spaces.py --lathe PROGRAM --root FOLDER --output FOLDER [--case NAME]... [--seconds 500]

Writes KERNEL-PROBLEM.T4.json.gz for each. Needs a GPU."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from counter_spaces import record_space
from pipeline_cases import Case, write_part

ROUTER_GEMM = {"TX": [8, 16, 32], "TY": [4, 8, 16], "TM": [1, 2, 4, 8], "TN": [1, 2, 4], "SPLIT": [1], "BK": [16, 32], "VEC": [4],
               "KV": [1], "BUFFERS": [1, 2], "AHEAD": [0], "MIN_BLOCKS": [1]}

# name, specification, values of the knobs (others keep one), problems
KERNELS = [
    ("silu_and_mul", "search_spaces/silu_and_mul.json",
     {"vec_size": [2, 4, 8, 16], "BLOCK": [64, 128, 256, 512, 1024], "SPLIT": [1, 2, 4, 8], "ROWS": [1, 2], "UNROLL": [1, 2, 4],
      "UNROLL_2": [1], "LOAD_CACHE": [0, 2], "STORE_CACHE": [0], "MIN_BLOCKS": [0]},
     [{"num_tokens": 16, "d": 14336}, {"num_tokens": 64, "d": 4096}, {"num_tokens": 1024, "d": 4096},
      {"num_tokens": 4096, "d": 14336}]),
    ("rmsnorm", "search_spaces/rmsnorm.json",
     {"VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": [2, 4, 8, 16, 32], "KEEP": [0, 1, 2, 4], "LOAD_EARLY": [0, 1], "ROWS": [1, 2],
      "UNROLL": [0], "UNROLL_2": [0], "LOAD_CACHE": [0], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0], "EVERY_WARP": [0, 1]},
     [{"num_tokens": 1, "d": 8192}, {"num_tokens": 64, "d": 4096}, {"num_tokens": 1024, "d": 8192},
      {"num_tokens": 4096, "d": 4096}]),
    ("lightning_attention_decode", "search_spaces/lightning_attention_decode.json",
     {"COLLAPSE": [1, 2, 4, 8], "COLLAPSE_VEC": [1, 2, 4, 8], "BLOCK": [64, 128, 256, 512], "VEC": [1], "VEC_2": [1], "VEC_3": [1, 4],
      "ROWS": [1], "UNROLL": [0], "UNROLL_2": [0], "LOAD_EARLY": [0, 1], "LOAD_CACHE": [0], "STORE_CACHE": [0],
      "MIN_BLOCKS": [0, 4]},
     [{"batch_size": 1, "num_heads": 64, "qk_dim": 96, "v_dim": 96}, {"batch_size": 8, "num_heads": 64, "qk_dim": 96, "v_dim": 96},
      {"batch_size": 64, "num_heads": 64, "qk_dim": 128, "v_dim": 128}]),
    ("merge_attn_states_lse", "search_spaces/merge_attn_states_lse.json",
     {"NUM_THREADS": [64, 128, 256, 512], "pack_size": [2, 4, 8, 16], "ROWS": [1, 2, 4, 8], "LOAD_EARLY": [0, 1],
      "LOAD_CACHE": [0, 1], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]},
     [{"num_tokens": tokens, "num_heads": 32, "head_size": 128} for tokens in (1, 64, 1024, 16384)]),
    ("moe_align_block_size", "search_spaces/moe_align_block_size.json",
     {"BLOCK": [128, 256, 384, 512, 640, 768, 896, 1024], "ROWS": [1, 2], "UNROLL": [0, 1, 2, 4, 8], "UNROLL_2": [0, 1, 2, 4, 8],
      "STORE_CACHE": [0], "MIN_BLOCKS": [0]},
     [{"numel": 8, "num_experts": 65, "block_size": 64}, {"numel": 4096, "num_experts": 257, "block_size": 128},
      {"numel": 32768, "num_experts": 257, "block_size": 128}]),
    ("router_gemm", "examples/router_gemm/search_spaces/router_gemm.json", ROUTER_GEMM,
     [{"num_tokens": tokens, "num_experts": 256, "hidden_size": 2048} for tokens in (64, 1024, 4096)]),
]


def name_of(kernel, problem):
    return kernel + "-" + "-".join(f"{size}" for size in problem.values())


def problem_text(problem):
    return ",".join(f"{name}={size}" for name, size in problem.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True, type=lambda path: Path(path).resolve())
    parser.add_argument("--root", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--seconds", type=float, default=500, help="no recording is begun that may not end within these")
    arguments = parser.parse_args()
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    start, longest, failed = time.time(), 0.0, []
    for kernel, spec, values, problems in KERNELS:
        if arguments.case and kernel not in arguments.case:
            continue
        with tempfile.TemporaryDirectory() as folder:
            part = write_part(arguments.root, Case(kernel, spec, problems[0], values, [], []), folder)
            for problem in problems:
                name, begun = name_of(kernel, problem), time.time()
                if begun - start + longest > arguments.seconds:
                    failed.append(f"{name} (no time left)")
                elif not record_space(arguments.lathe, part, problem_text(problem), folder,
                                      Path(arguments.output) / f"{name}.T4.json.gz", []):
                    failed.append(name)
                longest = max(longest, time.time() - begun)
                print(f"related_spaces: {name}: {time.time() - begun:.1f} s", flush=True)
    if failed:
        sys.exit(f"related_spaces: not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
