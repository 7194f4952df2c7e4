// Precision: no variable, conversion or arithmetic is narrower than the raw kernel's, and no fast-math
// intrinsic appears, unless a flag knob that the specification declares owns it.
#include "refactor/guard/checks.h"
#include "refactor/guard/packed_assembly.h"

#include <algorithm>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// Single-precision intrinsics of reduced accuracy (CUDA C++ Programming Guide, "Intrinsic functions").
const std::set<std::string> FAST_MATH = {
    "__cosf",    "__exp10f",  "__expf",    "__fdividef", "__log10f",     "__log2f",       "__logf",
    "__powf",    "__sincosf", "__sinf",    "__tanf",     "__tanhf",      "__frcp_rn",     "__frsqrt_rn",
    "__fdiv_rz", "__fdiv_ru", "__fdiv_rd", "__fsqrt_rz", "__fsqrt_ru",   "__fsqrt_rd",    "h2exp",
    "hexp",      "hrcp",      "h2rcp",     "hrsqrt",     "htanh_approx", "h2tanh_approx", "__nv_fast_expf"};

// Functions that round to an integer, or another way than to the nearest: which one is part of what a kernel
// computes.
bool decides_rounding(const std::string& name) {
  static const std::regex directed(R"(__\w+_r[zud]\w*|h2?(ceil|floor|rint|trunc))"),
      to_integer(R"(__\w*2(u?int|u?ll|u?short|u?char)\w*_r[nzud]\w*)"),
      named(R"((std::)?(ll?rint|ll?round|rint|round|floor|ceil|trunc|nearbyint|fmod|remainder)[fl]?)");
  return std::regex_match(name, directed) || std::regex_match(name, to_integer) ||
         std::regex_match(name, named);
}

// Sums and products that no compiler may fuse: `__fmul_rn`, `__dadd_rn`.
bool is_kept_apart(const std::string& name) {
  static const std::regex pattern(R"(__(f|d|h|h2)(mul|add|sub)_rn)");
  return std::regex_match(name, pattern);
}

bool is_fused(const std::string& name) {
  static const std::regex pattern(R"((std::)?fmaf?|__fmaf?_rn|__hfma2?)");
  return std::regex_match(name, pattern);
}

// "-fmad=false" among the options of the raw kernel: nothing is fused there.
bool forbids_fusing(const JudgedPair& subject) {
  return std::ranges::any_of(subject.spec.reference.compile_options,
                             [](const std::string& option) { return option.ends_with("fmad=false"); });
}

// Products of which bits are dropped, and quotients made of them.
bool is_part_of_product(const std::string& name) {
  static const std::regex pattern(R"(__u?mul(24|hi|64hi))");
  return std::regex_match(name, pattern);
}

// The width of the narrowest variable of a kind that the kernel adds to again and again; 0: there is none.
int narrowest_sum(const SourceFacts& facts, char kind) {
  int least = 0;
  for (const auto& place : facts.accumulators)
    if (const auto found = facts.with_counters.find(place);
        found != facts.with_counters.end() && found->second.first == kind)
      least = least == 0 ? found->second.second : std::min(least, found->second.second);
  return least;
}

// Whether the template's operations of a kind serve nothing but what the raw kernel computes too, in whatever
// words: decided once an instance, and only where the words differ.
class InOtherWords {
public:
  InOtherWords(const FactPair& pair, bool (*is_asked_for)(const PureValues&, const PureNode&))
      : pair_(pair), is_asked_for_(is_asked_for) {}
  bool is_the_same() {
    if (!is_answered_)
      is_the_same_ = pair_.raw && pair_.templated &&
                     serves_known_functions(pair_.templated->pure, is_asked_for_, pair_.raw->pure);
    is_answered_ = true;
    return is_the_same_;
  }

private:
  const FactPair& pair_;
  bool (*is_asked_for_)(const PureValues&, const PureNode&);
  bool is_answered_ = false, is_the_same_ = false;
};

std::string width(std::pair<char, int> type) {
  return std::to_string(type.second) + (type.first == 'f' ? "-bit floating point" : "-bit integer");
}

} // namespace

