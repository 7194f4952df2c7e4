#include "refactor/app/raw_candidate.h"

#include "refactor/app/raw_candidate_builder.h"
#include "refactor/app/usual_problems.h"
#include "refactor/frontend/value_range.h"
#include "tuner/device/device.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <regex>
#include <set>

namespace lathe::refactor {
namespace {

// The text with the device's limits of the names in `limits` as numbers.
std::string with_limits(const std::string& text, const std::map<std::string, std::string>& limits) {
  static const std::regex asked(R"(device\.\w+)");
  std::string fixed;
  std::size_t end = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), asked), none; at != none; ++at) {
    const auto found = limits.find(at->str());
    if (found == limits.end())
      continue;
    fixed += text.substr(end, static_cast<std::size_t>(at->position()) - end) + found->second;
    end = static_cast<std::size_t>(at->position() + at->length());
  }
  return fixed + text.substr(end);
}

// Whether a launch is for devices of other compute capabilities alone.
bool is_for_others(const LaunchSite& site, const std::string& architecture) {
  const auto device = known_device(architecture);
  if (!device.ok())
    return false;
  const std::map<std::string, std::string> capability{
      {"device.compute_major", std::to_string(device->compute_major)},
      {"device.compute_minor", std::to_string(device->compute_minor)}};
  return std::ranges::any_of(site.conditions, [&](const std::string& condition) {
    return decided_for_all_sizes(with_limits(condition, capability)) == false;
  });
}

} // namespace

bool fails_at(const Expression& condition, const Problem& problem) {
  const auto holds = condition.evaluate_condition([&](std::string_view name) -> std::optional<Value> {
    const auto found = problem.dimensions.find(std::string(name));
    return found == problem.dimensions.end() ? std::nullopt : std::optional(Value{found->second});
  });
  return holds.ok() && !*holds;
}

Result<RawCandidate> RawCandidateBuilder::build() {
  LATHE_CHECK(choose_site());
  unite_equal_sizes();
  bind_launcher_arguments();
  LATHE_CHECK(override_template_arguments());
  take_instance();
  name_types();
  name_element_sizes();
  take_widest_instance();
  check_template_arguments();
  close_open_names();
  unite_types_in_use();
  LATHE_CHECK(answer_questions());
  name_sizes();
  LATHE_CHECK(geometry());
  LATHE_CHECK(choose_dtypes());
  keep_one_type_of_shared_memory();
  LATHE_CHECK(arguments());
  LATHE_CHECK(settle_unused_sizes());
  LATHE_CHECK(fix_device_limits());
  collect_dimensions();
  collect_launch_conditions();
  LATHE_CHECK(free_fixed_grid());
  count_allocated();
  result_.candidate.kernel = extracted_.kernel;
  LATHE_CHECK(mend_text());
  LATHE_CHECK(free_text_sizes());
  return std::move(result_);
}

Status RawCandidateBuilder::choose_site() {
  const bool overridden = !launch_.grid.empty() && !launch_.block.empty();
  if (launch_.site > static_cast<int>(kernel_.launches.size()))
    return usage_error(fmt::format("no launch site {} of {}", launch_.site, kernel_.name),
                       fmt::format("it has {}", kernel_.launches.size()),
                       "lathe templatize --list shows them");
  std::string why = kernel_.launches.empty() ? "nothing in this file launches it" : "";
  const bool is_any_served = std::ranges::any_of(kernel_.launches, [&](const LaunchSite& site) {
    return (site.unreadable.empty() || overridden) && !is_for_others(site, architecture_) &&
           serves_problems(site);
  });
  // Of several launches, without sizes to tell, that which the program has at most of the usual ones.
  std::size_t most_served = 0;
  std::optional<std::size_t> served_by_first;
  std::vector<std::size_t> served(kernel_.launches.size());
  if (launch_.site == 0 && facts_.problems.empty() && !overridden)
    for (std::size_t i = 0; i < kernel_.launches.size(); ++i)
      if (const LaunchSite& site = kernel_.launches[i];
          site.unreadable.empty() && !is_for_others(site, architecture_)) {
        served[i] = usual_problems_of(site);
        most_served = std::max(most_served, served[i]);
        served_by_first = served_by_first.value_or(served[i]);
      }
  for (std::size_t i = 0; i < kernel_.launches.size() && !has_site_; ++i) {
    const LaunchSite& site = kernel_.launches[i];
    if (launch_.site != 0 && launch_.site != static_cast<int>(i) + 1)
      continue;
    if (served[i] < most_served)
      continue;
    if (launch_.site == 0 && is_for_others(site, architecture_)) {
      if (why.empty())
        why = fmt::format("{}: it is for other devices than {}", site.location, architecture_);
      continue;
    }
    if (launch_.site == 0 && is_any_served && !serves_problems(site))
      continue;
    if (site.unreadable.empty() || overridden) {
      site_ = site;
      has_site_ = true;
      result_.location = overridden ? "" : site.location;
      if (served_by_first.value_or(0) < most_served)
        result_.assumptions.push_back(fmt::format(
            "launched as at {} with {}, which the program does at the usual sizes, and not in the first "
            "of {} ways (say otherwise with --site)",
            site.location, fmt::join(site.conditions, " and "), kernel_.launches.size()));
    } else if (why.empty()) {
      why = site.location + ": " + site.unreadable.front();
    }
  }
  if (has_site_ || overridden)
    return Done{};
  // Other names would be sizes that the kernel knows nothing of.
  std::string sizes;
  for (const KernelParameter& parameter : kernel_.parameters)
    if (parameter.is_integer && !parameter.is_enumeration)
      sizes += (sizes.empty() ? "" : ", ") + parameter.name;
  const std::string example = sizes.empty() ? "num_tokens" : sizes.substr(0, sizes.find(','));
  return Error{"cannot read how " + kernel_.name + " is launched", why,
               (kernel_.launches.empty()
                    ? "name the file that does with --launcher, or give the launch with --grid and --block "
                      "(and --shared)"
                    : std::string("give it with --grid and --block (and --shared)")) +
                   (sizes.empty() ? "" : " over " + sizes) + ", such as --grid " + example + " --block 256"};
}

