"""Turns the measured numbers into the tables of docs/results/search.md (search_results.md.in)."""

import json
from pathlib import Path
from statistics import mean

MARKS = [25, 50, 100, 200, 400]


def at(space, mark, key="fraction_of_optimum"):
    return next((r[key] for r in space["results"] if r["evaluations"] == mark), None)


def mean_at(spaces, mark, key="fraction_of_optimum"):
    return mean(at(space, mark, key) for space in spaces)


def table(header, rows):
    """Markdown: the first column is text, the others are right-aligned; floats get three places."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for row in rows:
        cells = [f"{cell:.3f}" if isinstance(cell, float) else "" if cell is None else str(cell) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def construction(rows):
    def row(item):
        whole = item["construction_ms"] + item["listing_ms"]
        line = [item["space"], f"{item['cartesian']:.0f}", f"{item['valid']:.0f}", item["construction_ms"], whole]
        if theirs := item["kernel_tuner"]:
            line += [f"{theirs['milliseconds']:.1f}", "yes" if theirs["valid"] == item["valid"] else "no",
                     f"{theirs['milliseconds'] / item['construction_ms']:.0f} x",
                     f"{theirs['milliseconds'] / whole:.0f} x"]
        return line

    header = ["space", "cartesian", "valid", "built, ms", "built and listed, ms"]
    if rows[0]["kernel_tuner"]:
        header += ["Kernel Tuner, ms", "same count", "built faster by", "built and listed faster by"]
    return table(header, [row(item) for item in rows])


def memory(rows):
    return table(["space of 10^9 points", "valid", "exact", "built, ms", "peak memory of the process, MB"],
                 [[r["space"], f"{r['valid']:.0f}", "yes" if r["exact"] else "no", f"{r['construction_ms']:.1f}",
                   f"{r['process_peak_megabytes']:.0f}"] for r in rows])


def search(default, strategies):
    """The default beside Kernel Tuner's strategies, and by how much it leads the best of them at each mark."""
    own = [mean_at(default, mark) for mark in MARKS]
    rows = [["**lathe, default**", *own]]
    if strategies:
        lead = [100 * (mine - max(column)) for mine, column in zip(own, zip(*strategies.values()))]
        rows.append(["ahead of the best below, points", *[f"{points:+.1f}" for points in lead]])
        ranked = sorted(strategies.items(), key=lambda item: -item[1][2])
        rows += [[f"Kernel Tuner {name}", *values] for name, values in ranked]
    rows.append(["random search (exact expectation)", *[mean_at(default, mark, "random") for mark in MARKS]])
    return table(["strategy", *map(str, MARKS)], rows)


def recorded_peers(default):
    peers = json.loads(Path(__file__).with_name("kernel_tuner_search.json").read_text(encoding="utf-8"))
    same = sorted(space["file"] for space in default) == sorted(peers["spaces"])
    return search(default, peers["strategies"]) if same else "(These are other spaces.)"


def spaces(default):
    rows = []
    for space in default:
        near = space["median_evaluations_to_95_percent"]
        rows.append([space["file"], *[f"{at(space, m):.3f} ({at(space, m, 'random'):.3f})" for m in MARKS],
                     "-" if near is None else near, space["performance_score"]])
    return table(["space", *map(str, MARKS), "to 95 %", "score"], rows)


def singles(found):
    ranked = sorted(found.items(), key=lambda item: -item[1][2]["mean"])
    return table(["technique", *map(str, MARKS[:4])], [[name, *[m["mean"] for m in marks]] for name, marks in ranked])


def alternatives(rows):
    keys = [str(mark) for mark in MARKS[1:]]
    return table(["arms, patience", *keys, *[f"words {key}" for key in keys]],
                 [[r["choice"] + (" (default)" if i == 0 else ""), *[r["mean"][k] for k in keys],
                   *[r["words"][k] for k in keys]] for i, r in enumerate(rows)])


def leave_one_out(rows):
    return table(["kernel left out", "chosen on the others", "its score", "the default's", "best of all",
                  "worst of all"],
                 [[r["left_out"], r["chosen"], r["score_of_chosen"], r["score_of_default"], r["best_score"],
                   r["worst_score"]] for r in rows])


def cold_of(rows):
    return {row["space"]: row["fractions"] for row in rows if row["kind"] == "cold"}


def kinds_of(rows):
    return [kind for kind in dict.fromkeys(row["kind"] for row in rows) if kind != "cold"]


def transfer_means(rows):
    """Kind by kind: the mean over the pairs, the cold search's on the same targets, and the worst pair's loss."""
    cold, marks = cold_of(rows), list(rows[0]["fractions"])
    lines = []
    for kind in kinds_of(rows):
        chosen = [row for row in rows if row["kind"] == kind]
        worst = [min(100 * (row["fractions"][mark] - cold[row["space"]][mark]) for row in chosen) for mark in marks]
        lines.append([kind, len(chosen), *[mean(row["fractions"][mark] for row in chosen) for mark in marks],
                      *[mean(cold[row["space"]][mark] for row in chosen) for mark in marks],
                      *[f"{points:+.1f}" for points in worst]])
    return table(["prior", "pairs", *marks, *[f"cold {mark}" for mark in marks],
                  *[f"worst pair at {mark}" for mark in marks]], lines)


