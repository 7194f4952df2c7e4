#include "tuner/app/selection.h"

#include "tuner/app/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

namespace lathe {
namespace {

using Types = std::map<std::string, std::string>;

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

Result<Problem> parse_problem(const TuningSpec& spec, const std::string& text) {
  Problem problem;
  LATHE_TRY(const auto pairs, parse_assignments(text));
  for (const auto& [name, value] : pairs) {
    if (std::find(spec.dimensions.begin(), spec.dimensions.end(), name) == spec.dimensions.end())
      return usage_error("no dimension '" + name + "' in " + spec.name,
                         "its dimensions are " + join(spec.dimensions));
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failure != std::errc{} || end != value.data() + value.size() || number < 1)
      return usage_error("cannot use " + name + "=" + value, "a dimension is a whole number above 0");
    problem.dimensions[name] = number;
  }
  for (const TextSize& fixed : spec.text_sizes)
    if (problem.dimensions.try_emplace(fixed.dimension, fixed.value).first->second != fixed.value)
      return usage_error(
          fmt::format("cannot use {}={}", fixed.dimension, problem.dimensions[fixed.dimension]),
          fmt::format("the kernel's text fixes it at {}", fixed.value), "leave it out");
  for (const std::string& name : spec.dimensions)
    if (!problem.dimensions.contains(name))
      return usage_error("problem '" + text + "' lacks dimension '" + name + "'", "",
                         "give all of " + join(spec.dimensions));
  for (const Problem& known : spec.problems)
    if (known.dimensions == problem.dimensions)
      return known;
  for (const std::string& name : spec.dimensions)
    problem.label +=
        (problem.label.empty() ? "" : " ") + name + "=" + std::to_string(problem.dimensions[name]);
  return problem;
}

// Every choice of types that the selection asks for.
Result<std::vector<Types>> select_types(const TuningSpec& spec, const WorkloadSelection& selection) {
  Types fixed;
  if (!selection.types.empty()) {
    LATHE_TRY(const auto pairs, parse_assignments(selection.types));
    fixed = Types(pairs.begin(), pairs.end());
  }
  std::vector<Types> choices{{}};
  for (const TypeParameter& parameter : spec.types) {
    std::vector<std::string> dtypes = parameter.dtypes;
    if (const auto found = fixed.find(parameter.name); found != fixed.end()) {
      if (std::find(dtypes.begin(), dtypes.end(), found->second) == dtypes.end())
        return usage_error("type " + parameter.name + " cannot be '" + found->second + "' in " + spec.name,
                           "it is one of " + join(dtypes));
      dtypes = {found->second};
      fixed.erase(found);
    } else if (!selection.all_types) {
      dtypes.resize(std::min<std::size_t>(dtypes.size(), 1));
    }
    std::vector<Types> extended;
    for (const Types& choice : choices)
      for (const std::string& dtype : dtypes) {
        extended.push_back(choice);
        extended.back()[parameter.name] = dtype;
      }
    choices = std::move(extended);
  }
  if (!fixed.empty())
    return usage_error("no type parameter '" + fixed.begin()->first + "' in " + spec.name, "");
  return choices;
}

} // namespace

Result<std::vector<Workload>> select_workloads(const TuningSpec& spec, const WorkloadSelection& selection,
                                               const std::map<std::string, Value>& device_limits) {
  std::vector<Problem> problems;
  for (const std::string& text : selection.problems) {
    LATHE_TRY(Problem problem, parse_problem(spec, text));
    problem.role = ProblemRole::tune;
    problems.push_back(std::move(problem));
  }
  if (selection.problems.empty())
    for (const Problem& problem : spec.problems)
      if (problem.role == ProblemRole::tune || !selection.tune_only)
        problems.push_back(problem);
  if (problems.empty())
    return usage_error("nothing to tune in " + spec.name, "the specification lists no problem",
                       "give one with --problem");
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.role < b.role; });
  LATHE_TRY(const std::vector<Types> choices, select_types(spec, selection));
  std::vector<Workload> workloads;
  for (const Types& types : choices)
    for (const Problem& problem : problems) {
      LATHE_TRY(Workload workload, bind_workload(spec, problem, types, device_limits));
      workloads.push_back(std::move(workload));
    }
  return workloads;
}

