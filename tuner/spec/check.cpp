#include "tuner/device/device.h"
#include "tuner/expression/expression_tree.h"
#include "tuner/spec/fields.h"
#include "tuner/spec/instance.h"
#include "tuner/spec/names.h"
#include "tuner/spec/text_sizes.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace lathe::spec {
namespace {

// The names of a device's limits, which are the same for every device.
const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, ignored] : DeviceInfo().limits())
      list.push_back(name);
    return list;
  }();
  return names;
}

bool divides_by_zero(const ExpressionNode& node) {
  switch (node.operation) {
  case Operation::divide_truncate:
  case Operation::divide_real:
  case Operation::divide_floor:
  case Operation::modulo_truncate:
  case Operation::modulo_floor:
    if (node.children[1].operation == Operation::constant &&
        same_value(node.children[1].value, Value{std::int64_t{0}}))
      return true;
    break;
  default:
    break;
  }
  return std::any_of(node.children.begin(), node.children.end(), divides_by_zero);
}

class Checker {
public:
  explicit Checker(Reading& reading) : reading_(reading), spec_(reading.spec) {}

  Status check() {
    LATHE_CHECK(read_choices());
    LATHE_CHECK(check_unique_names());
    LATHE_CHECK(check_arguments());
    LATHE_CHECK(check_problems());
    LATHE_CHECK(check_text_sizes(reading_));
    LATHE_CHECK(check_size_knobs());
    collect();
    for (const Entry& entry : entries_)
      LATHE_CHECK(check_expression(entry));
    LATHE_CHECK(check_instance(spec_.kernel.instance, "instance", true));
    LATHE_CHECK(check_instance(spec_.reference.instance, "reference instance", false));
    for (const Problem& problem : spec_.problems)
      for (const auto& types : type_choices(spec_.types))
        LATHE_CHECK(check_evaluations(problem, types));
    warn_of_idle_knobs();
    return Done{};
  }

private:
  enum class Role { condition, choice, launched, extent, bytes, count, any, knob_default };
  enum class Over { no_knob, flags, knobs }; // the raw side's choice between kernels is a flag's
  struct Entry {
    std::string key; // into the origins
    const Expression* expression;
    Role role;
    Over over_knobs = Over::no_knob;
    bool over_device = false;
    std::size_t index = 0; // of the argument or knob
  };

  // A fault that makes a specification useless, but leaves a plain T1 file's space good for a search.
  Status fault(const Path& path, std::string why, std::string remedy) {
    if (reading_.has_lathe)
      return reading_.error(path, std::move(why), std::move(remedy));
    reading_.warn(path, std::move(why), std::move(remedy));
    return Done{};
  }

  Path origin(const std::string& key) const {
    const auto found = reading_.origins.find(key);
    return found == reading_.origins.end() ? Path{} : found->second;
  }

  // Between which of several raw kernels the reference's instance chooses, and by what.
  Status read_choices() {
    const auto cases = instance_cases(spec_.reference.instance);
    if (!cases.ok())
      return reading_.error(origin("reference instance"), cases.error().what + ": " + cases.error().why,
                            cases.error().remedy);
    for (const InstanceCase& one : *cases)
      if (one.when)
        choices_.push_back(*one.when);
    return Done{};
  }

  Status check_unique_names() {
    std::map<std::string, std::string> kinds;
    for (const Knob& knob : spec_.knobs)
      kinds[knob.name] = "a knob";
    const auto add = [&](const std::string& name, const std::string& kind) -> Status {
      const Path path = origin(kind + " " + name);
      if (reading_.has_lathe && !is_identifier(name))
        return reading_.error(path, "'" + name + "' is no identifier",
                              "use letters, digits and underscores, and start with a letter");
      if (const auto [entry, added] = kinds.emplace(name, "a " + kind); !added)
        return reading_.error(path, name + " is already the name of " + entry->second,
                              "rename one of the two");
      return Done{};
    };
    for (const std::string& dimension : spec_.dimensions)
      LATHE_CHECK(add(dimension, "dimension"));
    for (const TypeParameter& type : spec_.types)
      LATHE_CHECK(add(type.name, "type"));
    return Done{};
  }

