#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include "tuner/base/text.h"
#include "tuner/expression/expression.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <regex>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Of overloads those that so many arguments are for, where there are any.
std::vector<KernelReference> taking(std::vector<KernelReference> kernels, std::size_t arguments) {
  const auto takes = [&](const KernelReference& kernel) {
    return arguments >= kernel.kernel->getMinRequiredArguments() &&
           arguments <= kernel.kernel->getNumParams();
  };
  if (std::ranges::any_of(kernels, takes))
    std::erase_if(kernels, std::not_fn(takes));
  return kernels;
}

// `if constexpr (sizeof(T) == 2)`: behind it the size is that number, also where the kernel is launched with
// another type of the size than T.
void settle_sizes_of_types(LaunchSite& site) {
  static const std::regex equality(R"((sizeof_\w+) == (\d+))");
  for (const std::string& condition : site.conditions) {
    std::smatch parts;
    if (!std::regex_match(condition, parts, equality))
      continue;
    const std::regex size("\\b" + parts[1].str() + "\\b");
    const std::string number = parts[2];
    const auto settle = [&](std::string& text) { text = std::regex_replace(text, size, number); };
    std::ranges::for_each(site.template_arguments, settle);
    std::ranges::for_each(site.grid, settle);
    std::ranges::for_each(site.block, settle);
    settle(site.shared_bytes);
    for (auto* passed : {&site.arguments, &site.buffer_bytes})
      for (auto& [parameter, text] : *passed)
        settle(text);
  }
}

} // namespace

// "params.stride" -> what the launcher put there.
void HostReader::note_members(const HostValue& value, const std::string& path, LaunchSite& site) {
  if (value.kind != HostValue::Kind::structure)
    return;
  for (const auto& [name, member] : value.members) {
    if (member.is_number() || (member.kind == HostValue::Kind::unknown && !member.text.empty()))
      site.arguments[path + "." + name] = member.is_number() ? member.text : "";
    note_members(member, path + "." + name, site);
  }
}

// Records the launch when the call is one; its parts are evaluated then.
bool HostReader::record_launch(const CallExpr* call) {
  if (const auto* launch = dyn_cast<CUDAKernelCallExpr>(call)) {
    const CallExpr* configuration = launch->getConfig();
    const HostValue callee = evaluate(launch->getCallee());
    std::vector<HostValue> settings, arguments;
    for (const Expr* setting : configuration->arguments())
      settings.push_back(isa<CXXDefaultArgExpr>(setting) ? HostValue::integer("0") : evaluate(setting));
    for (const Expr* argument : launch->arguments())
      arguments.push_back(evaluate(argument));
    settings.resize(std::max<std::size_t>(settings.size(), 2));
    const HostValue shared = settings.size() > 2 ? settings[2] : HostValue::integer("0");
    const LaunchText text = written_launch(launch, arguments);
    for (const KernelReference& kernel : taking(callee.kernels, arguments.size()))
      record(kernel, settings[0], settings[1], shared, arguments, text, launch->getBeginLoc());
    return true;
  }
  const std::string name = callee_name(call);
  const bool extended = name == "cudaLaunchKernelEx" || name == "cudaLaunchKernelExC";
  const bool plain = name == "cudaLaunchKernel" || name == "cudaLaunchCooperativeKernel";
  if (!extended && !plain)
    return record_wrapped_launch({call->getArgs(), call->getNumArgs()}, call->getBeginLoc());
  std::vector<HostValue> given;
  for (const Expr* argument : call->arguments())
    given.push_back(evaluate(argument));
  LaunchText text;
  text.fixed = "it goes through " + name + ", which may set attributes of the launch";
  const auto resolve = [&](const HostValue& value) {
    return value.kind == HostValue::Kind::address ? variable(value.variable) : value;
  };
  // The arguments of the C interfaces are an array of addresses.
  const auto unpacked = [&](const HostValue& array) {
    std::vector<HostValue> values;
    for (const HostValue& element : resolve(array).elements)
      values.push_back(resolve(element));
    return values;
  };
  if (extended && given.size() >= 2) {
    HostValue configuration = resolve(given[0]);
    const auto part = [&](const char* member, const HostValue& otherwise) {
      const auto found = configuration.members.find(member);
      return found == configuration.members.end() ? otherwise : found->second;
    };
    // cudaLaunchConfig_t config = {grid, block, bytes, ...}.
    if (configuration.kind == HostValue::Kind::list && configuration.elements.size() >= 2) {
      const char* names[] = {"gridDim", "blockDim", "dynamicSmemBytes"};
      for (std::size_t i = 0; i < 3 && i < configuration.elements.size(); ++i)
        configuration.members[names[i]] = configuration.elements[i];
    }
    const HostValue unset = HostValue::unknown("the launch configuration is set elsewhere");
    const std::vector<HostValue> arguments =
        name == "cudaLaunchKernelExC" ? (given.size() > 2 ? unpacked(given[2]) : std::vector<HostValue>())
                                      : std::vector<HostValue>(given.begin() + 2, given.end());
    for (const KernelReference& kernel : taking(given[1].kernels, arguments.size()))
      record(kernel, part("gridDim", unset), part("blockDim", unset),
             part("dynamicSmemBytes", HostValue::integer("0")), arguments, text, call->getBeginLoc());
  } else if (plain && given.size() >= 4) {
    for (const KernelReference& kernel : given[0].kernels)
      record(kernel, given[1], given[2], given.size() > 4 ? given[4] : HostValue::integer("0"),
             unpacked(given[3]), text, call->getBeginLoc());
  }
  return true;
}

