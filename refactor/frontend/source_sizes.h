// Sizes that a program fixes in its text: `#define N (1 << 24)`, `const int n = 4096;`, passed to a kernel
// that takes them as run-time arguments. The kernel works for others, and a template has to be tried at
// others.
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace lathe::refactor {

class SourceSizes {
public:
  explicit SourceSizes(ParsedSourceImpl& source) : source_(source) {}

  // Finds those of one launcher, in place of the last one's: constants above 256 in the integer arguments of
  // its launches that neither the launch's block nor any device code mentions, and that the launcher does not
  // change.
  void read(const clang::FunctionDecl* launcher);

  // The value of a variable that is such a size.
  std::optional<std::int64_t> value_of(const clang::VarDecl* variable) const;
  // The macro that the whole expression comes from and its value, where the macro is such a size.
  std::optional<std::pair<std::string, std::int64_t>> macro_of(const clang::Expr* expression) const;

private:
  struct Found;
  const std::set<std::string>& device_words();

  ParsedSourceImpl& source_;
  std::optional<std::set<std::string>> device_words_; // identifiers in functions of the device
  std::map<const clang::VarDecl*, std::int64_t> variables_;
  std::map<std::string, std::int64_t> macros_;
};

} // namespace lathe::refactor
