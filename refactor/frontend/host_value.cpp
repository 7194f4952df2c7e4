#include "refactor/frontend/host_value.h"

#include "tuner/base/text.h"
#include "tuner/expression/expression.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

namespace lathe::refactor {
namespace {

using clang::BinaryOperatorKind;

struct Operator {
  const char* sign;
  int binding;
};

std::optional<Operator> operator_of(BinaryOperatorKind kind) {
  switch (kind) {
  case clang::BO_Mul:
    return Operator{"*", BIND_MULTIPLY};
  case clang::BO_Div:
    return Operator{"/", BIND_MULTIPLY};
  case clang::BO_Rem:
    return Operator{"%", BIND_MULTIPLY};
  case clang::BO_Add:
    return Operator{"+", BIND_ADD};
  case clang::BO_Sub:
    return Operator{"-", BIND_ADD};
  case clang::BO_Shl:
    return Operator{"<<", BIND_SHIFT};
  case clang::BO_Shr:
    return Operator{">>", BIND_SHIFT};
  case clang::BO_LT:
    return Operator{"<", BIND_LESS};
  case clang::BO_GT:
    return Operator{">", BIND_LESS};
  case clang::BO_LE:
    return Operator{"<=", BIND_LESS};
  case clang::BO_GE:
    return Operator{">=", BIND_LESS};
  case clang::BO_EQ:
    return Operator{"==", BIND_EQUAL};
  case clang::BO_NE:
    return Operator{"!=", BIND_EQUAL};
  case clang::BO_And:
    return Operator{"&", BIND_BIT_AND};
  case clang::BO_Xor:
    return Operator{"^", BIND_BIT_XOR};
  case clang::BO_Or:
    return Operator{"|", BIND_BIT_OR};
  case clang::BO_LAnd:
    return Operator{"&&", BIND_AND};
  case clang::BO_LOr:
    return Operator{"||", BIND_OR};
  default:
    return std::nullopt;
  }
}

// Longer expressions come from loops that are read round by round; nobody wants them as a launch geometry,
// and each round would double them.
constexpr std::size_t LONGEST = 4000;

HostValue limited(HostValue value) {
  return value.text.size() <= LONGEST ? std::move(value)
                                      : HostValue::unknown("its expression grows too long");
}

// Whether a name stands in the expression, seen without parsing it: every condition on a launcher's way asks.
bool has_names(const std::string& text) {
  static const std::set<std::string, std::less<>> keywords{"and", "or",   "not",  "in",
                                                           "if",  "else", "true", "false"};
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at]))
      ++at;
    const std::string_view word(text.data() + begin, at - begin);
    const bool is_number = word.front() >= '0' && word.front() <= '9';
    const std::size_t next = text.find_first_not_of(' ', at);
    const bool is_call = next != std::string::npos && text[next] == '(';
    if (!is_number && !is_call && !keywords.contains(word))
      return true;
  }
  return false;
}

// A constant expression becomes its number or truth value.
HostValue folded(HostValue value) {
  if (value.text.size() > LONGEST)
    return limited(std::move(value));
  if (has_names(value.text))
    return value;
  const auto parsed = Expression::parse(value.text);
  if (!parsed.ok() || !parsed->names().empty())
    return value;
  const auto number = parsed->evaluate([](std::string_view) { return std::nullopt; });
  if (!number.ok())
    return value;
  if (std::holds_alternative<std::int64_t>(*number) || std::holds_alternative<bool>(*number)) {
    value.text = to_string(*number);
    value.binding = value.text.starts_with("-") ? BIND_UNARY : BIND_PRIMARY;
  }
  return value;
}

} // namespace

