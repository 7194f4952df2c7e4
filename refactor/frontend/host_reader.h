// Reads one launcher: follows its statements in order, keeps what is known of every variable as an expression
// over the launcher's integer parameters, and records each launch that it meets.
#pragma once

#include "refactor/frontend/caller_sizes.h"
#include "refactor/frontend/host_value.h"
#include "refactor/frontend/other_definitions.h"
#include "refactor/frontend/parsed_source.h"
#include "refactor/frontend/source_sizes.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/StmtCXX.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

namespace lathe::refactor {

// One launch as found on one path through a launcher.
struct LaunchRecord {
  KernelReference kernel;
  const clang::ASTContext* context = nullptr; // that the location belongs to
  clang::SourceLocation location;
  LaunchSite site;
  bool asks_elsewhere = false; // a function that this file only declares decides its grid or block
  bool of_instance = false;    // read where its launcher is called with template arguments written out
};

class HostReader {
public:
  // `others`: where functions are looked for that this source only declares; null: nowhere.
  explicit HostReader(ParsedSourceImpl& source, OtherDefinitions* others = nullptr);

  // Follows the function's body; the launches are appended to `launches`.
  void read(const clang::FunctionDecl* launcher);
  std::vector<LaunchRecord> launches;

  // Template arguments as a name expression spells them, packs unfolded.
  static std::vector<std::string> texts(llvm::ArrayRef<clang::TemplateArgument> arguments,
                                        const clang::ASTContext& context);

private:
  using State = std::map<const clang::VarDecl*, HostValue>;
  enum class Flow { next, leaves_loop, returns };
  struct Returned {
    HostValue condition, value;
    State kernels; // the variables that stand for kernels there
  };
  // A case of a switch that is being read.
  struct Case {
    HostValue subject;
    std::int64_t number = 0;
    bool is_named = false; // a constant stands for the subject already
  };
  struct Frame {
    State variables;
    std::vector<HostValue> path;    // conditions that hold here
    std::vector<Returned> returned; // of the function being called
    std::vector<Case> cases;        // of the enclosing switches, the outermost first
    HostValue receiver;             // what `this` is in the method being called
  };
  // What a call comes to, and what its parameters, or what they point to, are at its end.
  struct Outcome {
    HostValue result;
    std::vector<HostValue> left;
  };

  // host_expressions.cpp
  HostValue evaluate(const clang::Expr* expression);
  HostValue evaluate_plain(const clang::Expr* expression);
  HostValue variable(const clang::VarDecl* variable);
  // A number that the text fixes, as a dimension: by the variable or the macro that names it.
  std::optional<HostValue> fixed_size(const clang::VarDecl* variable);
  std::optional<HostValue> fixed_size(const clang::Expr* expression);
  std::optional<HostValue> fixed_macro(const std::string& name);
  HostValue listed(llvm::ArrayRef<clang::Expr*> elements);
  HostValue name(const clang::DeclRefExpr* reference);
  HostValue convert(const clang::Expr* expression, const clang::Expr* inner, clang::QualType to);
  // The integer that a call of ceil(), floor() or __builtin_clz() is, where it is known.
  std::optional<HostValue> rounded_call(const std::string& function,
                                        llvm::ArrayRef<const clang::Expr*> written);
  // The integer that a real number becomes: a quotient, a logarithm, a power of two.
  std::optional<HostValue> truncated(const clang::Expr* expression);
  std::optional<HostValue> converted_where_it_stands(const clang::Expr* expression);
  // The n of log2(n) and of log(n) / log(2).
  std::optional<HostValue> logarithm_of(const clang::Expr* expression);
  HostValue unary(const clang::UnaryOperator* expression);
  HostValue binary(const clang::BinaryOperator* expression);
  std::optional<HostValue> constant_object(clang::QualType type);
  HostValue construct(clang::QualType type, llvm::ArrayRef<const clang::Expr*> arguments);
  HostValue member(const clang::Expr* base, const std::string& name, clang::QualType type);
  HostValue size_of(const clang::UnaryExprOrTypeTraitExpr* expression);
  HostValue subscript(const clang::Expr* base, const clang::Expr* index, clang::QualType type);
  HostValue static_member(const clang::NestedNameSpecifier* qualifier, const std::string& name);
  std::optional<HostValue> member_of_instances(const clang::Type& parameter, const std::string& member_name);
  HostValue instance_member(const clang::ClassTemplateDecl& described,
                            const std::map<const clang::NamedDecl*, HostValue>& arguments,
                            const std::string& member_name);
  // What a type is without aliases; written once, as instances are many and their names long.
  const std::string& text_of_type(clang::QualType type);
  // A number that only the running program knows, as a dimension named after what it is asked of.
  HostValue query(const std::string& key, const std::string& name);
  std::string object_name(const clang::Expr* expression);
  // The same for the copies of one variable that a macro makes.
  std::uintptr_t owner_of(const clang::NamedDecl* declaration) const {
    return context_.getSourceManager().getSpellingLoc(declaration->getLocation()).getRawEncoding();
  }
  std::string unique_name(const std::string& wanted, std::uintptr_t owner);

