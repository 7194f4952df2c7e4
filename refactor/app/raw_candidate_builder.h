// How a raw candidate is put together; for the files named raw_candidate*.cpp only.
#pragma once

#include "refactor/app/raw_candidate.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lathe::refactor {

// Letters, digits and underscores only; not empty.
bool plain_word(const std::string& text);
// Whether an identifier of the text is the name.
bool names(const std::string& text, const std::string& name);
// `text` with whole identifiers replaced.
std::string substitute(const std::string& text, const std::map<std::string, std::string>& names);

// What the user gave for a name, to stand in its place: in parentheses where it is computed, but not a type.
std::string in_place_of_name(const std::string& value);

// `a && (b && c)` as a, b and c; any other condition as it is.
std::vector<std::string> conjuncts(const std::string& condition);
// a and b of "a == b" or "!(a != b)" for two names; nothing where the condition is anything else.
std::optional<std::pair<std::string, std::string>> equal_names(const std::string& condition);
// C++ to the expression language: "16 / sizeof(T)" -> "16 / sizeof_T".
std::string without_sizeof(const std::string& text);
// a and b of "gcd(a, b)"; nothing where the text is anything else.
std::optional<std::pair<std::string, std::string>> operands_of_gcd(const std::string& text);
// "const T" -> "T".
std::string without_qualifiers(std::string type);
// e4m3 and e5m2, which values are quantised to.
bool is_eight_bit_real(const std::string& dtype);
// CUDA's vector types as what they are vectors of: float4 -> f32. Empty: none of them.
std::string dtype_of_vector(const std::string& type);

inline bool is_type_parameter(const TemplateParameter& parameter) {
  return parameter.type == "typename" || parameter.type == "class";
}

// A template parameter that is true or false.
inline bool is_switch(const TemplateParameter& parameter) {
  return parameter.type == "bool" || parameter.type == "const bool";
}

// Makes one raw candidate: each step goes on from what those before it have found.
class RawCandidateBuilder {
public:
  RawCandidateBuilder(const KernelInfo& kernel, const ExtractedKernel& extracted, const WorkloadFacts& facts,
                      const LaunchOverride& launch, const std::string& architecture)
      : kernel_(kernel), extracted_(extracted), facts_(facts), launch_(launch), architecture_(architecture) {}

