// Functions that another file defines: read there, with what is known of their arguments here.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/RecursiveASTVisitor.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// The function of that name and as many parameters that has a body in the user's part of a source; of several
// the one whose parameters have the same types.
class DefinitionFinder : public RecursiveASTVisitor<DefinitionFinder> {
public:
  DefinitionFinder(ParsedSourceImpl& source, const FunctionDecl& wanted)
      : source_(source), name_(wanted.getQualifiedNameAsString()), types_(types_of(wanted)) {}

  const FunctionDecl* found = nullptr;

  bool TraverseDecl(Decl* declaration) {
    return (declaration && source_.is_elsewhere(*declaration)) ||
           RecursiveASTVisitor::TraverseDecl(declaration);
  }
  bool TraverseStmt(Stmt*) { return true; }
  bool VisitFunctionDecl(FunctionDecl* function) {
    if (function->doesThisDeclarationHaveABody() && function->getNumParams() == types_.size() &&
        !function->isDependentContext() && function->getQualifiedNameAsString() == name_) {
      is_same_ = types_of(*function) == types_;
      if (is_same_ || !found)
        found = function;
    }
    return !is_same_;
  }

private:
  static std::vector<std::string> types_of(const FunctionDecl& function) {
    std::vector<std::string> types;
    for (const ParmVarDecl* parameter : function.parameters())
      types.push_back(parameter->getType().getCanonicalType().getAsString());
    return types;
  }

  ParsedSourceImpl& source_;
  std::string name_;
  std::vector<std::string> types_;
  bool is_same_ = false;
};

// A closure means nothing in another file.
HostValue without_closures(const HostValue& value) {
  return value.kind == HostValue::Kind::closure ? HostValue::unknown("", value.text) : value;
}

} // namespace

std::optional<HostReader::Outcome> HostReader::call_elsewhere(const FunctionDecl* function,
                                                              std::vector<HostValue> arguments,
                                                              const HostValue& receiver) {
  if (!others_ || !function->getIdentifier() || !source_.is_user_file(function->getLocation()))
    return std::nullopt;
  for (HostValue& argument : arguments)
    argument = without_closures(argument);
  for (ParsedSource* other : others_->defining(function->getNameAsString())) {
    ParsedSourceImpl& source = implementation(*other);
    if (&source == &source_)
      continue;
    DefinitionFinder finder(source, *function);
    finder.TraverseAST(source.ast().getASTContext());
    if (!finder.found)
      continue;
    HostReader reader(source, others_);
    reader.launcher_ = launcher_;
    reader.program_arguments_ = program_arguments_;
    reader.program_texts_ = program_texts_;
    reader.names_ = names_;
    reader.queries_ = queries_;
    reader.computed_ = computed_;
    reader.asked_ = asked_;
    reader.fixed_sizes_ = fixed_sizes_;
    reader.open_arguments_ = open_arguments_;
    reader.left_by_loops_ = left_by_loops_;
    reader.assumed_ = assumed_;
    reader.loops_leave_sizes_ = loops_leave_sizes_;
    reader.rounds_ = rounds_;
    reader.calls_ = calls_;
    reader.depth_ = depth_;
    for (const HostValue& argument : arguments)
      if (argument.kind == HostValue::Kind::address)
        reader.frame_.variables[argument.variable] = without_closures(variable(argument.variable));
    Outcome outcome = reader.run_body(finder.found, arguments, receiver);
    outcome.result = without_closures(outcome.result);
    for (HostValue& value : outcome.left)
      value = without_closures(value);
    names_ = std::move(reader.names_);
    queries_ = std::move(reader.queries_);
    computed_ = std::move(reader.computed_);
    asked_ = std::move(reader.asked_);
    fixed_sizes_ = std::move(reader.fixed_sizes_);
    left_by_loops_ = std::move(reader.left_by_loops_);
    assumed_ = std::move(reader.assumed_);
    rounds_ = reader.rounds_;
    calls_ = reader.calls_;
    for (LaunchRecord& launch : reader.launches)
      launches.push_back(std::move(launch));
    return outcome;
  }
  return std::nullopt;
}

} // namespace lathe::refactor
