// The last round of a search: its best configurations beside the raw kernel.
#pragma once

#include "tuner/measure/measure.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe {

// Times of a search are 1 % wide, and the clocks of its end may be others than those of its beginning by a
// few per cent: what is further behind the best, as a ratio of times, does not win.
inline constexpr double WITHIN_REACH = 1.05;

// What the search measured of a configuration.
struct Ranked {
  KnobValues knobs;
  double median_us;
  bool operator<(const Ranked& other) const { return median_us < other.median_us; }
};

struct FinalRound {
  int most = 5;         // finalists
  double code_band = 0; // what equal code shows in another module: noise bands are at least as wide
};

struct ConfirmedGain {
  KnobValues knobs;
  Comparison comparison;
};

struct FinalResult {
  std::optional<ConfirmedGain> winner; // none: nothing gains
  std::vector<std::string> rejected;   // finalists that failed beside the raw kernel: why
};

// Compares the fastest of `ranked` with the raw kernel, those within 5 % of the best. A finalist whose whole
// interval lies below another's is not measured to the end. The best of several is too good by the noise that
// made it the best: only what gains once more, measured anew, wins, with the numbers of that measurement. A
// gain counts when its whole interval, and its size, lie beyond what the raw kernel shows against itself.
FinalResult compare_finalists(Backend& backend, std::vector<Ranked> ranked,
                              const std::vector<std::string>& knob_names, const FinalRound& round);

} // namespace lathe
