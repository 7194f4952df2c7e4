// Problem sizes at which tiles go wrong.
#pragma once

#include "refactor/guard/subject.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lathe::refactor {

// However far the limits are raised for sizes that are looked for: a dozen runs' results are kept for each.
inline constexpr std::uint64_t MOST_BYTES = 1u << 24;

struct ShapeLimits {
  std::uint64_t bytes = 1u << 19; // of all buffers together
  // Of the raw launch: 32 blocks of 1024 at least.
  std::uint64_t threads = 1u << 15;
  // Of the template's launch, where one is looked at. A fixed number of blocks may be of more threads there.
  std::uint64_t template_threads = 1u << 15;
  std::array<std::uint32_t, 3> fewest_blocks{1, 1, 1}; // of the template's launch
};

// So often as many threads where a grid has as many blocks as it may, since nothing smaller shows what a
// block does in its second round.
inline constexpr std::uint64_t OF_CAPPED_GRIDS = 5;

// For the few sizes that are run once, as nothing smaller reaches some code.
ShapeLimits widened(ShapeLimits limits);

// Workloads of small size around boundaries: 1, primes, tile-1, tile, tile+1 and non-multiples for tiles made
// of the configurations' knob values, one dimension at a time and some together, and the problems' own sizes
// as far as they fit. Only those that the raw kernel can be launched with at an admitted default, and that
// `only`, where given, admits too. The most telling first.
std::vector<std::shared_ptr<const Workload>>
boundary_shapes(const JudgedPair& subject, const std::map<std::string, std::string>& types,
                const std::vector<const Configuration*>& configurations, const ShapeLimits& limits,
                std::size_t most, const Configuration* only = nullptr);

// Workloads of a configuration's own problem with one or two of its dimensions small, within the limits.
std::vector<std::shared_ptr<const Workload>>
shapes_near_problem(const JudgedPair& subject, const std::map<std::string, std::string>& types,
                    const Configuration& configuration, const ShapeLimits& limits, std::size_t most);

// Ends the mark of a dimension that is none.
inline constexpr const char* NO_POWER_OF_TWO = " is no power of two";
// How a size lies to the tiles of a configuration: below, at, next to, above each, or at a number of the
// template's own text, and which dimensions are no powers of two. Two sizes with the same marks tell the
// same.
std::set<std::string> size_marks(const JudgedPair& subject, const Configuration& configuration,
                                 const Workload& workload);

// The dimensions that one of the configuration's tiles divides and the default's does not, or the other way
// round: what is left over there must be dealt out alike.
std::set<std::string> left_over(const Configuration& configuration, const Workload& workload);

// The size like `base` but for one dimension, which is the least that the raw kernel's launch and the
// configuration admit: a row of a single pack, a single row. Where conditions tie the dimension to
// the knobs, a size below its own that they admit. Nothing where there is none.
std::shared_ptr<const Workload> least_shape(const JudgedPair& subject, const Configuration& configuration,
                                            const Problem& base, const std::string& dimension,
                                            const ShapeLimits& limits);
// The size of `problem` where the raw kernel's launch and the configuration admit it, or nothing.
std::shared_ptr<const Workload> shape_of(const JudgedPair& subject, const Configuration& configuration,
                                         const Problem& problem, const ShapeLimits& limits);
// The size of `problem`; where that does not fit, its largest dimension halved, of those of one size the
// first, until it is an eighth of what the limits allow: sizes that go together as they do in use. Or
// nothing.
std::shared_ptr<const Workload> reduced_problem(const JudgedPair& subject, const Configuration& configuration,
                                                const Problem& problem, const ShapeLimits& limits);
// The size like `base` with the dimension doubled as often as the limits and the configuration admit, up to
// `growth` times: loops that one round serves at usual sizes go round. With `one_more` it is one more than
// that where that is admitted: a single element is left behind all tiles. Dimensions that a condition ties to
// it grow with it where it cannot grow alone. Nothing where it cannot be doubled at all.
std::shared_ptr<const Workload> longest_shape(const JudgedPair& subject, const Configuration& configuration,
                                              const Problem& base, const std::string& dimension,
                                              std::int64_t growth, bool one_more, const ShapeLimits& limits);

// Whether a configuration's launch at this workload stays within the limits.
bool fits(const Workload& workload, const Launch& launch, std::uint64_t bytes, std::uint64_t threads);
// Of all buffers together.
std::uint64_t bytes_of(const Workload& workload);

} // namespace lathe::refactor
