// Templates of others than the rules, as small changes to right ones: what the guard must refuse, and what it
// must accept.
//
// A corpus file holds cases. A line "### NAME: WHAT" begins one; "@@ FILE" says which of the specification's
// files is changed ("template" or "spec"); lines that begin with "-" are looked for, as they stand there, and
// those with "+" put in their place. A blank line between two such groups separates changes.
#pragma once

#include "tuner/base/result.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::refactor {

struct TextChange {
  bool in_spec = false;
  std::string from, to;
};

struct CorpusCase {
  std::string kernel; // the corpus file's name
  std::string name, what;
  std::vector<TextChange> changes;
};

// Every case of every file ("KERNEL.txt") of a folder, in order. Fails on a file that is not of the form.
Result<std::vector<CorpusCase>> read_corpus(const std::filesystem::path& folder);

// The specification with the case's changes made, its files in `folder`; a path. Fails where a text to be
// changed is not there.
Result<std::filesystem::path> place_case(const CorpusCase& one, const std::filesystem::path& spec,
                                         const std::filesystem::path& folder);

} // namespace lathe::refactor
