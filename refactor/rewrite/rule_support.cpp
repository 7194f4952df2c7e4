#include "refactor/rewrite/rule_support.h"

#include "refactor/knobs/geometry.h"
#include "refactor/knobs/meant_functions.h"
#include "tuner/base/text.h"

#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>

namespace lathe::refactor {

using namespace clang;

namespace {

std::size_t find_word(const std::string& text, const std::string& word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word(text[at + word.size()]);
    if (starts && ends)
      return at;
  }
  return std::string::npos;
}

} // namespace

KernelView view_of(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) {
  std::map<std::string, std::int64_t> defaults;
  for (const Knob& knob : candidate.knobs)
    if (const auto value = constant_of(knob.default_value))
      defaults[knob.name] = *value;
  return KernelView(source, kernel, std::move(defaults));
}

Expression make_expression(const std::string& text) {
  auto parsed = Expression::parse(text);
  // The empty name makes a malformed expression visible to the engine, which refuses the proposal.
  return parsed.ok() ? std::move(parsed).value() : Expression(Value{std::string("malformed: " + text)});
}

Knob make_knob(std::string name, KnobKind kind, std::string type, const std::vector<std::int64_t>& values,
               const std::string& default_value, std::string why) {
  Knob knob;
  knob.name = std::move(name);
  knob.kind = kind;
  knob.type = std::move(type);
  for (const std::int64_t value : values)
    knob.values.push_back(Value{value});
  knob.default_value = make_expression(default_value);
  knob.why = std::move(why);
  return knob;
}

Condition make_condition(const std::string& text, std::string why) {
  return Condition{make_expression(text), std::move(why)};
}

bool has_word(const std::string& text, const std::string& word) {
  return find_word(text, word, 0) != std::string::npos;
}

std::string replace_word(std::string text, const std::string& word, const std::string& replacement) {
  for (std::size_t at = find_word(text, word, 0); at != std::string::npos;
       at = find_word(text, word, at + replacement.size()))
    text.replace(at, word.size(), replacement);
  return text;
}

std::string free_name(const std::string& text, const std::string& base,
                      const std::vector<std::string>& taken) {
  std::string name = base;
  for (int i = 2; has_word(text, name) || std::find(taken.begin(), taken.end(), name) != taken.end(); ++i)
    name = base + "_" + std::to_string(i);
  return name;
}

Edit replace(TextRange range, std::string replacement) {
  return {range.begin, range.end - range.begin, std::move(replacement)};
}

Edit insert(std::size_t offset, std::string text) {
  return {offset, 0, std::move(text)};
}

std::size_t declaration_start(const KernelView& view, const FunctionDecl* function) {
  const SourceManager& manager = view.context().getSourceManager();
  const auto offset = [&](SourceLocation location) {
    return static_cast<std::size_t>(manager.getFileOffset(manager.getExpansionLoc(location)));
  };
  std::size_t start = offset(function->getOuterLocStart());
  for (const Attr* attribute : function->attrs())
    if (attribute->getLocation().isValid() && view.in_main_file(attribute->getLocation()))
      start = std::min(start, offset(attribute->getLocation()));
  if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate())
    start = std::min(start, offset(described->getBeginLoc()));
  return start;
}

std::optional<TextRange> whole_statement(const KernelView& view, const Stmt* statement) {
  auto bytes = view.written_range(statement->getSourceRange());
  if (!bytes || isa<CompoundStmt>(statement))
    return bytes;
  const std::string& text = view.file_text();
  const std::size_t next = text.find_first_not_of(" \t\n", bytes->end);
  if (next != std::string::npos && text[next] == ';' && text[bytes->end - 1] != ';')
    bytes->end = next + 1;
  return bytes;
}

TextRange with_line(const std::string& text, TextRange bytes) {
  const std::size_t start = line_start(text, bytes.begin), next = text.find_first_not_of(" \t", bytes.end);
  const bool is_alone =
      text.find_first_not_of(" \t", start) == bytes.begin && next != std::string::npos && text[next] == '\n';
  return is_alone ? TextRange{start, next + 1} : bytes;
}

std::size_t line_start(const std::string& text, std::size_t offset) {
  const std::size_t newline = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  return newline == std::string::npos ? 0 : newline + 1;
}

std::string indentation(const std::string& text, std::size_t offset) {
  const std::size_t start = line_start(text, offset);
  return text.substr(start, text.find_first_not_of(" \t", start) - start);
}