Status RawCandidateBuilder::geometry() {
  const auto triple = [&](const std::string& given, const std::array<std::string, 3>& read,
                          std::array<Expression, 3>& into) -> Status {
    std::array<std::string, 3> texts = read;
    if (!given.empty()) {
      texts = {"1", "1", "1"};
      std::size_t axis = 0, depth = 0, begin = 0;
      for (std::size_t i = 0; i <= given.size(); ++i) {
        if (i < given.size() && (given[i] == '(' || given[i] == ')'))
          depth += given[i] == '(' ? 1 : -1;
        if (i != given.size() && (given[i] != ',' || depth != 0))
          continue;
        if (axis == 3)
          return usage_error("cannot use '" + given + "'", "a launch has at most three axes");
        texts[axis++] = given.substr(begin, i - begin);
        begin = i + 1;
      }
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      LATHE_TRY(into[axis], Expression::parse(in_kernel_terms(texts[axis])));
    }
    return Done{};
  };
  LaunchGeometry& launch = result_.candidate.launch;
  LATHE_CHECK(triple(launch_.grid, site_.grid, launch.grid));
  LATHE_CHECK(triple(launch_.block, site_.block, launch.block));
  LATHE_TRY(launch.shared_bytes,
            Expression::parse(in_kernel_terms(launch_.shared.empty() ? site_.shared_bytes : launch_.shared)));
  return Done{};
}

// Everything behind this reads the kernel with Clang too: the host executor, the rules, the guard.
Status RawCandidateBuilder::mend_text() {
  std::map<std::string, std::string> cxx;
  for (const TypeParameter& type : result_.candidate.types)
    cxx[type.name] = dtype_cxx(type.dtypes.front());
  ParseOptions options;
  options.architecture = architecture_;
  LATHE_TRY(result_.candidate.text,
            mended_text(extracted_.text, extracted_.kernel + type_list(cxx), options));
  return Done{};
}

// A launch may ask for the device's limits, a scalar that the kernel is given may not: where one follows from
// the number of multiprocessors, so does the grid, and both are taken from the architecture's usual device.
Status RawCandidateBuilder::fix_device_limits() {
  const auto asks = [](const Expression& expression) {
    return std::ranges::any_of(expression.names(),
                               [](const std::string& name) { return name.starts_with("device."); });
  };
  Candidate& candidate = result_.candidate;
  if (std::ranges::none_of(candidate.arguments, [&](const Argument& argument) {
        return !argument.is_buffer && asks(argument.value);
      }))
    return Done{};
  LATHE_TRY(const DeviceInfo device, known_device(architecture_));
  std::map<std::string, std::string> limits;
  for (const auto& [name, value] : device.limits())
    limits[name] = lathe::to_string(value);
  std::set<std::string> used;
  const auto fix = [&](Expression& expression) -> Status {
    for (const std::string& name : expression.names())
      if (const auto found = limits.find(name); found != limits.end())
        used.insert(name + " = " + found->second);
    LATHE_TRY(expression, Expression::parse(with_limits(expression.text(), limits)));
    return Done{};
  };
  for (auto* axes : {&candidate.launch.grid, &candidate.launch.block})
    for (Expression& expression : *axes)
      LATHE_CHECK(fix(expression));
  LATHE_CHECK(fix(candidate.launch.shared_bytes));
  for (Argument& argument : candidate.arguments)
    if (!argument.is_buffer)
      LATHE_CHECK(fix(argument.value));
  for (const std::string& limit : used)
    result_.assumptions.push_back(limit + ", as on " + device.name +
                                  ": a number that the kernel is given depends on it");
  return Done{};
}