  Status check_arguments() {
    std::vector<std::string> dtypes = dtype_names();
    for (const TypeParameter& type : spec_.types)
      dtypes.push_back(type.name);
    std::set<std::string> names;
    for (std::size_t i = 0; i < spec_.arguments.size(); ++i) {
      const Argument& argument = spec_.arguments[i];
      const std::string key = "argument " + std::to_string(i);
      if (!names.insert(argument.name).second)
        LATHE_CHECK(
            fault(origin(key), "the argument " + argument.name + " is there twice", "rename one of the two"));
      if (reading_.has_lathe && !is_identifier(argument.name))
        return reading_.error(origin(key), "'" + argument.name + "' is no identifier",
                              "use the parameter's name in the kernel");
      if (std::find(dtypes.begin(), dtypes.end(), argument.dtype) == dtypes.end())
        return reading_.error(origin(key + " dtype"),
                              "'" + argument.dtype + "' is no dtype and no type parameter",
                              suggestion(argument.dtype, dtypes));
    }
    return Done{};
  }

  Status check_problems() {
    std::set<std::map<std::string, std::int64_t>> seen;
    for (std::size_t i = 0; i < spec_.problems.size(); ++i) {
      const Path path = origin("problem " + std::to_string(i));
      for (const auto& [name, size] : spec_.problems[i].dimensions)
        if (std::find(spec_.dimensions.begin(), spec_.dimensions.end(), name) == spec_.dimensions.end())
          return reading_.error(path / name, "there is no such dimension in Lathe.Dimensions",
                                suggestion(name, spec_.dimensions));
      for (const std::string& name : spec_.dimensions)
        if (!spec_.problems[i].dimensions.contains(name))
          return reading_.error(path, "has no " + name, "give every dimension an integer");
      if (!seen.insert(spec_.problems[i].dimensions).second)
        return reading_.error(path, "the problem " + spec_.problems[i].label + " is there twice",
                              "remove one of the two");
    }
    if (spec_.problems.empty())
      reading_.warn({"Lathe"}, "there is no problem to tune on", "add Problems");
    return Done{};
  }

  // A size is fixed or it is not.
  Status check_size_knobs() {
    for (const Knob& knob : spec_.knobs) {
      if (!knob.size)
        continue;
      const auto is = [](const Value& value, std::int64_t number) {
        return same_value(value, Value{number});
      };
      if (knob.values.size() != 2 || !is(knob.values[0], 0) || !is(knob.values[1], 1))
        return reading_.error(origin("size " + knob.name), "the knob has other values than 0 and 1",
                              "give it the values [0, 1]: where it is 1 its template argument is the size");
      if (knob.is_macro)
        return reading_.error(origin("size " + knob.name), "the knob reaches the compiler as a macro",
                              "make it a template parameter");
    }
    return Done{};
  }

