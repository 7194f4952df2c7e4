// Variables of a compiled unit that keep their value from one launch to the next.
#pragma once

#include "tuner/measure/host_executor/device/lathe_abi.h"

#include <cstddef>
#include <vector>

namespace lathe::host {

class Globals {
public:
  Globals() = default;
  // As the unit's table has them, which ends with null; null: none. Keeps what they hold now.
  explicit Globals(const lathe_host::SharedVariable* table);
  // Gives them back what they held then. Not while a launch is under way.
  void restore() const;

private:
  struct Variable {
    unsigned char* begin;
    std::vector<unsigned char> value; // empty where it is all zeros
    std::size_t bytes;
  };
  std::vector<Variable> variables_;
};

} // namespace lathe::host
