#include "refactor/app/buffer_inference.h"

#include "tuner/measure/host_executor/host_executor.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace lathe::refactor {
namespace {

// Room for each buffer of a traced run. Untouched pages cost nothing.
constexpr std::size_t buffer_room = std::size_t{256} << 20;
constexpr double trace_time_limit_s = 30;

using Dimensions = std::map<std::string, std::int64_t>;

struct Extent {
  std::int64_t elements = 0; // one past the last that was touched
  bool read = false, written = false;
};

class Inference {
public:
  Inference(Candidate& raw, const Dimensions& base) : raw_(raw), base_(base) {
    for (const TypeParameter& type : raw.types)
      types_[type.name] = type.dtypes.front();
  }

  Status compile() {
    std::string instance = raw_.instance;
    for (const auto& [name, dtype] : types_) {
      const std::string placeholder = "{" + name + "}";
      for (std::size_t at; (at = instance.find(placeholder)) != std::string::npos;)
        instance.replace(at, placeholder.size(), dtype_cxx(dtype));
    }
    HostCompileOptions options;
    options.trace = true;
    options.compile_options = {"-std=c++17"};
    auto kernel = HostKernel::compile(raw_.text, instance, options);
    if (!kernel.ok())
      return Error{"cannot run " + raw_.kernel + " to see its buffers", kernel.error().sentence(),
                   "give every buffer's size with --argument NAME=COUNT"};
    kernel_.emplace(std::move(*kernel));
    return Done{};
  }

  // One entry an argument; scalars stay empty.
  Result<std::vector<Extent>> run(const Dimensions& dimensions) const;

private:
  Result<Value> evaluate(const Expression& expression, const Dimensions& dimensions) const {
    return expression.evaluate([&](std::string_view name) -> std::optional<Value> {
      if (const auto found = dimensions.find(std::string(name)); found != dimensions.end())
        return Value{found->second};
      if (name.starts_with("sizeof_"))
        if (const auto type = types_.find(std::string(name.substr(7))); type != types_.end())
          return Value{std::int64_t{dtype_size(type->second)}};
      return std::nullopt;
    });
  }

  Result<Launch> launch(const Dimensions& dimensions) const;
  std::string dtype(const Argument& argument) const {
    const auto bound = types_.find(argument.dtype);
    return bound == types_.end() ? argument.dtype : bound->second;
  }

  Candidate& raw_;
  const Dimensions& base_;
  std::map<std::string, std::string> types_;
  std::optional<HostKernel> kernel_;
};

Result<Launch> Inference::launch(const Dimensions& dimensions) const {
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

Result<std::vector<Extent>> Inference::run(const Dimensions& dimensions) const {
  LATHE_TRY(const Launch geometry, launch(dimensions));
  std::vector<HostBuffer> buffers;
  buffers.reserve(raw_.arguments.size());
  std::vector<HostArgument> arguments;
  for (const Argument& argument : raw_.arguments) {
    if (argument.is_buffer) {
      LATHE_TRY(HostBuffer buffer, HostBuffer::allocate(buffer_room));
      buffers.push_back(std::move(buffer));
      arguments.push_back(HostArgument::of(buffers.back(), argument.name));
    } else {
      LATHE_TRY(const Value value, evaluate(argument.value, dimensions));
      LATHE_TRY(HostArgument scalar, HostArgument::scalar(dtype(argument), value));
      arguments.push_back(std::move(scalar));
    }
  }
  HostRunOptions options;
  options.time_limit_s = trace_time_limit_s;
  LATHE_TRY(const HostRunResult result, kernel_->run_isolated(geometry, arguments, options));
  if (result.outcome != Outcome::ok)
    return Error{"the raw kernel does not run", result.reason, ""};
  std::vector<Extent> extents(raw_.arguments.size());
  for (const BufferAccess& access : result.accesses) {
    const Argument& argument = raw_.arguments[access.argument];
    Extent& extent = extents[access.argument];
    std::int64_t end = 0;
    for (const auto* ranges : {&access.read, &access.written})
      for (const ByteRange& range : *ranges)
        end = std::max(end, range.end);
    const std::int64_t size = dtype_size(dtype(argument));
    extent = {(end + size - 1) / size, !access.read.empty(), !access.written.empty()};
  }
  return extents;
}

// constant * product of `linear` dimensions through `elements` at `base`, as an expression.
std::string product(std::int64_t elements, const std::vector<std::string>& linear, const Dimensions& base) {
  std::int64_t denominator = 1;
  std::string text;
  for (const std::string& name : linear) {
    denominator *= base.at(name);
    text += (text.empty() ? "" : " * ") + name;
  }
  const std::int64_t divisor = std::gcd(elements, denominator);
  const std::int64_t factor = elements / divisor, quotient = denominator / divisor;
  if (text.empty())
    return std::to_string(elements);
  if (factor != 1)
    text = std::to_string(factor) + " * " + text;
  return quotient == 1 ? text : text + " / " + std::to_string(quotient);
}

} // namespace

Status infer_buffers(Candidate& raw, const Dimensions& base, const std::vector<std::string>& fixed_directions,
                     std::vector<std::string>& notes) {
  Inference inference(raw, base);
  LATHE_CHECK(inference.compile());
  auto first = inference.run(base);
  if (!first.ok())
    return Error{
        "cannot see the buffers of " + raw.kernel, first.error().sentence(),
        "give sizes that it supports with --problem, or every buffer's size with --argument NAME=COUNT"};
  std::map<std::string, std::vector<Extent>> doubled;
  for (const std::string& name : raw.dimensions) {
    Dimensions dimensions = base;
    dimensions[name] *= 2;
    auto extents = inference.run(dimensions);
    if (!extents.ok())
      return Error{"cannot see the buffers of " + raw.kernel + " at " + name + "=" +
                       std::to_string(dimensions[name]),
                   extents.error().sentence(), "give every buffer's size with --argument NAME=COUNT"};
    doubled[name] = std::move(*extents);
  }
  for (std::size_t i = 0; i < raw.arguments.size(); ++i) {
    Argument& argument = raw.arguments[i];
    if (!argument.is_buffer)
      continue;
    const Extent& extent = (*first)[i];
    const bool fixed =
        std::find(fixed_directions.begin(), fixed_directions.end(), argument.name) != fixed_directions.end();
    if (!fixed && argument.direction != Direction::in)
      argument.direction = !extent.written ? Direction::in : extent.read ? Direction::inout : Direction::out;
    if (argument.count.text() != "0")
      continue;
    if (extent.elements == 0)
      return Error{"cannot see how large '" + argument.name + "' is",
                   "the raw kernel does not touch it at the sizes tried",
                   "give it with --argument " + argument.name + "=COUNT"};
    std::vector<std::string> linear;
    for (const std::string& name : raw.dimensions) {
      const std::int64_t grown = doubled[name][i].elements;
      if (grown == 2 * extent.elements)
        linear.push_back(name);
      else if (grown != extent.elements)
        return Error{"cannot see how '" + argument.name + "' grows with " + name,
                     fmt::format("it has {} elements, and {} when {} doubles", extent.elements, grown, name),
                     "give its size with --argument " + argument.name + "=COUNT"};
    }
    LATHE_TRY(argument.count, Expression::parse(product(extent.elements, linear, base)));
    notes.push_back(
        fmt::format("{} has {} elements (seen in traced runs; say otherwise with --argument {}=COUNT)",
                    argument.name, argument.count.text(), argument.name));
  }
  return Done{};
}

} // namespace lathe::refactor
