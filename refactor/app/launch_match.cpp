#include "refactor/app/launch_match.h"

#include "refactor/app/raw_candidate.h"
#include "refactor/rewrite/edits.h"
#include "tuner/base/text.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace lathe::refactor {
namespace {

using Types = std::map<std::string, std::string>; // type parameter -> dtype
using Names = std::map<std::string, std::int64_t>;

constexpr const char* BY_HAND = "leave it to the raw kernel, or change it by hand";

std::optional<std::int64_t> number(const std::string& text) {
  const auto parsed = Expression::parse(text);
  if (!parsed.ok() || !parsed->names().empty())
    return std::nullopt;
  const auto value =
      parsed->evaluate_integer([](std::string_view) -> std::optional<Value> { return std::nullopt; });
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '&'; });
  return text;
}

// `lib::gelu` and `gelu`, `true` and `1`.
bool same_argument(const std::string& a, const std::string& b) {
  const auto left = number(a), right = number(b);
  if (left && right)
    return *left == *right;
  const std::string one = without_blanks(a), other = without_blanks(b);
  return one == other || one.ends_with("::" + other) || other.ends_with("::" + one);
}

// The specification's argument with its types filled in: "16 / sizeof({T})" is "16 / 2".
std::string bound_argument(std::string text, const Types& types) {
  for (const auto& [name, dtype] : types) {
    const auto replace = [&](const std::string& what, const std::string& by) {
      for (std::size_t at; (at = text.find(what)) != std::string::npos;)
        text.replace(at, what.size(), by);
    };
    replace("sizeof({" + name + "})", std::to_string(dtype_size(dtype)));
    replace("{" + name + "}", dtype_cxx(dtype));
  }
  return text;
}

// The type parameter that "{T}" stands for; empty: the text is something else.
std::string type_parameter(const TuningSpec& spec, const std::string& argument) {
  for (const TypeParameter& type : spec.types)
    if (argument == "{" + type.name + "}")
      return type.name;
  return "";
}

// Two types of one dtype are the same to the header where both are integers: it casts pointers to these.
bool is_type_of(const std::string& type, const std::string& dtype) {
  const bool is_integer = dtype.starts_with('i') || dtype.starts_with('u');
  return dtype_of_type(type) == dtype && (is_integer || type.find("::") == std::string::npos);
}

// A part of the launch as written in the source and in the specification.
struct Compared {
  std::string what, text;
  const Expression* wanted;
};

class Matcher {
public:
  Matcher(const TuningSpec& spec, const spec::InstanceCase& reference, const LaunchSite& site)
      : spec_(spec), reference_(reference), site_(site), instance_(split_instance(reference.instance)) {}

  Result<DimensionNames> match() {
    if (!site_.unreadable.empty())
      return refusal("not all of it can be read: " + site_.unreadable.front());
    LATHE_CHECK(match_instances());
    name_dimensions();
    std::size_t compared = 0;
    for (const Types& types : types_)
      for (const Problem& problem : spec_.problems)
        for (const Names& sizes : sizes_beside(problem.dimensions))
          for (const Names& site_names : names_at_launch(sizes)) {
            LATHE_TRY(const bool reached, compare_at(types, site_names));
            compared += reached;
          }
    if (compared == 0)
      return refusal("it is not reached with any size of the specification");
    return names_;
  }

private:
  Error refusal(const std::string& why) const { return {site_.location, why, BY_HAND}; }

  // Every instance that the launch may be; the types of those are kept.
  Status match_instances() {
    std::vector<std::vector<std::string>> instances;
    for (const std::vector<std::string>& instance : site_.instances)
      if (may_be(instance))
        instances.push_back(instance);
    if (instances.empty())
      return match_written();
    for (const std::vector<std::string>& instance : instances) {
      const auto types = types_of(instance);
      if (!types || instance.size() != instance_.arguments.size())
        return refusal(fmt::format("it launches <{}>, and the header has {}", fmt::join(instance, ", "),
                                   described_instances()));
      types_.insert(*types);
    }
    return Done{};
  }

  // In a template that nobody uses in this file: what is not a type must be as written; another type than
  // the header's does not compile.
  Status match_written() {
    for (std::size_t i = 0; i < instance_.arguments.size(); ++i) {
      const std::string& wanted = instance_.arguments[i];
      const bool is_type = !type_parameter(spec_, wanted).empty();
      if (i >= site_.template_arguments.size()
              ? !is_type
              : !is_type && !same_argument(site_.template_arguments[i], wanted))
        return refusal(fmt::format("nothing in this file says with which template arguments it is used, and "
                                   "the header has {}",
                                   described_instances()));
    }
    types_ = {Types()};
    for (const TypeParameter& type : spec_.types) {
      std::set<Types> extended;
      for (const Types& choice : types_)
        for (const std::string& dtype : type.dtypes) {
          Types more = choice;
          more[type.name] = dtype;
          extended.insert(more);
        }
      types_ = extended;
    }
    return Done{};
  }