CheckResult check_precision(const JudgedPair& subject) {
  Findings findings("precision");
  std::size_t variables = 0, instances = 0;
  for (const FactPair& pair : fact_pairs(subject)) {
    ++instances;
    const std::string where = " at " + pair.configuration->text();
    const bool owned = pair.configuration->flag_is_set();
    const auto find = [&](const std::string& sentence) {
      if (owned)
        findings.report(sentence + where + " (a flag knob is set)");
      else
        findings.fail(sentence + where);
    };
    for (const auto& [place, raw] : pair.raw_source->with_counters) {
      const std::string& name = place.second;
      const auto found = pair.template_source->variables.find(place);
      if (found == pair.template_source->variables.end())
        continue;
      ++variables;
      const auto templated = found->second;
      if (templated.first == raw.first && templated.second < raw.second)
        find("'" + name + "' is a " + width(templated) + " where the raw kernel has a " + width(raw));
      else if (raw.first == 'f' && templated.first == 'i')
        find("'" + name + "' is an integer where the raw kernel has floating point");
    }
    for (const char kind : {'f', 'i'}) {
      const int least = narrowest_sum(*pair.raw_source, kind);
      for (const auto& place : pair.template_source->accumulators) {
        const auto templated = pair.template_source->variables.find(place);
        if (templated == pair.template_source->variables.end() || templated->second.first != kind ||
            pair.raw_source->with_counters.contains(place) || templated->second.second >= least ||
            pair.template_source->bounded_counters.contains(place))
          continue;
        find("'" + place.second + "' adds up as a " + width(templated->second) +
             ", and everything that the raw kernel adds up is wider");
      }
    }
    InOtherWords products(pair, is_upper_product), roundings(pair, is_rounding);
    for (const auto& [name, count] : pair.template_source->library_calls) {
      if (is_part_of_product(name) && !pair.raw_source->library_calls.contains(name) &&
          !products.is_the_same())
        find("the template multiplies by " + name +
             ", which drops bits and which the raw kernel does not call");
      if (FAST_MATH.contains(name) && !pair.raw_source->library_calls.contains(name))
        find("the template calls " + name + ", which the raw kernel does not");
      if (decides_rounding(name) && !pair.raw_source->library_calls.contains(name) &&
          !FAST_MATH.contains(name) && !roundings.is_the_same())
        find("the template rounds by " + name + ", which the raw kernel does not");
      // Conversions to a small format: a value rounded on its way.
      const bool narrows = name.starts_with("__float2half") || name.starts_with("__float2bfloat16") ||
                           name.starts_with("__double2float") || name.starts_with("__float22") ||
                           name == "__half::__half(float)" || name == "__nv_bfloat16::__nv_bfloat16(float)" ||
                           name.starts_with("__nv_cvt_float");
      if (narrows && !pair.raw_source->library_calls.contains(name))
        findings.report("the template converts by " + name + ", which the raw kernel does not" + where);
    }
    for (const auto& [name, count] : pair.raw_source->library_calls)
      if (is_kept_apart(name) && !pair.template_source->library_calls.contains(name))
        find("the template no longer calls " + name + ", without which the compiler fuses");
    const bool keeps_products_apart =
        std::ranges::any_of(pair.raw_source->library_calls, [](const auto& call) {
          return is_kept_apart(call.first) && call.first.find("mul") != std::string::npos;
        });
    if (keeps_products_apart && pair.raw_source->real_products == 0 &&
        pair.template_source->real_products > 0)
      find("the template has a product that the compiler may fuse with a sum, and the raw kernel has none");
    if (forbids_fusing(subject))
      for (const auto& [name, count] : pair.template_source->library_calls)
        if (is_fused(name) && !pair.raw_source->library_calls.contains(name))
          find("the template calls " + name + ", and the raw kernel is compiled with -fmad=false");
    for (const std::string& cast : pair.template_source->narrowing_casts)
      if (cast[0] == 'f' && !pair.raw_source->narrowing_casts.contains(cast))
        find("the template narrows a value (" + cast + ")");
    for (const std::string& cast : pair.template_source->narrowed_arithmetic)
      if (!pair.raw_source->narrowed_arithmetic.contains(cast))
        find("the template keeps fewer bits of what it computes (" + cast + ")");
    if (!pair.raw || !pair.raw_at_size || !pair.templated)
      continue;
    const ArithmeticFacts &raw = pair.raw->arithmetic, &templated = pair.templated->arithmetic;
    if (raw.compensations > 0 && pair.raw_at_size->arithmetic.compensations > 0 &&
        templated.compensations == 0)
      find("the raw kernel recovers what rounding takes from its sums or products ((a + b) - a), and the "
           "template does not");
    for (const std::string& factor : templated.factors)
      if (raw.reciprocals.contains(factor) && !raw.factors.contains(factor))
        find("the template multiplies by a constant's reciprocal (" + factor +
             "), and the raw kernel divides by the constant");
    for (const std::string& type : pair.templated->arithmetic_types)
      if ((type == "half" || type == "bfloat") && !pair.raw->arithmetic_types.contains(type))
        find("the template computes in " + type);
    for (const std::string& narrowing : pair.templated->narrowings)
      if (!pair.raw->narrowings.contains(narrowing))
        find("the template narrows a value (" + narrowing + ")");
    // Where the raw kernel quantises, only what was an integer before is no business of a real number.
    if (pair.raw->integers_by_way_of_reals.empty())
      // A conversion of what was no integer may have another name there.
      for (const std::string& conversion : pair.raw->integers_of_reals.empty()
                                               ? pair.templated->integers_of_reals
                                               : pair.templated->integers_by_way_of_reals)
        if (!pair.templated->integers_by_way_of_reals.empty() || !roundings.is_the_same())
          find("the template computes integers by way of floating point (" + conversion + ")");
    for (const std::string& approximation : pair.templated->approximations)
      if (!pair.raw->approximations.contains(approximation) &&
          !pair.raw_at_size->approximations.contains(approximation))
        find("the template computes approximately (" + approximation + ")");
    // The toolkit's arithmetic on small formats is inline assembly: fma.rn.f16, add.bf16x2, ...
    std::set<std::string> raw_operations;
    for (const auto& [text, count] : pair.raw->pure_assembly)
      raw_operations.insert(operations_of(text));
    for (const auto& [text, count] : pair.templated->pure_assembly) {
      const std::string operations = operations_of(text);
      // Where cooperative groups keep what they know of themselves.
      const bool moves = operations.empty() || text.find("%reserved_smem_offset") != std::string::npos;
      if (!moves && !work_on_bits_alone(operations) && !raw_operations.contains(operations))
        find(std::string(operations.starts_with("cvt") ? "the template converts" : "the template computes") +
             " by '" + text + "'");
    }
  }
  if (instances == 0)
    findings.undecided("there is no instance to look at");
  return findings.conclude(Verdict::proved,
                           std::to_string(variables) +
                               " variables are at least as wide as the raw kernel's, and arithmetic, "
                               "conversions and intrinsics are among its own, in " +
                               std::to_string(instances) + " instances");
}

} // namespace lathe::refactor
