// Small specifications made in code, for tests that measure kernels of their own.
#pragma once

#include "tuner/base/files.h"
#include "tuner/measure/measure.h"
#include "tuner/spec/spec.h"

#include <gtest/gtest.h>

namespace lathe::test {

Expression parse(const std::string& text);

// An argument of a kernel: a buffer of `count` elements, or a scalar when `value` is given.
Argument buffer(const std::string& name, const std::string& dtype, Direction direction,
                const std::string& count);
Argument scalar(const std::string& name, const std::string& dtype, const std::string& value);

// A specification over one integer knob V (0..31, default 0) whose sources live in a folder of its own.
class Case {
public:
  // `launch`: grid.x, block.x and dynamic shared memory as expressions over the dimensions and V.
  Case(std::string raw_source, std::string raw_instance, std::array<std::string, 3> raw_launch,
       std::string kernel_source, std::string kernel_instance, std::array<std::string, 3> kernel_launch,
       std::vector<Argument> arguments, std::map<std::string, std::int64_t> dimensions);
  TuningSpec& spec() { return spec_; }
  // Bound to the first device's limits.
  const Workload& workload();
  MeasureOptions options() const;
  static KnobValues knob(int value) { return {Value{std::int64_t{value}}}; }

private:
  TemporaryFolder folder_;
  TuningSpec spec_;
  Workload workload_;
};

// A backend for device 0 with the case prepared; a failure fails the test.
std::unique_ptr<Backend> prepared(Case& test_case, const MeasureOptions& options);

} // namespace lathe::test
