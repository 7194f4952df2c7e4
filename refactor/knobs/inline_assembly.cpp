#include "refactor/knobs/inline_assembly.h"

#include <clang/AST/Expr.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

namespace lathe::refactor {

using namespace clang;

namespace {

// PTX ISA, instruction sets for integers, floating point, comparison, logic and data movement within a
// thread.
bool computes(const std::string& instruction) {
  static const std::set<std::string> names{
      "abs",      "add",   "addc", "and",  "bfe",   "bfi",  "bfind", "bmsk",  "brev",  "clz", "cnot",
      "copysign", "cos",   "cvt",  "div",  "dp2a",  "dp4a", "ex2",   "fma",   "fns",   "lg2", "lop3",
      "mad",      "mad24", "madc", "max",  "min",   "mov",  "mul",   "mul24", "neg",   "not", "or",
      "popc",     "prmt",  "rcp",  "rem",  "rsqrt", "sad",  "selp",  "set",   "setp",  "shf", "shl",
      "shr",      "sin",   "slct", "sqrt", "sub",   "subc", "szext", "tanh",  "testp", "xor"};
  return names.contains(instruction);
}

// Registers that tell threads, blocks and moments apart: %tid, %laneid, %clock, ... (PTX ISA, special
// registers), written as %% in a statement with operands.
bool reads_special_register(const std::string& text) {
  static const std::regex special(
      "%(tid|ntid|laneid|warpid|nwarpid|ctaid|nctaid|smid|nsmid|gridid|lanemask_|clock|globaltimer|pm[0-9]|"
      "envreg|cluster|total_smem|aggr_smem|dynamic_smem|current_graph|reserved_smem)");
  return std::regex_search(text, special);
}

bool is_all_computation(std::string text) {
  static const std::regex predicate(R"(^@!?[%\w]+\s+)"), label(R"(^[$%\w]+\s*:)");
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '{' || c == '}' || c == '\n'; }, ';');
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string one = text.substr(at, end - at);
    at = end + 1;
    one.erase(0, std::min(one.find_first_not_of(" \t\r"), one.size()));
    one = std::regex_replace(one, predicate, "");
    if (one.empty() || one.starts_with(".reg") || one.starts_with("//"))
      continue;
    // A list of operands in braces, a vector that is taken apart, was cut: its rest begins with no name.
    if (std::regex_search(one, label) || !computes(one.substr(0, one.find_first_of(". \t"))))
      return false;
    any = true;
  }
  return any;
}

bool is_address(const Expr* operand) {
  const QualType type = operand->IgnoreParenCasts()->getType();
  return type->isPointerType() || type->isArrayType();
}

} // namespace

bool is_dependency_control(const AsmStmt* statement) {
  const auto* assembly = dyn_cast<GCCAsmStmt>(statement);
  return assembly && assembly->getNumOutputs() == 0 && assembly->getNumInputs() == 0 &&
         assembly->getAsmString()->getString().starts_with("griddepcontrol.");
}

bool is_computation(const AsmStmt* statement) {
  const auto* assembly = dyn_cast<GCCAsmStmt>(statement);
  if (!assembly || assembly->isAsmGoto() || assembly->getNumOutputs() == 0)
    return false;
  for (unsigned i = 0; i < assembly->getNumClobbers(); ++i)
    if (assembly->getClobber(i) == "memory")
      return false;
  for (unsigned i = 0; i < assembly->getNumOutputs(); ++i)
    if (StringRef(assembly->getOutputConstraint(i)).contains('m'))
      return false;
  for (unsigned i = 0; i < assembly->getNumInputs(); ++i)
    if (is_address(assembly->getInputExpr(i)) || StringRef(assembly->getInputConstraint(i)).contains('m'))
      return false;
  const std::string text = assembly->getAsmString()->getString().str();
  return !reads_special_register(text) && is_all_computation(text);
}

} // namespace lathe::refactor
