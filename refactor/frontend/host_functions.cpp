// Functions and methods of host code that are followed where they are called.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

constexpr int MOST_CALLS = 100; // that a launcher's calls lead to: helpers that call helpers multiply

// What a grid or a size is set through.
bool is_place(QualType parameter) {
  if (!parameter->isLValueReferenceType() && !parameter->isPointerType())
    return false;
  const QualType target = parameter->getPointeeType();
  return !target.isConstQualified() && (is_dim3(target) || is_size(target));
}

const ParmVarDecl* parameter_at(const FunctionDecl& function, std::size_t position) {
  return position < function.getNumParams() ? function.getParamDecl(static_cast<unsigned>(position))
                                            : nullptr;
}

// Its launches are those of its caller where it is handed what it launches, or the grid; others are read
// where they stand.
bool launches_for_caller(const FunctionDecl& function, const std::vector<HostValue>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ParmVarDecl* parameter = parameter_at(function, i);
    if (arguments[i].kind == HostValue::Kind::kernel || arguments[i].kind == HostValue::Kind::closure ||
        (parameter && is_dim3(parameter->getType()) && !is_place(parameter->getType())))
      return true;
  }
  return false;
}

bool sets_sizes(const FunctionDecl& function, const std::vector<HostValue>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const ParmVarDecl* parameter = parameter_at(function, i);
        parameter && is_place(parameter->getType()) &&
        (parameter->getType()->isReferenceType() || arguments[i].kind == HostValue::Kind::address))
      return true;
  return false;
}

// struct { dim3 grid; int rows, columns; }, with or without constructors.
bool is_of_sizes(QualType type) {
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record && record->hasDefinition() && !record->field_empty() &&
         std::ranges::all_of(record->fields(), [](const FieldDecl* field) {
           return is_size(field->getType()) || is_dim3(field->getType());
         });
}

// A kernel's address may be a void*.
bool gives_sizes(const FunctionDecl& function) {
  const QualType result = function.getReturnType();
  return (is_integer(result) && !result->isEnumeralType()) || result->isFunctionPointerType() ||
         result->isVoidPointerType() || is_dim3(result) || is_of_sizes(result);
}

} // namespace

std::optional<HostValue> HostReader::call_function(const FunctionDecl* function,
                                                   const std::vector<HostValue>& arguments,
                                                   llvm::ArrayRef<const Expr*> written,
                                                   const HostValue& receiver, bool is_instance) {
  const bool sets = sets_sizes(*function, arguments);
  if (!sets && !is_instance && !gives_sizes(*function) && !launches_for_caller(*function, arguments))
    return std::nullopt;
  if (depth_ >= CALL_DEPTH || ++calls_ > MOST_CALLS)
    return std::nullopt;
  const std::size_t before = launches.size();
  const FunctionDecl* definition = nullptr;
  std::optional<Outcome> outcome;
  if (!function->hasBody(definition))
    outcome = call_elsewhere(function, arguments, receiver);
  else if (source_.is_user_file(definition->getLocation()))
    outcome = run_body(definition, arguments, receiver);
  if (!is_instance && !launches_for_caller(*function, arguments))
    launches.resize(std::min(before, launches.size()));
  for (std::size_t i = before; i < launches.size(); ++i)
    launches[i].of_instance |= is_instance;
  if (!outcome)
    return std::nullopt;
  for (std::size_t i = 0; i < outcome->left.size(); ++i) {
    const ParmVarDecl* parameter = parameter_at(*function, i);
    if (!parameter || !is_place(parameter->getType()))
      continue;
    HostValue left = outcome->left[i];
    const bool is_number = is_size(parameter->getType()->getPointeeType());
    if (arguments[i].kind == HostValue::Kind::address) {
      if (is_number && !left.is_integer())
        left = dimension(arguments[i].variable);
      frame_.variables[arguments[i].variable] = std::move(left);
    } else if (parameter->getType()->isReferenceType() && i < written.size()) {
      const auto* reference = dyn_cast<DeclRefExpr>(plain(written[i]));
      const auto* variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
      if (is_number && !left.is_integer() && variable)
        left = dimension(variable);
      assign(written[i], left);
    }
  }
  if (outcome->result.kind == HostValue::Kind::unknown && !sets)
    return std::nullopt;
  return outcome->result;
}

std::optional<HostValue> HostReader::call_with_template_arguments(const UnresolvedLookupExpr& callee,
                                                                  const FunctionDecl* function,
                                                                  const std::vector<HostValue>& arguments,
                                                                  llvm::ArrayRef<const Expr*> written) {
  const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate();
  if (!described || !callee.hasExplicitTemplateArgs() || described->spec_begin() != described->spec_end())
    return call_function(function, arguments, written);
  const auto outer = bound_;
  const bool has_number =
      bind_written(described->getTemplateParameters()->asArray(), callee.template_arguments());
  auto result = call_function(function, arguments, written, {}, has_number);
  bound_ = outer;
  return result;
}

