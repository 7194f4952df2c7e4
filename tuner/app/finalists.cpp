#include "tuner/app/finalists.h"

#include "tuner/report/report.h"

#include <algorithm>
#include <utility>

namespace lathe {
namespace {

std::vector<KnobValues> fastest(std::vector<Ranked> ranked, std::size_t most) {
  std::stable_sort(ranked.begin(), ranked.end());
  std::vector<KnobValues> finalists;
  for (const Ranked& candidate : ranked) {
    if (finalists.size() >= most || candidate.median_us > WITHIN_REACH * ranked.front().median_us)
      break;
    if (std::ranges::find(finalists, candidate.knobs) == finalists.end())
      finalists.push_back(candidate.knobs);
  }
  return finalists;
}

bool is_gain(const Comparison& comparison) {
  return comparison.ratio_low > 1 && comparison.ratio - 1 > comparison.noise_band;
}

Result<Comparison> compare(Backend& backend, const KnobValues& knobs, double ratio_to_beat,
                           double code_band) {
  LATHE_TRY(Comparison compared, backend.compare(knobs, ratio_to_beat));
  compared.noise_band = std::max(compared.noise_band, code_band);
  return compared;
}

} // namespace

FinalResult compare_finalists(Backend& backend, std::vector<Ranked> ranked,
                              const std::vector<std::string>& knob_names, const FinalRound& round) {
  FinalResult result;
  std::vector<std::pair<double, KnobValues>> gains; // by their ratio
  double ratio_to_beat = 0;                         // what the best so far has at least
  for (const KnobValues& knobs :
       fastest(std::move(ranked), static_cast<std::size_t>(std::max(0, round.most)))) {
    const auto compared = compare(backend, knobs, ratio_to_beat, round.code_band);
    if (!compared.ok()) { // it ran before; where something stops it now, it is not a configuration to ship
      result.rejected.push_back(describe(knob_names, knobs) + ": " + compared.error().sentence());
    } else if (is_gain(*compared)) {
      gains.emplace_back(compared->ratio, knobs);
      ratio_to_beat = std::max(ratio_to_beat, compared->ratio_low);
    }
  }
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [ratio, knobs] : gains)
    if (const auto again = compare(backend, knobs, 0, round.code_band); again.ok() && is_gain(*again)) {
      result.winner = ConfirmedGain{knobs, *again};
      break;
    }
  return result;
}

} // namespace lathe
