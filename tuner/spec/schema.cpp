#include "tuner/spec/schema.h"

#include "tuner/base/files.h"
#include "tuner/spec/names.h"

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <memory>

namespace lathe::spec {
namespace {

using nlohmann::json;

struct LoadedSchema {
  json text;
  valijson::Schema compiled;
};

Result<std::shared_ptr<const LoadedSchema>> load_schema() {
  LATHE_TRY(const auto path, shipped_file("spec/tuning_spec.schema.json"));
  LATHE_TRY(const std::string text, read_file(path));
  auto schema = std::make_shared<LoadedSchema>();
  try {
    schema->text = json::parse(text);
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema->text), schema->compiled);
  } catch (const std::exception& error) {
    return Error{"cannot use Lathe's own file " + path.string(), error.what(), "install Lathe again"};
  }
  return std::shared_ptr<const LoadedSchema>(std::move(schema));
}

const Result<std::shared_ptr<const LoadedSchema>>& shared_schema() {
  static const auto schema = load_schema();
  return schema;
}

const json& follow(const json& root, const json& schema) {
  const json* current = &schema;
  while (current->is_object() && current->contains("$ref"))
    current = &root.at(json::json_pointer((*current)["$ref"].get<std::string>().substr(1)));
  return *current;
}

// The part of the schema that governs the value at `path`, or null.
const json* governing_schema(const json& root, const Path& path, const Document& document) {
  const json* schema = &root;
  Path prefix;
  for (const std::string& key : path) {
    const json* parent = document.find(prefix);
    const bool element = parent && parent->is_array();
    const json* next = nullptr;
    if (element && schema->contains("items"))
      next = &(*schema)["items"];
    else if (!element && schema->contains("properties") && (*schema)["properties"].contains(key))
      next = &(*schema)["properties"][key];
    else if (!element && schema->contains("additionalProperties") &&
             (*schema)["additionalProperties"].is_object())
      next = &(*schema)["additionalProperties"];
    if (!next)
      return nullptr;
    schema = &follow(root, *next);
    prefix.push_back(key);
  }
  return schema;
}

std::string wanted(const json* schema) {
  return schema && schema->contains("description") ? (*schema)["description"].get<std::string>() : "";
}

std::string article(const std::string& noun) {
  std::string text = std::string_view("aeio").find(noun[0]) != std::string_view::npos ? "an " : "a ";
  return text += noun;
}

std::string kind_of(const json& value) {
  if (value.is_null())
    return "null";
  return article(value.is_number_integer() ? "integer" : value.type_name());
}

std::vector<std::string> property_names(const json& schema) {
  std::vector<std::string> names;
  if (schema.contains("properties"))
    for (const auto& [name, ignored] : schema["properties"].items())
      names.push_back(name);
  return names;
}

// valijson says that a rule is broken; the schema at that place says which and what to write instead.
Error explain(const Document& document, const json& root, const Path& path, const std::string& description) {
  const json* schema = governing_schema(root, path, document);
  const json* value = document.find(path);
  const std::string hint = wanted(schema);
  if (!schema || !value)
    return document.error(path, "breaks the schema (" + description + ")", "correct it");
  if (description.find("'type'") != std::string::npos)
    return document.error(path, "is " + kind_of(*value), "write " + hint);
  if (description.find("enum") != std::string::npos) {
    std::vector<std::string> known;
    for (const json& choice : (*schema)["enum"])
      known.push_back(choice.get<std::string>());
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    return document.error(path, "'" + text + "' is not known here (" + hint + ")", suggestion(text, known));
  }
  if (schema->contains("required"))
    for (const json& name : (*schema)["required"])
      if (value->is_object() && !value->contains(name.get<std::string>())) {
        const json* field = governing_schema(root, path / name.get<std::string>(), document);
        return document.error(path, "has no " + name.get<std::string>(), "add " + wanted(field));
      }
  if (value->is_object() && schema->contains("additionalProperties") &&
      (*schema)["additionalProperties"] == false)
    for (const auto& [name, ignored] : value->items())
      if (!(*schema)["properties"].contains(name))
        return document.error(path / name, "is not a field that is known there",
                              suggestion(name, property_names(*schema)));
  if ((value->is_array() || value->is_string()) && value->empty())
    return document.error(path, "is empty", "write " + hint);
  if (value->is_string() && value->get_ref<const std::string&>().empty())
    return document.error(path, "is empty", "write " + hint);
  if (value->is_array())
    return document.error(path, "has " + std::to_string(value->size()) + " elements", "write " + hint);
  return document.error(path, "is " + value->dump(), "write " + hint);
}

// valijson's context: "<root>", "[Lathe]", "[Knobs]", ...
Path path_of(const std::vector<std::string>& context) {
  Path path;
  for (std::size_t i = 1; i < context.size(); ++i)
    path.push_back(context[i].substr(1, context[i].size() - 2));
  return path;
}

} // namespace

Status check_schema(const Document& document) {
  const auto& schema = shared_schema();
  if (!schema.ok())
    return schema.error();
  try {
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate((*schema)->compiled, valijson::adapters::NlohmannJsonAdapter(document.root()),
                           &results))
      return Done{};
    // A fault deep inside is reported again by every enclosing value: the deepest is the cause.
    const valijson::ValidationResults::Error* cause = nullptr;
    for (const auto& error : results)
      if (!cause || error.context.size() > cause->context.size())
        cause = &error;
    if (!cause)
      return document.error({}, "breaks the schema", "compare it with docs/specification.md");
    return explain(document, (*schema)->text, path_of(cause->context), cause->description);
  } catch (const std::exception& error) {
    return document.error({}, std::string("cannot be validated (") + error.what() + ")", "");
  }
}

} // namespace lathe::spec