// launch(kernel, grid, block, shared, stream, arguments...): by a function or macro of the repository's own,
// or of HIP, that takes a kernel, what a launch takes, and then as many arguments as the kernel has.
bool HostReader::record_wrapped_launch(llvm::ArrayRef<const Expr*> arguments, SourceLocation location) {
  constexpr std::size_t FEWEST_SETTINGS = 2, MOST_SETTINGS = 4; // grid, block, bytes, stream
  const auto kernel_in = [&](const Expr* argument) -> HostValue {
    const Expr* named = plain(argument);
    if (const auto* address = dyn_cast<UnaryOperator>(named); address && address->getOpcode() == UO_AddrOf)
      named = plain(address->getSubExpr());
    return isa<DeclRefExpr, UnresolvedLookupExpr>(named) ? evaluate(named) : HostValue::unknown("");
  };
  for (std::size_t at = 0; at + 1 < arguments.size(); ++at) {
    const HostValue callee = kernel_in(arguments[at]);
    if (callee.kind != HostValue::Kind::kernel || callee.kernels.empty())
      continue;
    if (record_launch_with_settings(callee, arguments.drop_front(at + 1), location))
      return true;
    const std::size_t own = callee.kernels.front().kernel->getNumParams(), left = arguments.size() - at - 1;
    if (left < own + FEWEST_SETTINGS || left > own + MOST_SETTINGS)
      return false;
    std::vector<HostValue> values;
    for (const Expr* argument : arguments.drop_front(at + 1))
      values.push_back(evaluate(argument));
    const std::size_t settings = left - own;
    const auto is_size = [](const HostValue& value) {
      return value.is_integer() || value.kind == HostValue::Kind::structure;
    };
    if (!is_size(values[0]) || !is_size(values[1]))
      return false;
    LaunchText text;
    text.fixed = "it goes through a function that launches";
    const HostValue shared =
        settings > FEWEST_SETTINGS && values[2].is_integer() ? values[2] : HostValue::integer("0");
    const std::vector<HostValue> given(values.begin() + static_cast<std::ptrdiff_t>(settings), values.end());
    for (const KernelReference& kernel : callee.kernels)
      record(kernel, values[0], values[1], shared, given, text, location);
    return true;
  }
  return false;
}

