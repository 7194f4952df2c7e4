#include "refactor/guard/knob_conditions.h"

#include "refactor/guard/token_text.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

const std::set<std::string> COMPARISONS = {"==", "!=", "<", "<=", ">", ">="};
const std::set<std::string> BOUNDS = {";",         "{",     "}",   ",",  "=",  "?",  ":",  "return", "if",
                                      "constexpr", "while", "for", "+=", "-=", "*=", "<<", ">>"};

// What C++ says in Lathe's expressions' words.
std::string as_expression(std::string text) {
  static const std::regex size(R"(sizeof\s*\(\s*(\w+)\s*\))"), cast(R"(static_cast\s*<[\w:\s]+>\s*\()"),
      c_cast(R"(\(\s*(unsigned|int|uint32_t|size_t|long|int64_t|bool)\s*\))"), suffix(R"(\b(\d+)[uUlL]+\b)");
  text = std::regex_replace(text, size, "sizeof_$1");
  text = std::regex_replace(text, cast, "(");
  text = std::regex_replace(text, c_cast, "");
  text = std::regex_replace(text, suffix, "$1");
  return std::regex_replace(text, std::regex("std::"), "");
}

class Finder {
public:
  Finder(const std::string& text, const TuningSpec& spec) : tokens_(text), text_(text), spec_(spec) {}

  std::vector<Expression> find() {
    find_constants();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (COMPARISONS.contains(tokens_[i].text))
        span_around(i);
      if (tokens_.is(i, "?"))
        if (i > 0)
          span_around(i - 1);
      if (tokens_.is(i, "/"))
        quotient_at(i);
      if (tokens_.is(i, "%") || tokens_.is(i, "&") || tokens_.is(i, ">>"))
        remainder_at(i);
      if (tokens_.is(i, "if")) {
        const std::size_t open = tokens_.is(i + 1, "constexpr") ? i + 2 : i + 1;
        if (tokens_.is(open, "(") && tokens_[open].partner > open + 1)
          joined(open + 1, tokens_[open].partner - 1);
      }
    }
    find_directives();
    return std::move(found_);
  }

