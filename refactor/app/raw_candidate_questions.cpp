// Template arguments that nothing in sight fixes are numbers that compile, which is said; where none do, all
// of them are asked for at once.
#include "refactor/app/raw_candidate_builder.h"
#include "refactor/app/usual_problems.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace lathe::refactor {
namespace {

// A number that a template parameter of this name often is: a width is less than a length.
std::int64_t usual_number(const std::string& name) {
  std::string lower;
  for (const char letter : name)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  const auto says = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(words,
                               [&](const char* word) { return lower.find(word) != std::string::npos; });
  };
  if (says({"vec", "pack", "unroll", "per_thread", "perthread", "warps", "bits", "stages"}))
    return 4;
  return says({"thread"}) ? 256 : usual_size(name).value_or(128);
}

} // namespace

// A number that the launcher computes from the problem's size, or takes as a template parameter of its own,
// leaves the instance open.
void RawCandidateBuilder::check_template_arguments() {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    std::string& argument = site_.template_arguments[i];
    if (!is_type_parameter(parameter) && kernel_.launches.empty() && argument.empty() &&
        parameter.default_argument.empty()) {
      questions_.push_back({parameter.name, parameter.name});
      argument = parameter.name;
    }
    if (is_type_parameter(parameter) || argument.empty())
      continue;
    const auto value = Expression::parse(in_kernel_terms(without_sizeof(argument)));
    if (!value)
      continue; // a function, an enumerator, C++ that only the compiler reads
    // What a function of the text gives where its call could not be read: its name is no number.
    const bool is_function = plain_word(argument) && !dtype_of_type(parameter.type).empty() &&
                             std::regex_search(extracted_.text, std::regex(R"(\b)" + argument + R"(\s*\()"));
    const auto& names = value->names();
    const bool is_open =
        is_function || std::ranges::any_of(names, [&](const std::string& name) {
          const bool is_parameters_size =
              std::ranges::find(kernel_.parameters, name, &KernelParameter::name) != kernel_.parameters.end();
          return is_parameters_size ||
                 (!name.starts_with("sizeof_") && extracted_.text.find(name) == std::string::npos);
        });
    if (!is_open)
      continue;
    questions_.push_back({parameter.name, argument == parameter.name
                                              ? argument
                                              : fmt::format("{}, which is '{}'", parameter.name, argument)});
    argument = parameter.name;
  }
}

// Numbers for the questions with which an instance compiles, as they are usual by the names or else all
// alike; empty where none of a few does.
std::map<std::string, std::string> RawCandidateBuilder::answers_that_compile() const {
  constexpr int NAMED = 0, MOST_COMPILES = 30;
  int compiles = 0;
  for (const int number : {NAMED, 128, 64, 256, 32, 16, 8, 4, 2, 1}) {
    std::map<std::string, std::string> answers;
    for (const Question& question : questions_) {
      const std::int64_t usual = number == NAMED ? usual_number(question.name) : number;
      answers[question.name] = is_true_or_false(question.name) ? "false" : std::to_string(usual);
    }
    if (!fits_block(answers))
      continue;
    // Of the types, whose own choice comes later, one may be an index.
    std::map<std::string, std::string> values = answers;
    for (std::size_t index = 0; index <= data_types_.size() && compiles < MOST_COMPILES;
         ++index, ++compiles) {
      values = answers;
      if (index > 0)
        values[data_types_[index - 1]] = dtype_cxx("i32");
      if (complaint(values).empty())
        return answers;
    }
  }
  return {};
}

// Whether the name stands, alone, for a parameter that is true or false.
bool RawCandidateBuilder::is_true_or_false(const std::string& name) const {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    if ((parameter.name == name || site_.template_arguments[i] == name) && is_switch(parameter))
      return true;
  }
  return false;
}

bool RawCandidateBuilder::fits_block(const std::map<std::string, std::string>& values) const {
  constexpr std::int64_t MOST_THREADS = 1024;
  std::int64_t threads = 1;
  for (const std::string& side : site_.block) {
    const auto size = Expression::parse(substitute(in_kernel_terms(without_sizeof(side)), values));
    const auto known =
        size.ok()
            ? size->evaluate_integer([](std::string_view) -> std::optional<Value> { return std::nullopt; })
            : Result<std::int64_t>(Error{});
    if (known.ok() && *known > 0)
      threads *= std::min(*known, MOST_THREADS + 1);
  }
  return threads <= MOST_THREADS;
}

Status RawCandidateBuilder::answer_questions() {
  if (questions_.empty())
    return Done{};
  const std::map<std::string, std::string> answers = answers_that_compile();
  std::vector<std::string> whats, options, values;
  for (const Question& question : questions_) {
    whats.push_back(question.what);
    const auto answer = answers.find(question.name);
    const std::string value = answer == answers.end() ? "..." : answer->second;
    options.push_back(fmt::format("--template-argument {}={}", question.name, value));
    values.push_back(fmt::format("{} = {}", question.name, value));
  }
  if (!answers.empty()) {
    substitute_in_site(answers);
    result_.assumptions.push_back(fmt::format(
        "{}, which compiles, as nothing in sight says what {} (say otherwise with --template-argument "
        "NAME=VALUE)",
        fmt::join(values, ", "), values.size() == 1 ? "it is" : "they are"));
    result_.assumed_template_arguments = std::move(options);
    return Done{};
  }
  const std::string names = fmt::format("{}", fmt::join(whats, " and "));
  return Error{"cannot tell which " + kernel_.name + " is meant",
               kernel_.launches.empty()
                   ? "nothing in sight launches it, which would say what is " + names
                   : fmt::format("its template arguments depend on {} where it is launched ({})", names,
                                 site_.location),
               fmt::format("give {} with {}", options.size() == 1 ? "it" : "them", fmt::join(options, " "))};
}

} // namespace lathe::refactor
