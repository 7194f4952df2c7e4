#include "refactor/extract/composed_text.h"

#include "refactor/extract/constant_initialisers.h"
#include "refactor/extract/constant_memory.h"
#include "refactor/extract/host_members.h"
#include "refactor/extract/inclusions.h"
#include "refactor/extract/system_headers.h"
#include "refactor/frontend/standard.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/Preprocessor.h>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

void ComposedText::supply(std::string text, const std::string& stand_in) {
  supplied_ = std::move(text);
  stand_ins_.insert(stand_in);
}

namespace {

// The namespaces that a kernel's definition outside of them is written with (`ns::` of `void ns::k() {}`):
// a template could not be defined so.
NestedNameSpecifierLoc kernel_qualifier(const Decl* declaration) {
  const FunctionDecl* function = declaration->getAsFunction();
  if (!function || !function->hasAttr<CUDAGlobalAttr>() || !isa<NamespaceDecl>(function->getDeclContext()))
    return {};
  return function->getQualifierLoc();
}

} // namespace

std::vector<ComposedText::Scope> ComposedText::scopes_of(const Decl* declaration) {
  std::vector<Scope> scopes;
  // A kernel becomes a template, which cannot have C linkage.
  const FunctionDecl* function = declaration->getAsFunction();
  const bool is_kernel = function && function->hasAttr<CUDAGlobalAttr>();
  const DeclContext* innermost =
      kernel_qualifier(declaration) ? function->getDeclContext() : declaration->getLexicalDeclContext();
  for (const DeclContext* context = innermost; context && !context->isTranslationUnit();
       context = context->getLexicalParent()) {
    if (const auto* space = dyn_cast<NamespaceDecl>(context)) {
      std::string opening = space->isInline() ? "inline namespace" : "namespace";
      if (!space->isAnonymousNamespace())
        opening += fmt::format(" {}", space->getNameAsString());
      scopes.insert(scopes.begin(), Scope{opening + " {"});
    } else if (const auto* linkage = dyn_cast<LinkageSpecDecl>(context); linkage && !is_kernel) {
      scopes.insert(
          scopes.begin(),
          Scope{linkage->getLanguage() == LinkageSpecLanguageIDs::C ? "extern \"C\" {" : "extern \"C++\" {"});
    }
  }
  return scopes;
}

void ComposedText::add_declarations(const std::vector<const Decl*>& units) {
  for (const Decl* unit : units) {
    const auto span = span_of(source_, unit);
    if (!span)
      continue;
    Piece piece;
    piece.location = sources_.getExpansionLoc(unit->getBeginLoc());
    piece.span = *span;
    piece.scopes = scopes_of(unit);
    if (source_.is_stand_in(piece.location))
      stand_ins_.insert(sources_.getFilename(piece.location).rsplit('/').second.str());
    const auto same = std::find_if(pieces_.begin(), pieces_.end(),
                                   [&](const Piece& other) { return other.span.overlaps(piece.span); });
    if (same == pieces_.end()) {
      pieces_.push_back(std::move(piece));
    } else {
      same->span.begin = std::min(same->span.begin, piece.span.begin);
      same->span.end = std::max(same->span.end, piece.span.end);
    }
  }
  // Widening may have made neighbours overlap.
  for (std::size_t i = 0; i < pieces_.size(); ++i)
    for (std::size_t j = pieces_.size(); j-- > i + 1;)
      if (pieces_[i].span.overlaps(pieces_[j].span)) {
        pieces_[i].span.begin = std::min(pieces_[i].span.begin, pieces_[j].span.begin);
        pieces_[i].span.end = std::max(pieces_[i].span.end, pieces_[j].span.end);
        pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(j));
      }
  std::vector<Replacement> replaced = inclusions_within(source_, units);
  for (const Decl* unit : units)
    for (const TextSpan& span : host_members(source_, unit)) // some units lie in others
      if (std::none_of(replaced.begin(), replaced.end(),
                       [&](const Replacement& other) { return other.span.overlaps(span); }))
        replaced.push_back({span, ""});
  std::set<std::string> filled;
  for (Replacement& value : constant_memory_values(source_, units, filled))
    replaced.push_back(std::move(value));
  for (const std::string& variable : filled)
    stand_ins_.insert("numbers for " + variable + ", which the host writes to constant memory");
  for (Replacement& word : constant_initialisers(source_, units))
    replaced.push_back(std::move(word));
  for (const Decl* unit : units)
    if (const NestedNameSpecifierLoc qualifier = kernel_qualifier(unit);
        qualifier && !qualifier.getBeginLoc().isMacroID() && !qualifier.getEndLoc().isMacroID())
      replaced.push_back(
          {{sources_.getFileID(qualifier.getBeginLoc()), sources_.getFileOffset(qualifier.getBeginLoc()),
            sources_.getFileOffset(unit->getAsFunction()->getLocation())},
           ""});
  std::sort(replaced.begin(), replaced.end(), [](const Replacement& a, const Replacement& b) {
    return a.span.begin > b.span.begin; // from the back
  });
  for (Piece& piece : pieces_) {
    piece.text = text_of(source_, piece.span);
    for (const auto& [span, text] : replaced)
      if (span.file == piece.span.file && span.begin >= piece.span.begin && span.end <= piece.span.end)
        piece.text.replace(span.begin - piece.span.begin, span.end - span.begin, text);
  }
}