// Every name that the geometry and the scalars leave open.
void RawCandidateBuilder::collect_dimensions() {
  Candidate& candidate = result_.candidate;
  std::vector<std::string>& dimensions = candidate.dimensions;
  const auto add = [&](const Expression& expression) {
    for (const std::string& name : expression.names())
      if (!name.starts_with("sizeof_") && !name.starts_with("device.") &&
          std::find(dimensions.begin(), dimensions.end(), name) == dimensions.end())
        dimensions.push_back(name);
  };
  for (const Expression& expression : candidate.launch.grid)
    add(expression);
  for (const Argument& argument : candidate.arguments) {
    if (!argument.is_buffer)
      add(argument.value);
    else
      add(argument.count);
  }
  for (const Expression& expression : candidate.launch.block)
    add(expression);
  add(candidate.launch.shared_bytes);
  for (const auto& [host_name, text_name] : site_.text_sizes)
    if (const std::string name = in_kernel_terms(host_name);
        names(extracted_.text, text_name) && std::ranges::find(dimensions, name) == dimensions.end())
      dimensions.push_back(name);
  const auto take = [&](const std::string& name, std::int64_t value, const char* where) {
    if (std::ranges::find(dimensions, name) == dimensions.end() ||
        !result_.own_sizes.emplace(name, value).second || !facts_.problems.empty())
      return;
    result_.assumptions.push_back(fmt::format(
        "{} = {}, as in the {} (say otherwise with --problem or a workload file)", name, value, where));
  };
  for (const auto& [host_name, value] : site_.fixed_sizes)
    take(in_kernel_terms(host_name), value, "source");
  for (const auto& [name, value] : site_.first_round)
    take(name, value, "first round of the loop around the launch");
}

bool RawCandidateBuilder::serves_problems(const LaunchSite& site) const {
  return std::ranges::all_of(facts_.problems, [&](Problem problem) {
    // Sizes that are equal wherever the launch is reached are given by one of them.
    for (const std::string& whole : site.conditions)
      for (const std::string& text : conjuncts(whole))
        if (const auto sides = equal_names(text)) {
          const auto first = problem.dimensions.find(sides->first);
          const auto second = problem.dimensions.find(sides->second);
          if (first != problem.dimensions.end())
            problem.dimensions.try_emplace(sides->second, first->second);
          else if (second != problem.dimensions.end())
            problem.dimensions.try_emplace(sides->first, second->second);
        }
    return std::ranges::none_of(site.conditions, [&](const std::string& text) {
      const auto condition = Expression::parse(text);
      return condition.ok() && fails_at(*condition, problem);
    });
  });
}

std::size_t RawCandidateBuilder::usual_problems_of(const LaunchSite& site) const {
  Candidate sizes;
  sizes.dimensions = site.dimensions;
  for (auto* axes : {&sizes.launch.grid, &sizes.launch.block})
    axes->fill(*Expression::parse("1"));
  sizes.launch.shared_bytes = *Expression::parse("0");
  std::vector<std::string> not_said;
  const std::vector<Problem> usual = usual_problems(sizes, {}, architecture_, not_said);
  return static_cast<std::size_t>(std::ranges::count_if(usual, [&](Problem problem) {
    return std::ranges::none_of(site.conditions, [&](const std::string& text) {
      const auto condition = Expression::parse(text);
      if (!condition.ok())
        return false;
      for (const std::string& name : condition->names()) // of the type that is tuned first
        if (name.starts_with("sizeof_"))
          problem.dimensions[name] = dtype_size("bf16");
      return fails_at(*condition, problem);
    });
  }));
}

void RawCandidateBuilder::collect_launch_conditions() {
  Candidate& candidate = result_.candidate;
  if (launch_.at_any_size || !launch_.grid.empty() || !launch_.block.empty())
    return; // or the launch is the user's
  const auto is_dimension = [&](const std::string& name) {
    return std::ranges::find(candidate.dimensions, name) != candidate.dimensions.end();
  };
  const auto is_size_of_type = [&](const std::string& name) {
    return std::ranges::any_of(candidate.types,
                               [&](const TypeParameter& type) { return name == "sizeof_" + type.name; });
  };
  // Of several that have to hold together, such as of sizes and of addresses, each that is over sizes.
  for (const std::string& whole : site_.conditions)
    for (const std::string& text : conjuncts(in_kernel_terms(without_sizeof(whole)))) {
      auto condition = Expression::parse(text);
      if (condition.ok() && std::ranges::any_of(condition->names(), is_dimension) &&
          std::ranges::all_of(condition->names(), [&](const std::string& name) {
            return is_dimension(name) || is_size_of_type(name);
          }))
        candidate.launched_where.push_back(std::move(*condition));
      else
        result_.other_conditions.push_back(text);
    }
}

Result<RawCandidate> make_raw_candidate(const KernelInfo& kernel, const ExtractedKernel& extracted,
                                        const WorkloadFacts& facts, const LaunchOverride& launch,
                                        const std::string& architecture) {
  return RawCandidateBuilder(kernel, extracted, facts, launch, architecture).build();
}

} // namespace lathe::refactor
