// What the rules share: making knobs, naming them, placing text. Internal to this folder.
#pragma once

#include "refactor/knobs/kernel_view.h"
#include "refactor/rewrite/edits.h"
#include "refactor/rewrite/rewrite.h"

namespace lathe::refactor {

using Outcome = std::variant<Refusal, Proposal>;

// The kernel read at the defaults of the knobs that have been exposed.
KernelView view_of(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate);

Knob make_knob(std::string name, KnobKind kind, std::string type, const std::vector<std::int64_t>& values,
               const std::string& default_value, std::string why);
// Fails only when the text is not an expression, which is a defect of the rule: the engine reports it as a
// refusal.
Condition make_condition(const std::string& text, std::string why);
Expression make_expression(const std::string& text);

// `base`, or `base_2`, ... when the file already uses that identifier.
std::string free_name(const std::string& text, const std::string& base,
                      const std::vector<std::string>& taken = {});
bool has_word(const std::string& text, const std::string& word);
std::string replace_word(std::string text, const std::string& word, const std::string& replacement);

Edit replace(TextRange range, std::string replacement);
Edit insert(std::size_t offset, std::string text);

// Where a declaration's text starts, its template header and attributes included.
std::size_t declaration_start(const KernelView& view, const clang::FunctionDecl* function);
// Where helpers that every function may use go: behind the includes, before the first declaration.
std::size_t prelude_position(const std::string& text);
// True when a helper of this name is already in the text.
bool has_helper(const std::string& text, const std::string& name);
// A statement's bytes with the semicolon that ends it.
std::optional<TextRange> whole_statement(const KernelView& view, const clang::Stmt* statement);
// The bytes with their whole line, where nothing else stands on it.
TextRange with_line(const std::string& text, TextRange bytes);
// The start of the line that holds `offset`, and its indentation.
std::size_t line_start(const std::string& text, std::size_t offset);
std::string indentation(const std::string& text, std::size_t offset);

// Gives a knob to helper functions: each function in `users` other than the kernel, and every function on the
// way from the kernel to it, gets it as its first template parameter, and every call passes it on. Returns a
// reason when some function cannot take one (a member, an operator, one whose address is taken).
std::optional<std::string> pass_knob_down(const KernelView& view, const std::string& type,
                                          const std::string& name,
                                          const std::vector<const clang::FunctionDecl*>& users,
                                          std::vector<Edit>& edits);

// The number of threads of a block as a C++ constant expression, for launch bounds: constants and knobs
// multiplied; "1024" where a size is a formula of the problem. `fixed`: nothing of it is a formula.
struct BlockBound {
  std::string text;
  bool fixed = true;
};
BlockBound block_bound(const Candidate& candidate);
// The product of the block's sizes as a Lathe expression.
std::string block_threads(const LaunchGeometry& launch);

// The value of a knob's template parameter in the conditions of a kernel integer parameter: the expression
// that the launcher passes for it, or nothing when it is not known.
std::optional<std::string> value_of_parameter(const Candidate& candidate, const std::string& parameter);

// Why no template parameter can be added to the kernel; nothing when one can.
std::optional<std::string> cannot_add_parameters(const KernelInfo& kernel);

std::unique_ptr<Rule> make_name_macros();
std::unique_ptr<Rule> make_inline_helpers();
std::unique_ptr<Rule> make_declare_where_set();
std::unique_ptr<Rule> make_count_in_for();
std::unique_ptr<Rule> make_name_moved_pointers();
std::unique_ptr<Rule> make_adopt_template_parameter();
std::unique_ptr<Rule> make_expose_constant();
std::unique_ptr<Rule> make_adopt_tile();
std::unique_ptr<Rule> make_expose_tile();
std::unique_ptr<Rule> make_expose_grid_size();
std::unique_ptr<Rule> make_collapse_loops();
std::unique_ptr<Rule> make_vectorize_loop();
std::unique_ptr<Rule> make_vectorize_element();
std::unique_ptr<Rule> make_parallelize_loop();
std::unique_ptr<Rule> make_expose_block_size();
std::unique_ptr<Rule> make_split_block();
std::unique_ptr<Rule> make_keep_in_registers();
std::unique_ptr<Rule> make_rows_per_block();
std::unique_ptr<Rule> make_pad_shared();
std::unique_ptr<Rule> make_adopt_instances();
std::unique_ptr<Rule> make_expose_unroll();
std::unique_ptr<Rule> make_load_early();
std::unique_ptr<Rule> make_pack_stores();
std::unique_ptr<Rule> make_cache_hints();
std::unique_ptr<Rule> make_launch_bounds();
std::unique_ptr<Rule> make_reduce_in_every_warp();
std::unique_ptr<Rule> make_specialize_size();

} // namespace lathe::refactor
