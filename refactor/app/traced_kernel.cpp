#include "refactor/app/traced_kernel.h"

#include "refactor/app/offset_fill.h"
#include "refactor/frontend/standard.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sys/resource.h>

namespace lathe::refactor {
namespace {

// Room for each buffer of a traced run. Untouched pages cost nothing.
constexpr std::size_t BUFFER_ROOM = std::size_t{256} << 20;
// Where clashes are looked for: buffers beyond it are not watched.
constexpr std::size_t WATCHED_ROOM = std::size_t{8} << 20;

// Small runs see no more, and every page touched costs.
constexpr std::size_t FILLED = std::size_t{4} << 20;

// Real numbers are ones, so that what is done only for elements that are not zero is seen; integers, which
// may be indices, are `number`.
void fill(HostBuffer& buffer, const std::string& dtype, std::int8_t number) {
  const auto put = [&](auto one) {
    for (std::size_t at = 0; at + sizeof one <= FILLED; at += sizeof one)
      std::memcpy(buffer.bytes().data() + at, &one, sizeof one);
  };
  if (dtype == "f32")
    put(1.0f);
  else if (dtype == "f64")
    put(1.0);
  else if (dtype == "f16")
    put(std::uint16_t{0x3c00});
  else if (dtype == "bf16")
    put(std::uint16_t{0x3f80});
  else if (number == 0) // fresh memory is
    return;
  else if (dtype_size(dtype) == 1)
    put(number);
  else if (dtype_size(dtype) == 2)
    put(std::int16_t{number});
  else if (dtype_size(dtype) == 4)
    put(std::int32_t{number});
  else
    put(std::int64_t{number});
}

std::int64_t integer_in(const Result<Value>& value) {
  const auto* number = value.ok() ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number ? *number : 0;
}

// `before` takes over what `extents` reach.
void merge(std::vector<Extent>& before, const std::vector<Extent>& extents) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    before[i].elements = std::max(before[i].elements, extents[i].elements);
    before[i].read |= extents[i].read;
    before[i].written |= extents[i].written;
    before[i].is_left |= extents[i].is_left;
  }
}

} // namespace

double seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TracedKernel::TracedKernel(const Candidate& raw, const std::string& architecture, double processor_seconds)
    : raw_(raw), seconds_left_(processor_seconds) {
  // Grids of as many blocks as the device has multiprocessors.
  if (const auto device = known_device(architecture); device.ok())
    device_ = device->limits();
  for (const TypeParameter& type : raw.types)
    types_[type.name] = type.dtypes.front();
}

std::string TracedKernel::instance() const {
  std::string named = raw_.instance;
  for (const auto& [name, dtype] : types_) {
    const std::string placeholder = "{" + name + "}";
    for (std::size_t at; (at = named.find(placeholder)) != std::string::npos;)
      named.replace(at, placeholder.size(), dtype_cxx(dtype));
  }
  return named;
}

Result<Workload> TracedKernel::workload(const Dimensions& dimensions) const {
  Workload result;
  result.problem.dimensions = dimensions;
  for (const Argument& argument : raw_.arguments) {
    if (!argument.is_buffer) {
      LATHE_TRY(const Value value, evaluate(argument.value, dimensions));
      result.parameters.push_back({false, 0, dtype(argument), value});
      continue;
    }
    LATHE_TRY(const Value count, evaluate(argument.count, dimensions));
    const std::int64_t elements = integer_in(count);
    if (elements < 0)
      return Error{"cannot size " + argument.name, argument.count.text() + " is below zero", ""};
    result.parameters.push_back({true, result.buffers.size(), "", Value{}});
    Workload::Buffer buffer{argument.name, dtype(argument), argument.direction,
                            static_cast<std::uint64_t>(elements), argument.fill};
    if (argument.fill.kind == Fill::Kind::integer || argument.fill.kind == Fill::Kind::offsets) {
      buffer.integer_low = integer_in(evaluate(argument.fill.integer_low, dimensions));
      buffer.integer_high = integer_in(evaluate(argument.fill.integer_high, dimensions));
    }
    result.buffers.push_back(std::move(buffer));
  }
  return result;
}

