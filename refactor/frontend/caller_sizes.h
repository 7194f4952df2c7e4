// Sizes that a program passes to the function that launches a kernel: `launch(a, b, 4096)` in main().
#pragma once

#include "refactor/frontend/parsed_source.h"

#include <clang/AST/Decl.h>

#include <cstdint>
#include <map>
#include <memory>

namespace lathe::refactor {

// What the calls in a source pass. The source is gone through once, when the first function is asked for, and
// must outlive this.
class CallerSizes {
public:
  explicit CallerSizes(ParsedSourceImpl& source);
  ~CallerSizes();

  // By integer parameter of the launcher: the largest number that a call passes for it, where every call in
  // the file passes a constant or a variable that is one and is changed nowhere. Parameters that some call
  // passes anything else for are not among them; nothing where the file does not call the launcher.
  std::map<const clang::ParmVarDecl*, std::int64_t> of(const clang::FunctionDecl* launcher);

private:
  class Calls;
  ParsedSourceImpl& source_;
  std::unique_ptr<Calls> calls_; // null until a function is asked for
};

} // namespace lathe::refactor
