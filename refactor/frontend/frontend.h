// Parses CUDA with Clang in device mode; finds kernels and the places that launch them.
#pragma once

#include "tuner/base/result.h"
#include "tuner/expression/expression.h"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace clang {
class ASTUnit;
class FunctionDecl;
} // namespace clang

namespace lathe::refactor {

struct ParseOptions {
  std::filesystem::path compile_database; // folder with compile_commands.json; empty: flags only
  std::vector<std::string> flags;         // after `--` on the command line
  std::string architecture = "sm_90";
  std::map<std::filesystem::path, std::string> overlay; // file contents that replace the disk's
  // Sizes that device code has as macros or constants are dimensions of its launches, not numbers.
  bool free_text_sizes = false;
};

// One translation unit, parsed in CUDA device mode (docs/frontend.md states the flags).
class ParsedSource {
public:
  static Result<std::unique_ptr<ParsedSource>> parse(const std::filesystem::path& file,
                                                     const ParseOptions& options);
  virtual ~ParsedSource() = default;
  virtual clang::ASTUnit& ast() = 0;
  virtual const std::filesystem::path& file() const = 0;
  virtual const std::vector<std::string>& missing_headers() const = 0;
  virtual const std::vector<std::string>& command() const = 0; // for the certificate
  // Diagnostics of error level, "file:line: message".
  virtual const std::vector<std::string>& errors() const = 0;
  // Lathe's own headers that took part in the parse ("lathe_torch.h for ATen/ATen.h"), and changes made to
  // the copy of the text that Clang reads, each a sentence: part of what a certificate trusts.
  virtual const std::vector<std::string>& stand_ins() const = 0;
};

// A command as it may be written into files that travel: paths below `folder` relative to it, those elsewhere
// (the toolkit's, Lathe's own) left out.
std::vector<std::string> portable_command(const std::vector<std::string>& command,
                                          const std::filesystem::path& folder);

// How a launch is written: what somebody needs who changes its text.
struct LaunchText {
  // Host code that has a known value where the launch is reached: a variable in scope, or what is passed to
  // the kernel.
  struct Known {
    std::string text;       // C++
    std::string value;      // the Lathe expression, as LaunchSite's are
    bool needs_cast = true; // not every value of its C++ type is one of `long long`
  };
  std::filesystem::path file;
  std::size_t begin = 0;                // of the call in the text that was parsed, in bytes
  std::string call;                     // up to its closing parenthesis
  std::string function;                 // that it stands in
  std::vector<std::string> arguments;   // of the kernel
  std::vector<std::string> pointees;    // of the arguments: the types behind pointers, "" for anything else
  std::string stream;                   // empty: none is named
  std::vector<Known> known;             // the variables first, from the innermost scope outwards
  std::string fixed = "it is not read"; // why it cannot be changed, a clause; empty: it can
};

// A place that launches a kernel, with its host expressions turned into Lathe expressions over the launcher's
// integer parameters, sizeof_<T> and the kernel's template parameters.
// In front of a tensor's name, in the expressions of a launch: the size of its elements in bytes, whose type
// the launcher asks the tensor for.
inline const std::string SIZE_OF_ELEMENT = "sizeof_element_of_";

struct LaunchSite {
  std::string launcher; // function that holds it; "file:line" of the launch
  std::string location;
  std::vector<std::string> template_arguments; // as written: {"T", "256"}
  std::vector<std::string> dimensions;         // integer parameters of the launcher that the expressions use
  std::map<std::string, std::int64_t> fixed_sizes; // of these, what the source's text has for them
  // Of these, what device code names itself, where the source was parsed to free that: dimension -> the name
  // of the macro or constant.
  std::map<std::string, std::string> text_sizes;
  std::array<std::string, 3> grid{"1", "1", "1"}, block{"1", "1", "1"};
  std::string shared_bytes = "0";
  // Kernel parameter name -> host expression passed for it ("" where unreadable), and launcher pointers
  // passed on.
  std::map<std::string, std::string> arguments;
  // Of the arguments that loops around the launch change, what they are in the first round, as far as that is
  // a number: by kernel parameter.
  std::map<std::string, std::int64_t> first_round;
  std::set<std::string> null_pointers;             // kernel parameters that get a null pointer here
  std::map<std::string, std::string> buffer_bytes; // kernel parameter -> what the launcher allocated for it
  std::vector<std::string> assumed;    // what was taken for something that the source does not say, sentences
  std::vector<std::string> unreadable; // what could not be turned into an expression, each a sentence
  std::vector<std::string>
      conditions; // expressions that hold where this launch is reached, as far as readable
  // Numbers that the launcher takes as template arguments of its own and that the expressions above name:
  // what each is in every instance of the launcher that this file uses, in the order of the instances.
  std::map<std::string, std::vector<std::string>> launcher_arguments;
  // Complete template argument lists that this file instantiates the kernel with here ({"__half", "16"}).
  std::vector<std::vector<std::string>> instances;
  LaunchText text;
};

struct KernelParameter {
  std::string name, type; // type as written
  bool is_pointer = false, is_const_pointee = false, is_restrict = false, is_integer = false, is_real = false;
  std::string element;          // pointee type, unqualified
  std::string element_by_casts; // of a void*: what the kernel makes of it, where that is one type
  // What `type` and `element` are behind the names of the source, where that is one number: "float" for an
  // alias of it, "int" for an enumeration, "float" for a pointer to struct { float x, y; }. Empty where there
  // is none.
  std::string number, element_number;
  bool is_enumeration = false;
  bool is_plain_structure = false; // the pointee is a structure without pointers or virtual functions
  bool is_named_in_body = true;    // false: the kernel has it for its callers' sake alone
};

struct TemplateParameter {
  std::string name, type; // type: "typename" or the non-type parameter's type
  std::string default_argument;
};

struct KernelInfo {
  std::string name, qualified_name;
  std::string location;                             // file:line
  const clang::FunctionDecl* declaration = nullptr; // the template pattern, owned by the ParsedSource
  std::vector<TemplateParameter> template_parameters;
  std::vector<KernelParameter> parameters;
  std::vector<LaunchSite> launches;
  // Template arguments that have an explicit specialisation: a kernel of its own.
  std::vector<std::vector<std::string>> specialised;
  std::vector<std::string> unresolved; // names in its body that could not be resolved
  bool is_whole() const { return unresolved.empty(); }
};

std::vector<KernelInfo> find_kernels(ParsedSource& source);
// By name, qualified name or glob pattern. The error lists the names that were found.
Result<KernelInfo> find_kernel(ParsedSource& source, const std::string& name);
// Why a source in which find_kernels() finds none has none: a clause that names the first error where Clang
// did not read all of it.
std::string why_no_kernel(const ParsedSource& source);

// The self-contained text with what NVRTC accepts and Clang 19 does not spelled so that both accept it
// (`Cast<T>::template to<N>(x)`, `%%laneid`), as far as the instance shows it; the text itself where there is
// nothing to mend. Fails when it cannot be read at all.
Result<std::string> mended_text(const std::string& text, const std::string& instance,
                                const ParseOptions& options);

} // namespace lathe::refactor
