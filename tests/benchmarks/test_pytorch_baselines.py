"""What pytorch_baselines.py does without a GPU: sources, sizes, conversion and the page."""
import json
import pathlib
import tempfile
import unittest

import pytorch_baselines as baselines

REPORT = {"Device": "made up", "Torch": "2", "Cuda": "13", "Protocol": "none", "Baselines": [
    {"Kernel": "k", "Problem": {"n": 1}, "Microseconds": {"Raw": 4.0, "Eager": 8.0}, "NoiseBand": 0.01,
     "NotMeasured": {"Compile": "no compiler"}},
    {"Kernel": "broken", "Problem": {"n": 1}, "Microseconds": {}, "NoiseBand": None, "NotMeasured": {"all": "nvcc: error"}}]}


class Baselines(unittest.TestCase):
    def test_every_case_is_a_shipped_kernel_with_its_buffers(self):
        for name, case in baselines.CASES.items():
            spec = baselines.specification(name)
            buffers = [argument["Name"] for argument in spec["Arguments"] if "Count" in argument]
            written = {i for i, argument in enumerate(a for a in spec["Arguments"] if "Count" in a) if argument["Direction"] != "in"}
            self.assertEqual(written, set(case.outputs), name)
            self.assertLessEqual(set(case.restored), set(case.outputs), name)
            self.assertEqual(case.torch_code.__code__.co_argcount, 1 + len(buffers), name)
            for sizes in baselines.problems_of(name, 2):
                self.assertEqual(list(sizes), spec["Dimensions"], name)
            raw = baselines.source_of(name, spec, None)
            for buffer in buffers:
                self.assertIn(f"const untyped {buffer}{{", raw, name)
            tuned = baselines.source_of(name, spec, "tuned.h")
            self.assertIn(f"lathe_tuned::{name}::launch({{", tuned)
            self.assertNotIn("sglang_kernels", tuned, "the raw kernel's text would stand beside the header's")

    def test_sizes_go_up_to_the_largest(self):
        sizes = baselines.problems_of("silu_and_mul", 3)
        self.assertEqual(len(sizes), 3)
        products = [size["num_tokens"] * size["d"] for size in sizes]
        self.assertEqual(products, sorted(products))
        self.assertEqual(sizes[-1], {"num_tokens": 16384, "d": 14336})

    def test_the_page_always_has_both_columns(self):
        page = baselines.page_of(REPORT)
        self.assertIn("| PyTorch eager | torch.compile |", page)
        self.assertIn("| k | n=1 | 4.00 | not measured | 8.00 | not measured | 0.500 | not measured | 1.0 % |", page)
        self.assertIn("| broken | n=1 |" + " not measured |" * 7, page)
        self.assertIn("- k, Compile: no compiler", page)
        self.assertIn("- broken, all: nvcc: error", page)

    def test_means_are_of_the_rows_that_have_both(self):
        rows = [{"Kernel": "k", "Microseconds": {"Raw": 4.0, "Tuned": 2.0}}, {"Kernel": "k", "Microseconds": {"Raw": 8.0, "Tuned": 1.0}},
                {"Kernel": "k", "Microseconds": {"Raw": 100.0}}]
        self.assertEqual(baselines.mean_ratio(rows, "Raw", "Tuned"), "4.000")
        self.assertEqual(baselines.mean_ratio(rows, "Eager", "Tuned"), "not measured")
        self.assertIn("| **all rows** | 3 | 4.000 | not measured | not measured | not measured |",
                      baselines.means_of({"Baselines": rows}))

    def test_what_bench_measured_is_converted(self):
        result = {"Device": "made up", "Torch": "2", "Cuda": "13", "Protocol": "none", "Results": [
            {"Operator": "silu_and_mul", "Type": "bfloat16", "Tokens": 3, "Columns": 4, "Samples": 5, "Launches": 6,
             "Microseconds": {"raw": 1.0, "raw again": 1.1, "tuned": 2.0, "torch eager": 3.0}, "NoiseBand": 0.1,
             "Interval95": {"raw": [1, 2], "tuned": [1, 2], "torch eager": [1, 2]}, "NotMeasured": {"torch compiled": "none"}}]}
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "pytorch.json"
            file.write_text(json.dumps(result), encoding="utf-8")
            row, = baselines.converted(file)["Baselines"]
        self.assertEqual(row["Microseconds"], {"Raw": 1.0, "Eager": 3.0, "Tuned": 2.0})
        self.assertEqual((row["Kernel"], row["Problem"], row["Types"]), ("silu_and_mul", {"num_tokens": 3, "d": 4}, {"T": "bf16"}))

    def test_one_that_does_not_compile_costs_itself_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            libraries, errors = baselines.compile_all(["no_such_kernel"], None, pathlib.Path(folder), "sm_90")
        self.assertEqual(libraries, {})
        self.assertEqual(list(errors), [("no_such_kernel", False)])


if __name__ == "__main__":
    unittest.main()