HostReader::Outcome HostReader::run_body(const FunctionDecl* definition,
                                         const std::vector<HostValue>& arguments, const HostValue& receiver) {
  Frame outer = frame_;
  const std::size_t path = callers_path_.size();
  callers_path_.insert(callers_path_.end(), frame_.path.begin(), frame_.path.end());
  frame_.returned.clear();
  frame_.path.clear();
  frame_.receiver = receiver;
  for (unsigned i = 0; i < definition->getNumParams() && i < arguments.size(); ++i) {
    HostValue argument = arguments[i];
    if (argument.kind == HostValue::Kind::address &&
        definition->getParamDecl(i)->getType()->isReferenceType())
      argument = variable(argument.variable);
    frame_.variables[definition->getParamDecl(i)] = std::move(argument);
  }
  ++depth_;
  functions_.push_back(definition);
  execute(definition->getBody());
  functions_.pop_back();
  --depth_;
  Outcome outcome{returned_value(frame_.returned), {}};
  for (unsigned i = 0; i < definition->getNumParams() && i < arguments.size(); ++i) {
    const bool is_address = arguments[i].kind == HostValue::Kind::address;
    const auto left = frame_.variables.find(is_address ? arguments[i].variable : definition->getParamDecl(i));
    outcome.left.push_back(left == frame_.variables.end() ? HostValue() : left->second);
  }
  frame_ = std::move(outer);
  callers_path_.resize(path);
  return outcome;
}

std::optional<HostValue> HostReader::call_method(const MemberExpr* access,
                                                 llvm::ArrayRef<const Expr*> written) {
  const auto* method = dyn_cast<CXXMethodDecl>(access->getMemberDecl());
  if (!method || method->isVirtual() || method->isOverloadedOperator() || isa<CXXConversionDecl>(method) ||
      !source_.is_user_file(method->getLocation()) || (!method->hasBody() && !others_))
    return std::nullopt;
  std::vector<HostValue> arguments;
  for (const Expr* argument : written)
    arguments.push_back(evaluate(argument));
  const HostValue receiver = evaluate(access->getBase());
  // What is asked of an object without more is a number of that object, by its name.
  const bool computes = is_dim3(method->getReturnType()) || is_of_sizes(method->getReturnType()) ||
                        std::ranges::any_of(arguments, follows_size) ||
                        launches_for_caller(*method, arguments) || sets_sizes(*method, arguments);
  if (!computes && !(receiver.kind == HostValue::Kind::unknown && receiver.text.empty()))
    return std::nullopt;
  return call_function(method, arguments, written, receiver);
}

void HostReader::note_asked(const FunctionDecl* function, llvm::ArrayRef<const Expr*> written,
                            const HostValue& value) {
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(function);
  if (!function || function->hasBody() || (method && method->isVirtual()) || !value.is_integer() ||
      !source_.is_user_file(function->getLocation()))
    return;
  if (std::ranges::any_of(written, [&](const Expr* argument) { return follows_size(evaluate(argument)); }))
    asked_.insert(value.text);
}

void HostReader::set_by_call(const FunctionDecl* function, const std::vector<HostValue>& arguments,
                             llvm::ArrayRef<const Expr*> written) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == HostValue::Kind::address) {
      const VarDecl* variable = arguments[i].variable;
      if (variable->getType()->isIntegralOrEnumerationType())
        frame_.variables[variable] = HostValue::integer(unique_name(arguments[i].text, owner_of(variable)));
      else if (is_dim3(variable->getType()))
        frame_.variables[variable] = HostValue::unknown("", arguments[i].text);
      continue;
    }
    const ParmVarDecl* parameter = function ? parameter_at(*function, i) : nullptr;
    if (parameter && i < written.size() && parameter->getType()->isLValueReferenceType() &&
        is_place(parameter->getType()) && is_dim3(parameter->getType()->getPointeeType()))
      assign(written[i], HostValue::unknown("", object_name(written[i])));
  }
}

// cudaOccupancyMaxPotentialBlockSize and its kin compute a block, or how many blocks a multiprocessor holds,
// from the kernel's machine code, which nobody has yet.
void HostReader::ask_occupancy(const std::string& function, const std::vector<HostValue>& arguments) {
  const std::string threads_per_sm = "device.max_threads_per_sm";
  std::string threads = "256";
  const auto set = [&](std::size_t argument, const HostValue& value) {
    if (argument < arguments.size() && arguments[argument].kind == HostValue::Kind::address &&
        arguments[argument].variable)
      frame_.variables[arguments[argument].variable] = value;
  };
  if (function.find("PotentialBlockSize") != std::string::npos) {
    // The most threads that the caller allows; 0 stands for no limit.
    if (const HostValue* limit = arguments.size() > 4 ? &arguments[4] : nullptr;
        limit && limit->is_integer() && limit->text.size() < 4 && std::atoi(limit->text.c_str()) > 0)
      threads = std::to_string(std::min(256, std::atoi(limit->text.c_str())));
    set(0, combine(BO_Mul, HostValue::integer("device.multiprocessors"),
                   combine(BO_Div, HostValue::integer(threads_per_sm), HostValue::integer(threads))));
    set(1, HostValue::integer(threads));
    assumed_.insert(
        fmt::format("{} gives blocks of {} threads, as many of them as the device's multiprocessors hold",
                    function, threads));
  } else if (function.find("ActiveBlocksPerMultiprocessor") != std::string::npos && arguments.size() >= 3 &&
             arguments[2].is_integer()) {
    set(0, call("max", {combine(BO_Div, HostValue::integer(threads_per_sm), arguments[2]),
                        HostValue::integer("1")}));
    assumed_.insert(fmt::format("{} gives as many blocks as a multiprocessor has threads for", function));
  }
}

} // namespace lathe::refactor
