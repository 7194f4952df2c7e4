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
  // Of a filter or a window, whose taps a kernel unrolls.
  if (lower == "w" || lower == "w1" || lower == "kwidth" || says({"window", "taps", "radius"}))
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
      questions_.push_back({parameter.name, parameter.name, ""});
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
    const bool is_size =
        std::ranges::find(kernel_.parameters, argument, &KernelParameter::name) != kernel_.parameters.end() ||
        names_.contains(argument);
    questions_.push_back(
        {parameter.name,
         argument == parameter.name ? argument : fmt::format("{}, which is '{}'", parameter.name, argument),
         plain_word(argument) && !is_function && !is_size ? argument : ""});
    argument = parameter.name;
  }
}

std::vector<std::map<std::string, std::string>> RawCandidateBuilder::answers_in_use() const {
  const auto is_number = [](const std::string& text) {
    const auto value = Expression::parse(text);
    return text == "true" || text == "false" || (value.ok() && value->names().empty());
  };
  std::vector<std::map<std::string, std::string>> in_use;
  for (const std::vector<std::string>& instance : site_.instances) {
    if (instance.size() != kernel_.template_parameters.size())
      continue;
    std::map<std::string, std::string> answers;
    bool is_of_launch = true; // an instance may be another one's: what is a number here has to be the same
    for (std::size_t i = 0; i < instance.size(); ++i) {
      const std::string& name = kernel_.template_parameters[i].name;
      if (std::ranges::find(questions_, name, &Question::name) != questions_.end())
        answers[name] = instance[i];
      else if (is_number(site_.template_arguments[i]))
        is_of_launch = is_of_launch && site_.template_arguments[i] == instance[i];
    }
    if (is_of_launch && answers.size() == questions_.size() &&
        std::ranges::all_of(answers, [&](const auto& answer) { return is_number(answer.second); }) &&
        std::ranges::find(in_use, answers) == in_use.end())
      in_use.push_back(std::move(answers));
  }
  return in_use;
}

bool RawCandidateBuilder::compiles_with(const std::map<std::string, std::string>& answers) const {
  // Of the types, whose own choice comes later, one may be an index.
  for (std::size_t index = 0; index <= data_types_.size(); ++index) {
    std::map<std::string, std::string> values = answers;
    if (index > 0)
      values[data_types_[index - 1]] = dtype_cxx("i32");
    if (complaint(values).empty())
      return true;
  }
  return false;
}

// Numbers for the questions with which an instance compiles, as they are usual by the names or else all
// alike, and of the launch's own instances where it has any; empty where none of a few does.
std::map<std::string, std::string> RawCandidateBuilder::answers_that_compile() const {
  constexpr int NAMED = 0;
  constexpr std::size_t MOST_TRIED = 10;
  std::vector<std::map<std::string, std::string>> tried;
  for (const int number : {NAMED, 128, 64, 256, 32, 16, 8, 4, 2, 1}) {
    std::map<std::string, std::string> answers;
    for (const Question& question : questions_) {
      const std::int64_t usual = number == NAMED ? usual_number(question.name) : number;
      answers[question.name] = is_true_or_false(question.name) ? "false" : std::to_string(usual);
    }
    tried.push_back(std::move(answers));
  }
  if (auto in_use = answers_in_use(); !in_use.empty()) {
    if (const auto usual = std::ranges::find(in_use, tried.front()); usual != in_use.end())
      std::rotate(in_use.begin(), usual, usual + 1);
    in_use.resize(std::min(in_use.size(), MOST_TRIED));
    tried.insert(tried.begin(), in_use.begin(), in_use.end());
  }
  for (const std::map<std::string, std::string>& answers : tried)
    if (fits_block(answers) && compiles_with(answers))
      return answers;
  return {};
}

// Whether the name stands, alone, for a parameter that is true or false.
bool RawCandidateBuilder::is_true_or_false(const std::string& name) const {
  for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
    const TemplateParameter& parameter = kernel_.template_parameters[i];
    if ((parameter.name == name || site_.template_arguments[i] == name) && is_switch(parameter))
      return true;
  }
  // A parameter of a class that the launcher makes an argument of (`Traits<BYTES, WAITS>`), by its name
  // there.
  return plain_word(name) && std::regex_search(extracted_.text, std::regex(R"(\bbool\s+)" + name + R"(\b)"));
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
    std::map<std::string, std::string> bound = answers;
    for (const Question& question : questions_)
      if (!question.variable.empty())
        bound[question.variable] = answers.at(question.name);
    const auto in_use = answers_in_use();
    const bool is_in_use = std::ranges::find(in_use, answers) != in_use.end();
    result_.assumptions.push_back(
        is_in_use ? fmt::format("{}, as in one of the program's own {} instances (say otherwise with "
                                "--template-argument NAME=VALUE)",
                                fmt::join(values, ", "), site_.instances.size())
                  : fmt::format("{}, which compiles, as nothing in sight says what {} (say otherwise with "
                                "--template-argument NAME=VALUE)",
                                fmt::join(values, ", "), values.size() == 1 ? "it is" : "they are"));
    substitute_in_site(bound);
    result_.has_program_instance = is_in_use;
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