Status TracedKernel::compile() {
  HostCompileOptions options;
  options.trace = true;
  return compile_with(std::move(options));
}

Status TracedKernel::compile_watched() {
  HostCompileOptions options;
  options.sanitize = true;
  return compile_with(std::move(options));
}

Status TracedKernel::compile_with(HostCompileOptions options) {
  options_ = std::move(options);
  kernels_.clear();
  LATHE_TRY([[maybe_unused]] const HostKernel* own, kernel_at({}));
  return Done{};
}

Result<const HostKernel*> TracedKernel::kernel_at(const Dimensions& dimensions) const {
  std::vector<std::string> macros;
  for (const TextSize& size : raw_.text_sizes)
    if (const auto found = dimensions.find(size.dimension);
        found != dimensions.end() && found->second != size.value)
      macros.push_back(fmt::format("-D{}={}", size.macro, found->second));
  if (const auto known = kernels_.find(macros); known != kernels_.end())
    return &known->second;
  HostCompileOptions options = options_;
  options.compile_options = {standard_option(raw_.text)};
  options.compile_options.insert(options.compile_options.end(), macros.begin(), macros.end());
  auto kernel = HostKernel::compile(raw_.text, instance(), options);
  if (!kernel.ok())
    return Error{"cannot run " + raw_.kernel + " to see its buffers", kernel.error().sentence(),
                 "give every buffer's size with --argument NAME=COUNT"};
  return &kernels_.emplace(std::move(macros), std::move(*kernel)).first->second;
}

Result<Value> TracedKernel::evaluate(const Expression& expression, const Dimensions& dimensions) const {
  return expression.evaluate([&](std::string_view name) -> std::optional<Value> {
    if (const auto found = dimensions.find(std::string(name)); found != dimensions.end())
      return Value{found->second};
    if (const auto limit = device_.find(std::string(name)); limit != device_.end())
      return limit->second;
    if (name.starts_with("sizeof_"))
      if (const auto type = types_.find(std::string(name.substr(7))); type != types_.end())
        return Value{std::int64_t{dtype_size(type->second)}};
    return std::nullopt;
  });
}

std::string TracedKernel::dtype(const Argument& argument) const {
  const auto bound = types_.find(argument.dtype);
  return bound == types_.end() ? argument.dtype : bound->second;
}

Result<Launch> TracedKernel::launch(const Dimensions& dimensions) const {
  Launch result;
  const auto number = [&](const Expression& expression) -> Result<std::uint32_t> {
    LATHE_TRY(const Value value, evaluate(expression, dimensions));
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (!integer || *integer < 0 || *integer > 0x7fffffff)
      return Error{"cannot launch with " + expression.text(), "it is " + to_string(value), ""};
    return static_cast<std::uint32_t>(*integer);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    LATHE_TRY(result.grid[axis], number(raw_.launch.grid[axis]));
    LATHE_TRY(result.block[axis], number(raw_.launch.block[axis]));
  }
  LATHE_TRY(result.shared_bytes, number(raw_.launch.shared_bytes));
  return result;
}

TracedKernel::Plans TracedKernel::rising(const std::vector<Extent>& extents,
                                         const Dimensions& dimensions) const {
  Plans plans(raw_.arguments.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Argument& argument = raw_.arguments[i];
    if (!holds_offsets(argument) || extents[i].elements < 2)
      continue;
    Workload::Buffer buffer{argument.name, dtype(argument), Direction::in,
                            static_cast<std::uint64_t>(extents[i].elements), argument.fill};
    const std::int64_t ranges = extents[i].elements - 1;
    buffer.integer_high = is_unbounded(argument)
                              ? ELEMENTS_PER_RANGE * ranges
                              : integer_in(evaluate(argument.fill.integer_high, dimensions));
    plans[i] = plan_fill(buffer, 1, i);
  }
  return plans;
}