private:
  // `constexpr int WARPS = BLOCK / 32;`: a name for an expression over knobs.
  void find_constants() {
    for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
      if (!tokens_.is(i, "constexpr"))
        continue;
      std::size_t equals = i + 1;
      while (equals < tokens_.size() && equals < i + 8 && !tokens_.is(equals, "=") &&
             !tokens_.is(equals, ";") && !tokens_.is(equals, "("))
        ++equals;
      if (!tokens_.is(equals, "="))
        continue;
      std::size_t end = equals + 1;
      while (end < tokens_.size() && !tokens_.is(end, ";"))
        ++end;
      if (end == tokens_.size() || end == equals + 1)
        continue;
      if (const auto expression = over_knobs(tokens_.source(equals + 1, end - 1)))
        constants_.emplace(tokens_[equals - 1].text, "(" + expression->text() + ")");
    }
  }

  // The comparison at a token, and the condition that it is a part of.
  void span_around(std::size_t at) {
    const auto reach = [&](bool joins) {
      std::size_t first = at, last = at;
      const auto stops = [&](const Token& token, bool leftwards) {
        if (BOUNDS.contains(token.text) || (joins && (token.text == "&&" || token.text == "||")))
          return true;
        const char* outwards = leftwards ? "(" : ")";
        const char* bracket = leftwards ? "[" : "]";
        return token.text == outwards || token.text == bracket;
      };
      while (first > 0 && !stops(tokens_[first - 1], true)) {
        const Token& token = tokens_[first - 1];
        first = token.text == ")" || token.text == "]" ? token.partner : first - 1;
      }
      while (last + 1 < tokens_.size() && !stops(tokens_[last + 1], false)) {
        const Token& token = tokens_[last + 1];
        last = token.text == "(" || token.text == "[" ? token.partner : last + 1;
      }
      return std::pair(first, last);
    };
    const auto [first, last] = reach(true);
    add(tokens_.source(first, last));
    const auto [whole_first, whole_last] = reach(false);
    joined(whole_first, whole_last);
  }

  // Of `BLOCK == 256 && n > 8 && VEC == 2` what knobs decide: `BLOCK == 256 && VEC == 2`.
  void joined(std::size_t first, std::size_t last) {
    add(tokens_.source(first, last));
    std::string conjunction;
    std::size_t begin = first;
    const auto take = [&](std::size_t end) {
      if (end > begin)
        if (const auto part = over_knobs(tokens_.source(begin, end - 1)))
          conjunction += (conjunction.empty() ? "(" : " && (") + part->text() + ")";
    };
    for (std::size_t i = first; i <= last; ++i) {
      if (tokens_[i].partner > i && tokens_[i].partner <= last) {
        i = tokens_[i].partner;
      } else if (tokens_[i].text == "||") {
        return;
      } else if (tokens_[i].text == "&&") {
        take(i);
        begin = i + 1;
      }
    }
    take(last + 1);
    if (!conjunction.empty())
      add(conjunction);
  }

  // TILE / (BLOCK * VEC): whether that is none, and whether anything is left over.
  void quotient_at(std::size_t at) {
    const auto primary_before = [&](std::size_t i) {
      return tokens_[i].text == ")" ? tokens_[i].partner : i;
    };
    if (at == 0 || at + 1 >= tokens_.size())
      return;
    std::size_t first = primary_before(at - 1);
    while (first >= 2 && tokens_.is(first - 1, "*"))
      first = primary_before(first - 2);
    const std::size_t last = tokens_.is(at + 1, "(") ? tokens_[at + 1].partner : at + 1;
    const std::string dividend = "(" + tokens_.source(first, at - 1) + ")",
                      divisor = "(" + tokens_.source(at + 1, last) + ")";
    add(dividend + " < " + divisor);
    add(dividend + " % " + divisor + " == 0");
  }

  // BLOCK * VEC & 512, ROWS >> 2, BLOCK % 96: whether that is none.
  void remainder_at(std::size_t at) {
    if (at == 0 || at + 1 >= tokens_.size())
      return;
    const auto primary_before = [&](std::size_t i) {
      return tokens_[i].text == ")" ? tokens_[i].partner : i;
    };
    std::size_t first = primary_before(at - 1);
    while (first >= 2 && (tokens_.is(first - 1, "*") || tokens_.is(first - 1, "/")))
      first = primary_before(first - 2);
    const std::size_t last = tokens_.is(at + 1, "(") ? tokens_[at + 1].partner : at + 1;
    const std::string left = "(" + tokens_.source(first, at - 1) + ")",
                      right = "(" + tokens_.source(at + 1, last) + ")";
    if (tokens_.is(at, "&")) { // a bit, or all below one: expressions have no such operator
      add(left + " % (2 * " + right + ") >= " + right);
      add(left + " % (" + right + " + 1) == 0");
    } else {
      add("(" + left + " " + tokens_[at].text + " " + right + ") == 0");
    }
  }

  void find_directives() {
    static const std::regex form(R"((^|\n)[ \t]*#[ \t]*(el)?if[ \t]+([^\n]*))");
    for (std::sregex_iterator at(text_.begin(), text_.end(), form), end; at != end; ++at)
      add((*at)[3].str());
  }

  // The expression with constants put in, when nothing but knobs and types decides it.
  std::optional<Expression> over_knobs(const std::string& source) const {
    auto parsed = Expression::parse(as_expression(source));
    if (!parsed)
      return std::nullopt;
    std::string text = parsed->text();
    bool replaced = false;
    for (const std::string& name : parsed->names())
      if (const auto constant = constants_.find(name); constant != constants_.end() && text.size() < 2000) {
        text = std::regex_replace(text, std::regex("\\b" + name + "\\b"), constant->second);
        replaced = true;
      }
    if (replaced)
      parsed = Expression::parse(text);
    if (!parsed)
      return std::nullopt;
    bool any_knob = false;
    for (const std::string& name : parsed->names()) {
      any_knob |= spec_.find_knob(name) != nullptr;
      if (!spec_.find_knob(name) && !name.starts_with("sizeof_"))
        return std::nullopt;
    }
    return any_knob ? std::optional(*parsed) : std::nullopt;
  }

  void add(const std::string& source) {
    constexpr std::size_t MOST = 96;
    const auto expression = over_knobs(source);
    if (expression && found_.size() < MOST && known_.insert(expression->text()).second)
      found_.push_back(*expression);
  }

  TokenText tokens_;
  const std::string& text_;
  const TuningSpec& spec_;
  std::map<std::string, std::string> constants_;
  std::set<std::string> known_;
  std::vector<Expression> found_;
};