  Result<RawCandidate> build();

private:
  Status choose_site();
  // Whether nothing that the launch is reached under speaks against any of the problems that were given.
  bool serves_problems(const LaunchSite& site) const;
  // At how many of the usual sizes the program has the launch, as far as its conditions are over sizes.
  std::size_t usual_problems_of(const LaunchSite& site) const;
  // Of two sizes that are equal wherever the launch is reached, and are not both given, one stands for both.
  void unite_equal_sizes();
  // Template arguments of the launcher: given, or those of the first of its instances that gets to the
  // launch.
  void bind_launcher_arguments();
  // Puts values for names into everything that the launch says.
  void substitute_in_site(const std::map<std::string, std::string>& values);
  Status override_template_arguments();
  void take_instance();
  void take_widest_instance();
  bool follows_size(const std::string& text) const;
  void check_template_arguments();
  void close_open_names();
  // Element types that a launcher builds a class of and that are the same one in all of the file's instances
  // become one.
  void unite_types_in_use();
  // What the file's instances have for the names, which the argument is made of: traits<N, T>.
  std::vector<std::vector<std::string>> types_in_use(std::size_t argument,
                                                     const std::vector<std::string>& names) const;
  // The compiler's sentence against the instance with these values for names; empty where there is none.
  std::string complaint(const std::map<std::string, std::string>& values) const;
  bool is_number_of_launcher(const std::string& name) const;
  bool is_true_or_false(const std::string& name) const;
  std::map<std::string, std::string> answers_that_compile() const;
  // What the launch's own instances have for the questions, each once, in their order.
  std::vector<std::map<std::string, std::string>> answers_in_use() const;
  bool compiles_with(const std::map<std::string, std::string>& answers) const;
  // Takes numbers that compile for template arguments that are left open. Fails, naming all of these, where
  // none do.
  Status answer_questions();
  // Whether a block of the launch has no more threads than one may have, as far as the values for names tell.
  bool fits_block(const std::map<std::string, std::string>& values) const;
  // Given, or in use, or all instances' where those are integers or have 8 bits, or else the usual ones.
  const std::vector<std::string>& dtypes_of(const std::string& type) const;
  Result<std::vector<std::string>> compiling_dtypes(const TypeParameter& type) const;
  // Of types that compile, those that the host executor takes too, where there are any.
  std::vector<std::string> runnable_dtypes(const TypeParameter& type, std::vector<std::string> dtypes);
  // The types that the file's instances have for the parameter, where all of these are integers, or all real
  // numbers of 8 bits.
  std::vector<std::string> types_as_used(std::size_t parameter) const;
  bool is_object_in_use(const std::string& type) const;
  bool is_specialised(const std::string& type, const std::string& dtype) const;
  Status leave_out_specialised();
  void keep_classes_in_use();
  bool take_types_of_an_instance();
  bool take_types_of(const std::vector<std::string>& instance, bool as_written);
  // Gives buffers that the launch's function allocates itself their sizes, where the problem's sizes decide
  // them.
  void count_allocated();
  std::optional<Expression> elements_allocated(const std::string& parameter, const std::string& dtype) const;
  std::string element_of(const KernelParameter& parameter) const;
  // The dtype of PyTorch's at::opmath_type<T> and at::acc_type<T, true>, what sums of T's are kept in; empty
  // for other types. Element types for which it is another one are left out.
  std::string accumulator_dtype(const std::string& type);
  Status mend_text();
  // Sizes that the text fixes become macros that a compiler may be told otherwise.
  Status free_text_sizes();
  bool is_class_of_text(const std::string& name) const;
  std::string type_left_out(std::size_t parameter) const;
  void name_types();
  // Sizes of tensors' elements become those of the types of the kernel's own parameters.
  void name_element_sizes();
  // The size of a launcher's own type, where the kernel has one element type: its size.
  void name_sizes();
  // What the launch says of its grid, its block and its shared memory.
  std::vector<std::string> geometry_texts() const;
  Status geometry();
  Status choose_dtypes();
  void keep_one_type_of_shared_memory();
  Status settle_unused_sizes();
  Status arguments();
  Status fix_device_limits();
  void collect_dimensions();
  // What the launcher asks of sizes before it launches the kernel so.
  void collect_launch_conditions();
  // Where nothing of the launch follows a size, the number of blocks is one: a fixed problem is too large to
  // be run without a GPU, and a part of its blocks does not differ from the whole in kind.
  Status free_fixed_grid();
  Result<Argument> scalar(const KernelParameter& parameter);
  Result<Argument> buffer(const KernelParameter& parameter);
  std::string in_kernel_terms(const std::string& host_expression) const {
    return substitute(host_expression, names_);
  }
  std::string type_list(const std::map<std::string, std::string>& cxx) const;

  const KernelInfo& kernel_;
  const ExtractedKernel& extracted_;
  const WorkloadFacts& facts_;
  const LaunchOverride& launch_;
  const std::string& architecture_;
  LaunchSite site_;
  bool has_site_ = false;
  std::map<std::string, std::string> names_;  // launcher's spelling -> the specification's
  std::set<std::string> bound_by_launcher_;   // template parameters of the launcher
  std::vector<std::string> data_types_;       // type parameters that are element types
  std::map<std::string, std::string> united_; // types that are always another one: that
  std::map<std::string, std::vector<std::string>> dtypes_in_use_; // of those that the launch makes concrete
  std::map<std::string, std::vector<std::string>>
      types_as_used_; // of those that all instances make integers or 8-bit numbers
  // A template argument that only the user knows: its name, that with what the launch says of it, and the
  // launcher's variable that it is, where it is one and no size of the kernel's.
  struct Question {
    std::string name, what, variable;
  };
  std::vector<Question> questions_;
  RawCandidate result_;
};

} // namespace lathe::refactor