  // host_calls.cpp
  HostValue call_named(const clang::CallExpr* call);
  void ask_occupancy(const std::string& function, const std::vector<HostValue>& arguments);
  HostValue call_closure(const clang::LambdaExpr* closure, const std::vector<HostValue>& arguments);
  // Variables that a closure sets to a kernel before one of its returns stand for that kernel behind it.
  void keep_kernels(const std::vector<Returned>& returned, Flow flow);
  // What template parameters are from now on where arguments for them are written; whether a number is among
  // them.
  bool bind_written(llvm::ArrayRef<clang::NamedDecl*> parameters,
                    llvm::ArrayRef<clang::TemplateArgumentLoc> written);
  // closure.operator()<true, 4>(...): the closure's own template parameters are what is written there.
  HostValue call_instance(const clang::LambdaExpr* closure,
                          llvm::ArrayRef<clang::TemplateArgumentLoc> template_arguments,
                          const std::vector<HostValue>& arguments);
  HostValue packed_accessor(const clang::Expr* tensor, const clang::TemplateArgumentLoc& dimensions);
  HostValue tensor_info(const clang::Expr* tensor);
  HostValue method(const clang::Expr* object, const std::string& name,
                   llvm::ArrayRef<const clang::Expr*> arguments, clang::QualType type);
  void visit_children(const clang::Stmt* statement);
  // A closure that goes to code that is not read is called there, once, with what is not known.
  void called_elsewhere(const HostValue& value);

  // host_functions.cpp
  // A call of a function that may decide a launch, followed; `written`: the arguments as the call has them,
  // for what the function sets through references. Nothing where nothing becomes known by it.
  std::optional<HostValue> call_function(const clang::FunctionDecl* function,
                                         const std::vector<HostValue>& arguments,
                                         llvm::ArrayRef<const clang::Expr*> written,
                                         const HostValue& receiver = {}, bool is_instance = false);
  // The same for a function template that nobody uses in this file, but for a template that calls it with
  // numbers among its template arguments: what it launches is launched with these, and it is followed for
  // that (`is_instance` above).
  std::optional<HostValue> call_with_template_arguments(const clang::UnresolvedLookupExpr& callee,
                                                        const clang::FunctionDecl* function,
                                                        const std::vector<HostValue>& arguments,
                                                        llvm::ArrayRef<const clang::Expr*> written);
  // The same for a method that computes with what it is given, or of an object without a name.
  std::optional<HostValue> call_method(const clang::MemberExpr* access,
                                       llvm::ArrayRef<const clang::Expr*> written);
  Outcome run_body(const clang::FunctionDecl* definition, const std::vector<HostValue>& arguments,
                   const HostValue& receiver);
  // Remembers that a number was asked of a function without a body, which computes it from sizes.
  void note_asked(const clang::FunctionDecl* function, llvm::ArrayRef<const clang::Expr*> written,
                  const HostValue& value);
  // What a function that is not followed may have set is not known any more.
  void set_by_call(const clang::FunctionDecl* function, const std::vector<HostValue>& arguments,
                   llvm::ArrayRef<const clang::Expr*> written);

  // host_elsewhere.cpp
  // A function that another file defines, read there.
  std::optional<Outcome> call_elsewhere(const clang::FunctionDecl* function, std::vector<HostValue> arguments,
                                        const HostValue& receiver);

