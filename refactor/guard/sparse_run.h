// Chosen blocks of a launch on buffers of any size: only what those blocks touch takes memory and time.
#pragma once

#include "refactor/guard/subject.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

struct SparseTrial {
  const HostKernel* kernel = nullptr;
  const Launch* launch = nullptr;
  const Workload* workload = nullptr;
  std::vector<std::uint64_t> blocks; // HostRunOptions::blocks
  std::uint64_t seed = 1;            // of what buffers hold
  bool barriers_by_count = false;
  double time_limit_s = 1;
};

// The pages of an output that a run touched, as it left them; nothing for an input.
struct SparseContents {
  std::vector<ByteRange> ranges; // ascending, disjoint
  std::vector<std::vector<std::byte>> bytes;
};

struct SparseResult {
  bool clean = false; // ran to its end inside its buffers
  std::string problem;
  bool out_of_time = false;
  std::uint64_t written = 0;           // elements of outputs that hold something else than before
  std::uint64_t work = 0;              // HostRunResult::work
  std::uint64_t blocks = 0;            // that ran
  double seconds = 0;                  // of the kernel alone
  std::vector<SparseContents> buffers; // of the workload, when clean
  // Of each buffer: where the written elements lie on average, and the last of them, from 0 to 1.
  std::vector<std::pair<double, double>> places;
};

// Each trial's buffers hold the specification's fill, outputs a poison. What a run will touch is found by
// running it, first on zeros, until it touches nothing new: what it reads may say where it reads next. Trials
// that are the same run once, the others on at most `jobs` threads.
std::vector<SparseResult> run_sparsely(std::span<const SparseTrial> trials, int jobs = 1);

enum class Agreement {
  same,       // both wrote the same elements
  within,     // the template wrote some of those that the raw kernel wrote
  where_both, // of elements alone that both wrote
};

// What is wrong with the template's run, of the same workload and seed; empty: nothing. `ignored`: buffers,
// by index, that are not compared.
std::string compare_sparse(const Workload& workload, std::uint64_t seed, const SparseResult& templated,
                           const SparseResult& raw, Agreement agreement, const std::vector<bool>& ignored);

} // namespace lathe::refactor
