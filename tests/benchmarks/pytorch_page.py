"""Makes docs/results/pytorch.md and .json of what examples/pytorch/bench.py wrote.

usage: pytorch_page.py RESULT.json PAGE.md COMMIT DATE"""

import json
import math
import sys
from pathlib import Path


def main():
    source, page, commit, date = sys.argv[1:5]
    content = json.loads(Path(source).read_text(encoding="utf-8"))
    rows, ratios = [], {}
    for result in content["Results"]:
        cells = [result["Operator"], f"{result['Tokens']} x {result['Columns']}"]
        for name in ("raw", "tuned", "torch eager", "torch compiled"):
            median = result["Microseconds"].get(name)
            cells.append(f"{median:.2f}" if median else "not measured")
        for name in ("raw", "torch eager", "torch compiled"):
            against = result["Against"].get(name)
            cells.append(f"{against['Ratio']:.3f}" if against else "not measured")
            if against:
                ratios.setdefault((result["Operator"], name), []).append(against["Ratio"])
        cells.append(f"{100 * result['NoiseBand']:.1f} %")
        rows.append("| " + " | ".join(cells) + " |")
    text = "# Tuned operators beside PyTorch's\n\n"
    text += (f"{content['Device']}, PyTorch {content['Torch']}, {date}, commit {commit}; "
             "`examples/pytorch/bench.py --headers H --output pytorch.json --samples 21`, headers exported from the store of "
             "[h200.md](h200.md). bf16; microseconds, medians of interleaved samples; ratios above 1 are gains of the tuned "
             "operator. torch.compile compiles every shape anew.\n\n")
    text += f"Checks against PyTorch: {sum(1 for check in content['Checks'] if check['Correct'])} of {len(content['Checks'])} right.\n\n"
    text += "| operator | shape | raw | tuned | torch eager | torch compiled | raw / tuned | eager / tuned | compiled / tuned | A/A |\n"
    text += "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n" + "\n".join(rows) + "\n\nGeometric means:\n\n"
    for (operator, name), values in ratios.items():
        text += f"- {operator}, {name} / tuned: {math.exp(sum(map(math.log, values)) / len(values)):.3f} over {len(values)} shapes\n"
    text += ("\ntorch.compile fuses what surrounds an operator as well; alone, its activation is faster than the tuned header here "
             "on every shape, which is a gain that the template of silu_and_mul leaves, and its normalisation is slower.\n")
    Path(page).write_text(text, encoding="utf-8")
    Path(page).with_suffix(".json").write_text(json.dumps({"Commit": commit, "Date": date, **content}, indent=1) + "\n", encoding="utf-8")


main()
