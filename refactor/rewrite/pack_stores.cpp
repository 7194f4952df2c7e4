// pack-stores: elements that a loop stores one by one to consecutive places are stored together behind it.
#include "refactor/knobs/packed_stores.h"
#include "refactor/rewrite/helper_texts.h"
#include "refactor/rewrite/loop_hint.h"
#include "refactor/rewrite/rule_support.h"

#include <clang/AST/StmtCXX.h>

#include <fmt/format.h>

namespace lathe::refactor {

using namespace clang;

namespace {

class PackStores : public Rule {
public:
  std::string_view name() const override { return "pack-stores"; }
  std::string_view summary() const override {
    return "stores what a loop gives to consecutive places together, in wide accesses";
  }

  Outcome propose(ParsedSource& source, const KernelInfo& kernel, const Candidate& candidate) const override {
    if (auto reason = cannot_add_parameters(kernel))
      return Refusal{*reason};
    if (has_helper(candidate.text, "lathe_store_packed"))
      return Refusal{"the stores are packed already"};
    KernelView view = view_of(source, kernel, candidate);
    const auto found = find_packed_stores(view);
    if (const auto* reason = std::get_if<std::string>(&found))
      return Refusal{*reason};
    const std::string knob = free_name(candidate.text, "PACK_STORES");
    Proposal proposal;
    std::vector<std::string> taken;
    std::string lines;
    for (const PackedStore& store : std::get<std::vector<PackedStore>>(found)) {
      const std::string values = free_name(candidate.text, "lathe_values", taken);
      if (!pack(view, store, knob, values, proposal.edits))
        continue;
      taken.push_back(values);
      lines += (lines.empty() ? "" : ", ") + view.at_line(store.place->getBeginLoc());
    }
    if (taken.empty())
      return Refusal{"the loops that store consecutive elements come from macros"};
    proposal.edits.push_back(insert(prelude_position(candidate.text), PACKED_STORE_HELPERS));
    proposal.knobs.push_back(make_knob(knob, KnobKind::vector, "int", {0, 1}, "0",
                                       "1: what is stored at " + lines +
                                           " is stored together behind the loop; 0: element by element"));
    return proposal;
  }

private:
  static bool pack(const KernelView& view, const PackedStore& store, const std::string& knob,
                   const std::string& values, std::vector<Edit>& edits) {
    const std::string& text = view.file_text();
    const LoopHint hint = loop_hint_of(view, store.loop.loop);
    const auto loop = whole_statement(view, store.loop.loop);
    const auto place = view.range(store.place->getSourceRange());
    if (hint.unreadable || !loop || !place)
      return false;
    const std::string type = view.type_text(store.element), bound = view.text(store.loop.bound),
                      counter = store.loop.counter->getNameAsString(),
                      indent = indentation(text, loop->begin);
    const std::string declaration =
        fmt::format("lathe_packed<{}, {} == 0 ? 1 : {}> {};", type, knob, bound, values);
    const std::size_t before = hint.present ? hint.line.begin : loop->begin, line = line_start(text, before);
    edits.push_back(text.find_first_not_of(" \t", line) == before
                        ? insert(line, indent + declaration + "\n")
                        : insert(before, declaration + "\n" + indent));
    edits.push_back(replace(
        *place, fmt::format("({} == 0 ? {} : {}.element[{}])", knob, view.text(*place), values, counter)));
    edits.push_back(
        insert(loop->end, fmt::format("\n{0}if constexpr ({1} == 1)\n{0}  lathe_store_packed({2}, &{3});",
                                      indent, knob, values, replace_word(view.text(*place), counter, "0"))));
    return true;
  }
};

} // namespace

std::unique_ptr<Rule> make_pack_stores() {
  return std::make_unique<PackStores>();
}

} // namespace lathe::refactor
