// Moves along a constant product of two knobs.
//
// What bounds a kernel is often a product: threads times items a thread, vector width times block, split
// times tile. Its optimum is then a ridge on which a step in one knob alone is a loss until another knob
// makes up for it, so neither single-knob neighbours nor a polish of the incumbent can walk along it.
#pragma once

#include "tuner/space/space.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::search {

class Exchanges {
public:
  explicit Exchanges(const std::vector<Parameter>& parameters);

  // The points in which one number is doubled and another one halved. The conditions of a space are not
  // asked.
  std::vector<Point> of(const Point& point) const;

private:
  struct Steps { // by value: the place of its double and of its half in the list of the same parameter
    std::vector<std::optional<std::uint16_t>> doubled, halved;
  };
  std::vector<Steps> steps_; // by parameter
};

} // namespace lathe::search
