// Mistakes in arithmetic, types and constants.
#include "refactor/guard/mutation_kinds.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <ranges>

namespace lathe::refactor {
namespace {

using Found = std::vector<Mutation>;

bool in_body(const TokenText& text, std::size_t i) {
  return text[i].depth > 0;
}

bool is_operand(const TokenText& text, std::size_t i) {
  return text[i].kind == Token::Kind::word || text[i].kind == Token::Kind::number;
}

void swap_operands(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    if (in_body(text, i) && text.is_binary(i) && (text.is(i, "-") || text.is(i, "/") || text.is(i, "%")) &&
        is_operand(text, i - 1) && is_operand(text, i + 1) && !text.is(i + 2, "(") && !text.is(i + 2, "[") &&
        !text.is(i + 2, ".") && !text.is(i - 2, "."))
      mutate(found, text, i - 1, i + 1, text[i + 1].text + " " + text[i].text + " " + text[i - 1].text);
}
void change_operator(const TokenText& text, const TuningSpec&, Found& found) {
  static const std::map<std::string, std::string> others{{"+", "-"}, {"-", "+"},   {"*", "+"},  {"/", "*"},
                                                         {"%", "/"}, {"+=", "-="}, {"*=", "+="}};
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    if (const auto other = others.find(text[i].text);
        other != others.end() && in_body(text, i) && text.is_binary(i) &&
        (text[i - 1].kind != Token::Kind::word || text[i - 1].text != "return"))
      mutate(found, text, i, i, other->second);
}
void literal_off_by_one(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text[i].kind == Token::Kind::number &&
        text[i].text.find_first_of(".xXfFbB") == std::string::npos)
      mutate(found, text, i, i, "(" + text[i].text + " + 1)");
}
void halve_literal(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text[i].kind == Token::Kind::number &&
        text[i].text.find_first_of(".xXfFbB") == std::string::npos &&
        std::strtoull(text[i].text.c_str(), nullptr, 0) >= 2)
      mutate(found, text, i, i, "(" + text[i].text + " / 2)");
}
void change_constant(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (in_body(text, i) && text[i].kind == Token::Kind::number &&
        text[i].text.find('.') != std::string::npos)
      mutate(found, text, i, i, "(" + text[i].text + " + 0.0625f)");
}
void flip_sign(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 1; i + 1 < text.size(); ++i)
    if (in_body(text, i) && text.is(i, "-") && !text.is_binary(i) && is_operand(text, i + 1))
      mutate(found, text, i, i, "+", "the sign of '" + text[i + 1].text + "' is gone");
}

