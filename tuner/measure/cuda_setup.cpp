#include "tuner/measure/cuda_setup.h"

#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace lathe {
namespace {

std::array<std::uint8_t, 8> scalar_bytes(element::DType dtype, const Value& value) {
  std::uint64_t bits = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && !element::is_real(dtype))
    bits = static_cast<std::uint64_t>(*integer);
  else if (integer)
    bits = element::encode(dtype, static_cast<double>(*integer));
  else if (const auto* real = std::get_if<double>(&value))
    bits = element::encode(dtype, *real);
  else if (const auto* truth = std::get_if<bool>(&value))
    bits = element::encode(dtype, *truth ? 1 : 0);
  std::array<std::uint8_t, 8> bytes{};
  std::memcpy(bytes.data(), &bits, sizeof bits); // little-endian: the low bytes are the narrow value
  return bytes;
}

} // namespace

Result<SetupRequest> setup_request(const Workload& workload, std::uint64_t seed,
                                   const std::vector<std::string>& unordered) {
  SetupRequest setup;
  setup.bytes = workload.bytes;
  setup.operations = workload.operations;
  setup.seed = seed;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& buffer = workload.buffers[i];
    const std::optional<element::DType> dtype = element_type(buffer.dtype);
    if (!dtype)
      return Error{"cannot fill " + buffer.name, "dtype " + buffer.dtype + " is unknown",
                   "see docs/specification.md"};
    const Tolerance tolerance = tolerance_for(workload.spec->tolerances, buffer.dtype);
    setup.buffers.push_back({buffer.name, *dtype, buffer.direction, buffer.count, plan_fill(buffer, seed, i),
                             tolerance.relative, tolerance.absolute,
                             reordering_share(buffer.dtype, operations_an_output(workload)),
                             std::ranges::find(unordered, buffer.name) != unordered.end()});
  }
  for (const Workload::Parameter& parameter : workload.parameters) {
    RunnerParameter wanted;
    if (parameter.is_null) {
      wanted.is_buffer = false; // but a number of eight bytes, all zero
      setup.parameters.push_back(wanted);
      continue;
    }
    wanted.is_buffer = parameter.is_buffer;
    wanted.buffer = parameter.buffer;
    if (!parameter.is_buffer) {
      const std::optional<element::DType> dtype = element_type(parameter.dtype);
      if (!dtype)
        return Error{"cannot pass a kernel parameter", "dtype " + parameter.dtype + " is unknown",
                     "see docs/specification.md"};
      wanted.value = scalar_bytes(*dtype, parameter.value);
    }
    setup.parameters.push_back(wanted);
  }
  return setup;
}

} // namespace lathe