  // host_statements.cpp
  void read_once(const clang::FunctionDecl* launcher, bool loops_leave_sizes);
  // What the launcher's own template parameters are, or its class's: a number where every instance in use
  // agrees, else a name with its values.
  void bind_parameters(const clang::TemplateParameterList& parameters,
                       const std::vector<const clang::TemplateArgumentList*>& instances);
  Flow execute(const clang::Stmt* statement);
  Flow execute_if(const clang::IfStmt* statement);
  Flow execute_switch(const clang::SwitchStmt* statement);
  void declare(const clang::VarDecl* variable);
  // The variable as a dimension of its own.
  HostValue dimension(const clang::VarDecl* variable);
  // What the variable is from now on, `from` being what it is set to. Numbers that are asked of objects for
  // the first time, `queries` and `names` being what was known before, are named after the variable that
  // keeps them; where it is computed from several, or follows the program's arguments, the variable itself is
  // the dimension.
  HostValue kept_in(const clang::VarDecl* variable, const clang::Expr* from, HostValue value,
                    const std::map<std::string, std::string>& queries,
                    const std::map<std::string, std::uintptr_t>& names);
  void assign(const clang::Expr* target, const HostValue& value);
  HostValue* place(const clang::Expr* target);
  void merge(const HostValue& condition, const State& yes, const State& no, const std::string& why);
  HostValue returned_value(const std::vector<Returned>& returned);

  // host_checks.cpp
  // Whether a statement is a check of the program's that stops it where a condition does not hold: then what
  // comes behind it has that among its conditions.
  bool note_check(const clang::Expr* statement);
  // A condition that was left for later; unknown where it follows something that has changed, or that has no
  // name still.
  HostValue read_later(const HostValue& condition);

  // host_loops.cpp
  bool unroll_loop(const clang::Expr* condition, const clang::Expr* step, const clang::Stmt* body);
  void execute_loop(const clang::Stmt* loop, const clang::Stmt* body);
  // What comes after the loop; nothing where its rounds are not known.
  std::optional<Flow> unroll_list(const clang::CXXForRangeStmt& loop);
  // A switch over what a loop changes takes other ways in later rounds: these are read while launches of its
  // body are left that no round came to. `first`: what holds in the first round.
  void read_later_rounds(const clang::ForStmt& loop, const Frame& first, std::size_t recorded);
  // What the arguments are in the first round that the loop changes, of the launches from `recorded` on.
  void note_first_round(const clang::Stmt* body, const Frame& first, std::size_t recorded);
  // `while (n % tile != 0) n++;`: true where the loop is that, and n is a multiple now.
  bool round_in_loop(const clang::Expr* condition, const clang::Expr* step, const clang::Stmt* body);
  // `while (n < size) n *= 2;`: true where the loop is that, and n is the power of two now
  // (host_doubling.cpp).
  bool double_in_loop(const clang::Expr* condition, const clang::Expr* step, const clang::Stmt* body);
  // Of what the statement changes nothing is known any more; `as_sizes`: integers are sizes of their own.
  void forget(const clang::Stmt* statement, const std::string& why, bool as_sizes = false);

  // host_launches.cpp
  bool record_launch(const clang::CallExpr* call);
  bool record_wrapped_launch(llvm::ArrayRef<const clang::Expr*> arguments, clang::SourceLocation location);
  static void note_members(const HostValue& value, const std::string& path, LaunchSite& site);
  void record(const KernelReference& kernel, const HostValue& grid, const HostValue& block,
              const HostValue& shared, const std::vector<HostValue>& arguments, LaunchText text,
              clang::SourceLocation location);

  // kernel_references.cpp
  HostValue kernel_reference(const clang::Expr* expression);
  HostValue variable_template(const clang::VarTemplateDecl& described,
                              llvm::ArrayRef<clang::TemplateArgumentLoc> written);
  std::vector<std::string> template_arguments(llvm::ArrayRef<clang::TemplateArgumentLoc> written,
                                              const clang::TemplateParameterList* parameters,
                                              std::vector<std::string>& unreadable);
  std::string type_argument(clang::QualType type);
  std::string function_argument(const clang::Expr* expression);

