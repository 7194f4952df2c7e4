#include "refactor/app/numbered_tables.h"

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {
namespace {

// The pitch as long as nobody knows better.
constexpr const char* NO_PITCH = "1";

Argument* find_argument(Candidate& raw, const std::string& name) {
  const auto found = std::ranges::find(raw.arguments, name, &Argument::name);
  return found == raw.arguments.end() ? nullptr : &*found;
}

} // namespace

void number_places(const std::vector<PointerTable>& tables, WorkloadFacts& facts) {
  for (const PointerTable& table : tables) {
    ArgumentFacts& places = facts.arguments[table.places];
    if (!places.direction)
      places.direction = Direction::in;
    if (!places.fill) {
      places.fill = Fill();
      places.fill->kind = Fill::Kind::permutation;
    }
    ArgumentFacts& pitch = facts.arguments[table.pitch];
    if (!pitch.value)
      pitch.value = NO_PITCH;
  }
}

Status lay_out_tables(const std::vector<PointerTable>& tables, const std::vector<Argument>& before,
                      Candidate& raw, std::vector<std::string>& notes) {
  for (const PointerTable& table : tables) {
    const Argument* places = find_argument(raw, table.places);
    Argument *pitch = find_argument(raw, table.pitch), *elements = find_argument(raw, table.elements);
    const auto size_before = std::ranges::find(before, table.elements, &Argument::name);
    if (!places || !pitch || !elements || size_before == before.end() || size_before->count.text() != "0" ||
        pitch->value.text() != NO_PITCH)
      continue;
    const bool is_type =
        std::ranges::find(raw.types, elements->dtype, &TypeParameter::name) != raw.types.end();
    const std::string size =
        is_type ? "sizeof_" + elements->dtype : std::to_string(dtype_size(elements->dtype));
    // Vectors may be read from the start of each.
    constexpr int ALIGNMENT = 16;
    const std::string bytes =
        fmt::format("{0} * ceil_div(({1}) * {2}, {0})", ALIGNMENT, elements->count.text(), size);
    const std::string count = fmt::format("({}) * ({}) / {}", places->count.text(), bytes, size);
    LATHE_TRY(pitch->value, Expression::parse(bytes));
    LATHE_TRY(elements->count, Expression::parse(count));
    // What was seen is one piece.
    std::erase_if(notes, [&](const std::string& note) { return note.starts_with(table.elements + " has "); });
    notes.push_back(fmt::format("a table of pointers is passed as numbers: entry i points to {0} + {1}[i] * "
                                "{2} bytes, here to pieces of one "
                                "buffer, {2} = {3} (with the table itself as {1}, 1 as {2} and a null "
                                "pointer as {0} it is any table)",
                                table.elements, table.places, table.pitch, bytes));
  }
  return Done{};
}

} // namespace lathe::refactor
