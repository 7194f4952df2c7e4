#include "tuner/measure/host_executor/compiler.h"
#include "tuner/measure/host_executor/host_executor.h"
#include "tuner/measure/host_executor/isolate.h"
#include "tuner/measure/host_executor/loaded.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <thread>

namespace lathe {
using host::Checks;
using host::CompiledUnit;
using host::LaunchEnd;
using host::LoadedUnit;

struct HostKernel::Implementation {
  std::filesystem::path object;
  std::shared_ptr<const LoadedUnit> unit;
  const lathe_host::Entry* entry = nullptr;
  std::vector<ParameterType> parameters;
  std::string instance, file_name;
  Checks checks;
  std::size_t static_shared = 0;
  double compile_seconds = 0;
  bool from_cache = false;
};

namespace {

Status check_launch(const Launch& launch) {
  const auto bad = [](std::string why) {
    return Error{"cannot launch the kernel", std::move(why), "check the launch geometry"};
  };
  static constexpr std::uint32_t GRID[3] = {2147483647u, 65535u, 65535u}, BLOCK[3] = {1024u, 1024u, 64u};
  std::uint64_t threads = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.grid[i] > GRID[i])
      return bad(
          fmt::format("{} blocks in dimension {} is not between 1 and {}", launch.grid[i], i, GRID[i]));
    if (launch.block[i] == 0 || launch.block[i] > BLOCK[i])
      return bad(
          fmt::format("{} threads in dimension {} is not between 1 and {}", launch.block[i], i, BLOCK[i]));
    threads *= launch.block[i];
  }
  if (threads > lathe_host::MAX_THREADS)
    return bad(fmt::format("{} threads a block is more than {}", threads, lathe_host::MAX_THREADS));
  if (launch.shared_bytes > lathe_host::MAX_DYNAMIC_SHARED)
    return bad(fmt::format("{} bytes of dynamic shared memory is more than {}", launch.shared_bytes,
                           lathe_host::MAX_DYNAMIC_SHARED));
  return Done{};
}

Status check_arguments(const HostKernel::Implementation& kernel, std::span<const HostArgument> arguments) {
  const auto bad = [&](std::string why) {
    return Error{"cannot run " + kernel.instance, std::move(why), "check the specification's arguments"};
  };
  if (arguments.size() != kernel.parameters.size())
    return bad(fmt::format("{} arguments are given and the kernel has {} parameters", arguments.size(),
                           kernel.parameters.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& parameter = kernel.parameters[i];
    const HostArgument& argument = arguments[i];
    if (argument.buffer != nullptr) {
      if (!parameter.is_pointer)
        return bad(fmt::format("argument {} is a buffer and the parameter is not a pointer", i));
      if (argument.offset > argument.buffer->size())
        return bad(fmt::format("argument {} begins behind its buffer", i));
    } else if (argument.value.size() != parameter.size && !(parameter.is_pointer && argument.value.empty())) {
      return bad(fmt::format("argument {} has {} bytes and the parameter {}", i, argument.value.size(),
                             parameter.size));
    }
  }
  return Done{};
}

// A null pointer is an argument without a buffer and without bytes.
std::vector<HostArgument> with_null_pointers(std::span<const HostArgument> arguments) {
  std::vector<HostArgument> result(arguments.begin(), arguments.end());
  for (HostArgument& argument : result)
    if (argument.buffer == nullptr && argument.value.empty())
      argument.value.resize(sizeof(void*));
  return result;
}

HostRunResult finish(const HostKernel::Implementation& kernel, LaunchEnd end) {
  HostRunResult result;
  result.seconds = std::move(end.seconds);
  result.accesses = std::move(end.accesses);
  result.barriers = end.barriers;
  result.work = end.work;
  result.is_cut_short = end.is_cut_short;
  result.races = std::move(end.races);
  result.fences = end.fences;
  result.unfenced = std::move(end.unfenced);
  result.loops = std::move(end.loops);
  result.reached = std::move(end.reached);
  result.output = std::move(end.output);
  if (end.failure.what.empty())
    return result;
  result.outcome = Outcome::runtime_error;
  result.reason = end.failure.what;
  if (end.failure.line > 0)
    result.reason += fmt::format(" ({}:{})", kernel.file_name, end.failure.line);
  else if (end.failure.where > kernel.unit->load_address() &&
           end.failure.where < kernel.unit->end_address()) {
    // A return address lies behind its call.
    const std::string line =
        host::source_line(kernel.object, end.failure.where - kernel.unit->load_address() - 1);
    if (!line.empty())
      result.reason += " (" + line + ")";
  }
  return result;
}

std::string signal_words(int signal) {
  switch (signal) {
  case SIGSEGV:
  case SIGBUS:
    return "illegal memory access";
  case SIGFPE:
    return DIVISION_BY_ZERO;
  case SIGILL:
  case SIGTRAP:
    return "trap";
  default:
    return fmt::format("signal {} ({})", signal, strsignal(signal));
  }
}

HostRunResult crashed(const HostKernel::Implementation& kernel, const host::CrashNote& crash,
                      std::span<const HostArgument> arguments) {
  HostRunResult result;
  const bool is_memory = crash.signal == SIGSEGV || crash.signal == SIGBUS;
  result.outcome = crash.where != 0 ? Outcome::runtime_error : Outcome::crashed;
  result.reason = "the kernel ended with: " + signal_words(crash.signal);
  if (is_memory && crash.where != 0) {
    const std::uintptr_t inside = crash.address - crash.arena;
    if (crash.arena != 0 && crash.address >= crash.arena && inside < lathe_host::ARENA_BYTES)
      result.reason =
          fmt::format("the local variables of a thread need more than {} KiB", lathe_host::SLOT_BYTES >> 10);
    else
      result.reason += " at an address " + host::describe_address(crash.address, arguments);
  }
  if (crash.where > kernel.unit->load_address() && crash.where < kernel.unit->end_address())
    if (const std::string line = host::source_line(kernel.object, crash.where - kernel.unit->load_address());
        !line.empty())
      result.reason += " (" + line + ")";
  return result;
}

// OS threads that can be busy at once.
int threads_of(const Launch& launch, const HostRunOptions& options, Checks checks) {
  const unsigned wanted = checks.sanitize || checks.trace ? 1
                          : options.threads > 0           ? static_cast<unsigned>(options.threads)
                                                          : std::max(1u, std::thread::hardware_concurrency());
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  return static_cast<int>(std::min<std::uint64_t>(wanted, blocks));
}

// The outcome of a run that its child did not survive.
HostRunResult cut_short(const HostKernel::Implementation& kernel, const host::ChildEnd& end,
                        std::span<const HostArgument> arguments, const HostRunOptions& options) {
  if (!end.timed_out)
    return crashed(kernel, end.crash, arguments);
  HostRunResult result;
  result.outcome = Outcome::timeout;
  result.reason = fmt::format("the kernel did not end within {:g} s", options.time_limit_s);
  return result;
}

} // namespace