bool ComposedText::add_macro(const std::string& name, const MacroInfo& macro) {
  const SourceLocation place = macro.getDefinitionLoc();
  if (place.isInvalid() || !macros_.insert(&macro).second)
    return false;
  if (!sources_.isWrittenInCommandLineFile(place) && !source_.is_user_file(place) &&
      !source_.is_stand_in(place)) {
    const std::string path = sources_.getFilename(place).str();
    // The toolkit's version numbers are asked for in #if; their headers are not for devices.
    if ((name == "CUDA_VERSION" || name == "CUDART_VERSION") && macro.getNumTokens() == 1)
      extra_lines_.insert(macro_text(source_, name, macro));
    else if (const std::string header = nvrtc_header(path); !header.empty())
      headers_.insert(header);
    // M_SQRT1_2 and the like, and constants that the toolkit's headers keep from NVRTC.
    if (macro.isObjectLike() && macro.getNumTokens() > 0 &&
        (!is_toolkit_file(path) || name.starts_with("CUDART_INF") || name.starts_with("CUDART_NAN")))
      extra_lines_.insert(fmt::format("#ifndef {}\n{}\n#endif", name, macro_text(source_, name, macro)));
    return false;
  }
  if (name.starts_with("__CUDA"))
    return false;
  Piece piece;
  piece.location = place;
  piece.text = macro_text(source_, name, macro);
  piece.is_macro = true;
  // NVRTC refuses __host__ on variables; it compiles everything for the device.
  if (name == "C10_HOST_DEVICE" && source_.is_stand_in(place))
    piece.text = "#define C10_HOST_DEVICE __device__";
  if (piece.text.empty())
    return false;
  if (source_.is_stand_in(place))
    stand_ins_.insert(sources_.getFilename(place).rsplit('/').second.str());
  pieces_.push_back(std::move(piece));
  written_macros_.insert(name);
  for (const Token& token : macro.tokens())
    if (const IdentifierInfo* identifier = token.getIdentifierInfo())
      named_by_macros_.insert(identifier->getName().str());
  // Macros that its body names, as far as they are known by the end of the file.
  const Preprocessor& preprocessor = source_.ast().getPreprocessor();
  for (const Token& token : macro.tokens())
    if (const IdentifierInfo* identifier = token.getIdentifierInfo();
        identifier && identifier->hasMacroDefinition())
      if (const MacroInfo* inner = preprocessor.getMacroInfo(identifier))
        add_macro(identifier->getName().str(), *inner);
  return true;
}

void ComposedText::add_macros() {
  const std::vector<Piece> texts = pieces_;
  // A name may have several definitions, one after the other; those that macros name are used where these
  // are.
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const MacroUse& use : source_.record().macro_uses) {
      if (!use.definition || macros_.contains(use.definition))
        continue;
      const FileID file = sources_.getFileID(use.location);
      const unsigned offset = sources_.getFileOffset(use.location);
      // Of a piece something may have been left out.
      if (std::any_of(texts.begin(), texts.end(), [&](const Piece& piece) {
            return piece.span.contains(file, offset) &&
                   (piece.text.find(use.name) != std::string::npos || named_by_macros_.contains(use.name));
          }))
        has_grown |= add_macro(use.name, *use.definition);
    }
  }
  for (const auto& [place, name] : source_.record().macro_ends) {
    if (!written_macros_.contains(name))
      continue;
    Piece piece;
    piece.location = place;
    piece.text = "#undef " + name;
    piece.is_macro = true;
    pieces_.push_back(std::move(piece));
  }
}

