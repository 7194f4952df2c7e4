// Types as the program's own instances have them, where no element type of CUDA's takes their place.
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/frontend/standard.h"
#include "refactor/rewrite/edits.h"
#include "tuner/compile/compile.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <regex>

namespace lathe::refactor {
namespace {

// 64-bit integers by the standard's names: what std::uint64_t is to clang (unsigned long) is none to NVRTC.
std::vector<std::string> with_fixed_widths(std::vector<std::string> instance) {
  static const std::regex long_long(R"(\b(unsigned )?long long\b)"), unsigned_long(R"(\bunsigned long\b)"),
      signed_long(R"(\blong\b)");
  const auto replaced = [](const std::string& text) {
    return std::regex_replace(std::regex_replace(text, unsigned_long, "std::uint64_t"), signed_long,
                              "std::int64_t");
  };
  for (std::string& argument : instance) {
    std::string text;
    std::size_t end = 0;
    for (std::sregex_iterator kept(argument.begin(), argument.end(), long_long), last; kept != last; ++kept) {
      const auto at = static_cast<std::size_t>(kept->position());
      text += replaced(argument.substr(end, at - end)) + kept->str();
      end = at + static_cast<std::size_t>(kept->length());
    }
    argument = text + replaced(argument.substr(end));
  }
  return instance;
}

} // namespace

// A class of 8-bit numbers (c10::Float8_e4m3fn) that the kernel is specialised for by its own name stays that
// class: other types compile in its place, too, and quantise to something else.
void RawCandidateBuilder::keep_classes_in_use() {
  const auto instance = std::ranges::find_if(site_.instances, [&](const std::vector<std::string>& list) {
    return list.size() == kernel_.template_parameters.size();
  });
  if (instance == site_.instances.end())
    return;
  std::map<std::string, std::string> cxx;
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < instance->size(); ++i) {
    const std::string& name = kernel_.template_parameters[i].name;
    const std::string dtype = dtype_of_type((*instance)[i]);
    if (std::ranges::find(data_types_, name) == data_types_.end())
      continue;
    if (dtype.empty())
      return;
    cxx[name] = dtype_cxx(dtype);
    if (is_eight_bit_real(dtype) && types_as_used_.contains(name) && !facts_.types.contains(name) &&
        (*instance)[i] != cxx[name])
      classes.push_back(i);
  }
  const auto compiles = [&] { return complaint(cxx).empty(); };
  if (classes.empty() || compiles())
    return;
  for (const std::size_t i : classes)
    cxx[kernel_.template_parameters[i].name] = (*instance)[i];
  if (!compiles())
    return;
  for (const std::size_t i : classes) {
    site_.template_arguments[i] = (*instance)[i];
    std::erase(data_types_, kernel_.template_parameters[i].name);
    result_.assumptions.push_back(
        fmt::format("{} = {}, as the program's own instances have it (say otherwise with --types)",
                    kernel_.template_parameters[i].name, (*instance)[i]));
  }
}

std::vector<std::vector<std::string>>
RawCandidateBuilder::types_in_use(std::size_t argument, const std::vector<std::string>& names) const {
  std::vector<std::vector<std::string>> lists;
  const std::vector<std::string> written = split_instance(site_.template_arguments[argument]).arguments;
  for (const std::vector<std::string>& instance : site_.instances) {
    const std::vector<std::string> used = argument < instance.size()
                                              ? split_instance(instance[argument]).arguments
                                              : std::vector<std::string>();
    std::vector<std::string>& list = lists.emplace_back();
    for (const std::string& name : names)
      if (const auto at = std::ranges::find(written, name);
          at != written.end() && used.size() == written.size())
        list.push_back(used[static_cast<std::size_t>(at - written.begin())]);
  }
  return lists;
}

// traits<T, W> of which the program makes traits<float, float> and traits<half, half>: all pairs of types
// would be run, of which it has none but these.
void RawCandidateBuilder::unite_types_in_use() {
  const auto is_known = [&](const std::string& type) { return facts_.types.contains(type); };
  for (std::size_t argument = 0; argument < site_.template_arguments.size(); ++argument) {
    for (std::size_t later = data_types_.size(); later-- > 1;)
      for (std::size_t first = 0; first < later; ++first) {
        const std::string &one = data_types_[first], &other = data_types_[later];
        const auto lists = types_in_use(argument, {one, other});
        if (is_known(one) || is_known(other) || lists.empty() ||
            !std::ranges::all_of(
                lists, [](const auto& list) { return list.size() == 2 && list.front() == list.back(); }))
          continue;
        result_.assumptions.push_back(fmt::format(
            "{0} = {1}, as in all instances of the kernel (say otherwise with --types {0}=...)", other, one));
        united_[other] = one;
        names_[other] = one;
        names_["sizeof_" + other] = "sizeof_" + one;
        data_types_.erase(data_types_.begin() + static_cast<std::ptrdiff_t>(later));
        break;
      }
  }
}

// The types of the first of the file's instances that compiles: element types where they are that, and the
// others (a functor, half2) as they are written there. Where a type is asked for by name (a generator of
// unsigned long, which is no unsigned long long), all of them as they are written, or by the standard's
// names.
bool RawCandidateBuilder::take_types_of_an_instance() {
  std::vector<std::vector<std::string>> complete = site_.instances;
  std::erase_if(complete,
                [&](const auto& instance) { return instance.size() != kernel_.template_parameters.size(); });
  const auto take = [&](bool as_written) {
    return std::ranges::any_of(complete,
                               [&](const auto& instance) { return take_types_of(instance, as_written); });
  };
  if (take(false) || take(true))
    return true;
  for (std::vector<std::string>& instance : complete)
    instance = with_fixed_widths(std::move(instance));
  return take(true);
}

bool RawCandidateBuilder::take_types_of(const std::vector<std::string>& instance, bool as_written) {
  const LaunchSite before = site_;
  const std::vector<std::string> data_types = data_types_;
  std::map<std::string, std::string> dtypes, cxx;
  for (std::size_t i = 0; i < instance.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    if (std::ranges::find(data_types, parameter.name) == data_types.end())
      continue;
    const std::string dtype = as_written ? "" : dtype_of_type(instance[i]);
    if (!dtype.empty()) {
      dtypes[parameter.name] = dtype;
      cxx[parameter.name] = dtype_cxx(dtype);
    } else {
      site_.template_arguments[i] = instance[i];
      std::erase(data_types_, parameter.name);
    }
  }
  const std::string list = type_list(cxx);
  if (!compile_kernel(extracted_.text, extracted_.kernel + list, {standard_option(extracted_.text)},
                      architecture_)
           .ok()) {
    site_ = before;
    data_types_ = data_types;
    return false;
  }
  std::erase_if(result_.candidate.types,
                [&](const TypeParameter& type) { return !dtypes.contains(type.name); });
  for (TypeParameter& type : result_.candidate.types)
    type.dtypes = {dtypes[type.name]};
  result_.candidate.instance = extracted_.kernel + type_list({});
  result_.assumptions.push_back(
      fmt::format("types as in {}, which the file instantiates (say otherwise with --types)", list));
  return true;
}

} // namespace lathe::refactor