HostKernel::HostKernel(std::shared_ptr<const Implementation> implementation)
    : implementation_(std::move(implementation)) {}

Result<HostKernel> HostKernel::compile(std::string_view source, std::string_view instance,
                                       const HostCompileOptions& options, std::string_view file_name) {
  const std::string name(instance);
  auto all = compile_all(source, {&name, 1}, options, file_name, 1);
  return std::move(all.front());
}

std::vector<Result<HostKernel>> HostKernel::compile_all(std::string_view source,
                                                        std::span<const std::string> instances,
                                                        const HostCompileOptions& options,
                                                        std::string_view file_name, int jobs) {
  const Error untried{"cannot compile the kernel", "it was not tried", ""};
  std::vector<Result<HostKernel>> results(instances.size(), Result<HostKernel>(untried));
  const auto compiler = host::find_compiler();
  if (!compiler.ok()) {
    std::fill(results.begin(), results.end(), Result<HostKernel>(compiler.error()));
    return results;
  }
  const auto load = [&](const CompiledUnit& unit, std::size_t first, std::size_t count) {
    auto loaded = LoadedUnit::load(unit.object);
    for (std::size_t i = 0; i < count; ++i) {
      if (!loaded.ok()) {
        results[first + i] = loaded.error();
        continue;
      }
      auto kernel = std::make_shared<Implementation>();
      kernel->object = unit.object;
      kernel->unit = *loaded;
      kernel->entry = (*loaded)->entry(i);
      for (unsigned p = 0; p < kernel->entry->parameter_count; ++p) {
        const auto& info = kernel->entry->parameters[p];
        kernel->parameters.push_back({info.size, info.is_pointer, info.points_to_const});
      }
      kernel->instance = instances[first + i];
      kernel->file_name = std::filesystem::path(file_name).filename().string();
      kernel->checks = {options.sanitize, options.trace};
      kernel->static_shared = (*loaded)->static_shared_bytes();
      kernel->compile_seconds = unit.seconds;
      kernel->from_cache = unit.from_cache;
      results[first + i] = HostKernel(std::move(kernel));
    }
  };
  // A unit that does not compile is split until the faulty instances are alone.
  struct Piece {
    std::size_t first, count;
  };
  std::function<void(Piece)> build = [&](Piece piece) {
    auto unit = host::compile_unit(*compiler, source, instances.subspan(piece.first, piece.count), options,
                                   file_name);
    if (unit.ok()) {
      load(*unit, piece.first, piece.count);
    } else if (piece.count == 1) {
      results[piece.first] = unit.error();
    } else {
      build({piece.first, piece.count / 2});
      build({piece.first + piece.count / 2, piece.count - piece.count / 2});
    }
  };
  constexpr std::size_t LARGEST = 16;
  const std::size_t workers =
      jobs > 0 ? static_cast<std::size_t>(jobs) : std::max(1u, std::thread::hardware_concurrency());
  const std::size_t size = std::clamp<std::size_t>(
      (instances.size() + workers - 1) / std::max<std::size_t>(workers, 1), 1, LARGEST);
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < instances.size(); first += size)
    pieces.push_back({first, std::min(size, instances.size() - first)});
  std::atomic<std::size_t> next{0};
  const auto serve = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++)
      build(pieces[i]);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(workers, pieces.size()); ++i)
    threads.emplace_back(serve);
  serve();
  for (std::thread& thread : threads)
    thread.join();
  return results;
}

