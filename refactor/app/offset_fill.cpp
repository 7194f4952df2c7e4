#include "refactor/app/offset_fill.h"

#include "refactor/app/raw_source.h"
#include "refactor/knobs/geometry.h"
#include "refactor/knobs/offset_buffers.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace lathe::refactor {
namespace {

bool is_given(const std::map<std::string, ArgumentFacts>& given, const Argument& argument) {
  const auto facts = given.find(argument.name);
  return facts != given.end() && facts->second.fill.has_value();
}

// Narrower numbers are no offsets.
bool may_be_offset(const std::string& dtype) {
  return dtype == "i32" || dtype == "u32" || dtype == "i64" || dtype == "u64";
}

// Of a type parameter every dtype.
bool may_be_offset(const Candidate& raw, const std::string& dtype) {
  const auto type = std::ranges::find(raw.types, dtype, &TypeParameter::name);
  return type == raw.types.end()
             ? may_be_offset(dtype)
             : std::ranges::all_of(type->dtypes, [](const std::string& own) { return may_be_offset(own); });
}

bool is_known(const Expression& count) {
  return count.text() != "0";
}

// `text` over the kernel's parameters as an expression over what their arguments are; nothing where it has
// none.
std::optional<std::string> over_dimensions(const Candidate& raw, const std::string& text) {
  const auto parsed = Expression::parse(text);
  if (!parsed.ok())
    return std::nullopt;
  std::vector<std::string> values;
  for (const std::string& name : parsed->names()) {
    const auto argument = std::ranges::find(raw.arguments, name, &Argument::name);
    if (argument == raw.arguments.end() || argument->is_buffer)
      return std::nullopt;
    values.push_back("(" + argument->value.text() + ")");
  }
  return format_tree(parsed->root(), values);
}

// How far offsets may rise: what of the buffers whose size is known holds the fewest.
std::optional<Expression> known_bound(const Candidate& raw, const OffsetBuffer& offsets) {
  std::string bound;
  for (const RangedBuffer& ranged : offsets.ranged) {
    const auto argument = std::ranges::find(raw.arguments, ranged.name, &Argument::name);
    if (argument == raw.arguments.end() || !argument->is_buffer || !is_known(argument->count))
      continue;
    const auto step = over_dimensions(raw, ranged.step);
    if (!step)
      continue;
    const std::string elements =
        *step == "1" ? argument->count.text() : fmt::format("({}) / ({})", argument->count.text(), *step);
    if (bound.find(elements) == std::string::npos)
      bound = bound.empty() ? elements : fmt::format("min({}, {})", bound, elements);
  }
  auto parsed = bound.empty() ? Result<Expression>(Error{}) : Expression::parse(bound);
  return parsed.ok() ? std::optional(std::move(*parsed)) : std::nullopt;
}

} // namespace

bool holds_offsets(const Argument& argument) {
  return argument.is_buffer && argument.fill.kind == Fill::Kind::offsets;
}

bool is_unbounded(const Argument& offsets) {
  return !is_known(offsets.fill.integer_high);
}

std::vector<std::string> possible_offsets(const Candidate& raw,
                                          const std::map<std::string, ArgumentFacts>& given) {
  std::vector<std::string> names;
  for (const Argument& argument : raw.arguments)
    if (argument.is_buffer && argument.fill.kind == Fill::Kind::zero &&
        argument.direction != Direction::out && !is_given(given, argument) &&
        may_be_offset(raw, argument.dtype))
      names.push_back(argument.name);
  return names;
}

void mark_as_offsets(Candidate& raw, const std::vector<std::string>& names) {
  for (Argument& argument : raw.arguments)
    if (std::ranges::find(names, argument.name) != names.end()) {
      argument.fill.kind = Fill::Kind::offsets;
      argument.fill.integer_high = Expression(Value{std::int64_t{0}});
    }
}

std::vector<std::string> mark_offsets(Candidate& raw, const std::map<std::string, ArgumentFacts>& given,
                                      const ParseOptions& options) {
  const auto may_hold = [&](const Argument& argument) {
    return argument.is_buffer && argument.fill.kind == Fill::Kind::zero && !is_given(given, argument) &&
           may_be_offset(raw, argument.dtype);
  };
  if (std::ranges::none_of(raw.arguments, may_hold))
    return {};
  const auto parsed = parse_raw(raw, options);
  if (!parsed)
    return {};
  std::vector<std::string> marked;
  for (const OffsetBuffer& offsets : offset_buffers(KernelView(*parsed->source, parsed->kernel))) {
    const auto argument = std::ranges::find(raw.arguments, offsets.name, &Argument::name);
    if (argument == raw.arguments.end() || !may_hold(*argument))
      continue;
    argument->fill.kind = Fill::Kind::offsets;
    argument->fill.integer_high = known_bound(raw, offsets).value_or(Expression(Value{std::int64_t{0}}));
    marked.push_back(argument->name);
  }
  return marked;
}

Result<Expression> usual_end(const std::string& count, const std::string& dtype) {
  const std::string bound = fmt::format("{} * ({} - 1)", ELEMENTS_PER_RANGE, count);
  // Of sizes at which that is more than a 32-bit integer holds, the ranges are shorter.
  return Expression::parse(dtype.ends_with("64")
                               ? bound
                               : fmt::format("min({}, {})", bound, std::numeric_limits<std::int32_t>::max()));
}

Status bound_offsets(Candidate& raw, const std::vector<std::string>& marked,
                     std::vector<std::string>& notes) {
  for (Argument& argument : raw.arguments) {
    if (std::ranges::find(marked, argument.name) == marked.end())
      continue;
    // One element is no range, and what the kernel writes is its own.
    if (argument.count.text() == "1" || argument.direction != Direction::in) {
      argument.fill = Fill();
      argument.fill.kind = Fill::Kind::zero;
      continue;
    }
    if (is_unbounded(argument)) {
      LATHE_TRY(argument.fill.integer_high, usual_end(argument.count.text(), argument.dtype));
    }
    notes.push_back(fmt::format("{} holds offsets of ranges, from 0 to {} (say otherwise with its Fill in a "
                                "workload file)",
                                argument.name, argument.fill.integer_high.text()));
  }
  return Done{};
}

} // namespace lathe::refactor