namespace {

void inherit(HostValue& value, const HostValue& from) {
  for (const std::string& condition : from.assumes)
    if (std::find(value.assumes.begin(), value.assumes.end(), condition) == value.assumes.end())
      value.assumes.push_back(condition);
}

// By a point or by this function it shows in an expression that it is real.
constexpr const char* TO_REAL = "float";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

HostValue HostValue::real(double number) {
  std::string text = fmt::format("{}", number);
  if (const std::size_t exponent = text.find('e'); exponent != std::string::npos && !has(text, "."))
    text.insert(exponent, ".0");
  HostValue value = integer(std::move(text), number < 0 ? BIND_UNARY : BIND_PRIMARY);
  value.kind = Kind::real;
  return value;
}

bool HostValue::is_whole() const {
  return kind == Kind::integer ||
         (kind == Kind::real && !has(text, ".") && !has(text, std::string(TO_REAL) + "("));
}

namespace {

// Of real numbers, in an expression language that would divide integers as integers.
HostValue real_quotient(const HostValue& left, const HostValue& right) {
  HostValue result;
  result.kind = HostValue::Kind::real;
  result.binding = BIND_MULTIPLY;
  const std::string over = bound(right, BIND_MULTIPLY + 1);
  result.text = left.is_whole() && right.is_whole()
                    ? fmt::format("{}({}) / {}", TO_REAL, left.text, over)
                    : fmt::format("{} / {}", bound(left, BIND_MULTIPLY), over);
  const bool is_quotient = left.kind == HostValue::Kind::real && left.elements.size() == 2;
  if (right.is_whole() && (left.is_whole() || is_quotient)) {
    result.elements = is_quotient ? left.elements : std::vector{left, HostValue::integer("1")};
    result.elements.back() = combine(clang::BO_Mul, result.elements.back(), right);
    for (HostValue& whole : result.elements)
      whole.kind = HostValue::Kind::integer;
  }
  return result;
}

} // namespace

std::string bound(const HostValue& value, int binding) {
  return value.binding < binding ? fmt::format("({})", value.text) : value.text;
}

HostValue combine(BinaryOperatorKind operation, const HostValue& left, const HostValue& right) {
  if (!left.is_number() || !right.is_number())
    return HostValue::unknown(left.is_number() ? right.why : left.why);
  const auto described = operator_of(operation);
  if (!described)
    return HostValue::unknown("an operator that the expression language lacks");
  if (operation == clang::BO_LAnd || operation == clang::BO_LOr) {
    const std::string neutral = operation == clang::BO_LAnd ? "true" : "false";
    if (left.text == neutral)
      return right;
    if (right.text == neutral)
      return left;
    const std::string decisive = operation == clang::BO_LAnd ? "false" : "true";
    if (left.text == decisive || right.text == decisive)
      return HostValue::integer(decisive);
  }
  if (operation == clang::BO_Mul && (left.text == "1" || right.text == "1"))
    return left.text == "1" ? right : left;
  if ((operation == clang::BO_Div && right.text == "1") ||
      ((operation == clang::BO_Add || operation == clang::BO_Sub) && right.text == "0"))
    return left;
  if (operation == clang::BO_Div &&
      (left.kind == HostValue::Kind::real || right.kind == HostValue::Kind::real)) {
    HostValue quotient = real_quotient(left, right);
    inherit(quotient, left);
    inherit(quotient, right);
    return limited(std::move(quotient));
  }
  HostValue result;
  const bool real = left.kind == HostValue::Kind::real || right.kind == HostValue::Kind::real;
  const bool truth = described->binding <= BIND_LESS && described->binding != BIND_BIT_AND &&
                     described->binding != BIND_BIT_OR && described->binding != BIND_BIT_XOR;
  result.kind = real && !truth ? HostValue::Kind::real : HostValue::Kind::integer;
  result.binding = described->binding;
  // Chained comparisons mean something else in the expression language: the left one is set apart.
  const bool comparison = described->binding == BIND_EQUAL || described->binding == BIND_LESS;
  const int left_binding = comparison ? BIND_SHIFT : described->binding;
  result.text = fmt::format("{} {} {}", bound(left, left_binding), described->sign,
                            bound(right, comparison ? BIND_SHIFT : described->binding + 1));
  inherit(result, left);
  inherit(result, right);
  return folded(std::move(result));
}

HostValue negate(const HostValue& condition) {
  if (!condition.is_number())
    return condition;
  if (condition.text == "true" || condition.text == "false")
    return HostValue::integer(condition.text == "true" ? "false" : "true");
  return HostValue::integer(fmt::format("!{}", bound(condition, BIND_UNARY)), BIND_UNARY);
}

namespace {

// What is launched cannot be a null pointer, nor anything else that is no kernel.
HostValue choose_kernel(const HostValue& condition, const HostValue& yes, const HostValue& no) {
  HostValue both = yes.kind == HostValue::Kind::kernel ? yes : no;
  both.kernels.clear();
  for (const bool taken : {true, false}) {
    const HostValue under = taken ? condition : negate(condition);
    for (KernelReference reference : (taken ? yes : no).kernels) {
      if (under.is_number())
        reference.conditions.push_back(under.text);
      const auto known = std::find(both.kernels.begin(), both.kernels.end(), reference);
      if (known == both.kernels.end()) {
        both.kernels.push_back(std::move(reference));
        continue;
      }
      std::erase_if(known->conditions, [&](const std::string& text) {
        return std::find(reference.conditions.begin(), reference.conditions.end(), text) ==
               reference.conditions.end();
      });
    }
  }
  return both;
}

} // namespace

HostValue choose(const HostValue& condition, const HostValue& yes, const HostValue& no,
                 const std::string& why) {
  if (yes == no)
    return yes;
  if (condition.text == "true" || condition.text == "false")
    return condition.text == "true" ? yes : no;
  if (yes.kind == HostValue::Kind::kernel || no.kind == HostValue::Kind::kernel)
    return choose_kernel(condition, yes, no);
  if (yes.kind == HostValue::Kind::structure && no.kind == HostValue::Kind::structure) {
    HostValue result = yes;
    for (auto& [name, member] : result.members) {
      const auto other = no.members.find(name);
      member =
          other == no.members.end() ? HostValue::unknown(why) : choose(condition, member, other->second, why);
    }
    for (const auto& [name, member] : no.members)
      result.members.try_emplace(name, HostValue::unknown(why));
    return result;
  }
  if (yes.kind == HostValue::Kind::list && no.kind == HostValue::Kind::list &&
      yes.elements.size() == no.elements.size()) {
    HostValue result = yes;
    for (std::size_t i = 0; i < result.elements.size(); ++i)
      result.elements[i] = choose(condition, yes.elements[i], no.elements[i], why);
    return result;
  }
  if (!yes.is_number() || !no.is_number())
    return HostValue::unknown(!yes.why.empty()  ? yes.why
                              : !no.why.empty() ? no.why
                                                : why,
                              yes.text == no.text ? yes.text : "");
  if (!condition.is_number())
    return HostValue::unknown(condition.why.empty() ? why : why + ": " + condition.why);
  HostValue result = HostValue::integer(fmt::format("{} ? {} : {}", bound(condition, BIND_OR),
                                                    bound(yes, BIND_OR), bound(no, BIND_CONDITIONAL)),
                                        BIND_CONDITIONAL);
  if (yes.kind == HostValue::Kind::real || no.kind == HostValue::Kind::real)
    result.kind = HostValue::Kind::real;
  for (const HostValue* part : {&condition, &yes, &no})
    inherit(result, *part);
  return limited(std::move(result));
}

HostValue readable_way(const HostValue& condition, const HostValue& yes, const HostValue& no,
                       HostValue chosen) {
  if (!condition.is_number())
    return chosen;
  using enum HostValue::Kind;
  if (chosen.kind == structure && yes.kind == structure && no.kind == structure) {
    for (auto& [name, member] : chosen.members)
      if (const auto a = yes.members.find(name), b = no.members.find(name);
          a != yes.members.end() && b != no.members.end())
        member = readable_way(condition, a->second, b->second, member);
    return chosen;
  }
  if (chosen.kind != unknown || yes.is_integer() == no.is_integer())
    return chosen;
  HostValue kept = yes.is_integer() ? yes : no;
  inherit(kept, condition);
  kept.assumes.push_back((yes.is_integer() ? condition : negate(condition)).text);
  return kept;
}

HostValue call(const std::string& function, const std::vector<HostValue>& arguments) {
  std::string list;
  for (const HostValue& argument : arguments) {
    if (!argument.is_number())
      return HostValue::unknown(argument.why);
    list += (list.empty() ? "" : ", ") + argument.text;
  }
  HostValue result = HostValue::integer(function + "(" + list + ")");
  for (const HostValue& argument : arguments)
    inherit(result, argument);
  return folded(std::move(result));
}

bool follows_size(const HostValue& value) {
  return value.is_integer() && !is_constant(value) &&
         value.text.find_first_not_of("-0123456789") != std::string::npos;
}

std::optional<std::size_t> number_of(const HostValue& value) {
  std::size_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [behind, failure] = std::from_chars(value.text.data(), end, number);
  return value.is_integer() && failure == std::errc() && behind == end ? std::optional(number) : std::nullopt;
}

bool is_constant(const HostValue& condition) {
  return condition.text == "true" || condition.text == "false" || condition.text == "0" ||
         condition.text == "1";
}

} // namespace lathe::refactor