Result<std::vector<Extent>> TracedKernel::run(const Dimensions& dimensions, double time_limit_s) const {
  LATHE_TRY(std::vector<Extent> extents, run_with(Plans(raw_.arguments.size()), dimensions, time_limit_s));
  if (std::ranges::none_of(raw_.arguments, holds_offsets))
    return extents;
  return run_rising(std::move(extents), dimensions, time_limit_s);
}

Result<std::vector<Extent>> TracedKernel::run_rising(std::vector<Extent> at_zero,
                                                     const Dimensions& dimensions,
                                                     double time_limit_s) const {
  constexpr int DEEPEST = 3; // offsets of offsets: the inner ones are seen once the outer rise
  std::vector<Extent> extents = at_zero;
  for (int depth = 0; depth < DEEPEST; ++depth) {
    LATHE_TRY(const std::vector<Extent> further,
              run_with(rising(extents, dimensions), dimensions, time_limit_s));
    const bool is_last = std::ranges::all_of(raw_.arguments, [&](const Argument& argument) {
      const auto i = static_cast<std::size_t>(&argument - raw_.arguments.data());
      return !holds_offsets(argument) || further[i].elements <= extents[i].elements;
    });
    merge(extents, further);
    if (is_last)
      break;
  }
  Plans gathered = rising(extents, dimensions);
  for (auto& plan : gathered)
    if (plan) {
      *plan = in_one_range(*plan);
      // The last range: what is laid out by range and place in it reaches furthest.
      plan->key = plan->count - 2;
    }
  // A kernel may have room for no more than a few in a range.
  if (const auto further = run_with(gathered, dimensions, time_limit_s); further.ok())
    merge(extents, *further);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Argument& argument = raw_.arguments[i];
    const std::int64_t count = argument.is_buffer ? integer_in(evaluate(argument.count, dimensions)) : 0;
    if (count > 0 && extents[i].elements > count && at_zero[i].elements <= count)
      return Error{"the raw kernel does not run with offsets",
                   fmt::format("it reaches element {} of {}, which has {}", extents[i].elements - 1,
                               argument.name, count),
                   ""};
  }
  return extents;
}

Result<TracedKernel::Prepared> TracedKernel::prepare(const Plans& plans, const Dimensions& dimensions,
                                                     bool is_watched, bool has_all) const {
  const std::size_t room = is_watched ? WATCHED_ROOM : BUFFER_ROOM;
  Prepared prepared;
  prepared.buffers.reserve(raw_.arguments.size());
  for (std::size_t i = 0; i < raw_.arguments.size(); ++i) {
    const Argument& argument = raw_.arguments[i];
    if (!argument.is_buffer) {
      LATHE_TRY(const Value value, evaluate(argument.value, dimensions));
      LATHE_TRY(HostArgument scalar, HostArgument::scalar(dtype(argument), value));
      prepared.arguments.push_back(std::move(scalar));
      continue;
    }
    if (argument.is_null && !has_all) {
      prepared.arguments.emplace_back();
      continue;
    }
    LATHE_TRY(HostBuffer buffer, HostBuffer::allocate(room));
    const std::optional<element::DType> type = element_type(dtype(argument));
    std::optional<element::FillPlan> plan = plans[i];
    if (const auto places = places_.find(i); places != places_.end()) {
      const std::int64_t count = integer_in(evaluate(places->second, dimensions));
      plan = plan_of(argument, kind_of_places_, count, ELEMENTS_PER_RANGE * (count - 1), i);
    } else if (is_watched && type && element::is_real(*type))
      plan = plan_of(argument, Fill::Kind::normal, FILLED / sizeof(std::uint64_t), 0, i);
    else if (is_watched && dtype(argument) == "u8") // data of any type
      plan = plan_of(argument, Fill::Kind::integer, FILLED / sizeof(std::uint64_t), 255, i);
    if (plan && plan->count > 0 && plan->count <= room / sizeof(std::uint64_t))
      fill_buffer(*plan, buffer.bytes());
    else
      fill(buffer, dtype(argument), integers_.contains(i) ? integers_.at(i) : std::int8_t{0});
    prepared.buffers.push_back(std::move(buffer));
    prepared.arguments.push_back(HostArgument::of(prepared.buffers.back(), argument.name));
  }
  return prepared;
}

