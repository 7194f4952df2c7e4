#include "tuner/measure/measure.h"

#include <array>
#include <utility>

namespace lathe {
namespace {

constexpr std::array<std::pair<Outcome, std::string_view>, 8> NAMES{
    {{Outcome::ok, "ok"},
     {Outcome::compile_error, "compile_error"},
     {Outcome::resource_limit, "resource_limit"},
     {Outcome::runtime_error, "runtime_error"},
     {Outcome::timeout, "timeout"},
     {Outcome::crashed, "crashed"},
     {Outcome::wrong_result, "wrong_result"},
     {Outcome::under_floor, "under_floor"}}};

} // namespace

std::string_view to_string(Outcome outcome) {
  for (const auto& [value, name] : NAMES)
    if (value == outcome)
      return name;
  return "unknown";
}

std::optional<Outcome> parse_outcome(std::string_view text) {
  for (const auto& [value, name] : NAMES)
    if (name == text)
      return value;
  return std::nullopt;
}

} // namespace lathe