void ComposedText::add_using_directives(const std::vector<const UsingDirectiveDecl*>& directives) {
  std::set<std::string> opened = namespaces_;
  bool opens_unnamed = false;
  for (const Piece& piece : pieces_) {
    std::string name;
    for (const Scope& scope : piece.scopes) {
      opens_unnamed |= scope.opening.ends_with("namespace {");
      const std::size_t space = scope.opening.find("namespace ");
      if (space == std::string::npos || scope.opening.ends_with("namespace {"))
        continue;
      const std::string part = scope.opening.substr(space + 10, scope.opening.size() - space - 12);
      name = name.empty() ? part : fmt::format("{}::{}", name, part);
      opened.insert(name);
    }
  }
  // namespace torch { using namespace at; } using namespace torch; where only at has anything that is
  // reached.
  const auto is_nominated = [&](const std::string& name) {
    return std::ranges::any_of(directives, [&](const UsingDirectiveDecl* directive) {
      return directive->getNominatedNamespace()->getQualifiedNameAsString() == name;
    });
  };
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const UsingDirectiveDecl* directive : directives) {
      const auto* inside = dyn_cast<NamespaceDecl>(directive->getLexicalDeclContext());
      const std::string name = inside ? inside->getQualifiedNameAsString() : "";
      if (inside && !inside->isAnonymousNamespace() && !opened.contains(name) && is_nominated(name) &&
          opened.contains(directive->getNominatedNamespace()->getQualifiedNameAsString()))
        has_grown = opened.insert(name).second;
    }
  }
  for (const UsingDirectiveDecl* directive : directives) {
    const std::string nominated = directive->getNominatedNamespace()->getQualifiedNameAsString();
    const bool is_system = !is_written_by_user(source_, directive->getNominatedNamespace());
    // Those that lie in std (chrono, placeholders, literals) are for host code: the device's headers have
    // none.
    if (is_system && nominated.starts_with("std::"))
      continue;
    if (!opened.contains(nominated) && (!is_system || headers_.empty()))
      continue;
    if (const auto* inside = dyn_cast<NamespaceDecl>(directive->getLexicalDeclContext());
        inside && !opened.contains(inside->getQualifiedNameAsString()) &&
        !(inside->isAnonymousNamespace() && opens_unnamed))
      continue;
    const auto span = span_of(source_, directive);
    if (!span)
      continue;
    if (std::any_of(pieces_.begin(), pieces_.end(),
                    [&](const Piece& piece) { return piece.span.overlaps(*span); }))
      continue;
    Piece piece;
    piece.location = sources_.getExpansionLoc(directive->getBeginLoc());
    piece.span = *span;
    piece.text = text_of(source_, *span);
    piece.scopes = scopes_of(directive);
    pieces_.push_back(std::move(piece));
    namespaces_.insert(nominated);
  }
}

std::string ComposedText::opened_namespaces() const {
  std::string text;
  for (const std::string& name : namespaces_) {
    if (name.find('(') != std::string::npos || name == "std")
      continue;
    std::string opening, closing;
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t next = name.find("::", at);
      opening +=
          fmt::format("namespace {} {{ ", name.substr(at, next == std::string::npos ? next : next - at));
      closing += "}";
      at = next == std::string::npos ? next : next + 2;
    }
    const std::string outermost = name.substr(0, name.find("::"));
    const bool system = std::any_of(headers_.begin(), headers_.end(), [&](const std::string& header) {
      return header.find(outermost == "nvcuda" ? "mma" : outermost) != std::string::npos;
    });
    if (!system)
      text += opening + closing + "\n";
  }
  return text;
}

std::string ComposedText::text() {
  std::stable_sort(pieces_.begin(), pieces_.end(), [&](const Piece& a, const Piece& b) {
    return a.location != b.location && sources_.isBeforeInTranslationUnit(a.location, b.location);
  });
  std::string text;
  for (const std::string& header : headers_)
    text += fmt::format("#include {}\n", header);
  if (is_cxx20_)
    text += CXX20_DEMAND;
  text += supplied_;
  for (const std::string& line : extra_lines_)
    text += line + "\n";
  // A using-directive needs its namespace to have been seen.
  text += opened_namespaces();
  std::vector<Scope> open;
  const auto close_to = [&](std::size_t depth) {
    while (open.size() > depth) {
      text += "}\n";
      open.pop_back();
    }
  };
  for (const Piece& piece : pieces_) {
    if (!piece.is_macro) {
      std::size_t common = 0;
      while (common < open.size() && common < piece.scopes.size() && open[common] == piece.scopes[common])
        ++common;
      close_to(common);
      for (; common < piece.scopes.size(); ++common) {
        text += fmt::format("\n{}\n", piece.scopes[common].opening);
        open.push_back(piece.scopes[common]);
      }
      text += "\n";
    }
    text += piece.text + "\n";
  }
  close_to(0);
  return text;
}

} // namespace lathe::refactor