element::FillPlan TracedKernel::plan_of(const Argument& argument, Fill::Kind kind, std::int64_t count,
                                        std::int64_t high, std::size_t index) const {
  Workload::Buffer buffer{argument.name,
                          dtype(argument),
                          Direction::in,
                          static_cast<std::uint64_t>(std::max<std::int64_t>(0, count)),
                          {}};
  buffer.fill.kind = kind;
  buffer.integer_high = std::max<std::int64_t>(0, high);
  return plan_fill(buffer, 1, index);
}

Result<HostRunResult> TracedKernel::launch_watched(const Prepared& prepared, const Dimensions& dimensions,
                                                   HostRunOptions options) const {
  if (seconds_left_ <= 0)
    return Error{"the raw kernel does not run", RUNS_TOOK_ALL_TIME, ""};
  LATHE_TRY(const Launch geometry, launch(dimensions));
  options.time_limit_s = std::min(options.time_limit_s, seconds_left_);
  LATHE_TRY(const HostKernel* kernel, kernel_at(dimensions));
  const double before = seconds_of_children();
  const auto ran = kernel->run_isolated(geometry, prepared.arguments, options);
  seconds_left_ -= seconds_of_children() - before;
  LATHE_TRY(HostRunResult result, ran);
  if (result.outcome != Outcome::ok)
    return Error{"the raw kernel does not run", result.reason, ""};
  return result;
}

Result<std::size_t> TracedKernel::clashes(const Dimensions& dimensions, double time_limit_s) const {
  LATHE_TRY(const Prepared prepared, prepare(Plans(raw_.arguments.size()), dimensions, true, false));
  HostRunOptions options;
  options.time_limit_s = time_limit_s;
  options.find_races = true;
  LATHE_TRY(const HostRunResult result, launch_watched(prepared, dimensions, options));
  return static_cast<std::size_t>(std::ranges::count_if(
      result.races, [](const HostRace& race) { return race.place.starts_with("buffer"); }));
}

Result<std::vector<Extent>> TracedKernel::run_with(const Plans& plans, const Dimensions& dimensions,
                                                   double time_limit_s) const {
  LATHE_TRY(std::vector<Extent> extents, run_once(plans, dimensions, time_limit_s, false));
  if (std::ranges::any_of(raw_.arguments, &Argument::is_null))
    if (const auto with_all = run_once(plans, dimensions, time_limit_s, true); with_all.ok())
      merge(extents, *with_all);
  return extents;
}

Result<std::vector<Extent>> TracedKernel::run_once(const Plans& plans, const Dimensions& dimensions,
                                                   double time_limit_s, bool has_all) const {
  LATHE_TRY(const Prepared prepared, prepare(plans, dimensions, false, has_all));
  HostRunOptions options;
  options.time_limit_s = time_limit_s;
  LATHE_TRY(const HostRunResult result, launch_watched(prepared, dimensions, options));
  std::vector<Extent> extents(raw_.arguments.size());
  for (const BufferAccess& access : result.accesses) {
    const Argument& argument = raw_.arguments[access.argument];
    Extent& extent = extents[access.argument];
    std::int64_t begin = 0, end = 0;
    for (const auto* ranges : {&access.read, &access.written})
      for (const ByteRange& range : *ranges) {
        begin = std::min(begin, range.begin);
        end = std::max(end, range.end);
      }
    const std::int64_t size = dtype_size(dtype(argument));
    extent = {(end + size - 1) / size, !access.read.empty(), !access.written.empty(), begin < 0};
  }
  return extents;
}

} // namespace lathe::refactor
