// Literals: no number that the raw kernel does not have decides what is computed or which way a branch goes,
// no problem size is hard-coded, and a number that equals a knob's default is reported for as long as it may
// mean the knob.
#include "refactor/guard/checks.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/ASTUnit.h>

#include <map>
#include <set>

namespace lathe::refactor {
namespace {

// Integer literals of the pattern's body, where template parameters are still names.
struct LiteralVisitor : clang::RecursiveASTVisitor<LiteralVisitor> {
  std::map<std::uint64_t, int> literals;
  bool VisitIntegerLiteral(clang::IntegerLiteral* literal) {
    ++literals[literal->getValue().getLimitedValue()];
    return true;
  }
  bool TraverseStaticAssertDecl(clang::StaticAssertDecl*) { return true; }
};

std::map<std::uint64_t, int> pattern_literals(const ParsedSide& side) {
  LiteralVisitor visitor;
  const clang::FunctionDecl* definition = nullptr;
  if (side.kernel.declaration && side.kernel.declaration->hasBody(definition))
    visitor.TraverseStmt(definition->getBody());
  return visitor.literals;
}

// Those of every function's body, not of bounds and types.
struct BodyVisitor : clang::RecursiveASTVisitor<BodyVisitor> {
  LiteralVisitor inside;
  bool VisitFunctionDecl(clang::FunctionDecl* function) {
    // Clang lists instances beside what the file says; their numbers are knobs' values.
    if (function->doesThisDeclarationHaveABody() && !function->isTemplateInstantiation())
      inside.TraverseStmt(function->getBody());
    return true;
  }
};

// `(static_cast<float>(q) - 8.f) * scale` for `(q - 8) * scale`: what is added, taken away or multiplied
// alone shows with all data.
bool is_known_operand(const FactPair& pair, const std::string& text, double value) {
  const auto operands = pair.template_source->real_operands.find(text);
  return operands != pair.template_source->real_operands.end() &&
         operands->second == pair.template_source->real_literals.at(text) &&
         pair.raw_source->integer_operands.contains(value);
}

// Whether what a comparison with a number of the template's own decides is what the raw kernel asks, too, in
// other words: `(bits & 0x7f800000) == 0x7f800000` for `!isfinite(x)`. Only relations: what a minimum hides
// is no question.
bool is_known_question(const FactPair& pair, const std::string& comparison) {
  const std::string relation = comparison.substr(0, comparison.rfind(' '));
  static const std::set<std::string> RELATIONS{"==", "!=", "<", "<=", ">", ">="};
  if (!pair.raw || !pair.templated || !RELATIONS.contains(relation))
    return false;
  const std::uint64_t number = std::strtoull(comparison.c_str() + relation.size(), nullptr, 10);
  return serves_known_functions(
      pair.templated->pure,
      [number](const PureValues& values, const PureNode& node) { return asks_for(values, node, number); },
      pair.raw->pure);
}

// Of all functions of the file: a kernel's work may be in one that it calls.
std::map<std::uint64_t, int> file_literals(const ParsedSide& side) {
  BodyVisitor visitor;
  clang::ASTUnit& ast = side.source->ast();
  const clang::SourceManager& manager = ast.getSourceManager();
  for (clang::Decl* declaration : llvm::make_range(ast.top_level_begin(), ast.top_level_end()))
    if (manager.isInMainFile(manager.getExpansionLoc(declaration->getLocation())))
      visitor.TraverseDecl(declaration);
  return visitor.inside.literals;
}

} // namespace

CheckResult check_literals(const JudgedPair& subject) {
  Findings findings("literals");
  std::size_t instances = 0;
  for (const FactPair& pair : fact_pairs(subject)) {
    ++instances;
    const std::string where = " at " + pair.configuration->text();
    for (const auto& [text, count] : pair.template_source->real_literals) {
      const double value = std::strtod(text.c_str(), nullptr);
      if (!pair.raw_source->real_literals.contains(text) && value != 0 && value != 1 &&
          !is_known_operand(pair, text, value))
        findings.fail("the constant " + text + " is not in the raw kernel" + where);
    }
    for (const std::string& comparison : pair.template_source->compared_integers) {
      const std::string number = comparison.substr(comparison.rfind(' ') + 1);
      bool in_raw = false;
      for (const std::string& known : pair.raw_source->compared_integers)
        in_raw |= known == comparison || known.substr(known.rfind(' ') + 1) == number;
      if (!in_raw && !is_known_question(pair, comparison))
        findings.fail(
            "a run-time value is compared with a number that the raw kernel does not compare with ('" +
            comparison + "')" + where);
    }
  }

  const std::map<std::uint64_t, int> raw = file_literals(subject.raw),
                                     templated = pattern_literals(subject.templated);
  std::set<std::int64_t> sizes;
  for (const Problem& problem : subject.spec.problems)
    for (const auto& [name, value] : problem.dimensions)
      if (value > 32)
        sizes.insert(value);
  for (const auto& [value, count] : file_literals(subject.templated)) {
    if (!raw.contains(value) && sizes.contains(static_cast<std::int64_t>(value)))
      findings.fail("the number " + std::to_string(value) +
                    " is a problem size and is not in the raw kernel");
  }
  for (std::size_t k = 0; k < subject.spec.knobs.size() && !subject.defaults.empty(); ++k) {
    const Value& value = subject.defaults[0].knobs[k];
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number && *number >= 4 && templated.contains(static_cast<std::uint64_t>(*number)))
      findings.report("the number " + std::to_string(*number) +
                      " is left in the template and equals the default of knob '" +
                      subject.spec.knobs[k].name + "': runs away from the default stand in");
  }
  return findings.conclude(Verdict::proved,
                           "every constant and every number that is compared with is the raw kernel's, in " +
                               std::to_string(instances) + " instances");
}

} // namespace lathe::refactor
