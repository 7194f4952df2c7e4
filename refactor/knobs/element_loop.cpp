#include "refactor/knobs/element_loop.h"

namespace lathe::refactor {

using namespace clang;

std::variant<std::string, ElementLoop> read_element_loop(KernelView& view, const StridedLoop& loop,
                                                         const LaunchFacts& facts) {
  const std::string where = view.at_line(loop.loop->getBeginLoc());
  if (!loop.step_by)
    return "the loop at " + where + " is each thread's own";
  view.keep(loop.counter, loop_atom);
  const bool in_turn = deals_out_in_turn(loop, facts);
  const auto accesses = read_element_work(view, {loop.counter, {loop.loop->getBody()}, loop.loop, true});
  view.release(loop.counter);
  if (!in_turn)
    return "the loop at " + where + " does not deal out elements in turn";
  if (const auto* reason = std::get_if<std::string>(&accesses))
    return *reason;
  return ElementLoop{loop, std::get<std::vector<ElementAccess>>(accesses)};
}

} // namespace lathe::refactor