std::size_t prelude_position(const std::string& text) {
  // Behind the last include of the first run of preprocessor lines, comments and blank lines.
  std::size_t position = 0, at = 0;
  bool in_comment = false;
  int conditionals = 0;
  while (at < text.size()) {
    std::size_t end = text.find('\n', at);
    end = end == std::string::npos ? text.size() : end + 1;
    std::string line = text.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t\r\n");
    const std::string body = first == std::string::npos ? "" : line.substr(first);
    if (in_comment) {
      in_comment = body.find("*/") == std::string::npos;
    } else if (body.rfind("/*", 0) == 0) {
      in_comment = body.find("*/") == std::string::npos;
    } else if (body.rfind("#if", 0) == 0) {
      ++conditionals;
    } else if (body.rfind("#endif", 0) == 0) {
      --conditionals;
      if (conditionals == 0)
        position = end;
    } else if (body.starts_with('#')) {
      if (conditionals == 0 && (body.rfind("#include", 0) == 0 || body.rfind("#pragma once", 0) == 0))
        position = end;
      while (end < text.size() && body.size() > 1 && text[end - 1] == '\n' && end >= 2 &&
             text[end - 2] == '\\') {
        const std::size_t next = text.find('\n', end);
        end = next == std::string::npos ? text.size() : next + 1;
      }
    } else if (!body.empty() && body.rfind("//", 0) != 0 && conditionals == 0) {
      break;
    }
    at = end;
  }
  return position;
}

bool has_helper(const std::string& text, const std::string& name) {
  return has_word(text, name);
}

std::optional<std::string> pass_knob_down(const KernelView& view, const std::string& type,
                                          const std::string& name,
                                          const std::vector<const FunctionDecl*>& users,
                                          std::vector<Edit>& edits) {
  // Every function on a way from the kernel to a user, found backwards over the calls.
  std::set<const FunctionDecl*> needs(users.begin(), users.end());
  needs.erase(view.kernel());
  if (needs.empty())
    return std::nullopt;
  struct Call {
    const FunctionDecl *caller, *callee;
    const Expr* reference;
  };
  std::vector<Call> calls;
  view.visit([&](const Stmt* statement) {
    for (const FunctionDecl* callee : functions_meant(statement))
      if (std::ranges::find(view.functions(), callee) != view.functions().end())
        calls.push_back({view.enclosing_function(statement), callee, cast<Expr>(statement)});
  });
  for (bool grew = true; grew;) {
    grew = false;
    for (const Call& call : calls)
      if (needs.count(call.callee) && call.caller != view.kernel() && needs.insert(call.caller).second)
        grew = true;
  }
  const SourceManager& manager = view.context().getSourceManager();
  for (const FunctionDecl* function : needs) {
    if (isa<CXXMethodDecl>(function) || function->isOverloadedOperator())
      return "it is used in " + function->getNameAsString() +
             ", which cannot take a template parameter of its own";
    if (function->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
      return "it is used in " + function->getNameAsString() + ", which is specialised";
    if (function->getPreviousDecl())
      return "it is used in " + function->getNameAsString() + ", which is declared more than once";
    int definitions = 0;
    for (const FunctionDecl* other : view.functions())
      definitions += other->getDeclName() == function->getDeclName();
    if (definitions > 1)
      return "it is used in " + function->getNameAsString() + ", which is overloaded";
    if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate()) {
      const SourceLocation angle = described->getTemplateParameters()->getLAngleLoc();
      if (!view.in_main_file(angle) || angle.isMacroID())
        return "the template header of " + function->getNameAsString() + " comes from a macro";
      edits.push_back(insert(manager.getFileOffset(angle) + 1, type + " " + name + ", "));
    } else {
      edits.push_back(insert(declaration_start(view, function), "template <" + type + " " + name + "> "));
    }
  }
  std::set<const Expr*> done;
  for (const Call& call : calls) {
    if (!needs.count(call.callee) || !done.insert(call.reference).second)
      continue;
    const Stmt* above = view.meaningful_parent(call.reference);
    const auto* expression = dyn_cast_or_null<CallExpr>(above);
    if (!expression || expression->getCallee()->IgnoreParenImpCasts() != call.reference)
      return "the address of " + call.callee->getNameAsString() + " is taken at " +
             view.at_line(call.reference->getBeginLoc());
    SourceLocation angle, last;
    if (const auto* reference = dyn_cast<DeclRefExpr>(call.reference)) {
      angle = reference->getLAngleLoc();
      last = reference->getNameInfo().getEndLoc();
    } else if (const auto* lookup = dyn_cast<OverloadExpr>(call.reference)) {
      angle = lookup->getLAngleLoc();
      last = lookup->getNameLoc();
    }
    if (last.isInvalid() || last.isMacroID() || !view.in_main_file(last))
      return "the call of " + call.callee->getNameAsString() + " comes from a macro";
    if (angle.isValid()) {
      edits.push_back(insert(manager.getFileOffset(angle) + 1, name + ", "));
    } else {
      const auto bytes = view.range(SourceRange(last, last));
      if (!bytes)
        return "the call of " + call.callee->getNameAsString() + " comes from a macro";
      edits.push_back(insert(bytes->end, "<" + name + ">"));
    }
  }
  return std::nullopt;
}