// That the knob is on the other side of its values' median than its default; nothing where it has no numbers.
std::optional<std::string> is_far(const Knob& knob, const Value& usual) {
  std::set<std::int64_t> numbers;
  for (const Value& value : knob.values)
    if (const auto* number = std::get_if<std::int64_t>(&value))
      numbers.insert(*number);
  const auto* usual_number = std::get_if<std::int64_t>(&usual);
  if (numbers.size() < 2 || numbers.size() < knob.values.size() || !usual_number)
    return std::nullopt;
  const std::int64_t median =
      *std::next(numbers.begin(), static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2));
  return knob.name + (*usual_number <= median ? " > " : " <= ") + std::to_string(median);
}

// For each condition over two knobs alone.
std::vector<std::string> far_together(const TuningSpec& spec, const KnobValues& usual) {
  std::vector<std::string> found;
  for (const Condition& condition : spec.conditions) {
    std::vector<std::string> sides;
    for (std::size_t k = 0; k < spec.knobs.size() && k < usual.size(); ++k)
      if (const auto& names = condition.expression.names();
          std::ranges::find(names, spec.knobs[k].name) != names.end())
        sides.push_back(is_far(spec.knobs[k], usual[k]).value_or(""));
    if (sides.size() == 2 && !sides[0].empty() && !sides[1].empty())
      found.push_back("(" + sides[0] + ") && (" + sides[1] + ")");
  }
  return found;
}

std::vector<const Expression*> launch_expressions(const LaunchGeometry& launch) {
  std::vector<const Expression*> all{&launch.shared_bytes};
  for (const auto* axes : {&launch.grid, &launch.block})
    for (const Expression& axis : *axes)
      all.push_back(&axis);
  return all;
}

// The specification's expressions may have words where C++ has signs.
std::string in_signs(std::string text) {
  for (const auto& [word, sign] : {std::pair("and", "&&"), std::pair("or", "||"), std::pair("not", "!")})
    text = std::regex_replace(text, std::regex(std::string("\\b") + word + "\\b"), sign);
  return text;
}

} // namespace

KnobConditions::KnobConditions(const std::string& template_text, const TuningSpec& spec,
                               const KnobValues& usual)
    : conditions_(Finder(template_text, spec).find()) {
  const auto add = [&](const Expression& condition) {
    if (std::ranges::find(conditions_, condition) == conditions_.end())
      conditions_.push_back(condition);
  };
  for (const Expression* expression : launch_expressions(spec.kernel.launch)) {
    const std::string text = in_signs(expression->text());
    std::ranges::for_each(Finder(text, spec).find(), add);
  }
  for (const std::string& text : far_together(spec, usual))
    if (const auto condition = Expression::parse(text))
      add(*condition);
}

std::vector<std::optional<bool>> KnobConditions::values(const Workload& workload,
                                                        const KnobValues& knobs) const {
  const TuningSpec& spec = *workload.spec;
  const Lookup lookup = [&](std::string_view name) -> std::optional<Value> {
    for (std::size_t i = 0; i < spec.knobs.size() && i < knobs.size(); ++i)
      if (spec.knobs[i].name == name)
        return knobs[i];
    return workload.lookup(name);
  };
  std::vector<std::optional<bool>> found;
  for (const Expression& condition : conditions_) {
    const auto holds = condition.evaluate_condition(lookup);
    found.push_back(holds ? std::optional(*holds) : std::nullopt);
  }
  return found;
}

} // namespace lathe::refactor
