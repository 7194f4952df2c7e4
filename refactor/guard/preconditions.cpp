#include "refactor/guard/preconditions.h"

#include "refactor/guard/raw_kernels.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>
#include <clang/Lex/Lexer.h>

#include <regex>

namespace lathe::refactor {
namespace {

struct Places {
  std::size_t body = 0;      // just behind the kernel's opening brace
  std::size_t attribute = 0; // just behind __global__
};

// The place in `text` of an offset in what clang read: the front end may have mended that, which adds no
// `mark`.
std::optional<std::size_t> same_place(llvm::StringRef read, std::size_t offset, const std::string& text,
                                      llvm::StringRef mark) {
  const std::size_t before = read.take_front(offset).count(mark);
  std::size_t at = 0;
  for (std::size_t i = 0; i < before; ++i) {
    at = text.find(mark, at);
    if (at == std::string::npos)
      return std::nullopt;
    at += mark.size();
  }
  return before ? std::optional(at) : std::nullopt;
}

std::optional<Places> find_places(const ParsedSide& side, const std::string& instance,
                                  const std::string& text) {
  const clang::ASTContext& context = side.source->ast().getASTContext();
  const clang::SourceManager& manager = context.getSourceManager();
  const clang::FunctionDecl* definition = nullptr;
  const auto kernel = find_kernel(*side.source, kernel_name(instance));
  if (!kernel.ok() || !kernel->declaration || !kernel->declaration->hasBody(definition))
    return std::nullopt;
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(definition->getBody());
  const auto* global = definition->getAttr<clang::CUDAGlobalAttr>();
  if (!body || !global)
    return std::nullopt;
  const auto end_of = [&](clang::SourceLocation location) -> std::optional<std::size_t> {
    const clang::SourceLocation place = manager.getExpansionLoc(location);
    if (!manager.isInMainFile(place))
      return std::nullopt;
    return manager.getFileOffset(place) +
           clang::Lexer::MeasureTokenLength(place, manager, context.getLangOpts());
  };
  const auto after_brace = end_of(body->getLBracLoc()), after_global = end_of(global->getLocation());
  if (!after_brace || !after_global || *after_global > *after_brace)
    return std::nullopt;
  const llvm::StringRef read = manager.getBufferData(manager.getMainFileID());
  const auto brace = same_place(read, *after_brace, text, "{"),
             attribute = same_place(read, *after_global, text, "__global__");
  if (!brace || !attribute)
    return std::nullopt;
  return Places{*brace, *attribute};
}

// {NAME} becomes the knob's default, the dimension or the size of the type.
std::string fill_in(const std::string& text, const Configuration& configuration) {
  static const std::regex place(R"(\{([A-Za-z_]\w*)\})");
  std::string result;
  std::size_t done = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), place), end; at != end; ++at) {
    result.append(text, done, static_cast<std::size_t>(at->position()) - done);
    done = static_cast<std::size_t>(at->position() + at->length());
    const std::string name = (*at)[1];
    std::optional<Value> value;
    const auto& knobs = configuration.workload->spec->knobs;
    for (std::size_t i = 0; i < knobs.size(); ++i)
      if (knobs[i].name == name)
        value = configuration.knobs[i];
    if (!value)
      value = configuration.workload->lookup(name);
    result += value ? lathe::to_string(*value) : at->str();
  }
  result.append(text, done);
  return result;
}

// A statement is used only when the raw launch makes it true.
bool follows_from_launch(const std::string& statement, const Launch& launch) {
  static const std::regex form(
      R"(\s*__builtin_assume\s*\(\s*blockDim\.([xyz])\s*==\s*(\d+)[uU]?\s*\)\s*;\s*)");
  std::smatch match;
  if (!std::regex_match(statement, match, form))
    return false;
  return launch.block[static_cast<std::size_t>(match[1].str()[0] - 'x')] ==
         std::strtoull(match[2].str().c_str(), nullptr, 10);
}

std::string bounds_text(std::pair<int, int> bounds) {
  return "__launch_bounds__(" + std::to_string(bounds.first) +
         (bounds.second ? ", " + std::to_string(bounds.second) : "") + ")";
}

} // namespace

std::vector<RawVariant> raw_variants(const JudgedPair& subject, const Configuration& configuration,
                                     std::vector<std::string>& refused) {
  std::vector<RawVariant> variants{{subject.raw_text, {}}};
  const auto places = find_places(subject.raw, configuration.raw_instance, subject.raw_text);
  if (!places)
    return variants;
  const Launch& launch = configuration.raw_launch;
  std::string dimensions;
  for (int axis = 0; axis < 3; ++axis)
    dimensions += std::string(" __builtin_assume(blockDim.") + static_cast<char>('x' + axis) +
                  " == " + std::to_string(launch.block[static_cast<std::size_t>(axis)]) + "u);";
  std::string given;
  for (const std::string& statement : subject.options.raw_preconditions) {
    const std::string filled = fill_in(statement, configuration);
    if (follows_from_launch(filled, launch))
      given += " " + filled;
    else
      refused.push_back("not established, therefore not used: " + filled);
  }

  std::vector<std::string> bounds;
  const auto raw_facts = subject.raw.source_facts.find(configuration.raw_instance);
  const auto template_facts = subject.templated.source_facts.find(configuration.template_instance);
  const bool raw_has_bounds = raw_facts != subject.raw.source_facts.end() && raw_facts->second.launch_bounds;
  const long long threads = 1ll * launch.block[0] * launch.block[1] * launch.block[2];
  if (!raw_has_bounds && template_facts != subject.templated.source_facts.end() &&
      template_facts->second.launch_bounds && threads <= template_facts->second.launch_bounds->first)
    bounds.push_back(bounds_text(*template_facts->second.launch_bounds));
  if (!raw_has_bounds && !subject.options.raw_launch_bounds.empty()) {
    const std::string filled = fill_in(subject.options.raw_launch_bounds, configuration);
    if (std::strtoll(filled.c_str(), nullptr, 10) < threads)
      refused.push_back("not established, therefore not used: __launch_bounds__(" + filled + ")");
    else if (bounds.empty() || bounds[0] != "__launch_bounds__(" + filled + ")")
      bounds.push_back("__launch_bounds__(" + filled + ")");
  }

  const auto add = [&](const std::string& bound, const std::string& statements) {
    RawVariant variant{subject.raw_text, {}};
    if (!statements.empty()) {
      variant.text.insert(places->body, statements);
      variant.preconditions.push_back(statements.substr(1));
    }
    if (!bound.empty()) {
      variant.text.insert(places->attribute, " " + bound);
      variant.preconditions.push_back(bound);
    }
    variants.push_back(std::move(variant));
  };
  // The likeliest first: what a template with the block's size as a parameter and launch bounds over it
  // means.
  for (const std::string& bound : bounds) {
    add(bound, dimensions);
    add(bound, "");
  }
  add("", dimensions);
  if (!given.empty() && given != dimensions) {
    add("", given);
    for (const std::string& bound : bounds)
      add(bound, given);
  }
  return variants;
}

} // namespace lathe::refactor
