#include "tests/refactor/guard/corpus.h"

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/spec/spec.h"

#include <algorithm>
#include <sstream>

namespace lathe::refactor {

namespace fs = std::filesystem;

namespace {

Result<std::vector<CorpusCase>> read_file_of_cases(const fs::path& file) {
  LATHE_TRY(const std::string text, read_file(file));
  std::vector<CorpusCase> cases;
  std::istringstream stream(text);
  bool in_spec = false, group_open = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("### ")) {
      const std::size_t colon = line.find(": ");
      if (colon == std::string::npos)
        return Error{"not a corpus: " + file.string(), "'" + line + "' says nothing behind its name", ""};
      cases.push_back({file.stem().string(), line.substr(4, colon - 4), line.substr(colon + 2), {}});
      in_spec = group_open = false;
    } else if (line.starts_with("@@ ")) {
      in_spec = line == "@@ spec";
      group_open = false;
    } else if (!cases.empty() && (line.starts_with("-") || line.starts_with("+"))) {
      auto& changes = cases.back().changes;
      if (!group_open || (line[0] == '-' && !changes.back().to.empty()))
        changes.push_back({in_spec, "", ""});
      group_open = true;
      std::string& side = line[0] == '-' ? changes.back().from : changes.back().to;
      side += (side.empty() ? "" : "\n") + line.substr(1);
    } else if (line.find_first_not_of(" \t") == std::string::npos) {
      group_open = false;
    } else {
      return Error{"not a corpus: " + file.string(), "'" + line + "'", ""};
    }
  }
  return cases;
}

Result<std::string> changed(std::string text, const CorpusCase& one, bool in_spec) {
  for (const TextChange& change : one.changes) {
    if (change.in_spec != in_spec)
      continue;
    const std::size_t at = text.find(change.from);
    if (at == std::string::npos)
      return Error{one.kernel + "/" + one.name + " cannot be made", "there is no '" + change.from + "'", ""};
    text.replace(at, change.from.size(), change.to);
  }
  return text;
}

} // namespace

Result<std::vector<CorpusCase>> read_corpus(const fs::path& folder) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder))
    return Error{"cannot read the cases", "there is no folder " + folder.string(), ""};
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".txt")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<CorpusCase> cases;
  for (const fs::path& file : files) {
    LATHE_TRY(std::vector<CorpusCase> more, read_file_of_cases(file));
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  return cases;
}

Result<fs::path> place_case(const CorpusCase& one, const fs::path& spec, const fs::path& folder) {
  LATHE_TRY(const TuningSpec original, read_spec(spec));
  LATHE_TRY(const std::string template_text, read_file(original.kernel.file));
  LATHE_TRY(const std::string raw_text, read_file(original.reference.file));
  LATHE_TRY(const std::string spec_text, read_file(spec));
  LATHE_TRY(const std::string new_template, changed(template_text, one, false));
  LATHE_TRY(std::string new_spec, changed(spec_text, one, true));
  if (const std::size_t hash = new_spec.find("\"TemplateHash\": \""); hash != std::string::npos) {
    const std::size_t begin = hash + std::string_view("\"TemplateHash\": \"").size();
    new_spec.replace(begin, new_spec.find('"', begin) - begin, content_hash(new_template));
  }
  const auto plant = [&](const fs::path& file) {
    const std::string name = file.filename().string();
    // Paths of the specification are relative to it.
    for (std::size_t at = new_spec.find(name); at != std::string::npos; at = new_spec.find(name, at + 1)) {
      const std::size_t quote = new_spec.rfind('"', at);
      new_spec.replace(quote + 1, at - quote - 1, "");
      at = quote + 1;
    }
    return folder / name;
  };
  LATHE_CHECK(write_file(plant(original.kernel.file), new_template));
  LATHE_CHECK(write_file(plant(original.reference.file), raw_text));
  const fs::path placed = folder / spec.filename();
  LATHE_CHECK(write_file(placed, new_spec));
  return placed;
}

} // namespace lathe::refactor
