#include "refactor/knobs/element_loop.h"

namespace lathe::refactor {

using namespace clang;

namespace {

// Block-wide or grid-wide: the counter starts at the thread's number and steps by the number of threads.
bool deals_out_in_turn(const StridedLoop& loop, const LaunchFacts& facts) {
  if (const auto share = share_of(loop, Polynomial::atom(loop_atom), facts))
    return share->each.as_constant() == 1 && share->rest.is_zero();
  if (facts.constant_block[1] != 1 || facts.constant_block[2] != 1)
    return false;
  std::vector<Polynomial> sizes{Polynomial::atom("blockDim.x")};
  if (facts.constant_block[0])
    sizes.push_back(Polynomial::constant(*facts.constant_block[0]));
  const Polynomial thread = Polynomial::atom("threadIdx.x"), block = Polynomial::atom("blockIdx.x"),
                   blocks = Polynomial::atom("gridDim.x");
  return std::ranges::any_of(sizes, [&](const Polynomial& size) {
    return loop.start == block * size + thread && loop.step == blocks * size;
  });
}

} // namespace

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