  // launch_objects.cpp
  // What an object knows that takes a grid and a block to launch kernels later.
  std::optional<HostValue> launch_object(clang::QualType type, llvm::ArrayRef<const clang::Expr*> arguments);
  // A call of such an object, or of one of its methods; nothing where the object is another.
  std::optional<HostValue> call_launch_object(const clang::Expr* object,
                                              llvm::ArrayRef<const clang::Expr*> written, bool is_operator,
                                              clang::SourceLocation location);
  // Records the launch where a function is handed the kernel, an object made from a launch's settings, and
  // the kernel's arguments.
  bool record_launch_with_settings(const HostValue& kernel, llvm::ArrayRef<const clang::Expr*> written,
                                   clang::SourceLocation location);
  void record_launch_by_object(const HostValue& kernels, const HostValue& settings,
                               llvm::ArrayRef<const clang::Expr*> written, clang::SourceLocation location);

  // host_ties.cpp
  // Numbers in an object that the kernel takes whole and that the launcher's sizes were asked from, noted as
  // what is passed for the kernel's "p.n"; returned as the launcher has them.
  std::vector<std::string> told_in_object(const clang::ParmVarDecl& parameter, const HostValue& argument,
                                          LaunchSite& site);
  // Puts what the kernel is told in the place of sizes of the launch that are computed from the same: `told`
  // are the numbers among its arguments.
  void tie_to_arguments(LaunchSite& site, const std::vector<std::string>& told) const;
  std::optional<std::string> told_as(const std::string& key, const LaunchSite& site,
                                     const std::vector<std::string>& told,
                                     std::vector<std::string>& assumed) const;

  // launch_text.cpp
  LaunchText written_launch(const clang::CUDAKernelCallExpr* launch, const std::vector<HostValue>& arguments);
  void add_known_variables(const clang::FunctionDecl* function, const std::vector<const clang::Stmt*>& path,
                           LaunchText& text) const;
  std::string known_value(const clang::VarDecl* variable) const;

  std::string text(const clang::Stmt* statement) const;
  std::string line(clang::SourceLocation location) const;
  static std::string callee_name(const clang::CallExpr* call);

  // A number that a variable keeps, over what was asked of objects for it: dimension -> key.
  struct Computed {
    std::string text;
    std::map<std::string, std::string> asked;
  };

  ParsedSourceImpl& source_;
  OtherDefinitions* others_;
  clang::ASTContext& context_;
  SourceSizes sizes_;
  CallerSizes caller_sizes_;
  std::map<std::string, std::int64_t> fixed_sizes_; // dimension -> what the text has for it
  Frame frame_;
  std::vector<HostValue> callers_path_; // under which the function is called whose body is being read
  std::string launcher_;
  std::vector<const clang::FunctionDecl*> functions_; // whose bodies are being read, the outermost first
  std::map<std::string, std::string> queries_;        // key -> dimension
  std::map<std::string, Computed> computed_;    // dimension that a variable is -> what it was computed from
  std::map<std::string, std::uintptr_t> names_; // dimension -> what it stands for
  std::map<const clang::NamedDecl*, HostValue> bound_; // template parameters while a traits member is read
  std::map<std::string, std::vector<std::string>> open_arguments_; // LaunchSite::launcher_arguments
  // Of template parameters that are classes: what they are in each of the launcher's instances.
  std::map<const clang::NamedDecl*, std::vector<const clang::CXXRecordDecl*>> classes_of_instances_;
  std::map<const void*, std::string> type_texts_;    // text_of_type
  std::set<const clang::LambdaExpr*> entered_;       // closures whose body has been read
  std::set<const clang::Stmt*> not_unrolled_;        // bodies of loops without a known end
  bool loops_leave_sizes_ = false;                   // integers that a loop changes are sizes behind it
  std::map<std::string, std::string> left_by_loops_; // these, with the loop's line
  std::set<std::string> assumed_;                    // of what CUDA is asked and nobody knows yet, sentences
  std::set<std::string> asked_;   // dimensions that functions without a body were asked for
  int rounds_ = 0;                // of loops that were read round by round
  int calls_ = 0;                 // of functions that were read where they are called
  std::string program_arguments_; // how many main() has, where it is what is read
  const clang::ParmVarDecl* program_texts_ = nullptr; // and the arguments
  int depth_ = 0;
};

} // namespace lathe::refactor
