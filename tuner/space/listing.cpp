#include "tuner/space/listing.h"

#include <algorithm>

namespace lathe::space {
namespace {

// Chooses value by value in declaration order. What was chosen in a group leaves a range of its sorted
// tuples.
class Listing {
public:
  Listing(const std::vector<Group>& groups, std::size_t width, std::size_t total)
      : columns_(width), row_(width) {
    points_.reserve(width * total);
    ranges_.reserve(groups.size());
    tuples_.reserve(groups.size());
    for (const Group& group : groups) {
      tuples_.push_back(group.tuples());
      const std::size_t size = group.parameters().size();
      for (std::size_t i = 0; i < size; ++i)
        columns_[static_cast<std::size_t>(group.parameters()[i])] = {tuples_.size() - 1, i, size};
      ranges_.push_back({0, static_cast<std::size_t>(group.total())});
    }
  }

  std::vector<std::uint16_t> run() {
    fill(0);
    return std::move(points_);
  }

private:
  struct Column {
    std::size_t group, offset, width;
  };
  struct Range {
    std::size_t begin, end;
  };

  void fill(std::size_t parameter) {
    if (parameter == row_.size()) {
      points_.insert(points_.end(), row_.begin(), row_.end());
      return;
    }
    const Column column = columns_[parameter];
    const std::uint16_t* values = tuples_[column.group].data() + column.offset;
    const Range whole = ranges_[column.group];
    for (std::size_t begin = whole.begin, end = begin; begin < whole.end; begin = end) {
      const std::uint16_t value = values[begin * column.width];
      while (end < whole.end && values[end * column.width] == value)
        ++end;
      row_[parameter] = value;
      ranges_[column.group] = {begin, end};
      fill(parameter + 1);
    }
    ranges_[column.group] = whole;
  }

  std::vector<Column> columns_; // of each parameter
  std::vector<std::vector<std::uint16_t>> tuples_;
  std::vector<Range> ranges_;
  std::vector<std::uint16_t> row_, points_;
};

} // namespace

std::vector<std::uint16_t> list_points(const std::vector<Group>& groups, std::size_t width,
                                       std::size_t total) {
  return Listing(groups, width, total).run();
}

} // namespace lathe::space
