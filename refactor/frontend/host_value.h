// What a host expression is known to be while a launcher is read: Lathe expressions for integers, dim3 and
// configuration structures by member, kernels, closures, or unknown with the reason.
#pragma once

#include <clang/AST/Decl.h>
#include <clang/AST/ExprCXX.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::refactor {

// A kernel named in host code, with the template arguments written there.
struct KernelReference {
  const clang::FunctionDecl* kernel = nullptr; // canonical declaration of the pattern
  std::vector<std::string> arguments;          // "scalar_t", "16", "gcd(16 / sizeof_T, d)"
  std::vector<std::string> concrete;           // as Clang resolved them; empty while dependent
  std::vector<std::string> unreadable;
  std::vector<std::string> conditions; // under which it is this one, where a choice between kernels was read
  bool operator==(const KernelReference& other) const {
    return kernel == other.kernel && arguments == other.arguments;
  }
};

// How tightly the outermost operator of an expression binds, C's levels.
enum Binding : int {
  BIND_CONDITIONAL = 1,
  BIND_OR,
  BIND_AND,
  BIND_BIT_OR,
  BIND_BIT_XOR,
  BIND_BIT_AND,
  BIND_EQUAL,
  BIND_LESS,
  BIND_SHIFT,
  BIND_ADD,
  BIND_MULTIPLY,
  BIND_UNARY,
  BIND_PRIMARY
};

struct HostValue {
  enum class Kind {
    unknown,   // `text`: the object's name where it has one; `why`: what stands in the way
    integer,   // `text` is a Lathe expression
    real,      // `text` is a Lathe expression of floating type; of a quotient of integers `elements` are both
    structure, // `members`
    kernel,
    closure,
    address, // of `variable`
    list,
    null, // a pointer to nothing
  };
  Kind kind = Kind::unknown;
  std::string text, why;
  int binding = BIND_PRIMARY;
  std::map<std::string, HostValue> members;
  std::vector<HostValue> elements;
  std::vector<KernelReference> kernels;
  const clang::LambdaExpr* closure = nullptr;
  const clang::VarDecl* variable = nullptr;
  std::string bytes; // of what a pointer was given by cudaMalloc, as a Lathe expression
  // A condition that is read where it is needed, for what it asks of objects may have names by then;
  // `members` are the variables that it follows, as they are here.
  const clang::Expr* later = nullptr;
  // Conditions under which a number is this one; where they do not hold it cannot be read.
  std::vector<std::string> assumes;

  bool is_integer() const { return kind == Kind::integer; }
  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  // An integer, or a real number that is one.
  bool is_whole() const;
  bool operator==(const HostValue& other) const {
    return kind == other.kind && text == other.text && members == other.members &&
           elements == other.elements && kernels == other.kernels && closure == other.closure &&
           variable == other.variable;
  }

  static HostValue integer(std::string text, int binding = BIND_PRIMARY) {
    HostValue value;
    value.kind = Kind::integer;
    value.text = std::move(text);
    value.binding = binding;
    return value;
  }
  static HostValue real(double number);
  static HostValue unknown(std::string why, std::string name = {}) {
    HostValue value;
    value.why = std::move(why);
    value.text = std::move(name);
    return value;
  }
};

// The text, in parentheses when its operator binds less tightly than `binding`.
std::string bound(const HostValue& value, int binding);

// a op b for the operators that the expression language has; unknown when either side is no number. Constants
// are folded, and operations with 0 and 1 that change nothing are left out.
HostValue combine(clang::BinaryOperatorKind operation, const HostValue& left, const HostValue& right);
// condition ? a : b, member by member; unknown with `why` when the sides differ and the condition is not
// readable.
HostValue choose(const HostValue& condition, const HostValue& yes, const HostValue& no,
                 const std::string& why);
// `chosen` of the same choice; where it cannot be read but one of the two ways is a number, that way, which
// assumes the condition then.
HostValue readable_way(const HostValue& condition, const HostValue& yes, const HostValue& no,
                       HostValue chosen);
HostValue negate(const HostValue& condition);
// An integer that is no number that is written out.
bool follows_size(const HostValue& value);
// The number that a value is, where it is written out and not negative.
std::optional<std::size_t> number_of(const HostValue& value);
// Of a list, or of an array that a launcher sets.
inline constexpr std::size_t MOST_ELEMENTS = 256;
// Whether the truth value is known.
bool is_constant(const HostValue& condition);
// "min(a, b)".
HostValue call(const std::string& function, const std::vector<HostValue>& arguments);

} // namespace lathe::refactor
