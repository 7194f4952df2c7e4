// Calls in host code: what they come to, and the functions and closures that are followed.
#include "refactor/frontend/host_reader.h"
#include "refactor/frontend/host_syntax.h"
#include "refactor/frontend/made_tensors.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>

namespace lathe::refactor {

using namespace clang;
using namespace host_syntax;

namespace {

// What a method is called on; null where it is none, or called on the object that it stands in.
const Expr* callee_object(const Expr* callee) {
  if (const auto* access = dyn_cast<MemberExpr>(callee))
    return access->getBase();
  if (const auto* access = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return access->isImplicitAccess() ? nullptr : access->getBase();
  if (const auto* access = dyn_cast<UnresolvedMemberExpr>(callee))
    return access->isImplicitAccess() ? nullptr : access->getBase();
  return nullptr;
}

llvm::ArrayRef<TemplateArgumentLoc> written_template_arguments(const Expr* callee) {
  if (const auto* access = dyn_cast<MemberExpr>(callee))
    return access->template_arguments();
  if (const auto* access = dyn_cast<CXXDependentScopeMemberExpr>(callee))
    return access->template_arguments();
  if (const auto* access = dyn_cast<UnresolvedMemberExpr>(callee))
    return access->template_arguments();
  return {};
}

// What a function without a readable body comes to that is named after rounding up: a framework's, whose
// header is missing.
std::optional<HostValue> round_by_name(const std::string& function, const std::vector<HostValue>& arguments) {
  static const std::set<std::string> quotients{"ceildiv", "atenceildiv", "divup",      "divroundup", "cdiv",
                                               "idivup",  "divceil",     "intceildiv", "ceildivide"};
  static const std::set<std::string> multiples{"roundup", "alignup", "roundupto"};
  std::string name;
  for (const char c : function)
    if (c != '_')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // The framework's own number of threads a block.
  if (name == "getblocks" && arguments.size() == 1 && arguments[0].is_integer())
    return call("ceil_div", {arguments[0], HostValue::integer("1024")});
  if (arguments.size() != 2 || !arguments[0].is_integer() || !arguments[1].is_integer())
    return std::nullopt;
  if (quotients.contains(name))
    return call("ceil_div", arguments);
  if (multiples.contains(name))
    return combine(BO_Mul, call("ceil_div", arguments), arguments[1]);
  return std::nullopt;
}

// Whether numbers go to parameters that are numbers, and kernels to pointers.
bool takes_kinds(const FunctionDecl& function, const std::vector<HostValue>& arguments) {
  for (std::size_t i = 0; i < arguments.size() && i < function.getNumParams(); ++i) {
    const QualType type = function.getParamDecl(static_cast<unsigned>(i))->getType().getNonReferenceType();
    if ((arguments[i].is_number() && type->isPointerType()) ||
        (arguments[i].kind == HostValue::Kind::kernel && type->isArithmeticType()))
      return false;
  }
  return true;
}

// input_scalar_type -> input: of what says which numbers a tensor has, the tensor.
std::string without_type(const std::string& name) {
  for (const std::string_view suffix : {"_scalar_type", "_dtype"})
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

} // namespace

// input.size(0), input.numel(), shape.at(1): a number that belongs to an object.
HostValue HostReader::method(const Expr* object, const std::string& method_name,
                             llvm::ArrayRef<const Expr*> arguments, QualType type) {
  const HostValue receiver = evaluate(object);
  std::string key, suffix;
  bool readable = true;
  for (const Expr* argument : arguments) {
    if (isa<CXXDefaultArgExpr>(argument))
      continue;
    const HostValue value = evaluate(argument);
    readable &= value.is_integer();
    key += value.text + ",";
    suffix += "_" + (value.text == "-1"            ? "last"
                     : value.text.starts_with("-") ? "last" + value.text.substr(1)
                                                   : value.text);
  }
  if (method_name == "size" && arguments.size() == 1 && readable &&
      key.find_first_not_of("-0123456789,") == std::string::npos)
    if (const HostValue* size = known_size(receiver, std::atoi(key.c_str())))
      return *size;
  const std::string of = receiver.text.empty() ? object_name(object) : receiver.text;
  if ((method_name == "element_size" || method_name == "itemsize") && arguments.empty() && !of.empty())
    return HostValue::integer(SIZE_OF_ELEMENT + without_type(of));
  const bool list = method_name == "sizes" || method_name == "shape" || method_name == "strides";
  if (list && arguments.empty())
    return HostValue::unknown("", of + (method_name == "strides" ? "_stride" : "_size"));
  const bool returns_integer = !type.isNull() && (type.getNonReferenceType()->isIntegralOrEnumerationType() ||
                                                  (type->isDependentType() && method_name != "data_ptr"));
  if (returns_integer && readable && !of.empty() && method_name == UNWRAP && suffix.empty())
    return query(of + "." + UNWRAP, of);
  if (returns_integer && readable && !of.empty()) {
    const bool size_of_axis =
        (method_name == "size" || method_name == "stride" || method_name == "shape") && arguments.size() == 1;
    return size_of_axis ? query(of + "_" + method_name + "[" + key.substr(0, key.size() - 1) + "]",
                                of + "_" + method_name + suffix)
                        : query(of + "." + method_name + "(" + key + ")", of + "_" + method_name + suffix);
  }
  return HostValue::unknown("", of);
}

// A view of a tensor that is contiguous: what a caller may pass, and what most do.
HostValue HostReader::packed_accessor(const Expr* tensor, const TemplateArgumentLoc& dimensions) {
  constexpr int MOST_DIMENSIONS = 8;
  const Expr* written = dimensions.getArgument().getKind() == TemplateArgument::Expression
                            ? dimensions.getSourceExpression()
                            : nullptr;
  const HostValue count = written ? evaluate(written) : HostValue();
  const int axes = count.is_integer() ? std::atoi(count.text.c_str()) : 0;
  const HostValue receiver = evaluate(tensor);
  const std::string of = receiver.text.empty() ? object_name(tensor) : receiver.text;
  if (axes < 1 || axes > MOST_DIMENSIONS || of.empty())
    return HostValue::unknown("", of);
  HostValue view;
  view.kind = HostValue::Kind::structure;
  view.text = of;
  view.members["data_"] = HostValue::unknown("", of);
  HostValue stride = HostValue::integer("1");
  for (int axis = axes - 1; axis >= 0; --axis) {
    const std::string number = std::to_string(axis);
    const HostValue* known = known_size(receiver, axis);
    const HostValue size = known ? *known : query(of + "_size[" + number + "]", of + "_size_" + number);
    view.members["sizes_[" + number + "]"] = size;
    view.members["strides_[" + number + "]"] = stride;
    stride = combine(BO_Mul, size, stride);
  }
  return view;
}

// Of a contiguous tensor all dimensions are one.
HostValue HostReader::tensor_info(const Expr* tensor) {
  constexpr int DIMENSIONS = 25; // MAX_TENSORINFO_DIMS
  const HostValue receiver = evaluate(tensor);
  const std::string of = receiver.text.empty() ? object_name(tensor) : receiver.text;
  HostValue info;
  info.kind = HostValue::Kind::structure;
  info.text = of;
  info.members["data"] = HostValue::unknown("", of);
  info.members["dims"] = HostValue::integer("1");
  for (int axis = 0; axis < DIMENSIONS; ++axis) {
    const std::string number = std::to_string(axis);
    info.members["sizes[" + number + "]"] =
        axis == 0 ? query(of + ".numel()", of + "_numel") : HostValue::integer("1");
    info.members["strides[" + number + "]"] = HostValue::integer(axis == 0 ? "1" : "0");
  }
  return info;
}

void HostReader::visit_children(const Stmt* statement) {
  for (const Stmt* child : statement->children())
    if (const auto* expression = dyn_cast_or_null<Expr>(child))
      called_elsewhere(evaluate(expression));
    else if (child)
      execute(child);
}

void HostReader::called_elsewhere(const HostValue& value) {
  if (value.kind == HostValue::Kind::closure && !entered_.contains(value.closure))
    call_closure(value.closure, {});
}

HostValue HostReader::call_named(const CallExpr* called) {
  if (record_launch(called))
    return HostValue::unknown("");
  const std::string function = callee_name(called);
  const Expr* callee = called->getCallee()->IgnoreParenImpCasts();
  std::vector<const Expr*> written(called->arg_begin(), called->arg_end());

  if (const auto* overloaded = dyn_cast<CXXOperatorCallExpr>(called)) {
    if (overloaded->getOperator() == OO_Call) {
      if (const auto launched = call_launch_object(written[0], llvm::ArrayRef(written).drop_front(),
                                                   /*is_operator=*/true, called->getBeginLoc()))
        return *launched;
      const HostValue object = evaluate(written[0]);
      std::vector<HostValue> arguments;
      for (std::size_t i = 1; i < written.size(); ++i)
        arguments.push_back(evaluate(written[i]));
      if (object.kind == HostValue::Kind::closure)
        return call_closure(object.closure, arguments);
      if (const auto constant = object.members.find("value"); constant != object.members.end())
        return constant->second;
      return HostValue::unknown("");
    }
    if (overloaded->getOperator() == OO_Equal && written.size() == 2) {
      HostValue value = evaluate(written[1]);
      assign(written[0], value);
      return value;
    }
    if (overloaded->getOperator() == OO_Subscript && written.size() == 2)
      return subscript(written[0], written[1], called->getType());
    if ((overloaded->getOperator() == OO_Arrow || overloaded->getOperator() == OO_Star) &&
        written.size() == 1)
      return evaluate(written[0]);
    for (const Expr* argument : written)
      evaluate(argument);
    return HostValue::unknown("", object_name(called));
  }
  if (const Expr* object = callee_object(callee))
    if (const auto launched =
            call_launch_object(object, written, /*is_operator=*/false, called->getBeginLoc()))
      return *launched;
  if (function.empty())
    if (const auto launched =
            call_launch_object(callee, written, /*is_operator=*/true, called->getBeginLoc()))
      return *launched;
  // threads.push_back(std::thread([&] { ... })): somebody calls it.
  if (isa<MemberExpr>(callee))
    for (const Expr* argument : written)
      if (const LambdaExpr* closure = closure_in(argument))
        called_elsewhere(evaluate(closure));
  if (const Expr* object = callee_object(callee); object && function == "operator()")
    if (const HostValue target = evaluate(object); target.kind == HostValue::Kind::closure) {
      std::vector<HostValue> arguments;
      for (const Expr* argument : written)
        arguments.push_back(evaluate(argument));
      return call_instance(target.closure, written_template_arguments(callee), arguments);
    }
  if (const Expr* object = callee_object(callee);
      object && (function.starts_with("packed_accessor") || function == "generic_packed_accessor"))
    if (const auto arguments = written_template_arguments(callee); arguments.size() >= 2)
      return packed_accessor(object, arguments[1]);
  if (function == "getTensorInfo" && written.size() == 1)
    return tensor_info(written[0]);
  if (const auto* access = dyn_cast<MemberExpr>(callee);
      access && !isa<CXXConversionDecl>(access->getMemberDecl())) {
    if (const auto followed = call_method(access, written))
      return *followed;
    HostValue value = method(access->getBase(), function, written, called->getType());
    note_asked(dyn_cast<CXXMethodDecl>(access->getMemberDecl()), written, value);
    return value;
  }
  if (isa<MemberExpr>(callee)) // a conversion operator
    return evaluate(cast<MemberExpr>(callee)->getBase());
  if (const auto* access = dyn_cast<CXXDependentScopeMemberExpr>(callee);
      access && !access->isImplicitAccess())
    return method(access->getBase(), function, written, called->getType());
  if (const auto* access = dyn_cast<UnresolvedMemberExpr>(callee); access && !access->isImplicitAccess())
    return method(access->getBase(), function, written, called->getType());

  if (makes_tensor(function) && !written.empty())
    if (const InitListExpr* sizes = written_list(written[0])) {
      HostValue tensor;
      for (const Expr* size : sizes->inits())
        tensor.elements.push_back(evaluate(size));
      if (std::ranges::all_of(tensor.elements, &HostValue::is_integer))
        return tensor;
    }

  const HostValue target = function.empty() || isa<DeclRefExpr>(callee) ? evaluate(callee) : HostValue();
  std::vector<HostValue> arguments;
  for (const Expr* argument : written)
    arguments.push_back(evaluate(argument));
  if (target.kind == HostValue::Kind::closure)
    return call_closure(target.closure, arguments);
  if (const auto constant = target.members.find("value"); constant != target.members.end() && written.empty())
    return constant->second;

  if ((function == "elementSize" || function == "element_size") && arguments.size() == 1 &&
      without_type(arguments[0].text) != arguments[0].text)
    return HostValue::integer(SIZE_OF_ELEMENT + without_type(arguments[0].text));
  static const std::set<std::string> same{"min", "max", "gcd", "abs"};
  if (same.contains(function) && arguments.size() == (function == "abs" ? 1u : 2u))
    return call(function, arguments);
  if ((function == "umin" || function == "umax") && arguments.size() == 2)
    return call(function.substr(1), arguments);
  if (function == "clamp" && arguments.size() == 3)
    return call("min", {call("max", {arguments[0], arguments[1]}), arguments[2]});
  if ((function == "div" || function == "ldiv" || function == "lldiv") && arguments.size() == 2 &&
      arguments[0].is_integer() && arguments[1].is_integer()) {
    HostValue both;
    both.kind = HostValue::Kind::structure;
    both.members["quot"] = combine(BO_Div, arguments[0], arguments[1]);
    both.members["rem"] = combine(BO_Rem, arguments[0], arguments[1]);
    return both;
  }
  if (const auto rounded = rounded_call(function, written))
    return *rounded;
  if (function.starts_with("cudaDeviceGetAttribute") && arguments.size() >= 2 &&
      arguments[0].kind == HostValue::Kind::address && arguments[1].text.starts_with("device.")) {
    frame_.variables[arguments[0].variable] = HostValue::integer(arguments[1].text);
    return HostValue::unknown("");
  }
  if (function.find("OccupancyMax") != std::string::npos) {
    ask_occupancy(function, arguments);
    return HostValue::unknown("");
  }
  static const std::set<std::string> allocators{"cudaMalloc", "cudaMallocManaged", "cudaMallocAsync"};
  if (allocators.contains(function) && arguments.size() >= 2 &&
      arguments[0].kind == HostValue::Kind::address && arguments[1].is_integer()) {
    HostValue pointer = HostValue::unknown("", arguments[0].text);
    pointer.bytes = arguments[1].text;
    frame_.variables[arguments[0].variable] = std::move(pointer);
    return HostValue::unknown("");
  }
  static const std::set<std::string> passes_through{"move", "forward", "ref", "cref", "launder"};
  if (passes_through.contains(function) && arguments.size() == 1)
    return arguments[0];

  const FunctionDecl* body = called->getDirectCallee();
  if (!body)
    if (const auto* overloads = dyn_cast<UnresolvedLookupExpr>(callee))
      for (const NamedDecl* candidate : overloads->decls()) {
        const auto* described = candidate->getUnderlyingDecl()->getAsFunction();
        // What has a body here goes before what another file may define, and what takes numbers where numbers
        // are given before what does not.
        if (described && described->getNumParams() == arguments.size() &&
            (described->hasBody() || (others_ && !body)) &&
            (!body || takes_kinds(*described, arguments) || !takes_kinds(*body, arguments)))
          body = described;
      }
  if (body && !body->hasAttr<CUDAGlobalAttr>()) {
    const auto* written_out = dyn_cast<UnresolvedLookupExpr>(callee);
    if (const auto value = written_out ? call_with_template_arguments(*written_out, body, arguments, written)
                                       : call_function(body, arguments, written))
      return *value;
  }
  if (const auto rounded = round_by_name(function, arguments))
    return *rounded;
  for (const HostValue& argument : arguments)
    called_elsewhere(argument);
  set_by_call(body, arguments, written);
  if (!called->getType().isNull() && called->getType()->isIntegralOrEnumerationType() && !function.empty()) {
    bool readable = true;
    std::string key = function + "(";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      readable &= arguments[i].is_number() || !arguments[i].text.empty();
      // Elements of one array (argv[1], argv[2]) are others.
      const bool is_element = i < written.size() && isa<ArraySubscriptExpr>(plain(written[i]));
      key += (is_element ? text(written[i]) : arguments[i].text) + ",";
    }
    if (readable) {
      HostValue value = query(key + ")", function);
      note_asked(body, written, value);
      return value;
    }
  }
  return HostValue::unknown("", object_name(called));
}

HostValue HostReader::call_closure(const LambdaExpr* closure, const std::vector<HostValue>& arguments) {
  if (depth_ >= CALL_DEPTH)
    return HostValue::unknown("");
  entered_.insert(closure);
  const CXXMethodDecl* body = closure->getCallOperator();
  for (unsigned i = 0; i < body->getNumParams() && i < arguments.size(); ++i)
    frame_.variables[body->getParamDecl(i)] = arguments[i];
  const auto returned = std::exchange(frame_.returned, {});
  const std::size_t path = frame_.path.size();
  ++depth_;
  const Flow flow = execute(closure->getBody());
  --depth_;
  HostValue result = returned_value(frame_.returned);
  keep_kernels(frame_.returned, flow);
  frame_.path.resize(std::min(path, frame_.path.size()));
  frame_.returned = returned;
  return result;
}

void HostReader::keep_kernels(const std::vector<Returned>& returned, Flow flow) {
  std::set<const VarDecl*> kept;
  for (std::size_t i = returned.size(); i-- > 0;)
    for (const auto& [variable, kernel] : returned[i].kernels) {
      HostValue& known = frame_.variables[variable];
      const bool is_only_way = flow == Flow::returns && kept.insert(variable).second;
      if (is_only_way || known.kind == HostValue::Kind::unknown)
        known = kernel;
      else if (known.kind != HostValue::Kind::kernel || known.kernels != kernel.kernels)
        known = choose(returned[i].condition, kernel, known, "a closure returns in several places");
    }
}

bool HostReader::bind_written(llvm::ArrayRef<NamedDecl*> parameters,
                              llvm::ArrayRef<TemplateArgumentLoc> written) {
  bool has_number = false;
  for (std::size_t i = 0; i < parameters.size() && i < written.size(); ++i) {
    const TemplateArgument& argument = written[i].getArgument();
    if (argument.getKind() == TemplateArgument::Type) {
      bound_[parameters[i]] = HostValue::unknown("", type_argument(argument.getAsType()));
    } else if (argument.getKind() == TemplateArgument::Expression) {
      HostValue value = evaluate(argument.getAsExpr());
      has_number |= value.is_integer();
      bound_[parameters[i]] = std::move(value);
    }
  }
  return has_number;
}

HostValue HostReader::call_instance(const LambdaExpr* closure,
                                    llvm::ArrayRef<TemplateArgumentLoc> template_arguments,
                                    const std::vector<HostValue>& arguments) {
  const auto outer = bound_;
  bind_written(closure->getExplicitTemplateParameters(), template_arguments);
  HostValue result = call_closure(closure, arguments);
  bound_ = outer;
  return result;
}

} // namespace lathe::refactor