Result<HostRunResult> HostKernel::run(const Launch& launch, std::span<const HostArgument> arguments,
                                      const HostRunOptions& options) const {
  LATHE_CHECK(check_launch(launch));
  LATHE_CHECK(check_arguments(*implementation_, arguments));
  return finish(*implementation_,
                host::launch(*implementation_->unit, *implementation_->entry, launch,
                             with_null_pointers(arguments), options, implementation_->checks));
}

Result<HostRunResult> HostKernel::run_isolated(const Launch& launch, std::span<const HostArgument> arguments,
                                               const HostRunOptions& options) const {
  LATHE_CHECK(check_launch(launch));
  LATHE_CHECK(check_arguments(*implementation_, arguments));
  const Implementation& kernel = *implementation_;
  const std::vector<HostArgument> given = with_null_pointers(arguments);
  LATHE_TRY(const host::ChildEnd end,
            host::run_in_child(
                [&](const host::Tell& tell) {
                  tell(host::serialise(
                      host::launch(*kernel.unit, *kernel.entry, launch, given, options, kernel.checks)));
                },
                options.time_limit_s, threads_of(launch, options, kernel.checks)));
  if (end.finished)
    return finish(kernel, host::deserialise(end.answer));
  return cut_short(kernel, end, arguments, options);
}

std::vector<Result<HostRunResult>> HostKernel::run_all_isolated(std::span<const Run> runs) {
  std::vector<Result<HostRunResult>> results(runs.size(), Result<HostRunResult>(HostRunResult{}));
  std::vector<std::vector<HostArgument>> given;
  std::vector<std::size_t> left; // runs to be made, in order
  double time_limit_s = 0;
  int threads = 1;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    given.push_back(with_null_pointers(runs[i].arguments));
    const Status launch = check_launch(runs[i].launch),
                 arguments = check_arguments(*runs[i].kernel->implementation_, runs[i].arguments);
    if (!launch.ok() || !arguments.ok()) {
      results[i] = launch.ok() ? arguments.error() : launch.error();
      continue;
    }
    left.push_back(i);
    time_limit_s = std::max(time_limit_s, runs[i].options.time_limit_s);
    threads = std::max(threads,
                       threads_of(runs[i].launch, runs[i].options, runs[i].kernel->implementation_->checks));
  }
  for (std::size_t done = 0; done < left.size();) {
    const auto work = [&](const host::Tell& tell) {
      for (std::size_t at = done; at < left.size(); ++at) {
        const Run& run = runs[left[at]];
        const Implementation& kernel = *run.kernel->implementation_;
        const std::string answer = host::serialise(host::launch(*kernel.unit, *kernel.entry, run.launch,
                                                                given[left[at]], run.options, kernel.checks));
        const std::size_t size = answer.size();
        tell(std::string(reinterpret_cast<const char*>(&size), sizeof size) + answer);
      }
    };
    const auto end = host::run_in_child(work, time_limit_s, threads);
    if (!end.ok()) {
      for (; done < left.size(); ++done)
        results[left[done]] = end.error();
      break;
    }
    std::string_view told = end->answer;
    std::size_t size = 0;
    while (done < left.size() && told.size() >= sizeof size) {
      std::memcpy(&size, told.data(), sizeof size);
      if (told.size() < sizeof size + size)
        break;
      results[left[done]] = finish(*runs[left[done]].kernel->implementation_,
                                   host::deserialise(told.substr(sizeof size, size)));
      told.remove_prefix(sizeof size + size);
      ++done;
    }
    if (done == left.size())
      break;
    // The one that took the child with it; the next child goes on behind it.
    const Run& last = runs[left[done]];
    const HostRunResult cut = cut_short(*last.kernel->implementation_, *end, last.arguments, last.options);
    results[left[done++]] = cut;
    if (cut.outcome != Outcome::timeout)
      continue;
    // What did not end once is not waited for again.
    const auto is_hanging = [&](std::size_t i) {
      return runs[i].kernel->implementation_ == last.kernel->implementation_;
    };
    for (std::size_t at = done; at < left.size(); ++at)
      if (is_hanging(left[at]))
        results[left[at]] = cut;
    left.erase(std::remove_if(left.begin() + static_cast<std::ptrdiff_t>(done), left.end(), is_hanging),
               left.end());
  }
  return results;
}

const std::vector<HostKernel::ParameterType>& HostKernel::parameters() const {
  return implementation_->parameters;
}
std::size_t HostKernel::static_shared_bytes() const {
  return implementation_->static_shared;
}
std::string HostKernel::object() const {
  return implementation_->object.string();
}

const std::string& HostKernel::instance() const {
  return implementation_->instance;
}
const std::vector<SourcePlace>& HostKernel::places() const {
  return implementation_->unit->places();
}
bool HostKernel::from_cache() const {
  return implementation_->from_cache;
}
double HostKernel::compile_seconds() const {
  return implementation_->compile_seconds;
}

} // namespace lathe
