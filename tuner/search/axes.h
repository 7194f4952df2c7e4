// How surrogate models see a parameter: its values as coordinates on one or two axes.
#pragma once

#include "tuner/space/space.h"

#include <optional>
#include <vector>

namespace lathe::search {

// The finite number that a value stands for, 0 or 1 for a truth value; nothing for text.
std::optional<double> number_of(const Value& value);

// One coordinate of a parameter: a number in [0, 1] for each of its values.
struct Axis {
  std::size_t parameter = 0;
  bool categorical = false; // only equality means something
  std::vector<double> position;
};

// Numbers lie on a logarithmic axis, since what they count (threads, tiles, unrolled steps) acts by its
// ratios, or on a linear one where some are negative. Integers that are not all powers of two get a second
// axis: the exponent of the largest power of two that divides the value, on which the alignment of warps,
// vectors and banks depends. Text is categorical. Parameters with one value have no axis. The axes of a
// parameter are adjacent.
std::vector<Axis> axes_of(const std::vector<Parameter>& parameters);

} // namespace lathe::search
