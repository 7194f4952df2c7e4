// Which branches of a template's text have run: what no run has entered has not been tested.
#pragma once

#include "refactor/guard/host_trial.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

class Reach {
public:
  // What one run of the kernel reached. `is_proved`: its machine code is the raw kernel's, so that what it
  // has not reached need not be. Safe to call from several threads.
  void note(const HostKernel& kernel, const TrialResult& result, bool is_proved = false);

  // Branches of `text` that never ran, by line with the line's text: "line 17 ('out[i] = 0;')". A line that
  // is the raw kernel's own is left out, one that says nearly what a line of its own that never ran says, and
  // one of a rule's helper that stands in the text as the rule wrote it (rewrite/helper_texts.h).
  std::vector<std::string> never(const std::string& text, const Reach& raw,
                                 const std::string& raw_text) const;

private:
  std::vector<std::string> lines_never_run(const std::string& text) const;
  mutable std::mutex mutex_;
  // By line and column, of every function that was entered: what calls another is a place of its own.
  std::map<std::pair<unsigned, unsigned>, bool> places_;
};

} // namespace lathe::refactor
