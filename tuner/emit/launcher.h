// The C++ text that launches one kernel instance: shared by the header and the plain CUDA file.
#pragma once

#include "tuner/base/result.h"
#include "tuner/emit/cxx_expression.h"
#include "tuner/emit/winning_table.h"
#include "tuner/spec/spec.h"

#include <map>
#include <string>
#include <vector>

namespace lathe {

// A C++ identifier that looks like the text.
std::string identifier(std::string text);

// The dimensions that the kernels' texts do not fix, in their order: the members of the emitted problem.
std::vector<std::string> open_dimensions(const TuningSpec& spec);

// What expressions may mention, and how each is spelled where `p` is the problem.
CxxName cxx_names(const TuningSpec& spec, const Types& types, const KnobValues& knobs,
                  const std::map<std::string, Value>& limits);

// ", T* out, const T* in, int n": the kernel's arguments with these types.
std::string parameters(const TuningSpec& spec, const Types& types);
// ", out, in, n".
std::string argument_names(const TuningSpec& spec);

// `struct problem` and the functions that expressions and launches are written with: minimum, ceil_div, ...,
// launch_kernel.
std::string launch_helpers(const TuningSpec& spec);

// "#include <...>" lines for the element types that the launches mention.
std::vector<std::string> type_includes(const std::vector<Types>& choices, const TuningSpec& spec);

// A function `name(const problem& p, cudaStream_t stream, <arguments>)` that launches the kernel; of several,
// the one whose condition holds when it is called. Limits of the device that the launch or a condition
// mentions are asked of the driver by the running program. Without `knobs`, a knob that is mentioned is its
// default. `problem`: any of the specification, for sizes that an instance mentions; the launch is over `p`.
Result<std::string> launcher(const TuningSpec& spec, const std::string& name, const KernelSource& source,
                             const Types& types, const KnobValues& knobs, const Problem& problem);

// The conjunction of the specification's conditions over `p` for one configuration, and the sizes that are
// fixed in its instance.
Result<std::string> admission(const TuningSpec& spec, const TableConfiguration& configuration);

} // namespace lathe
