// What the results store holds, for people and for machines: one self-contained HTML page, Markdown, JSON and
// CSV. Nothing is measured here, and nothing is shown that the store does not hold: what is missing is named.
#pragma once

#include "tuner/base/result.h"
#include "tuner/profile/profile.h"
#include "tuner/report/attempts.h"
#include "tuner/spec/spec.h"
#include "tuner/store/store.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

// One problem of a kernel on one device.
struct ProblemReport {
  StoreKey key;
  std::optional<StoredWinner> winner;        // none: the search has not ended
  std::vector<StoredEvaluation> evaluations; // in the order in which they were recorded
  double bytes = 0, operations = 0;          // the specification's cost model; 0: not known
  // Counters of one launch of each, by which their bottlenecks are told; none: not profiled.
  std::optional<Profile> raw_profile, winner_profile;
};

// The problems that may be compared with each other: one template on one device under one driver and toolkit.
struct KernelReport {
  StoreKey key; // `workload` is empty
  bool is_host = false;
  std::vector<ProblemReport> problems;             // searched ones first
  std::map<std::string, std::string> knob_origins; // knob -> where in the raw kernel it comes from
  std::vector<std::string> notes;                  // what the page cannot show and why, one sentence each
};

struct Report {
  std::vector<KernelReport> kernels;
  std::optional<AttemptTree> attempts; // of the run of lathe optimize that is shown
  std::vector<Error> missing;          // what else was asked for, of which the store holds nothing
};

// What to report on: a kernel by name, with its specification where there is one: it gives the bytes and
// operations behind the roofline, and the knobs' origins.
struct ReportSubject {
  std::string kernel;
  std::optional<TuningSpec> spec;
};

// Fails when the store cannot be read or holds nothing of any subject; those that it holds nothing of are
// told in `missing` otherwise.
Result<Report> gather_report(Store& store, const std::vector<ReportSubject>& subjects);

// One HTML document: inline SVG and style, no script, no reference to anything outside it. Readable from 360
// pixels of width up, in light and dark; each chart has a title and its numbers as a table.
std::string report_html(const Report& report);
// The winners of winners_json, and under "Searches" what was tried, what failed and which knobs mattered.
std::string report_json(const Report& report);

// The winners alone, in the order given. Times in microseconds.
nlohmann::ordered_json winner_json(const StoredWinner& winner);
std::string winners_json(const std::vector<StoredWinner>& winners); // the schema's version is in "Schema"
std::string winners_markdown(const std::vector<StoredWinner>& winners);
std::string winners_csv(const std::vector<StoredWinner>& winners);
std::vector<StoredWinner> winners_of(const Report& report);

// "BLOCK=256 VEC=8".
std::string describe(const std::vector<std::string>& names, const KnobValues& values);
std::string_view to_string(ProblemRole role);

} // namespace lathe
