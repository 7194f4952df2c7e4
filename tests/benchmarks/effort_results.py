#!/usr/bin/env python3
"""Measures what weighing gains against the expected seconds of an evaluation saves and costs (`lathe replay
--effort-weight`), and prints JSON: by space and weight the evaluations and the simulated seconds to within 5 % of the
optimum, a run that does not get there counting with its end, and optimum / best so far after so many evaluations.

    effort_results.py --lathe PROGRAM [--seeds 20] [--budget 200] RECORDING...
"""

import argparse
import json
from pathlib import Path

from measure import output_of

WEIGHTS = [0, 0.25, 0.5, 1]
MARKS = [25, 50, 100, 200]


def replay(arguments, weight):
    command = [arguments.lathe, "replay", *arguments.recordings, "--json", "--budget", arguments.budget, "--seeds", arguments.seeds,
               "--effort-weight", weight]
    return [{"space": Path(space["file"]).name.split(".T4")[0].split(".cache")[0], "weight": weight,
             "evaluations": space["mean_evaluations_to_95_percent"], "seconds": space["mean_simulated_seconds_to_95_percent"],
             "fractions": {result["evaluations"]: result["fraction_of_optimum"]
                           for result in space["results"] if result["evaluations"] in MARKS}}
            for space in json.loads(output_of(command))["spaces"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", nargs="+", type=Path)
    parser.add_argument("--lathe", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--budget", type=int, default=200)
    arguments = parser.parse_args()
    rows = [row for weight in WEIGHTS for row in replay(arguments, weight)]
    print(json.dumps({"seeds": arguments.seeds, "budget": arguments.budget, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