Result<std::unique_ptr<Backend>> open_backend(const std::string& device) {
  LATHE_TRY(DevicesByModel models, open_one_device(device, {}));
  return std::move(models.front().front());
}

std::uint64_t largest_buffer_bytes(const std::vector<Workload>& workloads) {
  std::uint64_t most = 0;
  for (const Workload& workload : workloads) {
    std::uint64_t bytes = 0;
    for (const Workload::Buffer& buffer : workload.buffers)
      bytes += buffer.count * static_cast<std::uint64_t>(std::max(1, dtype_size(buffer.dtype)));
    most = std::max(most, bytes);
  }
  return most;
}

std::size_t count_devices(const std::vector<std::unique_ptr<Backend>>& backends) {
  std::set<std::string> devices;
  for (const std::unique_ptr<Backend>& backend : backends)
    devices.insert(backend->device().uuid);
  return devices.size();
}

Result<int> parse_device_index(const std::string& device) {
  int index = 0;
  const auto [end, failure] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (failure != std::errc{} || end != device.data() + device.size() || index < 0)
    return usage_error("no device '" + device + "'", "expected auto, host, or the index of a GPU",
                       "lathe devices lists them");
  return index;
}

Result<DevicesByModel> open_one_device(const std::string& device, const Concurrency& concurrency) {
  DevicesByModel models(1);
  if (device != "host") {
    LATHE_TRY(const int index, device == "auto" ? Result<int>(0) : parse_device_index(device));
    auto backends = make_cuda_backends(index, concurrency.most, concurrency.buffer_bytes);
    if (backends.ok()) {
      models.front() = std::move(*backends);
      return models;
    }
    if (device != "auto" || backends.error().failure != Failure::no_device)
      return backends.error();
    std::fprintf(stderr, "lathe: no GPU (%s): running on the host executor\n",
                 backends.error().sentence().c_str());
  }
  LATHE_TRY(std::unique_ptr<Backend> backend, make_host_backend());
  models.front().push_back(std::move(backend));
  return models;
}

Result<DevicesByModel> open_devices(const std::string& text, const Concurrency& concurrency) {
  LATHE_TRY(const std::vector<DeviceInfo> devices, list_cuda_devices());
  std::vector<std::string> wanted;
  if (text == "all")
    for (std::size_t i = 0; i < devices.size(); ++i)
      wanted.push_back(std::to_string(i));
  else
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      wanted.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  std::map<std::string, std::vector<std::unique_ptr<Backend>>> by_model;
  std::set<std::string> seen;
  for (const std::string& index : wanted) {
    if (index == "auto" || index == "host" || !seen.insert(index).second)
      return usage_error("cannot use --devices " + text, "expected all, or different indices such as 0,2",
                         "lathe devices lists them");
    LATHE_TRY(DevicesByModel opened, open_one_device(index, concurrency));
    auto& backends = opened.front();
    std::ranges::move(backends, std::back_inserter(by_model[backends.front()->device().name]));
  }
  DevicesByModel models;
  for (auto& [name, backends] : by_model)
    models.push_back(std::move(backends));
  return models;
}

Status warn_of_stale_results(const TuningSpec& spec, Store& store) {
  LATHE_TRY(const std::vector<StoreKey> keys, store.keys(spec.name));
  const auto stale = std::count_if(
      keys.begin(), keys.end(), [&](const StoreKey& key) { return key.template_hash != spec.template_hash; });
  if (stale > 0)
    std::fprintf(
        stderr,
        "lathe: the store holds results of another version of %s (%d problems): they are not reused\n",
        spec.name.c_str(), static_cast<int>(stale));
  return Done{};
}

} // namespace lathe