  // Whether an instance of the kernel agrees with what is written at the launch.
  bool may_be(const std::vector<std::string>& instance) const {
    for (std::size_t i = 0; i < instance.size() && i < site_.template_arguments.size(); ++i) {
      const std::string& written = site_.template_arguments[i];
      const std::string dtype = dtype_of_type(written);
      if (!dtype.empty() && !dtype_of_type(instance[i]).empty() && dtype_of_type(instance[i]) != dtype)
        return false;
      if (number(written) && number(instance[i]) && *number(written) != *number(instance[i]))
        return false;
    }
    return true;
  }

  // The choice of types that makes the instance; nothing where none does.
  std::optional<Types> types_of(const std::vector<std::string>& instance) const {
    Types types;
    for (std::size_t i = 0; i < instance.size() && i < instance_.arguments.size(); ++i)
      for (const TypeParameter& type : spec_.types)
        if (type.name == type_parameter(spec_, instance_.arguments[i]))
          for (const std::string& dtype : type.dtypes)
            if (is_type_of(instance[i], dtype))
              types[type.name] = dtype;
    if (types.size() != spec_.types.size())
      return std::nullopt;
    for (std::size_t i = 0; i < instance.size() && i < instance_.arguments.size(); ++i)
      if (type_parameter(spec_, instance_.arguments[i]).empty() &&
          !same_argument(instance[i], bound_argument(instance_.arguments[i], types)) &&
          (dtype_of_type(instance[i]).empty() ||
           dtype_of_type(instance[i]) != dtype_of_type(instance_.arguments[i])))
        return std::nullopt;
    return types;
  }

  std::string described_instances() const {
    std::string text = "<" + fmt::format("{}", fmt::join(instance_.arguments, ", ")) + ">";
    for (const TypeParameter& type : spec_.types)
      text += fmt::format("{} {} of {}", &type == &spec_.types.front() ? " with" : " and", type.name,
                          fmt::join(type.dtypes, ", "));
    return text;
  }

