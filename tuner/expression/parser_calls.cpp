// Names, calls of functions, and lambdas.
#include "tuner/expression/parser.h"
#include "tuner/expression/trees.h"

#include <algorithm>
#include <array>

namespace lathe::expression {
namespace {

struct FunctionEntry {
  std::string_view name;
  Function function;
  std::size_t fewest, most;
};

constexpr std::size_t any_count = 1000;
constexpr std::array<FunctionEntry, 12> functions = {{{"min", Function::minimum, 1, any_count},
                                                      {"max", Function::maximum, 1, any_count},
                                                      {"abs", Function::absolute, 1, 1},
                                                      {"ceil_div", Function::ceil_div, 2, 2},
                                                      {"gcd", Function::gcd, 2, 2},
                                                      {"log2", Function::log2, 1, 1},
                                                      {"floor_log2", Function::floor_log2, 1, 1},
                                                      {"is_pow2", Function::is_pow2, 1, 1},
                                                      {"int", Function::to_integer, 1, 1},
                                                      {"float", Function::to_real, 1, 1},
                                                      {"floor", Function::floor, 1, 1},
                                                      {"ceil", Function::ceil, 1, 1}}};

// Python's own, some of which mean something else in Lathe's dialect.
constexpr std::array<FunctionEntry, 10> python_functions = {{{"sqrt", Function::square_root, 1, 1},
                                                             {"log", Function::logarithm, 1, 2},
                                                             {"log2", Function::log2_real, 1, 1},
                                                             {"log10", Function::log10, 1, 1},
                                                             {"exp", Function::exponential, 1, 1},
                                                             {"round", Function::round, 1, 1},
                                                             {"lcm", Function::lcm, 2, 2},
                                                             {"isqrt", Function::integer_root, 1, 1},
                                                             {"trunc", Function::to_integer, 1, 1},
                                                             {"fabs", Function::absolute, 1, 1}}};

template <std::size_t Count>
const FunctionEntry* find_in(const std::array<FunctionEntry, Count>& entries, std::string_view name) {
  const auto* entry = std::find_if(entries.begin(), entries.end(),
                                   [&](const FunctionEntry& candidate) { return candidate.name == name; });
  return entry == entries.end() ? nullptr : entry;
}

const FunctionEntry* find_function(std::string_view name, Dialect dialect) {
  name = without_module(name);
  const FunctionEntry* entry = dialect == Dialect::python ? find_in(python_functions, name) : nullptr;
  return entry != nullptr ? entry : find_in(functions, name);
}

std::string known_functions(Dialect dialect) {
  std::string known;
  const auto add = [&](std::string_view name) { known += (known.empty() ? "" : ", ") + std::string(name); };
  for (const FunctionEntry& entry : functions)
    add(entry.name);
  if (dialect == Dialect::python)
    for (const FunctionEntry& entry : python_functions)
      if (find_in(functions, entry.name) == nullptr)
        add(entry.name);
  for (const std::string_view name : {"pow", "bool", "sum", "any", "all", "len", "prod"})
    add(name);
  return known;
}

} // namespace

std::string_view without_module(std::string_view function) {
  for (const std::string_view module : {"math.", "np.", "numpy."})
    if (function.starts_with(module))
      return function.substr(module.size());
  return function;
}

// "lambda bx, by: bx * by <= 1024": the parameters are names. "lambda p: p['bx'] <= 32": the only one may be
// what holds the names.
Result<ExpressionNode> Parser::lambda() {
  advance();
  std::size_t count = 0;
  while (!at_symbol(":")) {
    const std::string_view parameter = token().text;
    if (token().kind != TokenKind::name || parameter.find('.') != std::string_view::npos ||
        is_keyword(parameter))
      return expected("a parameter of the lambda");
    advance();
    record_ = ++count == 1 ? parameter : std::string_view();
    if (accept_symbol("=")) { // its default: the name of something that is no parameter of the space
      LATHE_TRY(bindings_[std::string(parameter)], expression());
    }
    if (!accept_symbol(",") && !at_symbol(":"))
      return expected("a comma or : after a parameter of the lambda");
  }
  advance();
  return expression();
}

Result<ExpressionNode> Parser::name() {
  const std::string_view word = token().text;
  if (is_keyword(word))
    return expected("a value");
  if (word == "true" || word == "True" || word == "false" || word == "False") {
    advance();
    return constant(word == "true" || word == "True");
  }
  if (dialect_ == Dialect::python && word == "None")
    return error("None can stand only on the right of is, ==, != and in a list");
  if (const std::optional<std::string_view> function = aggregate_here())
    return aggregate(*function);
  if (is_symbol_at(position_ + 1, "("))
    return call(word);
  if (dialect_ == Dialect::python && is_symbol_at(position_ + 1, "["))
    return subscript(word);
  advance();
  if (const auto variable = bindings_.find(word); variable != bindings_.end())
    return bound(variable->second);
  const bool is_member =
      !record_.empty() && word.starts_with(record_) && word.substr(record_.size()).starts_with(".");
  return named(is_member ? word.substr(record_.size() + 1) : word);
}

// "p['bx']" is the name bx; "pair[0]" a member of what a comprehension's variable stands for.
Result<ExpressionNode> Parser::subscript(std::string_view word) {
  advance();
  advance();
  const auto variable = bindings_.find(word);
  const bool is_list = variable != bindings_.end() && variable->second.operation == Operation::list;
  if (is_list && token().kind == TokenKind::integer && token().integer < variable->second.children.size()) {
    const std::size_t index = token().integer;
    advance();
    LATHE_CHECK(expect_symbol("]", "after the index"));
    return bound(variable->second.children[index]);
  }
  if (token().kind != TokenKind::string || is_list)
    return error(quoted(word) +
                 " holds nothing of that kind; in brackets stands the name of a parameter, in quotes");
  const std::string name = token().string;
  advance();
  LATHE_CHECK(expect_symbol("]", "after the name"));
  return named(name);
}

Result<ExpressionNode> Parser::named(std::string_view word) {
  ExpressionNode node;
  node.operation = Operation::name;
  const auto known = std::find(names_.begin(), names_.end(), word);
  node.slot = static_cast<std::size_t>(known - names_.begin());
  if (known == names_.end())
    names_.emplace_back(word);
  return node;
}

Result<ExpressionNode> Parser::call(std::string_view word) {
  const std::string_view name = without_module(word);
  const bool is_power = name == "pow", is_truth = name == "bool";
  const FunctionEntry* function = find_function(word, dialect_);
  if (function == nullptr && !is_power && !is_truth)
    return error("there is no function " + quoted(word) + " (there are " + known_functions(dialect_) + ")");
  advance();
  advance();
  std::vector<ExpressionNode> arguments;
  while (!at_symbol(")")) {
    LATHE_TRY(ExpressionNode argument, expression());
    arguments.push_back(std::move(argument));
    if (!accept_symbol(",") && !at_symbol(")"))
      return expected("a comma or ) in the arguments of " + std::string(word));
  }
  const std::size_t fewest = function != nullptr ? function->fewest : is_power ? 2 : 1;
  const std::size_t most = function != nullptr ? function->most : fewest;
  if (arguments.size() < fewest || arguments.size() > most)
    return error(std::string(word) + " takes " + std::to_string(fewest) +
                 (most == any_count ? " or more"
                  : most > fewest   ? " to " + std::to_string(most)
                                    : "") +
                 " arguments, not " + std::to_string(arguments.size()));
  advance();
  if (is_power)
    return make(Operation::power, std::move(arguments));
  if (is_truth) {
    LATHE_TRY(ExpressionNode inverse, make(Operation::logical_not, std::move(arguments)));
    return make(Operation::logical_not, nodes(std::move(inverse)));
  }
  LATHE_TRY(ExpressionNode node, make(Operation::call, std::move(arguments)));
  node.function = function->function;
  return node;
}

} // namespace lathe::expression
