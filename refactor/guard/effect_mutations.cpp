// Mistakes in cooperation between threads, new effects, and a changed interface.
#include "refactor/guard/mutation_kinds.h"

#include <set>

namespace lathe::refactor {
namespace {

using Found = std::vector<Mutation>;

bool is_barrier(const TokenText& text, std::size_t i) {
  return (text.is(i, "__syncthreads") || text.is(i, "__syncwarp")) && text.is(i + 1, "(");
}
void remove_barrier(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_barrier(text, i))
      mutate(found, text, i, text[i + 1].partner, "", "a barrier is gone");
}
void divergent_barrier(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (is_barrier(text, i))
      mutate(found, text, i, text[i + 1].partner,
             "if (threadIdx.x % 2 == 0) " + text.source(i, text[i + 1].partner),
             "a barrier stands under a divergent branch");
}
void move_barrier(const TokenText& text, const TuningSpec&, Found& found) {
  const std::vector<Statement>& statements = text.statements();
  for (std::size_t s = 0; s < statements.size(); ++s) {
    if (!is_barrier(text, statements[s].first))
      continue;
    const std::string barrier = text.source(statements[s].first, statements[s].last);
    const MutationEdit gone{text[statements[s].first].offset, text[statements[s].last].end, ""};
    if (s > 0) {
      const std::size_t before = text[statements[s - 1].first].offset;
      found.push_back({{{before, before, barrier + " "}, gone},
                       text[statements[s].first].line,
                       "a barrier moved up by one statement"});
    }
    if (s + 1 < statements.size()) {
      const std::size_t after = text[statements[s + 1].last].end;
      found.push_back({{gone, {after, after, " " + barrier}},
                       text[statements[s].first].line,
                       "a barrier moved down by one statement"});
    }
  }
}
void shuffle_mask(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i].kind == Token::Kind::number &&
        (text[i].text.starts_with("0xffffffff") || text[i].text.starts_with("0xFFFFFFFF")))
      mutate(found, text, i, i, "0x0000ffffu");
}
void shuffle_width(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i].text.starts_with("__shfl") && text.is(i + 1, "(")) {
      const std::size_t close = text[i + 1].partner;
      found.push_back(
          {{{text[close].offset, text[close].offset, ", 16"}}, text[i].line, "a shuffle is 16 lanes wide"});
    }
}
void uninitialised_shared(const TokenText& text, const TuningSpec&, Found& found) {
  std::set<std::string> arrays;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text.is(i, "__shared__"))
      for (std::size_t k = i; k < text.size() && !text.is(k, ";"); ++k)
        if (text[k].kind == Token::Kind::word && text.is(k + 1, "["))
          arrays.insert(text[k].text);
  for (const Store& store : stores(text))
    if (arrays.contains(store.target))
      mutate(found, text, store.equals + 1, store.statement.last, store.target + "[0];",
             "shared memory is filled from itself");
}
void other_buffer(const TokenText& text, const TuningSpec& spec, Found& found) {
  const auto signature = kernel_signature(text, spec);
  if (!signature)
    return;
  std::vector<std::string> pointers;
  for (std::size_t p = 0; p < signature->parameters.size(); ++p)
    for (std::size_t i = signature->parameters[p].first; i <= signature->parameters[p].second; ++i)
      if (text.is(i, "*")) {
        pointers.push_back(signature->name_of(text, p));
        break;
      }
  for (std::size_t i = signature->body; i < text[signature->body].partner; ++i)
    for (std::size_t p = 0; p < pointers.size(); ++p)
      if (pointers.size() > 1 && text.is(i, pointers[p]))
        mutate(found, text, i, i, pointers[(p + 1) % pointers.size()]);
}

