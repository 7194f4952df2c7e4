#include "refactor/guard/trial_comparison.h"

#include "refactor/guard/tolerance.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace lathe::refactor {
namespace {

std::string buffer_name(const Workload& workload, const BufferAccess& access) {
  return access.argument < workload.parameters.size() && workload.parameters[access.argument].is_buffer
             ? workload.buffers[workload.parameters[access.argument].buffer].name
             : "argument " + std::to_string(access.argument);
}

// The first byte of `inner` that `outer` does not cover, but for those that do not matter; both ascending and
// disjoint.
template <typename Matters>
std::optional<std::int64_t> uncovered(const std::vector<ByteRange>& inner,
                                      const std::vector<ByteRange>& outer, const Matters& matters) {
  std::size_t at = 0;
  for (const ByteRange& range : inner) {
    std::int64_t begin = range.begin;
    while (begin < range.end) {
      while (at < outer.size() && outer[at].end <= begin)
        ++at;
      const bool is_covered = at < outer.size() && outer[at].begin <= begin;
      if (!is_covered && matters(begin))
        return begin;
      begin = is_covered ? outer[at].end : begin + 1;
    }
  }
  return std::nullopt;
}

bool always(std::int64_t /*byte*/) {
  return true;
}

// What one buffer holds after either run, as it is compared.
struct ComparedPair {
  element::DType dtype;
  std::pair<std::vector<std::byte>, std::vector<std::byte>> contents; // the template's, the raw kernel's
};

std::optional<ComparedPair> pair_of(const Workload& workload, std::size_t buffer,
                                    const TrialResult& templated, const TrialResult& raw,
                                    const TrialSettings& settings, const std::vector<bool>& ignore_order) {
  const Workload::Buffer& description = workload.buffers[buffer];
  const auto dtype = element_type(description.dtype);
  if (!dtype)
    return std::nullopt;
  ComparedPair pair{*dtype, {templated.contents[buffer], raw.contents[buffer]}};
  auto& [out, reference] = pair.contents;
  if (buffer < ignore_order.size() && ignore_order[buffer]) {
    const auto sort = [&](std::vector<std::byte>& bytes) {
      std::vector<std::uint64_t> elements;
      for (std::uint64_t k = 0; k < description.count; ++k)
        elements.push_back(element::load(*dtype, bytes.data(), k));
      std::sort(elements.begin(), elements.end());
      for (std::uint64_t k = 0; k < description.count; ++k)
        element::store(*dtype, bytes.data(), k, elements[k]);
    };
    sort(out);
    sort(reference);
  }
  // Where the raw kernel itself overflows, in which way is nobody's business.
  if ((settings.data == Data::huge || settings.data == Data::largest || settings.data == Data::wide) &&
      element::is_real(*dtype))
    for (std::uint64_t k = 0; k < description.count; ++k)
      if (const std::uint64_t bits = element::load(*dtype, reference.data(), k);
          !std::isfinite(element::decode(*dtype, bits)))
        element::store(*dtype, out.data(), k, bits);
  return pair;
}

element::ErrorRule rule_of(const Workload& workload, std::size_t buffer, const ComparedPair& pair,
                           double terms) {
  const double size = magnitude(pair.dtype, pair.contents.second);
  const Tolerance tolerance = allowed_tolerance(*workload.spec, workload.buffers[buffer].dtype, size, terms);
  return {pair.dtype, tolerance.relative, tolerance.absolute, size};
}

} // namespace

double terms_of(const Workload& workload, const TrialResult& raw) {
  std::uint64_t outputs = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    outputs += buffer.direction == Direction::in ? 0 : buffer.count;
  return static_cast<double>(raw.work) / static_cast<double>(std::max<std::uint64_t>(1, outputs));
}