  // What is passed where the specification has the dimension alone, a plain name rather than an expression;
  // else the dimension's own name.
  void name_dimensions() {
    for (const std::string& dimension : spec_.dimensions) {
      std::vector<std::string> passed;
      for (const Argument& argument : spec_.arguments)
        if (const auto given = site_.arguments.find(argument.name);
            !argument.is_buffer && argument.value.text() == dimension && given != site_.arguments.end())
          passed.push_back(given->second);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (spec_.reference.launch.grid[axis].text() == dimension)
          passed.push_back(site_.grid[axis]);
        if (spec_.reference.launch.block[axis].text() == dimension)
          passed.push_back(site_.block[axis]);
      }
      std::string& name = names_[dimension];
      for (const std::string& text : passed)
        if (const auto parsed = Expression::parse(text); parsed.ok() && !parsed->names().empty())
          if (name.empty() || parsed->names().front() == text)
            name = text;
      if (name.empty())
        name = dimension;
    }
  }

  // The problem's own sizes, and others that tell apart what is equal at round ones.
  static std::vector<Names> sizes_beside(const Names& sizes) {
    std::vector<Names> all{sizes};
    for (const auto& [name, value] : sizes)
      for (const std::int64_t other : {value + 1, 2 * value, 3 * value + 8})
        (all.emplace_back(sizes))[name] = other;
    return all;
  }

  // What the launch's expressions mention, once for each instance of a launcher that is a template. A name
  // that is a dimension has its size; where it only helps to make one up, any number does.
  std::vector<Names> names_at_launch(const Names& sizes) const {
    Names named;
    for (const bool is_whole : {true, false})
      for (const auto& [dimension, text] : names_)
        if (const auto parsed = Expression::parse(text); parsed.ok())
          for (const std::string& name : parsed->names())
            if (const auto size = sizes.find(dimension); size != sizes.end() && is_whole == (name == text))
              named.try_emplace(name, size->second);
    std::size_t instances = 1;
    for (const auto& [name, values] : site_.launcher_arguments)
      instances = std::max(instances, values.size());
    std::vector<Names> all(instances, named);
    for (const auto& [name, values] : site_.launcher_arguments)
      for (std::size_t i = 0; i < instances && !values.empty(); ++i)
        if (const auto value = number(values[std::min(i, values.size() - 1)]))
          all[i][name] = *value;
    return all;
  }

  // The problem that a launch with these names is.
  Names problem_at(const Lookup& here) const {
    Names sizes;
    for (const auto& [dimension, text] : names_)
      if (const auto parsed = Expression::parse(text); parsed.ok())
        if (const auto size = parsed->evaluate_integer(here); size.ok())
          sizes[dimension] = *size;
    return sizes;
  }

  Lookup lookup(const Types& types, const Names& names) const {
    return [this, &types, &names](std::string_view name) -> std::optional<Value> {
      if (const auto size = names.find(std::string(name)); size != names.end())
        return Value{size->second};
      if (const auto limit = limits_.find(std::string(name)); limit != limits_.end())
        return limit->second;
      constexpr std::string_view prefix = "sizeof_";
      if (!name.starts_with(prefix))
        return std::nullopt;
      const std::string type(name.substr(prefix.size()));
      for (const auto& [parameter, dtype] : types)
        if (parameter == type)
          return Value{std::int64_t{dtype_size(dtype)}};
      // The launcher's own name of the type.
      for (std::size_t i = 0; i < site_.template_arguments.size() && i < instance_.arguments.size(); ++i)
        if (site_.template_arguments[i] == type)
          if (const auto bound = types.find(type_parameter(spec_, instance_.arguments[i]));
              bound != types.end())
            return Value{std::int64_t{dtype_size(bound->second)}};
      if (types.size() == 1)
        return Value{std::int64_t{dtype_size(types.begin()->second)}};
      return std::nullopt;
    };
  }

  // False: the launch is not reached with these sizes, or the specification has no launch there.
  Result<bool> compare_at(const Types& types, const Names& site_names) const {
    const Lookup here = lookup(types, site_names);
    const Names sizes = problem_at(here);
    const Lookup outside = lookup(types, sizes);
    const Lookup in_header = [&](std::string_view name) -> std::optional<Value> {
      const Knob* knob = spec_.find_knob(name);
      if (!knob)
        return outside(name);
      const auto usual = knob->default_value.evaluate(outside);
      return usual.ok() ? std::optional(*usual) : std::nullopt;
    };
    for (const std::string& text : site_.conditions) {
      const auto condition = Expression::parse(text);
      const auto holds = condition.ok() ? condition->evaluate_condition(here) : Result<bool>(Error{});
      if (holds.ok() && !*holds)
        return false;
    }
    if (reference_.when) {
      const auto is_meant = reference_.when->evaluate_condition(in_header);
      if (!is_meant.ok() || !*is_meant)
        return refusal("it is reached where the header launches another kernel, at " + listed(sizes));
    }
    std::vector<Compared> compared;
    const LaunchGeometry& reference = spec_.reference.launch;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string suffix = std::string(".") + "xyz"[axis];
      compared.push_back({"grid" + suffix, site_.grid[axis], &reference.grid[axis]});
      compared.push_back({"block" + suffix, site_.block[axis], &reference.block[axis]});
    }
    compared.push_back({"shared memory", site_.shared_bytes, &reference.shared_bytes});
    for (const Argument& argument : spec_.arguments) {
      const bool is_integer = argument.dtype.starts_with('i') || argument.dtype.starts_with('u');
      if (argument.is_buffer || !is_integer)
        continue;
      const auto passed = site_.arguments.find(argument.name);
      if (passed != site_.arguments.end() && !passed->second.empty())
        compared.push_back({argument.name, passed->second, &argument.value});
      else if (argument.value.text() != argument.name) // else it is a dimension of its own
        return refusal("what it passes for " + argument.name + " cannot be read, and the header takes " +
                       argument.value.text() + " for granted");
    }
    for (const Compared& one : compared) {
      const auto expected = one.wanted->evaluate_integer(in_header);
      if (!expected.ok())
        return false;
      const auto parsed = Expression::parse(one.text);
      const auto found = parsed.ok() ? parsed->evaluate_integer(here) : Result<std::int64_t>(parsed.error());
      if (found.ok() && *found == *expected)
        continue;
      return refusal(found.ok() ? fmt::format("{} is {} here and {} in the header, at {}", one.what, *found,
                                              *expected, listed(sizes))
                                : fmt::format("{} is {} here and {} in the header", one.what, one.text,
                                              one.wanted->text()));
    }
    return true;
  }

  static std::string listed(const Names& sizes) {
    std::string text;
    for (const auto& [name, value] : sizes)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
    return text;
  }

  const TuningSpec& spec_;
  const spec::InstanceCase& reference_;
  const LaunchSite& site_;
  const InstanceName instance_;
  const std::map<std::string, Value> limits_ = DeviceInfo().limits();
  std::set<Types> types_; // that the launch uses
  DimensionNames names_;
};

} // namespace

Result<DimensionNames> match_launch(const TuningSpec& spec, const spec::InstanceCase& reference,
                                    const LaunchSite& site) {
  return Matcher(spec, reference, site).match();
}

} // namespace lathe::refactor