// A local variable's type: `from` (in tokens) at the start of a declaration.
void retype(const TokenText& text, const std::vector<std::pair<std::string, std::string>>& types,
            Found& found) {
  for (std::size_t i = 1; i + 2 < text.size(); ++i)
    for (const auto& [from, to] : types)
      if (in_body(text, i) && text.is(i, from) && !text.is(i - 1, "constexpr") &&
          text[i + 1].kind == Token::Kind::word &&
          (text.is(i + 2, "=") || text.is(i + 2, ";") || text.is(i + 2, "[")) && !text.is(i - 1, "<"))
        mutate(found, text, i, i, to, "'" + text[i + 1].text + "' is " + to + " instead of " + from);
}
// Half precision that stands wherever a float does: operations of __half and float are ambiguous.
constexpr const char* NARROW_FLOAT = R"(#include <cuda_fp16.h>
struct lathe_narrow_float {
  __half held;
  lathe_narrow_float() = default;
  __device__ lathe_narrow_float(float value) : held(__float2half_rn(value)) {}
  __device__ operator float() const { return __half2float(held); }
  __device__ lathe_narrow_float& operator+=(float value) { return *this = float(*this) + value; }
  __device__ lathe_narrow_float& operator-=(float value) { return *this = float(*this) - value; }
  __device__ lathe_narrow_float& operator*=(float value) { return *this = float(*this) * value; }
  __device__ lathe_narrow_float& operator/=(float value) { return *this = float(*this) / value; }
};
)";
void narrow_accumulator(const TokenText& text, const TuningSpec&, Found& found) {
  const std::size_t before = found.size();
  retype(text, {{"float", "lathe_narrow_float"}, {"double", "float"}}, found);
  for (std::size_t i = before; i < found.size(); ++i)
    found[i].edits.push_back({0, 0, NARROW_FLOAT});
}
void narrow_index(const TokenText& text, const TuningSpec&, Found& found) {
  retype(text,
         {{"int", "short"},
          {"unsigned", "unsigned char"},
          {"uint32_t", "unsigned short"},
          {"int64_t", "int"},
          {"size_t", "int"}},
         found);
}
void drop_widening(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i + 4 < text.size(); ++i) {
    if (!in_body(text, i) || !text.is(i, "static_cast"))
      continue;
    std::size_t close = i;
    while (close < text.size() && !text.is(close, ">"))
      ++close;
    const std::string type = text.source(i + 2, close - 1);
    if ((type == "long long" || type == "int64_t" || type == "size_t" || type == "double" ||
         type == "uint64_t") &&
        text.is(close + 1, "("))
      mutate(found, text, i, close, "", "the cast to " + type + " is gone");
  }
}
// To a narrower type than any that the kernel stores: rounding a value to its own type is no mistake.
void round_on_the_way(const TokenText& text, const TuningSpec& spec, Found& found) {
  const auto stores = [&](const char* dtype) {
    return std::ranges::any_of(spec.types, [&](const TypeParameter& type) {
      return std::ranges::find(type.dtypes, dtype) != type.dtypes.end();
    });
  };
  struct Narrower {
    const char *name, *open, *close, *header;
  };
  const Narrower narrower =
      stores("bf16")  ? Narrower{"fp8", "static_cast<float>(__nv_fp8_e5m2(", "))", "cuda_fp8.h"}
      : stores("f16") ? Narrower{"bf16", "__bfloat162float(__float2bfloat16(", "))", "cuda_bf16.h"}
                      : Narrower{"fp16", "__half2float(__float2half(", "))", "cuda_fp16.h"};
  for (std::size_t i = 0; i + 4 < text.size(); ++i)
    if (in_body(text, i) && text.is(i, "static_cast") && text.is(i + 2, "float") && text.is(i + 4, "(")) {
      const std::size_t close = text[i + 4].partner;
      mutate(found, text, i, close, narrower.open + text.source(i, close) + narrower.close,
             std::string("a value is rounded to ") + narrower.name + " on its way");
      found.back().edits.push_back({0, 0, std::string("#include <") + narrower.header + ">\n"});
    }
}
void fast_math(const TokenText& text, const TuningSpec&, Found& found) {
  static const std::map<std::string, std::string> fast{
      {"expf", "__expf"}, {"logf", "__logf"}, {"log2f", "__log2f"}, {"sinf", "__sinf"},
      {"cosf", "__cosf"}, {"powf", "__powf"}, {"tanhf", "__tanhf"}, {"rsqrtf", "__frsqrt_rn"}};
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (const auto other = fast.find(text[i].text);
        in_body(text, i) && other != fast.end() && text.is(i + 1, "("))
      mutate(found, text, i, i, other->second);
}
void wrong_function(const TokenText& text, const TuningSpec&, Found& found) {
  static const std::map<std::string, std::string> others{
      {"min", "max"},    {"max", "min"},    {"fmaxf", "fminf"}, {"fminf", "fmaxf"}, {"rsqrtf", "sqrtf"},
      {"expf", "exp2f"}, {"logf", "log2f"}, {"isinf", "isnan"}, {"fabsf", "-"}};
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (const auto other = others.find(text[i].text);
        in_body(text, i) && other != others.end() && text.is(i + 1, "("))
      mutate(found, text, i, i, other->second);
}

