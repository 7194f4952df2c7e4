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

  // Sizes that device code mentions, where the source was parsed to free them: by the name of the macro, or
  // of the constant that all of the file sees.
  const std::map<std::string, const clang::VarDecl*>& in_device_text() const { return in_device_text_; }

  // The value of a variable that is such a size.
  std::optional<std::int64_t> value_of(const clang::VarDecl* variable) const;
  // The value of a macro that is one.
  std::optional<std::int64_t> value_of(const std::string& macro) const;
  // The macro that the whole expression comes from and its value, where the macro is such a size.
  std::optional<std::pair<std::string, std::int64_t>> macro_of(const clang::Expr* expression) const;

private:
  struct Found;
  class InDeviceText;
  const std::set<std::string>& device_words();
  void free_device_text(const Found& in_blocks, const Found& in_instances);
  bool is_object_macro(const std::string& name) const;
  bool is_number_macro(const std::string& name) const;

  ParsedSourceImpl& source_;
  std::optional<std::set<std::string>> device_words_; // identifiers in functions of the device
  std::map<const clang::VarDecl*, std::int64_t> variables_;
  std::map<std::string, std::int64_t> macros_;
  std::map<std::string, const clang::VarDecl*> in_device_text_; // null: a macro
};

} // namespace lathe::refactor
