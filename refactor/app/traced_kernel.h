// The raw kernel on the host executor, watched: how far it reaches into each buffer at given sizes.
#pragma once

#include "refactor/rewrite/rewrite.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/host_executor/host_executor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

using Dimensions = std::map<std::string, std::int64_t>;

struct Extent {
  std::int64_t elements = 0; // one past the last that was touched
  bool read = false, written = false;
  bool is_left = false; // bytes in front of the first element were touched, too
};

// Of the processor, that children which have ended took so far: a busy machine changes nothing.
double seconds_of_children();

// In the reason of a run that took longer than it may.
inline constexpr const char* DID_NOT_END = "did not end within";

// In the reason of a run that was not begun.
inline constexpr const char* RUNS_TOOK_ALL_TIME = "its runs have taken all the time that there is for them";

class TracedKernel {
public:
  // `architecture`: whose limits a launch may ask for. `raw` outlives this. `processor_seconds`: of all runs
  // together, behind which there are no more; a kernel that takes longer at the sizes that are tried here is
  // not one for the many runs that follow.
  TracedKernel(const Candidate& raw, const std::string& architecture, double processor_seconds = 40);

  // Of types that are another choice than the first, before compile(): by parameter, what each is.
  void set_types(std::map<std::string, std::string> types) { types_ = std::move(types); }
  const std::map<std::string, std::string>& types() const { return types_; }

  // Before the first run: compile() for run(), compile_watched() for clashes().
  Status compile();
  Status compile_watched();

  // Of arguments, by index, what their integers are in the runs from now on; the others' are zero.
  void set_integers(std::map<std::size_t, std::int8_t> numbers) { integers_ = std::move(numbers); }
  const std::map<std::size_t, std::int8_t>& integers() const { return integers_; }

  // Of arguments, by index, that hold so many places, over integers(): each number below that once in some
  // order, or offsets of ranges.
  void set_places(std::map<std::size_t, Expression> counts, Fill::Kind kind = Fill::Kind::permutation) {
    places_ = std::move(counts);
    kind_of_places_ = kind;
  }

  // At how many places threads that nothing orders write, or read what another writes, in buffers: on real
  // numbers and bytes that differ.
  Result<std::size_t> clashes(const Dimensions& dimensions, double time_limit_s) const;

  // One entry an argument; scalars' stay empty. Real numbers are ones and integers zero, but for offsets:
  // those rise as far as there are any, and then lie all in the last range, and what counts is how far any of
  // the runs has reached. Fails where the kernel does not run so, or reaches with offsets behind a buffer
  // whose size is known. `time_limit_s`: of each run.
  Result<std::vector<Extent>> run(const Dimensions& dimensions, double time_limit_s) const;
  Result<Launch> launch(const Dimensions& dimensions) const;
  // Buffers and arguments at a size, once their counts are known; without a specification.
  Result<Workload> workload(const Dimensions& dimensions) const;
  // The kernel's instance for the first choice of types.
  std::string instance() const;
  Result<Value> evaluate(const Expression& expression, const Dimensions& dimensions) const;

private:
  using Plans = std::vector<std::optional<element::FillPlan>>; // of each argument that holds offsets
  // As the program passes pointers, and where some are null, as far as it runs so with all of them too.
  Result<std::vector<Extent>> run_with(const Plans& plans, const Dimensions& dimensions,
                                       double time_limit_s) const;
  Result<std::vector<Extent>> run_once(const Plans& plans, const Dimensions& dimensions, double time_limit_s,
                                       bool has_all) const;
  Result<std::vector<Extent>> run_rising(std::vector<Extent> at_zero, const Dimensions& dimensions,
                                         double time_limit_s) const;
  struct Prepared {
    std::vector<HostBuffer> buffers;
    std::vector<HostArgument> arguments;
  };
  // `has_all`: memory for pointers that the program passes as null.
  Result<Prepared> prepare(const Plans& plans, const Dimensions& dimensions, bool is_watched,
                           bool has_all) const;
  Result<HostRunResult> launch_watched(const Prepared& prepared, const Dimensions& dimensions,
                                       HostRunOptions options) const;
  Status compile_with(HostCompileOptions options);
  // Compiled with the text sizes that the dimensions say.
  Result<const HostKernel*> kernel_at(const Dimensions& dimensions) const;
  element::FillPlan plan_of(const Argument& argument, Fill::Kind kind, std::int64_t count, std::int64_t high,
                            std::size_t index) const;
  Plans rising(const std::vector<Extent>& extents, const Dimensions& dimensions) const;
  std::string dtype(const Argument& argument) const;

  const Candidate& raw_;
  std::map<std::string, std::string> types_;
  std::map<std::string, Value> device_;
  HostCompileOptions options_;
  mutable std::map<std::vector<std::string>, HostKernel> kernels_; // by the macros of text sizes
  std::map<std::size_t, std::int8_t> integers_;
  std::map<std::size_t, Expression> places_;
  Fill::Kind kind_of_places_ = Fill::Kind::permutation;
  mutable double seconds_left_;
};

} // namespace lathe::refactor