// The value of a scalar parameter or a knob at the specification's first problem, as a literal.
void hard_coded_shape(const TokenText& text, const TuningSpec& spec, Found& found) {
  const auto signature = kernel_signature(text, spec);
  if (!signature || spec.problems.empty())
    return;
  std::map<std::string, std::string> types;
  for (const TypeParameter& type : spec.types)
    types[type.name] = type.dtypes.front();
  const auto workload = bind_workload(spec, spec.problems.front(), types, {});
  if (!workload)
    return;
  for (std::size_t p = 0; p < signature->parameters.size() && p < workload->parameters.size(); ++p) {
    if (workload->parameters[p].is_buffer ||
        !std::holds_alternative<std::int64_t>(workload->parameters[p].value))
      continue;
    const std::string name = signature->name_of(text, p),
                      value = lathe::to_string(workload->parameters[p].value);
    for (std::size_t i = signature->body; i < text[signature->body].partner; ++i)
      if (text.is(i, name))
        mutate(found, text, i, i, value, "the size '" + name + "' is hard-coded as " + value);
  }
}
void knob_uses(const TokenText& text, const TuningSpec& spec, Found& found, bool literal) {
  const auto signature = kernel_signature(text, spec);
  if (!signature)
    return;
  // Unrolling, occupancy and cache hints cannot change what a kernel computes, however wrong they are. What a
  // fixed size is multiplied by is another size, and at its default it is not looked at.
  const auto decides_results = [&](const Knob& knob) {
    return knob.kind != KnobKind::unroll && knob.kind != KnobKind::occupancy &&
           knob.kind != KnobKind::cache && !(literal && knob.size);
  };
  for (const Knob& knob : spec.knobs | std::views::filter(decides_results))
    for (std::size_t i = signature->global; i < text[signature->body].partner; ++i) {
      if (!text.is(i, knob.name))
        continue;
      if (literal && !knob.values.empty()) {
        const std::string value = knob.default_value.names().empty() ? knob.default_value.text()
                                                                     : lathe::to_string(knob.values.back());
        mutate(found, text, i, i, value, "the knob " + knob.name + " is hard-coded as " + value);
      } else if (!literal) {
        mutate(found, text, i, i, "(" + knob.name + " * 2)");
        mutate(found, text, i, i, "(" + knob.name + " + 1)");
      }
    }
}
void hard_coded_knob(const TokenText& text, const TuningSpec& spec, Found& found) {
  knob_uses(text, spec, found, true);
}
void wrong_knob(const TokenText& text, const TuningSpec& spec, Found& found) {
  knob_uses(text, spec, found, false);
}

void wrong_coordinate(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (!in_body(text, i) || !text.is(i + 1, "."))
      continue;
    if (text.is(i, "threadIdx") || text.is(i, "blockIdx")) {
      mutate(found, text, i + 2, i + 2, text.is(i + 2, "x") ? "y" : "x",
             text[i].text + "." + text[i + 2].text + " became the other axis");
      mutate(found, text, i, i, text.is(i, "threadIdx") ? "blockIdx" : "threadIdx");
    }
  }
}

} // namespace

const std::vector<MutationKind>& value_mutations() {
  static const std::vector<MutationKind> kinds{{"swap-operands", swap_operands},
                                               {"change-operator", change_operator},
                                               {"literal-off-by-one", literal_off_by_one},
                                               {"halve-literal", halve_literal},
                                               {"change-constant", change_constant},
                                               {"flip-sign", flip_sign},
                                               {"narrow-accumulator", narrow_accumulator},
                                               {"narrow-index", narrow_index},
                                               {"drop-widening-cast", drop_widening},
                                               {"round-on-the-way", round_on_the_way},
                                               {"fast-math", fast_math},
                                               {"wrong-function", wrong_function},
                                               {"hard-coded-shape", hard_coded_shape},
                                               {"hard-coded-knob", hard_coded_knob},
                                               {"wrong-knob", wrong_knob},
                                               {"wrong-coordinate", wrong_coordinate}};
  return kinds;
}

} // namespace lathe::refactor
