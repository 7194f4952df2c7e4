// The checks, one a file. Each returns what it looked at and its verdict, and never passes what it cannot
// decide.
#pragma once

#include "refactor/guard/images.h"
#include "refactor/guard/subject.h"

#include <string>
#include <vector>

namespace lathe::refactor {

// In the order in which they are made. Without these no template is accepted; where there is a GPU, those of
// device_runs.h follow.
inline constexpr const char* CHECKS[] = {"well-formed",     "interface",   "identity",  "effects",
                                         "synchronisation", "bounds",      "precision", "literals",
                                         "resources",       "differential"};

CheckResult check_well_formed(const JudgedPair& subject, const Images& images);
CheckResult check_interface(JudgedPair& subject);
CheckResult check_identity(const JudgedPair& subject, const Images& images, ImageCompiler& compiler,
                           std::string& level);
CheckResult check_effects(const JudgedPair& subject);
CheckResult check_synchronisation(const JudgedPair& subject);
CheckResult check_bounds(const JudgedPair& subject);
CheckResult check_precision(const JudgedPair& subject);
CheckResult check_literals(const JudgedPair& subject);
CheckResult check_resources(const JudgedPair& subject, const Images& images);
// `ran`: is set to every pair of configuration and size that was run.
CheckResult check_differential(const JudgedPair& subject, const std::string& identity_level,
                               std::vector<Configuration>& ran);

// Gathers findings into a result: the worst verdict wins, its first sentence leads.
class Findings {
public:
  explicit Findings(std::string check) { result_.check = std::move(check); }
  void fail(const std::string& sentence) { add(Verdict::failed, sentence); }
  void undecided(const std::string& sentence) { add(Verdict::undecided, sentence); }
  void report(const std::string& sentence) { add(Verdict::reported, sentence); }
  void evidence(std::string line) { result_.evidence.push_back(std::move(line)); }
  bool failed() const { return worst_ == Verdict::failed; }
  // `otherwise` and `detail`: the conclusion when nothing was found to fail or to be undecided.
  CheckResult conclude(Verdict otherwise, const std::string& detail);

private:
  void add(Verdict verdict, const std::string& sentence);
  CheckResult result_;
  Verdict worst_ = Verdict::proved;
  std::string lead_;
};

// Pairs of raw and template facts to compare: every default with its raw kernel, every sample with the raw
// kernel of the same types. Where the template's instance is compiled for a size, so is `raw_at_size`: what
// that does not need (a stride along a size of one, reads of which nothing depends there), the template need
// not either. Where no size is fixed it is `raw`. What the template adds is held against `raw`, which has
// all that it does at any size.
struct FactPair {
  const Configuration* configuration;
  const CodeFacts *raw, *raw_at_size, *templated;
  const SourceFacts *raw_source, *template_source;
};
std::vector<FactPair> fact_pairs(const JudgedPair& subject);

// The name of a kernel parameter, or of a Root.
std::string parameter_name(const JudgedPair& subject, const Root& root);

} // namespace lathe::refactor