namespace {

// What stands between the first `open` and the last `close`; "" where they do not.
std::string between(const std::string& text, const std::string& open, const std::string& close) {
  const std::size_t from = text.find(open), to = text.rfind(close);
  return from == std::string::npos || to == std::string::npos || to < from + open.size()
             ? std::string()
             : text.substr(from + open.size(), to - from - open.size());
}

} // namespace

std::string block_threads(const LaunchGeometry& launch) {
  std::string text;
  for (const Expression& size : launch.block)
    if (constant_of(size) != 1)
      text += (text.empty() ? "(" : " * (") + size.text() + ")";
  return text.empty() ? "1" : text;
}

BlockBound block_bound(const Candidate& candidate) {
  BlockBound bound;
  std::string product, raw_when;
  const auto is_dimension = [&](const std::string& name) {
    return std::ranges::find(candidate.dimensions, name) != candidate.dimensions.end();
  };
  for (const Expression& size : candidate.launch.block) {
    if (const auto constant = constant_of(size)) {
      if (*constant != 1)
        product += (product.empty() ? "" : " * ") + std::to_string(*constant);
      continue;
    }
    // A knob, alone or as the explicit side of (KNOB == 0 ? raw : KNOB).
    const Knob* knob = nullptr;
    for (const Knob& candidate_knob : candidate.knobs)
      if (canonical(size) == candidate_knob.name ||
          canonical(size).rfind("(" + candidate_knob.name + " == 0) ? ", 0) == 0)
        knob = &candidate_knob;
    // A choice by template parameters is an expression in C++ too.
    const auto is_template_parameter = [&](const std::string& name) {
      return candidate.instance.find("{" + name + "}") != std::string::npos;
    };
    if (!knob && !size.names().empty() && std::ranges::all_of(size.names(), is_template_parameter) &&
        std::ranges::none_of(size.names(), is_dimension)) {
      product += (product.empty() ? "(" : " * (") + canonical(size) + ")";
      continue;
    }
    if (!knob) {
      bound.fixed = false;
      bound.text = "1024";
      return bound;
    }
    const std::string choice = canonical(size);
    if (const auto raw = constant_of(make_expression(between(choice, " ? ", " : " + knob->name)))) {
      product += (product.empty() ? "(" : " * (") + knob->name + " == 0 ? " + std::to_string(*raw) + " : " +
                 knob->name + ")";
      continue;
    }
    product += (product.empty() ? "" : " * ") + knob->name;
    if (choice != knob->name)
      raw_when += (raw_when.empty() ? "" : " || ") + knob->name + " == 0";
  }
  if (product.empty())
    product = "1";
  bound.text = raw_when.empty() ? product : "(" + raw_when + " ? 1024 : " + product + ")";
  return bound;
}

std::optional<std::string> value_of_parameter(const Candidate& candidate, const std::string& parameter) {
  for (const Argument& argument : candidate.arguments)
    if (argument.name == parameter && !argument.is_buffer) {
      const std::string text = argument.value.text();
      return text.empty() ? std::nullopt : std::optional(text);
    }
  if (std::find(candidate.dimensions.begin(), candidate.dimensions.end(), parameter) !=
      candidate.dimensions.end())
    return parameter;
  return std::nullopt;
}

std::optional<std::string> cannot_add_parameters(const KernelInfo& kernel) {
  const FunctionDecl* function = kernel.declaration;
  if (!function || !function->getBody())
    return "the kernel has no body in this file";
  if (isa<CXXMethodDecl>(function))
    return "the kernel is a member function";
  if (function->getTemplateSpecializationKind() == TSK_ExplicitSpecialization)
    return "the kernel is an explicit specialisation";
  if (const FunctionTemplateDecl* described = function->getDescribedFunctionTemplate()) {
    if (described->getTemplateParameters()->hasParameterPack())
      return "the kernel has a template parameter pack, behind which no parameter can be added";
    if (described->getTemplateParameters()->getRAngleLoc().isMacroID())
      return "the kernel's template header comes from a macro";
  }
  if (function->getLocation().isMacroID())
    return "the kernel's definition comes from a macro";
  return std::nullopt;
}

} // namespace lathe::refactor
