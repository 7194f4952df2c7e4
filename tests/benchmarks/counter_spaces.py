"""Records small spaces of shipped kernels exhaustively, with the GPU's counters of every configuration: what the
profile-guided technique is judged on.

usage: counter_spaces.py --lathe PROGRAM --root FOLDER --output FOLDER [--case NAME]... [--counters 36] [--seconds 245]

Writes NAME.T4.json.gz for each case: Lathe's T4 with counters among the measurements. Configurations whose counters were
not reached in time stay without them. Needs a GPU whose counters may be read."""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipeline_cases import Case, write_part

CASES = [
    Case("router_gemm", "examples/router_gemm/search_spaces/router_gemm.json",
         {"num_tokens": 1024, "num_experts": 256, "hidden_size": 2048},
         {"TX": [8, 16, 32], "TY": [4, 8, 16], "TM": [1, 2, 4, 8], "TN": [1, 2, 4], "SPLIT": [1], "BK": [16, 32], "VEC": [4],
          "KV": [1], "BUFFERS": [1, 2], "AHEAD": [0], "MIN_BLOCKS": [1]}, [], []),
    Case("silu_and_mul", "search_spaces/silu_and_mul.json", {"d": 14336, "num_tokens": 4096},
         {"vec_size": [2, 4, 8, 16], "BLOCK": [64, 128, 192, 256, 384, 512, 768, 1024], "SPLIT": [1, 2, 4], "ROWS": [1, 2],
          "UNROLL": [1, 4], "UNROLL_2": [1], "LOAD_CACHE": [0], "STORE_CACHE": [0], "MIN_BLOCKS": [0]}, [], []),
    Case("fused_add_rmsnorm", "search_spaces/fused_add_rmsnorm.json", {"d": 8192, "num_tokens": 4096},
         {"VEC_SIZE": [2, 4, 8, 16], "BLOCK_Y": [2, 4, 6, 8, 12, 16, 24, 32], "KEEP": [0, 1, 2, 4, 8], "ROWS": [1, 2], "UNROLL": [0, 4],
          "UNROLL_2": [0], "LOAD_CACHE": [0], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]}, [], []),
    Case("per_token_quant_fp8", "search_spaces/per_token_quant_fp8.json", {"d": 7168, "num_tokens": 4096},
         {"KERNEL": [2], "K2_VEC_SIZE": [2, 4, 8, 16, 32], "K2_BLOCK": [64, 128, 192, 256, 512, 1024], "K2_ROWS": [1, 2, 4],
          "K2_UNROLL": [0, 4], "K2_UNROLL_2": [0], "K2_LOAD_CACHE": [0, 2], "K2_STORE_CACHE": [0], "K2_MIN_BLOCKS": [0]}, [], []),
    Case("merge_attn_states_lse", "search_spaces/merge_attn_states_lse.json",
         {"head_size": 128, "num_heads": 32, "num_tokens": 4096},
         {"NUM_THREADS": [32, 64, 128, 192, 256, 512, 1024], "pack_size": [1, 2, 4, 8, 16], "ROWS": [1, 2, 4, 8],
          "LOAD_CACHE": [0], "STORE_CACHE": [0, 1], "MIN_BLOCKS": [0]}, [], []),
]


def run(command, environment):
    done = subprocess.run([str(part) for part in command], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, flush=True)
    return done.returncode == 0


def record_space(lathe, spec, problem, folder, target, more):
    """Evaluates all of a space and writes it as T4; the folder keeps store and cubins. True when the file was written."""
    store, exported = Path(folder) / "results.sqlite", Path(folder) / "t4.json"
    environment = {**os.environ, "XDG_CACHE_HOME": str(Path(folder) / "cache")}
    if not run([lathe, "tune", spec, "--problem", problem, "--no-transfer", "--no-profile", "-v", "--results", store,
                "--technique", "random", "--evaluations", 10**9, "--finalists", 1, *more], environment):
        return False
    if not run([lathe, "export", spec, "--format", "t4", "--problem", problem, "--results", store, "--output", exported],
               environment):
        return False
    with gzip.GzipFile(target, "wb", mtime=0) as file:
        file.write(exported.read_bytes())
    return True


def record(arguments, case):
    """True when the case's file was written."""
    with tempfile.TemporaryDirectory() as folder:
        return record_space(arguments.lathe, write_part(arguments.root, case, folder), case.problem_text(), folder,
                            Path(arguments.output) / f"{case.name}.T4.json.gz", ["--counters", f"{arguments.counters}s"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lathe", required=True, type=lambda path: Path(path).resolve())
    parser.add_argument("--root", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--counters", type=int, default=36, help="seconds of reading counters, of each case")
    parser.add_argument("--seconds", type=float, default=245, help="no case is begun that may not end within these")
    arguments = parser.parse_args()
    Path(arguments.output).mkdir(parents=True, exist_ok=True)
    start, longest, failed = time.time(), 0.0, []
    for case in [case for case in CASES if not arguments.case or case.name in arguments.case]:
        begun = time.time()
        if begun - start + longest > arguments.seconds:
            failed.append(f"{case.name} (no time left)")
            continue
        if not record(arguments, case):
            failed.append(case.name)
        longest = max(longest, time.time() - begun)
        print(f"counter_spaces: {case.name}: {time.time() - begun:.1f} s", flush=True)
    if failed:
        sys.exit(f"counter_spaces: not recorded: {', '.join(failed)}")


if __name__ == "__main__":
    main()
