#include "tuner/space/bounds.h"
#include "tuner/space/reorder.h"
#include "tuner/space/solver.h"

#include <algorithm>

namespace lathe::space {

template <class Function> void Program::for_operands(TermId id, Function function) const {
  const Term& term = (*pool_)[id];
  for (const TermId operand : {term.a, term.b, term.c})
    if (operand != no_term)
      function(operand);
  if (term.op == Op::generic)
    for (const std::int32_t parameter : pool_->generic(term).parameters)
      function(variable_of_parameter_[static_cast<std::size_t>(parameter)]);
}

Program::Program(TermPool& pool, const std::vector<TermId>& conjuncts, std::vector<std::int32_t> order,
                 Pruning pruning)
    : pool_(&pool), order_(std::move(order)) {
  const std::size_t parameters = pool.model().parameters.size();
  position_of_parameter_.assign(parameters, -1);
  for (std::size_t i = 0; i < order_.size(); ++i)
    position_of_parameter_[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
  for (std::size_t i = 0; i < parameters; ++i)
    variable_of_parameter_.push_back(pool.variable(static_cast<std::int32_t>(i)));

  Reorder reorder(pool, position_of_parameter_);
  std::vector<TermId> roots;
  for (const TermId conjunct : conjuncts)
    roots.push_back(reorder(conjunct));
  compute_levels();
  if (pruning == Pruning::on) {
    add_bounds(roots);
    compute_levels();
  }

  levels_.resize(order_.size());
  std::vector<bool> scheduled(pool.size(), false);
  // Cheap checks first: they spare the others where nothing is left.
  std::stable_sort(roots.begin(), roots.end());
  for (std::size_t i = 0; i < order_.size(); ++i) {
    Level& level = levels_[i];
    level.parameter = order_[i];
    schedule(variable_of_parameter_[static_cast<std::size_t>(order_[i])], static_cast<int>(i), scheduled);
    for (const TermId root : roots)
      if (level_of(root) == static_cast<int>(i)) {
        schedule(root, static_cast<int>(i), scheduled);
        level.steps.push_back({root, true});
      }
  }
  // Operands of terms of a later level; they may need further terms of their own level.
  std::vector<int> last_use(pool.size(), -1);
  std::vector<bool> reachable(pool.size(), false);
  for (const TermId root : roots)
    reachable[static_cast<std::size_t>(root)] = true;
  for (TermId id = static_cast<TermId>(pool.size()) - 1; id >= 0; --id)
    if (reachable[static_cast<std::size_t>(id)])
      for_operands(id, [&](TermId operand) {
        reachable[static_cast<std::size_t>(operand)] = true;
        int& use = last_use[static_cast<std::size_t>(operand)];
        if (level_of(operand) < level_of(id))
          use = std::max(use, level_of(id));
      });
  for (TermId id = 0; id < static_cast<TermId>(pool.size()); ++id) {
    const int level = level_of(id);
    const int use = last_use[static_cast<std::size_t>(id)];
    if (level < 0 || use <= level)
      continue;
    schedule(id, level, scheduled);
    levels_[static_cast<std::size_t>(level)].kept.push_back(id);
    for (int i = level; i < use; ++i) {
      levels_[static_cast<std::size_t>(i)].live.push_back(id);
      if (pool[id].may_fail)
        levels_[static_cast<std::size_t>(i)].live_fallible.push_back(id);
    }
  }
}

void Program::compute_levels() {
  level_of_.assign(pool_->size(), -1);
  for (TermId id = 0; id < static_cast<TermId>(pool_->size()); ++id) {
    int& level = level_of_[static_cast<std::size_t>(id)];
    const Term& term = (*pool_)[id];
    if (term.op == Op::variable)
      level = position_of_parameter_[static_cast<std::size_t>(term.bits)];
    else
      for_operands(id, [&](TermId operand) { level = std::max(level, level_of(operand)); });
  }
}

void Program::add_bounds(std::vector<TermId>& conjuncts) {
  Bounds bounds(*pool_, level_of_);
  const std::size_t given = conjuncts.size();
  for (std::size_t i = 0; i < given; ++i) {
    std::vector<int> levels;
    for (const std::int32_t parameter : pool_->parameters_of(conjuncts[i]))
      levels.push_back(position_of_parameter_[static_cast<std::size_t>(parameter)]);
    for (const int level : levels) {
      if (level < 0 || level == level_of(conjuncts[i]))
        continue;
      const TermId bound = bounds.possible(conjuncts[i], level);
      if (!pool_->is_true(bound) && bounds.level_of(bound) == level)
        conjuncts.push_back(bound);
    }
  }
  std::sort(conjuncts.begin(), conjuncts.end());
  conjuncts.erase(std::unique(conjuncts.begin(), conjuncts.end()), conjuncts.end());
}

void Program::schedule(TermId id, int level, std::vector<bool>& scheduled) {
  if (scheduled[static_cast<std::size_t>(id)] || level_of(id) != level)
    return;
  scheduled[static_cast<std::size_t>(id)] = true;
  for_operands(id, [&](TermId operand) { schedule(operand, level, scheduled); });
  levels_[static_cast<std::size_t>(level)].steps.push_back({id, false});
}

} // namespace lathe::space
