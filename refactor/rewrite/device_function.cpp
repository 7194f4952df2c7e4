#include "refactor/rewrite/device_function.h"

#include "refactor/rewrite/edits.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/ASTUnit.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

constexpr const char* BOUNDS = "__launch_bounds__";
constexpr const char* STRUCTURE = "lathe_launch_bounds";

class Converter {
public:
  Converter(ParsedSource& source, const KernelInfo& kernel)
      : kernel_(kernel), context_(source.ast().getASTContext()), manager_(context_.getSourceManager()),
        text_(manager_.getBufferData(manager_.getMainFileID()).str()) {}

  Result<DeviceFunction> convert() {
    const FunctionDecl* definition = nullptr;
    if (!kernel_.declaration->hasBody(definition))
      return refusal("it is only declared");
    DeviceFunction result;
    for (const FunctionDecl* declaration : kernel_.declaration->redecls())
      LATHE_CHECK(convert_declaration(declaration, declaration == definition, result));
    PrintingPolicy policy(context_.getLangOpts());
    policy.SuppressTagKeyword = true;
    for (const ParmVarDecl* parameter : definition->parameters())
      result.parameters.push_back({parameter->getType().getAsString(policy), parameter->getNameAsString()});
    LATHE_TRY(result.text, apply_edits(text_, edits_));
    return result;
  }

private:
  Error refusal(const std::string& why) const {
    return {"cannot call " + kernel_.name + " from another kernel", why, ""};
  }

  std::size_t offset(SourceLocation location) const { return manager_.getFileOffset(location); }

  // What stands before the name: from behind the template header, or the declaration before this one.
  Status convert_declaration(const FunctionDecl* declaration, bool is_definition, DeviceFunction& result) {
    const SourceLocation name = declaration->getLocation();
    if (name.isMacroID() || !manager_.isInMainFile(name))
      return refusal("its declaration comes from a macro");
    std::string header;
    std::size_t begin = 0;
    if (const FunctionTemplateDecl* described = declaration->getDescribedFunctionTemplate()) {
      const TemplateParameterList& list = *described->getTemplateParameters();
      if (list.getTemplateLoc().isMacroID() || list.getRAngleLoc().isMacroID())
        return refusal("its template header comes from a macro");
      begin = offset(list.getRAngleLoc()) + 1;
      header = text_.substr(offset(list.getTemplateLoc()), begin - offset(list.getTemplateLoc())) + " ";
    } else if (const std::size_t last = text_.find_last_of(";}{", offset(name)); last != std::string::npos) {
      begin = last + 1;
    }
    const std::string before = text_.substr(begin, offset(name) - begin);
    for (const char* other : {"__cluster_dims__", "__maxnreg__", "__block_size__"})
      if (before.find(other) != std::string::npos)
        return refusal(fmt::format("it has {}, which only a kernel can have", other));
    const std::size_t end = text_.find_first_of("{;", offset(name));
    if (text_.substr(offset(name), end - offset(name)).find("__grid_constant__") != std::string::npos)
      return refusal("it has a parameter that is __grid_constant__");
    const std::size_t global = before.rfind("__global__");
    if (global == std::string::npos)
      return refusal("its __global__ comes from a macro");
    edits_.push_back({begin + global, std::string("__global__").size(), "__device__ __forceinline__"});
    const std::size_t bounds = before.find(BOUNDS);
    if (bounds == std::string::npos && is_definition && declaration->hasAttr<CUDALaunchBoundsAttr>())
      return refusal("its launch bounds are not written at its definition");
    if (bounds == std::string::npos)
      return Done{};
    LATHE_TRY(const std::vector<std::string> stated, take_bounds(begin + bounds));
    if (is_definition)
      add_structure(declaration, header, stated, result);
    return Done{};
  }

  // Removes the launch bounds at `at`, and returns their arguments.
  Result<std::vector<std::string>> take_bounds(std::size_t at) {
    const std::size_t open = text_.find('(', at);
    std::vector<std::string> stated(1);
    int depth = 0;
    for (std::size_t i = open; i < text_.size(); ++i) {
      depth += text_[i] == '(';
      depth -= text_[i] == ')';
      if (depth == 0) {
        edits_.push_back({at, i + 1 - at, ""});
        if (stated.size() > 2)
          return refusal("its launch bounds state a cluster size");
        stated.resize(2);
        return stated;
      }
      if (text_[i] == ',' && depth == 1)
        stated.emplace_back();
      else if (i != open)
        stated.back() += text_[i];
    }
    return refusal("its launch bounds do not end");
  }

  void add_structure(const FunctionDecl* definition, const std::string& header,
                     const std::vector<std::string>& stated, DeviceFunction& result) {
    const std::size_t end = offset(definition->getBodyRBrace()) + 1;
    const auto value = [](const std::string& text) { return text.empty() ? std::string("0") : text; };
    edits_.push_back({end, 0,
                      fmt::format("\n\n// The launch bounds of {}.\n{}struct {} {{\n  static constexpr int "
                                  "threads = {};\n  static constexpr int blocks = {};\n}};",
                                  kernel_.name, header, STRUCTURE, value(stated[0]), value(stated[1]))});
    const std::size_t scope = kernel_.qualified_name.rfind("::");
    result.bounds =
        (scope == std::string::npos ? "" : kernel_.qualified_name.substr(0, scope + 2)) + STRUCTURE;
  }

  const KernelInfo& kernel_;
  const ASTContext& context_;
  const SourceManager& manager_;
  std::string text_;
  std::vector<Edit> edits_;
};

} // namespace

Result<DeviceFunction> as_device_function(const std::string& text, const std::string& kernel,
                                          const ParseOptions& options) {
  const std::filesystem::path file = "/lathe/device_function.cu";
  ParseOptions overlaid = options;
  overlaid.compile_database.clear();
  overlaid.overlay[file] = text;
  LATHE_TRY(auto source, ParsedSource::parse(file, overlaid));
  LATHE_TRY(const KernelInfo found, find_kernel(*source, kernel));
  return Converter(*source, found).convert();
}

} // namespace lathe::refactor
