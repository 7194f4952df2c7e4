// What the checks look at: both texts, the instantiations that matter, and facts about their code.
#pragma once

#include "refactor/guard/code_facts.h"
#include "refactor/guard/guard.h"
#include "refactor/guard/source_facts.h"
#include "tuner/device/device.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// The specification bound to one workload and one choice of knob values.
struct Configuration {
  std::shared_ptr<const Workload> workload;
  KnobValues knobs;
  bool is_default = false;
  std::string raw_instance, template_instance;
  Launch raw_launch, template_launch;

  std::string knobs_text() const;          // "BLOCK=256 VEC=8"
  std::vector<std::string> macros() const; // bind_macros()
  bool flag_is_set() const; // a flag knob, which may own a change of precision, is away from its default
  std::string text() const; // with the workload's key
};

// Binds; fails where an expression does or a launch is illegal.
Result<Configuration> bind_configuration(std::shared_ptr<const Workload> workload, KnobValues knobs);
// Whether every condition of the specification holds; a condition that cannot be evaluated does not.
bool admitted(const Workload& workload, const KnobValues& knobs);
// The workload for a problem, with its storage owned.
Result<std::shared_ptr<const Workload>> own_workload(const TuningSpec& spec, const Problem& problem,
                                                     const std::map<std::string, std::string>& types,
                                                     const DeviceInfo& device);

// The configuration's knobs at its problem with the text sizes of each trial, where these can be bound.
std::vector<Configuration> at_text_trials(const Configuration& configuration, const DeviceInfo& device);

// The specification's problems, or one without dimensions.
std::vector<Problem> problems_of(const TuningSpec& spec);
struct JudgedPair;
// Fills `subject.sampled`.
void sample_configurations(JudgedPair& subject);
// Fills `subject.swept`, once the others are there.
void sweep_configurations(JudgedPair& subject);

// An instance as one block shape runs it, with parameters that are constants there.
std::string code_key(const std::string& instance, const Launch& launch, const FixedArguments& fixed = {});

// One parsed file with its instantiations.
struct ParsedSide {
  std::unique_ptr<ParsedSource> source;
  KernelInfo kernel;
  std::map<std::string, SourceFacts> source_facts; // by instance
  std::map<std::string, CodeFacts> code_facts;     // by code_key(); empty when LLVM IR was not to be had
  // By code_key() with fixed arguments. Apart from the others: they say what code is left at one size, and
  // nothing of what the kernel does with its parameters.
  std::map<std::string, CodeFacts> code_facts_at_size;
  std::string code_problem; // why there are none
};

struct JudgedPair {
  JudgedPair(const TuningSpec& given_spec, const GuardOptions& given_options, DeviceInfo info)
      : spec(given_spec), options(given_options), device(std::move(info)) {}
  const TuningSpec& spec;
  const GuardOptions& options;
  DeviceInfo device;
  std::uint64_t seed = 1;
  std::string raw_text, template_text;
  std::vector<std::map<std::string, std::string>> type_choices;
  std::vector<Configuration> defaults;        // one for every distinct pair of instances and raw block shape
  std::vector<std::int64_t> own_numbers;      // of the template's text
  std::vector<std::int64_t> own_sizes;        // at which it may do something else, by these
  std::vector<double> deciding_numbers;       // of the raw kernel's text, which data may equal
  std::vector<std::int64_t> dividing_numbers; // of it, too: data lie about multiples of them
  std::vector<Configuration> sampled;         // admitted, not the default, spread over the knobs' values
  // Admitted, beside those: with values of knobs that meet in none of them. They are run in brief, at a few
  // sizes, and no check of code looks at them.
  std::vector<Configuration> swept;
  std::vector<std::string>
      binding_problems; // defaults that could not be bound or are not admitted, each a sentence
  ParsedSide raw, templated;
  std::vector<std::string> trusted;
};

// Reads, binds and samples. `template_problem`: the template's fault when it cannot be judged further.
struct Preparation {
  std::unique_ptr<JudgedPair> subject;
  std::string template_problem;
};
Result<Preparation> prepare(const TuningSpec& spec, const GuardOptions& options, std::uint64_t seed);
// Parses both sides and reads the facts of their instances. An Error is the raw kernel's.
Status parse_sides(Preparation& preparation);

} // namespace lathe::refactor