TrialComparison compare_trials(const Workload& workload, const TrialResult& templated, const TrialResult& raw,
                               const TrialSettings& settings, const std::vector<bool>& ignore_order) {
  TrialComparison comparison;
  const double terms = terms_of(workload, raw);
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    if (description.direction == Direction::in)
      continue;
    const auto pair = pair_of(workload, i, templated, raw, settings, ignore_order);
    if (!pair) {
      comparison.problem = "'" + description.name + "' has the unknown type " + description.dtype;
      return comparison;
    }
    const element::DType dtype = pair->dtype;
    const auto& [out, reference] = pair->contents;
    const bool is_small = element::is_real(dtype) && element::size_of(dtype) <= 2;
    comparison.small += is_small ? description.count : 0;
    if (out == reference)
      continue;
    comparison.identical = false;
    for (std::uint64_t k = 0; is_small && k < description.count; ++k)
      comparison.differing_small +=
          element::load(dtype, out.data(), k) != element::load(dtype, reference.data(), k);
    // With other arguments parts of a sum may be zeros that the raw kernel leaves out.
    if (settings.data == Data::infinities && settings.has_usual_arguments() && element::is_real(dtype))
      for (std::uint64_t k = 0; k < description.count; ++k) {
        const double a = element::decode(dtype, element::load(dtype, out.data(), k)),
                     b = element::decode(dtype, element::load(dtype, reference.data(), k));
        if (a == 0 && b == 0 && std::signbit(a) != std::signbit(b)) {
          comparison.problem = "gives a zero of the other sign at element " + std::to_string(k) + " of '" +
                               description.name + "'";
          return comparison;
        }
      }
    const BufferDifference difference = compare_buffers(rule_of(workload, i, *pair, terms), out, reference);
    comparison.error = std::max(comparison.error, difference.error);
    if (!difference.acceptable()) {
      comparison.problem = describe_difference(description.name, dtype, difference,
                                               element::load(dtype, out.data(), difference.first),
                                               element::load(dtype, reference.data(), difference.first),
                                               description.count, POISONS[settings.poison]);
      return comparison;
    }
  }
  return comparison;
}

std::vector<std::vector<double>> element_errors(const Workload& workload, const TrialResult& templated,
                                                const TrialResult& raw, const TrialSettings& settings,
                                                const std::vector<bool>& ignore_order) {
  std::vector<std::vector<double>> errors(workload.buffers.size());
  const double terms = terms_of(workload, raw);
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    if (workload.buffers[i].direction == Direction::in)
      continue;
    const auto pair = pair_of(workload, i, templated, raw, settings, ignore_order);
    if (!pair)
      continue;
    const element::ErrorRule rule = rule_of(workload, i, *pair, terms);
    for (std::uint64_t k = 0; k < workload.buffers[i].count; ++k)
      errors[i].push_back(
          element::element_error(rule, element::load(pair->dtype, pair->contents.first.data(), k),
                                 element::load(pair->dtype, pair->contents.second.data(), k)));
  }
  return errors;
}

std::string compare_accesses(const Workload& workload, const TrialResult& templated, const TrialResult& raw) {
  for (const BufferAccess& access : templated.accesses) {
    const auto found = std::find_if(raw.accesses.begin(), raw.accesses.end(), [&](const BufferAccess& other) {
      return other.argument == access.argument;
    });
    const BufferAccess none;
    const BufferAccess& reference = found == raw.accesses.end() ? none : *found;
    const std::string name = buffer_name(workload, access);
    const bool is_output =
        access.argument < workload.parameters.size() && workload.parameters[access.argument].is_buffer &&
        workload.buffers[workload.parameters[access.argument].buffer].direction == Direction::out;
    // What holds something before the launch may be left as it is where the raw kernel stores just that.
    const auto changes = [&](std::int64_t byte) {
      if (is_output || access.argument >= workload.parameters.size() ||
          !workload.parameters[access.argument].is_buffer)
        return true;
      const std::size_t buffer = workload.parameters[access.argument].buffer;
      const auto place = static_cast<std::size_t>(byte);
      return buffer >= templated.contents.size() || place >= templated.contents[buffer].size() ||
             templated.contents[buffer][place] != raw.contents[buffer][place];
    };
    if (const auto at = uncovered(access.written, reference.written, always))
      return "writes byte " + std::to_string(*at) + " of '" + name + "', which the raw kernel does not";
    if (const auto at = uncovered(reference.written, access.written, changes))
      return "does not write byte " + std::to_string(*at) + " of '" + name + "', which the raw kernel does";
    if (const auto at = uncovered(access.read, reference.read, always); at && is_output)
      return "reads byte " + std::to_string(*at) + " of the output '" + name +
             "', which the raw kernel does not";
    if ((access.atomics > 0) != (reference.atomics > 0))
      return "differs in atomic updates of '" + name + "'";
  }
  return {};
}

} // namespace lathe::refactor