void HostReader::record(const KernelReference& kernel, const HostValue& grid, const HostValue& block,
                        const HostValue& shared, const std::vector<HostValue>& arguments, LaunchText text,
                        SourceLocation location) {
  LaunchRecord launch;
  launch.kernel = kernel;
  launch.context = &context_;
  launch.location = location;
  LaunchSite& site = launch.site;
  site.text = std::move(text);
  site.launcher = launcher_;
  site.location = source_.place(context_.getSourceManager().getFileLoc(location));
  site.template_arguments = kernel.arguments;
  site.unreadable = kernel.unreadable;
  if (!kernel.concrete.empty())
    site.instances.push_back(kernel.concrete);
  std::vector<std::string> texts, told;
  const auto read = [&](const HostValue& value, const std::string& what, std::string& into) {
    auto parsed =
        value.is_integer() ? Result<Expression>(Expression::parse(value.text)) : Result<Expression>(Error{});
    if (parsed.ok()) {
      into = value.text;
      for (const std::string& condition : value.assumes) {
        if (!contains(site.conditions, condition))
          site.conditions.push_back(condition);
        const std::string sentence =
            fmt::format("{} is read as where {} holds: what it is otherwise cannot be read", what, condition);
        if (!contains(site.assumed, sentence))
          site.assumed.push_back(sentence);
      }
    } else {
      site.unreadable.push_back(
          what + ": " +
          (value.why.empty() ? "it is not an expression over the launcher's integers" : value.why));
      into = "";
    }
  };
  const auto axes = [&](const HostValue& value, const std::string& what, std::array<std::string, 3>& into) {
    if (value.kind != HostValue::Kind::structure) {
      read(value, what, into[0]);
      return;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto member = value.members.find(std::string(1, "xyz"[axis]));
      if (member != value.members.end())
        read(member->second, what + "." + "xyz"[axis], into[axis]);
    }
  };
  axes(grid, "grid", site.grid);
  axes(block, "block", site.block);
  read(shared, "shared memory", site.shared_bytes);
  for (std::size_t i = 0; i < kernel.kernel->getNumParams() && i < arguments.size(); ++i) {
    const ParmVarDecl* parameter = kernel.kernel->getParamDecl(static_cast<unsigned>(i));
    const HostValue& argument = arguments[i];
    const bool pointer = parameter->getType()->isPointerType();
    const bool named = argument.kind == HostValue::Kind::unknown || argument.kind == HostValue::Kind::address;
    site.arguments[parameter->getNameAsString()] =
        argument.is_number() || (pointer && named) ? argument.text : "";
    if (pointer && (argument.kind == HostValue::Kind::null || argument.text == "0"))
      site.null_pointers.insert(parameter->getNameAsString());
    if (pointer && !argument.bytes.empty())
      site.buffer_bytes[parameter->getNameAsString()] = argument.bytes;
    if (argument.is_integer())
      told.push_back(argument.text);
    note_members(argument, parameter->getNameAsString(), site);
    const std::vector<std::string> in_object = told_in_object(*parameter, argument, site);
    told.insert(told.end(), in_object.begin(), in_object.end());
  }
  tie_to_arguments(site, told);
  for (const auto* sides : {&site.grid, &site.block})
    texts.insert(texts.end(), sides->begin(), sides->end());
  texts.push_back(site.shared_bytes);
  texts.insert(texts.end(), told.begin(), told.end());
  std::vector<std::string> conditions = kernel.conditions;
  for (const auto* path : {&callers_path_, &frame_.path})
    for (const HostValue& met : *path)
      if (const HostValue condition = met.later ? read_later(met) : met; condition.is_number())
        conditions.push_back(condition.text);
  // What a configuration that is computed step by step has to be, written out in sizes, tells nobody
  // anything.
  constexpr std::size_t LONGEST_CONDITION = 2000;
  std::erase_if(conditions,
                [](const std::string& condition) { return condition.size() > LONGEST_CONDITION; });
  for (const std::string& condition : conditions)
    if (const auto parsed = Expression::parse(condition);
        parsed.ok() && !contains(site.conditions, condition) &&
        (program_arguments_.empty() || !contains(parsed->names(), program_arguments_)))
      site.conditions.push_back(condition);
  settle_sizes_of_types(site);
  for (const std::string& argument : site.template_arguments)
    texts.push_back(argument);
  for (const std::string& expression : texts) {
    const auto parsed = Expression::parse(expression);
    if (!parsed.ok())
      continue;
    for (const std::string& name : parsed->names())
      if (const auto open = open_arguments_.find(name); open != open_arguments_.end())
        site.launcher_arguments.insert(*open);
      else if (names_.contains(name) && !contains(site.dimensions, name))
        site.dimensions.push_back(name);
  }
  for (const auto& [name, variable] : sizes_.in_device_text()) {
    const std::string size = (variable ? *fixed_size(variable) : *fixed_macro(name)).text;
    site.text_sizes[size] = name;
    if (!contains(site.dimensions, size))
      site.dimensions.push_back(size);
  }
  for (const auto& [name, value] : fixed_sizes_)
    if (contains(site.dimensions, name))
      site.fixed_sizes[name] = value;
  for (const auto* sides : {&site.grid, &site.block})
    for (const std::string& side : *sides)
      launch.asks_elsewhere |= std::ranges::any_of(
          identifiers(side), [&](const std::string& word) { return asked_.contains(word); });
  for (const auto& [name, place] : left_by_loops_)
    if (contains(site.dimensions, name))
      site.assumed.push_back(fmt::format(
          "{} is a size of its own: the loop of {} computes it in a way that is not read", name, place));
  for (const std::string& sentence : assumed_)
    if (!contains(site.assumed, sentence))
      site.assumed.push_back(sentence);
  // In types too: Traits<N, T>.
  for (const auto& [name, values] : open_arguments_)
    if (std::ranges::any_of(site.template_arguments, [&, &wanted = name](const std::string& argument) {
          return contains(identifiers(argument), wanted);
        }))
      site.launcher_arguments[name] = values;
  // The same text met again, for another type of a dispatch macro or another case of a switch.
  const SourceManager& sources = context_.getSourceManager();
  for (LaunchRecord& known : launches)
    if (known.kernel == launch.kernel && known.context == &context_ &&
        sources.getSpellingLoc(known.location) == sources.getSpellingLoc(location) &&
        known.site.grid == site.grid && known.site.block == site.block &&
        known.site.shared_bytes == site.shared_bytes && known.site.arguments == site.arguments) {
      for (const auto& instance : site.instances)
        if (std::find(known.site.instances.begin(), known.site.instances.end(), instance) ==
            known.site.instances.end())
          known.site.instances.push_back(instance);
      std::vector<std::string> common;
      for (const std::string& condition : known.site.conditions)
        if (contains(site.conditions, condition))
          common.push_back(condition);
      known.site.conditions = common;
      std::erase_if(known.site.text.known, [&](const LaunchText::Known& before) {
        return std::ranges::none_of(site.text.known, [&](const LaunchText::Known& now) {
          return now.text == before.text && now.value == before.value;
        });
      });
      return;
    }
  launches.push_back(std::move(launch));
}

} // namespace lathe::refactor
