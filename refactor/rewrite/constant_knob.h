// Turns one constant of a kernel into a knob: shared by the rules for template parameters and for named
// constants. Internal to this folder.
#pragma once

#include "refactor/rewrite/block_knob.h"

namespace lathe::refactor {

// A constant under study.
struct ConstantUnderStudy {
  const clang::ValueDecl* declaration = nullptr;
  std::string name, type;   // as the template parameter will have them
  std::string default_text; // Lathe expression of its value: "16 / sizeof_T"
  std::string where;        // "line 12"
  // Others under study beside it: conditions name them, and settle_names() puts values in place of those that
  // become no knob.
  std::vector<const clang::ValueDecl*> beside;
};

// What becoming a knob takes, without the declaration itself: linked edits, geometry, conditions, and the
// knob. A reason when it is not one of: number of threads of the block, elements a thread takes at once.
std::variant<std::string, Proposal> study_constant(ParsedSource& source, const KernelInfo& kernel,
                                                   const Candidate& candidate,
                                                   const ConstantUnderStudy& constant);

// A C++ constant expression in terms of sizeof_T ("16 / sizeof(T)" or "16 / sizeof({T})" -> "16 / sizeof_T");
// nothing when it holds anything that Lathe's expressions do not know.
std::optional<std::string> to_expression(std::string cxx, const Candidate& candidate);

} // namespace lathe::refactor
