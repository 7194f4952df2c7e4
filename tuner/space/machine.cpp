#include "tuner/space/solver.h"

#include <algorithm>

namespace lathe::space {

Machine::Machine(const Program& program) : program_(&program) {
  const TermPool& pool = program.pool();
  const std::size_t terms = program.term_count();
  chosen_.assign(terms, 0);
  chosen_failed_.assign(terms, 0);
  offset_.assign(terms, 0);
  scratch_.resize(program.levels().size());
  operations_.resize(program.levels().size());
  for (std::size_t i = 0; i < terms; ++i) {
    terms_.push_back(pool[static_cast<TermId>(i)]);
    if (terms_[i].op == Op::constant)
      chosen_[i] = terms_[i].bits;
    chosen_failed_[i] = terms_[i].op == Op::fail ? 1 : 0;
  }
  for (std::size_t level = 0; level < scratch_.size(); ++level) {
    const Program::Level& compiled = program.levels()[level];
    const Domain& domain = pool.model().domains[static_cast<std::size_t>(compiled.parameter)];
    Scratch& scratch = scratch_[level];
    scratch.lanes = domain.bits.size();
    std::size_t size = 0;
    for (const Program::Step& step : compiled.steps)
      if (!step.is_check) {
        offset_[static_cast<std::size_t>(step.term)] = size;
        size += scratch.lanes;
      }
    scratch.values.assign(size, 0);
    scratch.failed.assign(size, 0);
    scratch.alive.assign(scratch.lanes, 1);
    for (const Program::Step& step : compiled.steps) {
      const auto id = static_cast<std::size_t>(step.term);
      const Term& term = terms_[id];
      if (!step.is_check && term.op == Op::variable) { // the same in every run
        std::copy(domain.bits.begin(), domain.bits.end(), scratch.values.begin() + offset_[id]);
        continue;
      }
      Operation operation;
      operation.term = &term;
      operation.is_check = step.is_check;
      if (step.is_check) {
        operation.a = lanes_of(step.term, level);
      } else {
        operation.values = scratch.values.data() + offset_[id];
        operation.failed = scratch.failed.data() + offset_[id];
        if (term.a != no_term)
          operation.a = lanes_of(term.a, level);
        if (term.b != no_term)
          operation.b = lanes_of(term.b, level);
        if (term.c != no_term)
          operation.c = lanes_of(term.c, level);
      }
      operations_[level].push_back(operation);
    }
  }
}

Lanes Machine::lanes_of(TermId term, std::size_t level) const {
  const auto id = static_cast<std::size_t>(term);
  const bool fallible = terms_[id].may_fail;
  if (program_->level_of(term) == static_cast<int>(level)) {
    const Scratch& scratch = scratch_[level];
    return {scratch.values.data() + offset_[id], fallible ? scratch.failed.data() + offset_[id] : nullptr,
            true};
  }
  return {&chosen_[id], fallible ? &chosen_failed_[id] : nullptr, false};
}

void Machine::run_generic(const Operation& operation, std::size_t level) {
  const TermPool& pool = program_->pool();
  const Generic& generic = pool.generic(*operation.term);
  const std::int32_t own = program_->levels()[level].parameter;
  const Domain& domain = pool.model().domains[static_cast<std::size_t>(own)];
  std::vector<Value> values = generic.constant_of_slot;
  const auto set = [&](std::int32_t parameter, std::int64_t bits) {
    for (std::size_t slot = 0; slot < values.size(); ++slot)
      if (generic.parameter_of_slot[slot] == parameter)
        values[slot] = pool.value_of(parameter, bits);
  };
  for (const std::int32_t parameter : generic.parameters)
    if (parameter != own)
      set(parameter, chosen_[static_cast<std::size_t>(program_->variable_of(parameter))]);
  const SlotLookup lookup = [&](std::size_t slot) -> Result<Value> { return values[slot]; };
  for (std::size_t lane = 0; lane < scratch_[level].lanes; ++lane) {
    if (scratch_[level].alive[lane] == 0)
      continue;
    set(own, domain.bits[lane]);
    const Result<Value> value = evaluate_tree(*generic.node, lookup);
    const Result<bool> holds = value.ok() ? truth(*value) : Result<bool>(value.error());
    operation.failed[lane] = holds.ok() ? 0 : 1;
    operation.values[lane] = holds.ok() && *holds != generic.negated ? 1 : 0;
  }
}

const std::vector<std::uint32_t>& Machine::run(std::size_t level) {
  Scratch& scratch = scratch_[level];
  scratch.survivors.clear();
  std::fill(scratch.alive.begin(), scratch.alive.end(), std::uint8_t{1});
  steps_ += scratch.lanes;
  for (const Operation& operation : operations_[level]) {
    if (operation.is_check) {
      std::uint8_t any = 0;
      const Lanes& checked = operation.a;
      if (checked.failed == nullptr) {
        for (std::size_t lane = 0; lane < scratch.lanes; ++lane)
          any |= scratch.alive[lane] &= static_cast<std::uint8_t>(checked.values[lane] != 0);
      } else {
        for (std::size_t lane = 0; lane < scratch.lanes; ++lane)
          any |= scratch.alive[lane] &=
              static_cast<std::uint8_t>(checked.values[lane] != 0 && checked.failed[lane] == 0);
      }
      if (any == 0)
        return scratch.survivors;
    } else if (operation.term->op == Op::generic) {
      run_generic(operation, level);
    } else {
      evaluate_lanes(*operation.term, operation.a, operation.b, operation.c, scratch.lanes, operation.values,
                     operation.failed);
    }
  }
  for (std::size_t lane = 0; lane < scratch.lanes; ++lane)
    if (scratch.alive[lane] != 0)
      scratch.survivors.push_back(static_cast<std::uint32_t>(lane));
  return scratch.survivors;
}

void Machine::choose(std::size_t level, std::uint32_t lane) {
  const Scratch& scratch = scratch_[level];
  for (const TermId term : program_->levels()[level].kept) {
    const auto id = static_cast<std::size_t>(term);
    chosen_[id] = scratch.values[offset_[id] + lane];
    chosen_failed_[id] = scratch.failed[offset_[id] + lane];
  }
}

void Machine::state(std::size_t level, std::vector<std::int64_t>& key) const {
  const Program::Level& compiled = program_->levels()[level];
  key.clear();
  for (const TermId term : compiled.live)
    key.push_back(chosen_[static_cast<std::size_t>(term)]);
  std::int64_t flags = 0;
  int bit = 0;
  for (const TermId term : compiled.live_fallible) {
    flags |= static_cast<std::int64_t>(std::uint64_t{chosen_failed_[static_cast<std::size_t>(term)]} << bit);
    if (++bit == 64) {
      key.push_back(flags);
      flags = 0;
      bit = 0;
    }
  }
  if (bit != 0)
    key.push_back(flags);
}

} // namespace lathe::space
