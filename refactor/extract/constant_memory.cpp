#include "refactor/extract/constant_memory.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/ExprCXX.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <optional>

namespace lathe::refactor {

using namespace clang;

namespace {

// Writes initialisers, each number another than the one before it.
class Values {
public:
  explicit Values(const ASTContext& context) : context_(context) {}

  // Nothing where an object of the type cannot be made from a list.
  std::optional<std::string> of(QualType type) {
    if (type->isDependentType())
      return std::nullopt;
    if (type->isBooleanType())
      return "true";
    if (type->isEnumeralType() || type->isAnyPointerType())
      return "{}";
    if (type->isIntegerType())
      return std::to_string(1 + number_++ % 4);
    if (type->isRealFloatingType())
      return real_number();
    if (const auto* array = context_.getAsConstantArrayType(type))
      return list(*array);
    if (const auto* record = type->getAsCXXRecordDecl())
      return list(*record);
    return std::nullopt;
  }

private:
  std::string real_number() {
    static const char* const numbers[] = {"0.5f", "0.75f", "1.0f", "1.25f"};
    return numbers[number_++ % 4];
  }

  std::optional<std::string> list(const ConstantArrayType& array) {
    std::string text;
    for (std::uint64_t i = 0; i < array.getSize().getZExtValue() && written_ < FILLED_ELEMENTS; ++i) {
      const auto element = of(array.getElementType());
      if (!element)
        return std::nullopt;
      text += (i > 0 ? ", " : "") + *element;
      written_ += !array.getElementType()->isAggregateType();
    }
    return "{" + text + "}";
  }

  std::optional<std::string> list(const CXXRecordDecl& record) {
    if (!record.hasDefinition() || record.isUnion() || !record.isAggregate() || record.getNumBases() > 0)
      return std::nullopt;
    std::string text;
    for (const FieldDecl* field : record.fields()) {
      const auto value = field->isUnnamedBitField() ? std::nullopt : of(field->getType());
      if (!value)
        return std::nullopt;
      text += (text.empty() ? "" : ", ") + *value;
      written_ += !field->getType()->isAggregateType();
    }
    return "{" + text + "}";
  }

  const ASTContext& context_;
  unsigned number_ = 2, written_ = 0; // a number alone is 3 or 1.0
};

} // namespace

std::vector<Replacement> constant_memory_values(ParsedSourceImpl& source,
                                                const std::vector<const Decl*>& units,
                                                std::set<std::string>& filled) {
  ASTContext& context = source.ast().getASTContext();
  const SourceManager& sources = context.getSourceManager();
  std::vector<Replacement> found;
  for (const Decl* unit : units) {
    const auto* variable = dyn_cast<VarDecl>(unit);
    if (!variable || !variable->hasAttr<CUDAConstantAttr>() || variable->hasExternalStorage() ||
        variable->isConstexpr() || variable->getDescribedVarTemplate() || variable->getEndLoc().isMacroID())
      continue;
    // Zeros by a constructor that was not written are no value of the text's.
    if (const Expr* value = variable->getInit()) {
      const auto* made = dyn_cast<CXXConstructExpr>(value->IgnoreImplicit());
      if (!made || made->getParenOrBraceRange().isValid() || made->getNumArgs() > 0)
        continue;
    }
    const auto value = Values(context).of(variable->getType());
    if (!value || *value == "{}")
      continue;
    const SourceLocation behind =
        Lexer::getLocForEndOfToken(variable->getEndLoc(), 0, sources, context.getLangOpts());
    if (behind.isInvalid())
      continue;
    const unsigned offset = sources.getFileOffset(behind);
    if (std::ranges::any_of(found, [&](const Replacement& other) { // a unit may be there twice
          return other.span.file == sources.getFileID(behind) && other.span.begin == offset;
        }))
      continue;
    found.push_back({{sources.getFileID(behind), offset, offset}, " = " + *value});
    filled.insert(variable->getNameAsString());
  }
  return found;
}

} // namespace lathe::refactor
