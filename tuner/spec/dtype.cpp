#include "tuner/spec/spec.h"

#include <array>

namespace lathe {
namespace {

struct DtypeRow {
  std::string_view name;
  int bytes;
  std::string_view cxx;
};

constexpr std::array<DtypeRow, 15> dtype_rows{{
    {"f64", 8, "double"},
    {"f32", 4, "float"},
    {"f16", 2, "__half"},
    {"bf16", 2, "__nv_bfloat16"},
    {"e4m3", 1, "__nv_fp8_e4m3"},
    {"e5m2", 1, "__nv_fp8_e5m2"},
    {"i64", 8, "long long"},
    {"i32", 4, "int"},
    {"i16", 2, "short"},
    {"i8", 1, "signed char"},
    {"u64", 8, "unsigned long long"},
    {"u32", 4, "unsigned int"},
    {"u16", 2, "unsigned short"},
    {"u8", 1, "unsigned char"},
    {"bool", 1, "bool"},
}};

constexpr std::array<std::string_view, 10> kind_names{"block",     "tile",  "unroll", "vector", "coarsen",
                                                      "occupancy", "stage", "cache",  "size",   "flag"};

} // namespace

int dtype_size(std::string_view dtype) {
  for (const DtypeRow& row : dtype_rows)
    if (row.name == dtype)
      return row.bytes;
  return 0;
}

std::string dtype_cxx(std::string_view dtype) {
  for (const DtypeRow& row : dtype_rows)
    if (row.name == dtype)
      return std::string(row.cxx);
  return {};
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const DtypeRow& row : dtype_rows)
    names.emplace_back(row.name);
  return names;
}

std::string_view to_string(KnobKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}

std::optional<KnobKind> parse_knob_kind(std::string_view text) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    if (kind_names[i] == text)
      return static_cast<KnobKind>(i);
  return std::nullopt;
}

const Knob* TuningSpec::find_knob(std::string_view knob) const {
  for (const Knob& candidate : knobs)
    if (candidate.name == knob)
      return &candidate;
  return nullptr;
}

std::vector<std::string> TuningSpec::knob_names() const {
  std::vector<std::string> names;
  for (const Knob& knob : knobs)
    names.push_back(knob.name);
  return names;
}

std::vector<std::map<std::string, std::string>> type_choices(const std::vector<TypeParameter>& types) {
  std::vector<std::map<std::string, std::string>> choices{{}};
  for (const TypeParameter& type : types) {
    std::vector<std::map<std::string, std::string>> longer;
    for (const auto& choice : choices)
      for (const std::string& dtype : type.dtypes) {
        longer.push_back(choice);
        longer.back()[type.name] = dtype;
      }
    choices = std::move(longer);
  }
  return choices;
}

} // namespace lathe
