#!/usr/bin/env python3
"""Measures what the profile-guided technique saves and costs on recorded spaces with counters, and writes
docs/results/profile_guided.json: evaluations and simulated seconds to within 5 % of the optimum, a run that does not
get there counting with its end.

    profile_guided_results.py --lathe PROGRAM --output FILE.json [--seeds 30] RECORDING...
"""

import argparse
import json
from pathlib import Path

from measure import output_of

DEFAULT = "gaussian_process+greedy_ils"
ENSEMBLES = {"default": DEFAULT, "profile-guided first": f"profile_guided+{DEFAULT}", "profile-guided alone": "profile_guided",
             "random": "random"}
# What reading the counters of one configuration took on the H200 (docs/results/search_pace.md).
COUNTER_SECONDS = 0.24
CLOCKS = {"one at a time, 1 worker": ["--workers", 1], "at the pace of lathe tune, 16 workers": ["--paced", "--workers", 16]}


def replay(arguments, technique, options):
    command = [arguments.lathe, "replay", *arguments.recordings, "--json", "--technique", technique, "--budget", arguments.budget,
               "--seeds", arguments.seeds, "--counter-seconds", COUNTER_SECONDS, *options]
    return [{"space": Path(space["file"]).name.split(".T4")[0], "evaluations": space["mean_evaluations_to_95_percent"],
             "seconds": space["mean_simulated_seconds_to_95_percent"],
             "fractions": {result["evaluations"]: result["fraction_of_optimum"] for result in space["results"]}}
            for space in json.loads(output_of(command))["spaces"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--lathe", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--budget", type=int, default=150)
    arguments = parser.parse_args()
    rows = [{"clock": clock, "search": name, "technique": technique, "spaces": replay(arguments, technique, options)}
            for clock, options in CLOCKS.items() for name, technique in ENSEMBLES.items()]
    arguments.output.write_text(json.dumps({"seeds": arguments.seeds, "budget": arguments.budget,
                                            "counter_seconds": COUNTER_SECONDS, "rows": rows}, indent=1) + "\n",
                                encoding="utf-8")
    for row in rows:
        print(f"{row['clock']:40} {row['search']:22}",
              *(f"{space['space']}: {space['evaluations']:.1f}, {space['seconds']:.2f} s;" for space in row["spaces"]))


if __name__ == "__main__":
    main()
