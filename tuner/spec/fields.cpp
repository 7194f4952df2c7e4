#include "tuner/spec/fields.h"

#include "tuner/spec/names.h"

#include <limits>

namespace lathe::spec {
namespace {

using nlohmann::json;

std::optional<double> as_number(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value))
    return *real;
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value))
    return *flag ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return *integer;
  return std::nullopt;
}

} // namespace

Result<Value> value_at(const Document& document, const Path& path) {
  const json& value = *document.find(path);
  if (value.is_boolean())
    return Value{value.get<bool>()};
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return document.error(path, "the integer does not fit 64 bits", "use a smaller one");
  if (value.is_number_integer())
    return Value{value.get<std::int64_t>()};
  if (value.is_number())
    return Value{value.get<double>()};
  return Value{value.get<std::string>()};
}

Result<Expression> parse_at(const Document& document, const Path& path, std::string_view text,
                            Dialect dialect) {
  Result<Expression> expression = Expression::parse(text, dialect);
  if (!expression.ok()) {
    const Error& error = expression.error();
    return document.error(path, error.what + (error.why.empty() ? "" : ": " + error.why),
                          error.remedy.empty() ? "correct the expression" : error.remedy);
  }
  return expression;
}

Result<Expression> expression_at(const Document& document, const Path& path, Dialect dialect) {
  const json& value = *document.find(path);
  if (value.is_string())
    return parse_at(document, path, value.get_ref<const std::string&>(), dialect);
  if (value.is_object()) {
    const bool python = text_at(document, path / "Dialect") == "python";
    return parse_at(document, path / "Expression", text_at(document, path / "Expression"),
                    python ? Dialect::python : Dialect::lathe);
  }
  LATHE_TRY(Value constant, value_at(document, path));
  return Expression(std::move(constant));
}

std::string text_at(const Document& document, const Path& path, std::string otherwise) {
  const json* value = document.find(path);
  return value && value->is_string() ? value->get<std::string>() : std::move(otherwise);
}

std::vector<std::string> texts_at(const Document& document, const Path& path) {
  std::vector<std::string> texts;
  if (const json* list = document.find(path))
    for (const json& text : *list)
      texts.push_back(text.get<std::string>());
  return texts;
}

bool same_value(const Value& a, const Value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y)
    return *x == *y;
  if (const auto x = as_number(a), y = as_number(b); x && y)
    return *x == *y;
  return a == b;
}

const Value* find_value(const std::vector<Value>& values, const Value& value) {
  for (const Value& candidate : values)
    if (same_value(candidate, value))
      return &candidate;
  return nullptr;
}

std::string dimensions_label(const std::vector<std::string>& names,
                             const std::map<std::string, std::int64_t>& dimensions) {
  std::string label;
  for (const std::string& name : names)
    if (const auto size = dimensions.find(name); size != dimensions.end())
      label += (label.empty() ? "" : " ") + name + "=" + std::to_string(size->second);
  return label;
}

std::map<std::string, Value> problem_environment(const TuningSpec& spec,
                                                 const std::map<std::string, std::int64_t>& dimensions,
                                                 const std::map<std::string, std::string>& types,
                                                 const std::map<std::string, Value>& device_limits) {
  std::map<std::string, Value> environment = device_limits;
  for (const auto& [name, size] : dimensions)
    environment[name] = size;
  for (const TypeParameter& type : spec.types)
    if (const auto dtype = types.find(type.name); dtype != types.end())
      environment["sizeof_" + type.name] = std::int64_t{dtype_size(dtype->second)};
  return environment;
}

std::vector<std::string> placeholders(std::string_view instance) {
  std::vector<std::string> names;
  for (std::size_t open = instance.find('{'); open != std::string_view::npos;
       open = instance.find('{', open + 1)) {
    const std::size_t close = instance.find('}', open);
    if (close == std::string_view::npos)
      break;
    if (const std::string_view name = instance.substr(open + 1, close - open - 1); is_identifier(name))
      names.emplace_back(name);
  }
  return names;
}

} // namespace lathe::spec
