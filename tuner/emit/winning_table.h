// Which configuration runs where: the winners as the header's table and the other formats see them.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"
#include "tuner/store/store.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lathe {

using Types = std::map<std::string, std::string>;

// A configuration that some row uses, for one choice of types.
struct TableConfiguration {
  Types types;
  KnobValues knobs;
  std::string architecture; // whose limits its conditions are checked against
  Problem problem;          // of the first row that uses it
  std::string instance;     // at that problem: where a size is fixed in it, for that size alone
};

struct TableRow {
  std::size_t device = 0; // index into WinningTable::devices
  std::size_t types = 0;
  Problem problem;
  int configuration = -1; // index into WinningTable::configurations; -1: the raw kernel
  const StoredWinner* winner = nullptr;
};

struct WinningTable {
  std::vector<std::pair<std::string, std::string>> devices; // name, architecture
  std::vector<Types> types; // every choice that the specification allows, and those of the rows
  std::vector<TableConfiguration> configurations;
  std::vector<TableRow> rows;
};

// A gain counts when its interval and its size lie beyond what the raw kernel shows against itself.
bool is_gain(const Comparison& comparison);

// A gain that counts on another GPU of the same architecture, where nothing was measured. Between an H200 and
// an H100 the winners kept 0.84 to 1.06 of their raw / tuned (docs/results/h100.md): one that gained a fifth
// is a gain there too, one that gained a tenth need not be.
bool is_wide_gain(const Comparison& comparison);

// Rows without a gain stand for the raw kernel. Report-only problems never choose a configuration; they may
// only keep one from being used. Fails where nothing is left to write because all results are the host
// executor's. The table points into `winners`.
Result<WinningTable> winning_table(const TuningSpec& spec, const std::vector<StoredWinner>& winners,
                                   bool allow_host);

} // namespace lathe