// A statement at the start of the kernel's body, with declarations before the kernel.
void insert(const TokenText& text, const TuningSpec& spec, Found& found, const std::string& statement,
            const std::string& before = {}, bool at_end = false) {
  const auto signature = kernel_signature(text, spec);
  if (!signature)
    return;
  const std::size_t at = at_end ? text[text[signature->body].partner].offset : text[signature->body].end;
  Mutation mutation{
      {{at, at, " " + statement + " "}}, text[signature->body].line, "'" + statement + "' was added"};
  if (!before.empty())
    mutation.edits.push_back({0, 0, before});
  found.push_back(std::move(mutation));
}
std::string first_integer(const TokenText& text, const TuningSpec& spec) {
  const auto signature = kernel_signature(text, spec);
  for (std::size_t p = 0; signature && p < spec.arguments.size() && p < signature->parameters.size(); ++p)
    if (!spec.arguments[p].is_buffer &&
        (spec.arguments[p].dtype.starts_with("i") || spec.arguments[p].dtype.starts_with("u")))
      return signature->name_of(text, p);
  return {};
}
std::string first_pointer(const TokenText& text, const TuningSpec& spec, Direction direction) {
  const auto signature = kernel_signature(text, spec);
  for (std::size_t p = 0; signature && p < spec.arguments.size() && p < signature->parameters.size(); ++p)
    if (spec.arguments[p].is_buffer && spec.arguments[p].direction == direction)
      return signature->name_of(text, p);
  return {};
}
void read_clock(const TokenText& text, const TuningSpec& spec, Found& found) {
  insert(text, spec, found, "if (clock64() == 0) return;");
}
void rare_trap(const TokenText& text, const TuningSpec& spec, Found& found) {
  insert(text, spec, found, "if (gridDim.x == 77777u) __trap();");
}
void print_something(const TokenText& text, const TuningSpec& spec, Found& found) {
  insert(text, spec, found, "if (gridDim.x == 77777u) printf(\"%d\", 1);");
}
void global_state(const TokenText& text, const TuningSpec& spec, Found& found) {
  insert(text, spec, found, "if (threadIdx.x == 0) ++mutant_state;", "__device__ int mutant_state;\n");
}
void foreign_assembly(const TokenText& text, const TuningSpec& spec, Found& found) {
  insert(text, spec, found, "asm volatile(\"membar.gl;\");");
}
void special_size(const TokenText& text, const TuningSpec& spec, Found& found) {
  const std::string size = first_integer(text, spec);
  if (!size.empty())
    insert(text, spec, found, "if (" + size + " == 12345) return;");
}
void large_size(const TokenText& text, const TuningSpec& spec, Found& found) {
  const std::string size = first_integer(text, spec);
  if (!size.empty())
    insert(text, spec, found, "if (" + size + " > 50000) return;");
}
void write_input(const TokenText& text, const TuningSpec& spec, Found& found) {
  const std::string input = first_pointer(text, spec, Direction::in),
                    output = first_pointer(text, spec, Direction::out);
  if (!input.empty() && !output.empty())
    insert(text, spec, found, "*(volatile char*)(" + input + ") = 0;", "", true);
}
void read_output(const TokenText& text, const TuningSpec& spec, Found& found) {
  const std::string output = first_pointer(text, spec, Direction::out);
  if (!output.empty())
    insert(text, spec, found, "if (*(volatile char*)(" + output + ") == 42) return;");
}
void atomic_output(const TokenText& text, const TuningSpec& spec, Found& found) {
  std::string output = first_pointer(text, spec, Direction::out);
  if (output.empty())
    output = first_pointer(text, spec, Direction::inout);
  if (!output.empty())
    insert(text, spec, found, "atomicAdd((unsigned*)(" + output + "), 0u);", "", true);
}

void drop_const(const TokenText& text, const TuningSpec& spec, Found& found) {
  const auto signature = kernel_signature(text, spec);
  for (std::size_t i = signature ? signature->open : text.size(); signature && i < signature->close; ++i)
    if (text.is(i, "const") && text.is(i + 2, "*"))
      mutate(found, text, i, i, "", "the pointee of '" + text[i + 3].text + "' is no longer const");
}
void add_restrict(const TokenText& text, const TuningSpec& spec, Found& found) {
  const auto signature = kernel_signature(text, spec);
  for (std::size_t i = signature ? signature->open : text.size(); signature && i < signature->close; ++i)
    if (text.is(i, "*") && !text.is(i + 1, "__restrict__"))
      found.push_back(
          {{{text[i].end, text[i].end, " __restrict__ "}}, text[i].line, "a pointer promises __restrict__"});
    else if (text.is(i, "__restrict__"))
      mutate(found, text, i, i, "", "a pointer lost its __restrict__");
}
void shrink_launch_bounds(const TokenText& text, const TuningSpec&, Found& found) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text.is(i, "__launch_bounds__") && text.is(i + 1, "(")) {
      std::size_t end = i + 2; // behind the first argument
      while (end < text[i + 1].partner && !text.is(end, ","))
        end = text.is(end, "(") ? text[end].partner + 1 : end + 1;
      found.push_back({{{text[i + 2].offset, text[end - 1].end, "32"}},
                       text[i].line,
                       "the launch bounds promise 32 threads"});
    }
}

} // namespace

const std::vector<MutationKind>& effect_mutations() {
  static const std::vector<MutationKind> kinds{
      {"remove-barrier", remove_barrier},
      {"divergent-barrier", divergent_barrier, ShownBy::reading},
      {"move-barrier", move_barrier},
      {"shuffle-mask", shuffle_mask, ShownBy::reading},
      {"shuffle-width", shuffle_width},
      {"uninitialised-shared", uninitialised_shared, ShownBy::reading},
      {"other-buffer", other_buffer},
      {"read-clock", read_clock, ShownBy::reading},
      {"rare-trap", rare_trap, ShownBy::reading},
      {"print", print_something, ShownBy::reading},
      {"global-state", global_state, ShownBy::reading},
      {"foreign-assembly", foreign_assembly, ShownBy::reading},
      {"special-size", special_size, ShownBy::reading},
      {"large-size", large_size, ShownBy::reading},
      {"write-input", write_input},
      {"read-output", read_output},
      {"atomic-output", atomic_output, ShownBy::reading},
      {"drop-const", drop_const, ShownBy::reading},
      {"restrict", add_restrict, ShownBy::reading},
      {"shrink-launch-bounds", shrink_launch_bounds, ShownBy::reading}};
  return kinds;
}

} // namespace lathe::refactor
