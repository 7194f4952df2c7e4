// One kernel of a parsed, self-contained file, as the rules look at it: its body and the functions it
// reaches, where in the text things stand, and what index arithmetic means.
#pragma once

#include "refactor/frontend/frontend.h"
#include "refactor/knobs/polynomial.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Expr.h>

#include <functional>
#include <map>
#include <set>

namespace lathe::refactor {

// Bytes [begin, end) of the main file.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

// A binary operation. Where an operand depends on a template parameter, Clang writes it as a call of an
// operator. A product of 24 bits (`__umul24`), of which older kernels make indices, is one.
struct BinaryParts {
  const clang::Expr* left = nullptr;
  const clang::Expr* right = nullptr;
  clang::BinaryOperatorKind operation = clang::BO_Add;
};
std::optional<BinaryParts> binary_parts(const clang::Stmt* statement);

class KernelView {
public:
  // `defaults`: knob name -> its default where that is an integer literal; the body is read at the defaults.
  KernelView(ParsedSource& source, const KernelInfo& kernel,
             std::map<std::string, std::int64_t> defaults = {});

  const clang::FunctionDecl* kernel() const { return kernel_; }
  clang::ASTContext& context() const { return context_; }
  // The kernel first, then every function with a body in the main file that it may call (by name where the
  // callee depends on a template parameter).
  const std::vector<const clang::FunctionDecl*>& functions() const { return functions_; }
  // The functions among them that a template parameter may stand for (`template <class T, T (*F)(const
  // T&)>`): which one it is, only an instance says, so that all of the file with as many parameters are
  // taken.
  std::vector<const clang::FunctionDecl*>
  functions_passed_as(const clang::NonTypeTemplateParmDecl* parameter) const;
  bool is_kernel_only() const { return functions_.size() == 1; }
  // Functions called that have no body in the main file, and names that could not be resolved to one.
  const std::set<std::string>& external_calls() const { return external_calls_; }

  // The bytes that a node covers in the main file; nothing inside a macro expansion or another file.
  std::optional<TextRange> range(clang::SourceRange source_range) const;
  // The same also where a macro's call, or an argument of one, spells the node as a whole.
  std::optional<TextRange> written_range(clang::SourceRange source_range) const;
  std::string text(TextRange range) const;
  std::string text(const clang::Expr* expression) const; // "" where it has no range
  std::string type_text(clang::QualType type) const;     // as C++, without qualifiers
  const std::string& file_text() const { return file_text_; }
  int line(clang::SourceLocation location) const;
  std::string at_line(clang::SourceLocation location) const; // "line 12"
  bool in_main_file(clang::SourceLocation location) const;

  // "threadIdx.x", "blockDim.y", ... when the expression reads that; "" otherwise.
  static std::string builtin_name(const clang::Expr* expression);

  // Index arithmetic as a polynomial: constants, variables that are set once and calls of functions that are
  // one expression are expanded.
  Polynomial evaluate(const clang::Expr* expression) const;
  // The same with the knobs by their names ("template:BLOCK") and not at their defaults.
  Polynomial evaluate_by_names(const clang::Expr* expression) const;
  // Keeps a variable as the given atom instead of expanding it.
  void keep(const clang::VarDecl* variable, std::string atom) {
    kept_[variable->getCanonicalDecl()] = std::move(atom);
  }
  // The same of an expression that has no name.
  void keep(const clang::Expr* expression, std::string atom);
  void release(const clang::VarDecl* variable) { kept_.erase(variable->getCanonicalDecl()); }
  // Variables written after their initialisation, or whose address or reference escapes.
  bool is_modified(const clang::VarDecl* variable) const {
    return modified_.count(variable->getCanonicalDecl()) > 0;
  }
  // The atom of a variable that is not expanded.
  std::string atom_of(const clang::ValueDecl* variable) const;
  std::optional<bool> decide(const clang::Expr* condition) const; // at the knobs' defaults
  // The expression that a call stands for, where the function has a body in the main file that only returns
  // it.
  const clang::Expr* returned_expression(const clang::CallExpr* call) const;

  // True when the argument is threads' or blocks' numbers that every call gives that parameter of the
  // functions that this one may be of. Within these, the parameter is evaluated as what it is given.
  bool is_given(const clang::CallExpr* call, const clang::Expr* argument) const;

  // The parent of a node inside the functions (skipping nothing); null at the top.
  const clang::Stmt* parent(const clang::Stmt* statement) const;
  // The nearest ancestor that is not a parenthesis, an implicit node or a cast.
  const clang::Stmt* meaningful_parent(const clang::Stmt* statement) const;
  // The call that the name of a function stands in as what is called, or nothing.
  const clang::CallExpr* call_of(const clang::Stmt* name) const;
  // True when `wanted` is `root` or stands below it.
  bool within(const clang::Stmt* root, const clang::Stmt* wanted) const;
  const clang::FunctionDecl* enclosing_function(const clang::Stmt* statement) const;
  // Visits every statement of every function, parents first.
  void visit(const std::function<void(const clang::Stmt*)>& visitor) const;
  void visit(const clang::Stmt* root, const std::function<void(const clang::Stmt*)>& visitor) const;
  // Every mention of the declaration in the functions.
  std::vector<const clang::DeclRefExpr*> uses(const clang::ValueDecl* declaration) const;

  // Pointer parameters of the kernel that an address is computed from ("input"), or nothing.
  const clang::ParmVarDecl* base_pointer(const clang::Expr* address) const;
  // True when the address is into __shared__ memory or a local array.
  bool is_on_chip(const clang::Expr* address) const;

private:
  clang::ASTContext& context_;
  const clang::FunctionDecl* kernel_ = nullptr;
  std::map<std::string, std::int64_t> defaults_;
  std::string file_text_;
  std::vector<const clang::FunctionDecl*> functions_;
  std::set<std::string> external_calls_;
  std::map<const clang::NonTypeTemplateParmDecl*, std::vector<const clang::FunctionDecl*>> passed_functions_;
  std::set<const clang::VarDecl*> modified_;
  std::map<const clang::VarDecl*, std::string> kept_;
  std::map<const clang::Expr*, std::string> kept_expressions_;
  // Parameters of a function that is read in place of its call.
  mutable std::map<const clang::VarDecl*, Polynomial> bound_;
  // Parameters of functions that every call gives the same numbers of threads and blocks.
  std::map<const clang::VarDecl*, Polynomial> given_;
  std::set<clang::DeclarationName>
      named_alone_; // functions that some call may mean of which the name is known alone
  std::map<const clang::Stmt*, const clang::Stmt*> parents_;
  std::map<const clang::Stmt*, const clang::FunctionDecl*> owners_;
  mutable int depth_ = 0;
  mutable bool knobs_by_names_ = false;

  std::optional<Polynomial> evaluate_call(const clang::CallExpr* call) const;
  void collect_functions();
  void index_body(const clang::FunctionDecl* function);
  void collect_modified();
  void collect_given();
};

} // namespace lathe::refactor