def transfer_kernels(rows):
    """Points over the cold search with each kernel left out: does one kernel carry the mean?"""
    cold, marks = cold_of(rows), list(rows[0]["fractions"])[:3]
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    if len(kernels) < 2:
        return "(Of one kernel alone.)"
    lines = []
    for kind in kinds_of(rows):
        line = [kind]
        for left_out in kernels:
            chosen = [row for row in rows if row["kind"] == kind and row["kernel"] != left_out]
            points = [mean(100 * (row["fractions"][mark] - cold[row["space"]][mark]) for row in chosen) if chosen else None
                      for mark in marks]
            line.append(" ".join("-" if point is None else f"{point:+.1f}" for point in points))
        lines.append(line)
    return table([f"points at {', '.join(marks)}", *[f"without {kernel}" for kernel in kernels]], lines)


def transfer(rows):
    cold, marks = cold_of(rows), list(rows[0]["fractions"])
    return table(["space", "prior", "of", *marks, *[f"cold {mark}" for mark in marks]],
                 [[row["space"], row["kind"], row["of"], *[row["fractions"][mark] for mark in marks],
                   *[cold[row["space"]][mark] for mark in marks]] for row in rows if row["kind"] != "cold"])


def gap(default):
    def percent(mark, key):
        return f"{100 * mean_at(default, mark, key):.1f} %"

    return table(["evaluations", "true gap, mean", "estimated gap, mean", "estimates that held", "on the worst space"],
                 [[str(m), percent(m, "remaining_gap"), percent(m, "estimated_remaining_gap"),
                   percent(m, "gap_estimates_that_held"),
                   f"{100 * min(at(space, m, 'gap_estimates_that_held') for space in default):.0f} %"] for m in MARKS])


def engine(rows):
    return table(["space", "evaluations", "ms an evaluation", "ms over the last tenth"],
                 [[r["space"], r["evaluations"], r["ms_per_evaluation"], r["ms_at_the_end"]] for r in rows])


def aims(data):
    """What the search is meant to reach, and what was measured."""
    default, strategies = data["default"], data["kernel_tuner_search"]
    rows = []

    def aim(text, found, met):
        rows.append([text, found, "yes" if met else "**no**"])

    speed_ups = [row["kernel_tuner"]["milliseconds"] / (row["construction_ms"] + row["listing_ms"])
                 for row in data["construction"] if row["kernel_tuner"]]
    if speed_ups:
        aim("every space built and listed 10 times as fast as by Kernel Tuner", f"{min(speed_ups):.0f} times and more",
            min(speed_ups) >= 10)
    for mark, points in ((50, 3), (100, 2), (200, 0)):
        if strategies:
            lead = 100 * (mean_at(default, mark) - max(means[MARKS.index(mark)] for means in strategies.values()))
            aim(f"{points} points ahead of Kernel Tuner's best strategy at {mark} evaluations", f"{lead:+.1f} points",
                lead >= points)
    least = min((at(space, mark) - at(space, mark, "random"), space["file"], mark) for space in default for mark in MARKS)
    aim("never below random search on any space", f"{100 * least[0]:+.1f} points at the least ({least[1]}, {least[2]})",
        least[0] >= 0)
    pairs = [row for row in data["transfer"] if row["kind"] == "same vendor, everything"]
    if pairs:
        cold = cold_of(data["transfer"])
        with_prior = mean(row["fractions"]["25"] for row in pairs)
        without = mean(cold[row["space"]]["100"] for row in pairs)
        aim("with a prior of the same vendor, at 25 evaluations what the cold search reaches at 100",
            f"{with_prior:.3f} against {without:.3f}", with_prior >= without)
    longest = max(row["ms_per_evaluation"] for row in data["engine"] if row["evaluations"] == 10000)
    aim("under 1 ms of the engine's own time an evaluation at 10000 evaluations", f"{longest:.2f} ms", longest < 1)
    return table(["aim", "measured", "met"], rows)


def render(data):
    default = data["default"]
    sections = {
        "date": data["date"], "host": data["host"], "seeds": str(data["seeds"]), "peers": " with ".join(data["peers"]),
        "note": f"\n{data['note']}\n" if data.get("note") else "", "aims": aims(data),
        "construction": construction(data["construction"]), "memory": memory(data["large_spaces"]),
        "search": search(default, data["kernel_tuner_search"]), "recorded_peers": recorded_peers(default),
        "spaces": spaces(default), "singles": singles(data["single_techniques"]),
        "alternatives": alternatives(data["alternatives"]["rows"]),
        "leave_one_out": leave_one_out(data["alternatives"]["leave_one_kernel_out"]),
        "transfer_means": transfer_means(data["transfer"]), "transfer_kernels": transfer_kernels(data["transfer"]),
        "transfer": transfer(data["transfer"]),
        "problems_means": transfer_means(data["problems_transfer"]),
        "problems_kernels": transfer_kernels(data["problems_transfer"]),
        "gap": gap(default), "engine": engine(data["engine"]),
    }
    text = Path(__file__).with_name("search_results.md.in").read_text(encoding="utf-8")
    for name, content in sections.items():
        text = text.replace(f"@{name}@", content)
    return text