  void collect_launch(const LaunchGeometry& launch, const std::string& key, Over over_knobs) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::string number = " " + std::to_string(axis);
      entries_.push_back({key + " grid" + number, &launch.grid[axis], Role::extent, over_knobs, true});
      entries_.push_back({key + " block" + number, &launch.block[axis], Role::extent, over_knobs, true});
    }
    entries_.push_back({key + " shared", &launch.shared_bytes, Role::bytes, over_knobs, true});
  }

  // Only what the file says: parts that are left out have values that need no check.
  void collect() {
    for (std::size_t i = 0; i < spec_.knobs.size(); ++i)
      entries_.push_back({"default " + spec_.knobs[i].name, &spec_.knobs[i].default_value, Role::knob_default,
                          Over::no_knob, true, i});
    for (const Knob& knob : spec_.knobs)
      if (knob.size)
        entries_.push_back({"size " + knob.name, &*knob.size, Role::bytes});
    for (std::size_t i = 0; i < spec_.conditions.size(); ++i)
      entries_.push_back({"condition " + std::to_string(i), &spec_.conditions[i].expression, Role::condition,
                          Over::knobs, true});
    collect_launch(spec_.kernel.launch, "kernel", Over::knobs);
    if (!spec_.reference.file.empty())
      collect_launch(spec_.reference.launch, "reference", choices_.empty() ? Over::no_knob : Over::flags);
    for (std::size_t i = 0; i < spec_.launched_where.size(); ++i)
      entries_.push_back(
          {"launched where " + std::to_string(i), &spec_.launched_where[i], Role::launched, Over::no_knob});
    for (const Expression& choice : choices_)
      entries_.push_back({"reference instance", &choice, Role::choice, Over::flags, true});
    for (std::size_t i = 0; i < spec_.arguments.size(); ++i) {
      const std::string key = "argument " + std::to_string(i);
      const Argument& argument = spec_.arguments[i];
      if (!argument.is_buffer) {
        entries_.push_back({key + " value", &argument.value, Role::any, Over::no_knob, false, i});
        continue;
      }
      entries_.push_back({key + " count", &argument.count, Role::count, Over::no_knob, false, i});
      entries_.push_back({key + " low", &argument.fill.integer_low, Role::any});
      entries_.push_back({key + " high", &argument.fill.integer_high, Role::any});
    }
    entries_.push_back({"cost Bytes", &spec_.cost.bytes, Role::bytes});
    entries_.push_back({"cost Operations", &spec_.cost.operations, Role::bytes});
    std::erase_if(entries_, [&](const Entry& entry) { return !reading_.origins.contains(entry.key); });
  }

  std::vector<std::string> scope(const Entry& entry) const {
    std::vector<std::string> names = spec_.dimensions;
    for (const TypeParameter& type : spec_.types)
      names.push_back("sizeof_" + type.name);
    for (const Knob& knob : spec_.knobs)
      if (entry.over_knobs == Over::knobs || (entry.over_knobs == Over::flags && knob.kind == KnobKind::flag))
        names.push_back(knob.name);
    return names;
  }

  Status check_expression(const Entry& entry) {
    const Path path = origin(entry.key);
    const std::vector<std::string> known = scope(entry);
    for (const std::string& name : entry.expression->names()) {
      const auto& candidates = entry.over_device && name.starts_with("device.") ? device_names() : known;
      if (std::find(candidates.begin(), candidates.end(), name) != candidates.end())
        continue;
      const bool misplaced = spec_.find_knob(name) != nullptr;
      const std::string why =
          misplaced ? "the knob " + name + " has no value there" : "the name " + name + " is unknown";
      const std::string remedy =
          misplaced ? "use dimensions and sizeof_<type> only" : suggestion(name, candidates);
      if (entry.role == Role::condition)
        return reading_.error(path, why, remedy);
      LATHE_CHECK(fault(path, why, remedy));
    }
    if (divides_by_zero(entry.expression->root()))
      return reading_.error(path, "\"" + entry.expression->text() + "\" divides by zero",
                            "correct the expression");
    return Done{};
  }

  Status check_instance(const std::string& instance, const std::string& key, bool over_knobs) {
    std::vector<std::string> known = spec_.dimensions;
    for (const TypeParameter& type : spec_.types)
      known.push_back(type.name);
    if (over_knobs)
      std::ranges::copy(spec_.knob_names(), std::back_inserter(known));
    for (const std::string& name : placeholders(instance))
      if (std::find(known.begin(), known.end(), name) == known.end())
        return reading_.error(origin(key), "the name {" + name + "} is unknown", suggestion(name, known));
    if (reading_.has_lathe && over_knobs && !spec_.kernel.file.empty() && instance.empty())
      return reading_.error({"Lathe"}, "has no Instance", "add the kernel's name and template arguments");
    return Done{};
  }

  Status check_evaluations(const Problem& problem, const std::map<std::string, std::string>& types) {
    std::map<std::string, Value> environment = problem_environment(spec_, problem.dimensions, types, {});
    std::string where = problem.label.empty() ? "" : " for " + problem.label;
    for (const auto& [type, dtype] : types)
      where += (where.empty() ? " for " : " ") + type + "=" + dtype;
    for (const Entry& entry : entries_) {
      const auto& names = entry.expression->names();
      if (!std::all_of(names.begin(), names.end(),
                       [&](const auto& name) { return environment.contains(name); }))
        continue; // a device's limit, or a name that has been reported
      const auto value = entry.expression->evaluate([&](std::string_view name) -> std::optional<Value> {
        return environment.find(std::string(name))->second;
      });
      if (!value.ok()) {
        LATHE_CHECK(fault(origin(entry.key), value.error().what + ": " + value.error().why + where,
                          value.error().remedy.empty() ? "correct the expression or the problem"
                                                       : value.error().remedy));
        continue;
      }
      LATHE_CHECK(check_value(entry, *value, where));
      if (entry.role == Role::knob_default) {
        const Value* listed = find_value(spec_.knobs[entry.index].values, *value);
        environment[spec_.knobs[entry.index].name] = listed ? *listed : *value;
      }
    }
    return Done{};
  }

  Status check_value(const Entry& entry, const Value& value, const std::string& where) {
    const Path path = origin(entry.key);
    const std::string text = "\"" + entry.expression->text() + "\" is " + to_string(value) + where;
    switch (entry.role) {
    case Role::any:
      return Done{};
    case Role::choice:
      if (!Expression(value).evaluate_condition({}).ok())
        return fault(path, text, "write a condition that is true or false");
      return Done{};
    case Role::launched: {
      const auto holds = Expression(value).evaluate_condition({});
      if (!holds.ok())
        return fault(path, text, "write a condition that is true or false");
      if (!*holds)
        return fault(path,
                     "the program launches something else where \"" + entry.expression->text() +
                         "\" does not hold" + where,
                     "leave the problem out, or templatize the launch that it takes (lathe templatize --list "
                     "shows them, --site takes one)");
      return Done{};
    }
    case Role::knob_default: {
      const Knob& knob = spec_.knobs[entry.index];
      if (find_value(knob.values, value))
        return Done{};
      return fault(
          path, "the default of " + knob.name + " (" + to_string(value) + where + ") is not among its values",
          "add it to the knob's Values or correct the default");
    }
    case Role::condition: {
      const auto holds = Expression(value).evaluate_condition({});
      if (!holds.ok())
        return fault(path, text, "write a condition that is true or false");
      if (!*holds)
        reading_.warn(path,
                      "the defaults do not meet the condition \"" + entry.expression->text() + "\"" + where,
                      "correct the condition or the defaults if the raw kernel is meant to be in the space");
      return Done{};
    }
    case Role::extent:
    case Role::count:
    case Role::bytes:
      break;
    }
    const bool cost = entry.key.starts_with("cost");
    const auto integer = Expression(value).evaluate_integer({});
    if (!integer.ok() && !(cost && std::holds_alternative<double>(value)))
      return fault(path, text + ", and an integer is needed", "correct the expression");
    const std::int64_t lowest = entry.role == Role::bytes ? 0 : 1;
    if (integer.ok() ? *integer < lowest : std::get<double>(value) < 0)
      return fault(path, text,
                   "correct the expression or the problem: it must be at least " + std::to_string(lowest));
    if (entry.role == Role::count && static_cast<std::uint64_t>(*integer) > largest_buffer_bytes)
      return fault(path, text + " elements, more than any device holds",
                   "correct the expression or the problem");
    return Done{};
  }

  // A knob that reaches neither the compiler nor the launch changes nothing.
  void warn_of_idle_knobs() {
    if (!reading_.has_lathe || spec_.kernel.file.empty())
      return;
    std::set<std::string> used;
    for (const std::string& name : placeholders(spec_.kernel.instance))
      used.insert(name);
    for (const Entry& entry : entries_)
      if (entry.key.starts_with("kernel "))
        used.insert(entry.expression->names().begin(), entry.expression->names().end());
    for (const Knob& knob : spec_.knobs)
      if (!knob.is_macro && !used.contains(knob.name))
        reading_.warn(origin("knob " + knob.name),
                      "the knob " + knob.name +
                          " reaches neither the instance nor the launch, and changes nothing",
                      "add {" + knob.name + "} to Lathe.Instance or set Macro");
  }

  Reading& reading_;
  TuningSpec& spec_;
  std::vector<Entry> entries_;
  std::vector<Expression> choices_; // conditions of the reference's instance
};

} // namespace

Status check_spec(Reading& reading) {
  return Checker(reading).check();
}

} // namespace lathe::spec
