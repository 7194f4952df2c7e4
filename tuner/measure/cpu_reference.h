// The reference in double precision that a specification may name: it says whether the raw kernel itself is
// right, which no comparison with the raw kernel can.
#pragma once

#include "tuner/base/result.h"
#include "tuner/spec/spec.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe {

// A C++ source file with
//
//   extern "C" void lathe_reference(const int64_t* dimensions, const double* scalars, double* const*
//   buffers);
//
// where the dimensions are in the specification's order, scalars and buffers in parameter order, and every
// element is a double: it reads the inputs and writes the outputs. Compiled once by the machine's C++
// compiler; run in a child process, so that a fault in it is a sentence.
class CpuReferences {
public:
  CpuReferences();
  ~CpuReferences();
  CpuReferences(const CpuReferences&) = delete;
  CpuReferences& operator=(const CpuReferences&) = delete;

  // Larger problems are not checked: the reference takes a CPU core.
  static constexpr std::uint64_t MOST_ELEMENTS = 1 << 22;
  static bool is_small_enough(const Workload& workload);

  // Whether what the raw kernel wrote to the buffers (empty for inputs, and for results whose elements are in
  // another order in each run, which are not compared; filled by plan_fill with `seed`, its
  // outputs poisoned with POISONS[0] before the run) is what the specification's reference computes, by its
  // tolerances. A sentence: that it agrees, what was left out of that, or why nothing was checked. An error:
  // it differs, or the reference itself fails.
  Result<std::string> check(const Workload& workload, std::uint64_t seed,
                            const std::vector<std::vector<std::byte>>& outputs);

private:
  class Library;
  std::map<std::string, std::unique_ptr<Library>> libraries_; // by source file
};

} // namespace lathe
