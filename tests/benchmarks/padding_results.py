"""Makes docs/results/transpose.md and .json of a store in which every configuration of transpose_kernel was tried.

usage: padding_results.py RESULTS.sqlite PAGE.md --commit COMMIT --date DATE"""

import argparse
import json
import sqlite3
from pathlib import Path

HEAD = """# A transpose, with and without padding

[transpose.cu](../../tests/benchmarks/transpose.cu) moves tiles of 32 by 32 floats through shared memory, whose columns all threads of
a warp go down: every access meets one bank. [pad-shared](../rules/pad-shared.md) gives it PAD, beside ROWS, cache hints and
launch bounds; the guard accepts it, with the raw kernel's machine code at the defaults.

- One {device}, driver {driver}, {toolkit}, {date}, commit {commit}. Every configuration was tried ({count} a problem):

      lathe templatize tests/benchmarks/transpose.cu --kernel transpose_kernel --output out --problem rows=4096,columns=4096 \\
        --problem rows=1024,columns=1024 --problem rows=8192,columns=2048
      lathe tune out/search_spaces/transpose_kernel.json --evaluations 100000 --technique random -v

- The first two times and the ratio are of samples that alternate; the others of the search. Counters name bank conflicts as
  what limits the raw kernel: {conflicts:.0f} % of its wavefronts of shared memory are repeats on the largest problem.
- Data: [{data}]({data}).

| problem | raw, us | tuned, us | raw / tuned | 95 % interval | noise | knobs | best with PAD=0, us | only PAD changed (1, 2, 4, 8), us | of the copy |
|---|---:|---:|---:|---|---:|---|---:|---|---:|
"""


def rows(database):
    query = ("SELECT keys.id, workload, device, driver, toolkit, raw_median_us, tuned_median_us, ratio, ratio_low, ratio_high, noise_band, "
             "copy_floor_us, winners.knob_names, winners.knobs FROM winners JOIN keys ON winners.key = keys.id ORDER BY keys.id")
    database.row_factory = sqlite3.Row
    for winner in database.execute(query):
        row = dict(winner)
        row["Knobs"] = dict(zip(json.loads(row.pop("knob_names")), json.loads(row.pop("knobs"))))
        tried = [(dict(zip(json.loads(names), json.loads(knobs))), us) for names, knobs, us in database.execute(
            "SELECT knob_names, knobs, median_us FROM evaluations WHERE key = ? AND outcome = 'ok'", (row["id"],))]
        default = {"ROWS": 1, "PAD": 0, "LOAD_CACHE": 0, "STORE_CACHE": 0, "MIN_BLOCKS": 0}
        row["Tried"] = len(tried)
        row["BestUnpadded"] = min(us for knobs, us in tried if knobs["PAD"] == 0)
        row["PadAlone"] = {pad: next(us for knobs, us in tried if knobs == default | {"PAD": pad}) for pad in (1, 2, 4, 8)}
        profile = database.execute("SELECT profile FROM profiles WHERE key = ? AND knobs = 'raw'", (row["id"],)).fetchone()
        row["RawCounters"] = json.loads(profile[0]) if profile else None
        del row["id"]
        yield row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("page")
    parser.add_argument("--commit", required=True)
    parser.add_argument("--date", required=True)
    arguments = parser.parse_args()
    page = Path(arguments.page)
    with sqlite3.connect(arguments.store) as database:
        results = list(rows(database))
    first = results[0]
    largest = max(results, key=lambda row: row["raw_median_us"])
    text = HEAD.format(device=first["device"], driver=first["driver"], toolkit=first["toolkit"], date=arguments.date,
                       commit=arguments.commit, count=first["Tried"], data=page.with_suffix(".json").name,
                       conflicts=100 * largest["RawCounters"]["BankConflicts"])
    for row in results:
        knobs = " ".join(f"{name}={value}" for name, value in row["Knobs"].items())
        alone = ", ".join(f"{us:.2f}" for us in row["PadAlone"].values())
        text += (f"| {row['workload']} | {row['raw_median_us']:.2f} | {row['tuned_median_us']:.2f} | {row['ratio']:.3f} | "
                 f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f} | {100 * row['noise_band']:.1f} % | {knobs} | "
                 f"{row['BestUnpadded']:.2f} | {alone} | {100 * row['copy_floor_us'] / row['tuned_median_us']:.1f} % |\n")
    page.write_text(text, encoding="utf-8")
    page.with_suffix(".json").write_text(json.dumps({"Commit": arguments.commit, "Date": arguments.date, "Results": results}, indent=1)
                                         + "\n", encoding="utf-8")


main()
