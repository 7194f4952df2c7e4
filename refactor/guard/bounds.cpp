// Bounds: every access through a pointer parameter stays under the conditions on sizes that guard the raw
// kernel's accesses to it. Which sizes those are is read from the branches that control the access; that the
// comparison itself is still the right one is for the differential check, whose shapes are not multiples of
// the tile.
#include "refactor/guard/checks.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <set>

namespace lathe::refactor {
namespace {

constexpr const char* A_CONDITION_SPEAKS = "; a condition speaks of it, and runs stand in";

// What is passed for the parameter; null for a buffer.
const Argument* scalar_argument(const JudgedPair& subject, int parameter) {
  if (parameter >= static_cast<int>(subject.spec.arguments.size()))
    return nullptr;
  const Argument& argument = subject.spec.arguments[static_cast<std::size_t>(parameter)];
  return argument.is_buffer ? nullptr : &argument;
}

// Whether a condition of the specification speaks of the value passed for the parameter, so that a guard may
// have become unnecessary.
bool is_conditioned(const JudgedPair& subject, int parameter) {
  const Argument* argument = scalar_argument(subject, parameter);
  if (!argument)
    return false;
  return std::any_of(subject.spec.conditions.begin(), subject.spec.conditions.end(),
                     [&](const Condition& condition) {
                       const auto& names = condition.expression.names();
                       return std::any_of(argument->value.names().begin(), argument->value.names().end(),
                                          [&](const std::string& name) {
                                            return std::find(names.begin(), names.end(), name) != names.end();
                                          });
                     });
}

// Whether runs show what the template makes of the parameter: at other sizes where its value follows them,
// and with other arguments where it does not (accepted_scalars.h, TrialSettings). Sizes do not where another
// parameter is told the same, as a pitch is that equals the width at every size.
bool varies_alone(const JudgedPair& subject, int parameter) {
  const Argument* argument = scalar_argument(subject, parameter);
  if (!argument)
    return false;
  if (const auto type = element_type(argument->dtype); type && element::is_real(*type))
    return true;
  return argument->value.names().empty() ||
         std::ranges::count_if(subject.spec.arguments, [&](const Argument& other) {
           return !other.is_buffer && other.value.text() == argument->value.text();
         }) == 1;
}

// What stands in for code that no longer asks for a parameter; empty: nothing does.
std::string stands_in(const JudgedPair& subject, int parameter) {
  if (is_conditioned(subject, parameter))
    return A_CONDITION_SPEAKS;
  return varies_alone(subject, parameter) ? "; runs in which it alone is another stand in" : "";
}

void compare_guards(const JudgedPair& subject, const FactPair& pair, const Root& root,
                    const std::set<int>& raw, const std::set<int>& templated, const std::string& access,
                    Findings& findings) {
  for (const int parameter : raw) {
    if (templated.contains(parameter))
      continue;
    const std::string sentence = access + " of " + parameter_name(subject, root) + " no longer depends on " +
                                 parameter_name(subject, std::to_string(parameter)) + " at " +
                                 pair.configuration->text();
    if (const std::string instead = stands_in(subject, parameter); !instead.empty())
      findings.report(sentence + instead);
    else
      findings.fail("a guard was lost: " + sentence);
  }
}

// Sizes and strides that the raw kernel needs and the template no longer does: right where they happen to
// agree, as strides do that equal the width in every problem.
void compare_parameters(const JudgedPair& subject, const FactPair& pair, Findings& findings) {
  const auto lost = [&](const std::string& instead, const std::string& sentence) {
    if (instead.empty())
      findings.fail(sentence);
    else
      findings.report(sentence + instead);
  };
  const std::string where = " at " + pair.configuration->text();
  // Who asks for a size nowhere does so by no other way either.
  for (const int parameter : pair.raw_at_size->used_parameters)
    if (!pair.templated->used_parameters.contains(parameter))
      lost(is_conditioned(subject, parameter) ? A_CONDITION_SPEAKS : "",
           parameter_name(subject, std::to_string(parameter)) + " is no longer used" + where);
  for (const auto& [root, raw] : pair.raw_at_size->memory) {
    const auto found = pair.templated->memory.find(root);
    if (found == pair.templated->memory.end() || root == "shared" || root == "local")
      continue;
    for (const int parameter : raw.address_parameters)
      if (!found->second.address_parameters.contains(parameter) &&
          pair.templated->used_parameters.contains(parameter))
        lost(stands_in(subject, parameter), "an address in " + parameter_name(subject, root) +
                                                " no longer depends on " +
                                                parameter_name(subject, std::to_string(parameter)) + where);
  }
}

// Whether so many elements a block fit in 31 bits for all blocks of the axis that there can be: the kernels'
// texts fix how many these are.
bool fits_all_blocks(const Configuration& configuration, const std::string& axis, std::uint64_t step) {
  const TuningSpec& spec = *configuration.workload->spec;
  const auto place = static_cast<std::size_t>(axis.back() - 'x');
  const auto is_fixed = [&](const std::string& name) {
    return spec.find_text_size(name) || spec.find_knob(name);
  };
  return !spec.text_sizes.empty() && place < configuration.template_launch.grid.size() &&
         std::ranges::all_of(spec.kernel.launch.grid[place].names(), is_fixed) &&
         configuration.template_launch.grid[place] * step <= std::uint64_t{1} << 31;
}

// Indices that the raw kernel computes in 64 bits wrap around in 32 at sizes that nobody runs here.
// What the raw kernel computes in 32 bits once it is compiled for the same size, the template may.
void compare_widths(const FactPair& pair, const CodeFacts& raw_code, Findings& findings) {
  const std::string where = " at " + pair.configuration->text();
  std::set<SizeProduct> raw_products = raw_code.products;
  raw_products.insert(pair.raw_at_size->products.begin(), pair.raw_at_size->products.end());
  for (const SizeProduct& product : pair.templated->products)
    if (const unsigned bits = bits_lost(product, raw_products))
      findings.fail(product.text() + " is computed in " + std::to_string(product.bits) +
                    " bits, which the raw kernel does in " + std::to_string(bits) + where);
  for (const auto& [axis, steps] : pair.templated->block_steps) {
    const auto raw = raw_code.block_steps.find(axis);
    if (raw == raw_code.block_steps.end())
      continue;
    const auto& [wide, narrow] = raw->second;
    // By a block of threads or more: elements. Of rows there are no more than the raw kernel has blocks.
    constexpr std::uint64_t FEWEST_THREADS = 64;
    const auto threads = std::max<std::uint64_t>(FEWEST_THREADS, pair.configuration->raw_launch.block[0]);
    if (wide >= threads && narrow < wide && steps.second >= wide &&
        !fits_all_blocks(*pair.configuration, axis, steps.second))
      findings.fail(axis + " is multiplied by " + std::to_string(steps.second) +
                    " in 32 bits, and by the raw kernel in 64" + where);
  }
}

void compare_index_forms(const FactPair& pair, Findings& findings) {
  const std::string where = " at " + pair.configuration->text();
  if (pair.raw_source->vectors_across_rows.empty())
    for (const std::string& vectors : pair.template_source->vectors_across_rows)
      findings.fail("the template accesses a shared array by " + vectors +
                    " bytes: most rows begin where no such vector may" + where);
  // An optimiser may turn the raw kernel's own arithmetic in 32 bits into arithmetic in 64 that is cut down.
  for (const NarrowIndex& index : pair.templated->narrow_indices) {
    const auto is_as_narrow = [&](const NarrowIndex& raw) {
      return raw.bits <= index.bits && std::ranges::includes(raw.factors, index.factors);
    };
    if (index.is_cut && std::ranges::none_of(pair.raw->narrow_indices, is_as_narrow) &&
        std::ranges::none_of(pair.raw_at_size->narrow_indices, is_as_narrow))
      findings.fail("an index made of " + fmt::format("{}", fmt::join(index.factors, ", ")) + " is cut to " +
                    std::to_string(index.bits) + " bits, which no index of the raw kernel is" + where);
  }
}

// Indices that come from memory: an index of which half the bits or fewer arrive addresses something else as
// soon as it is large.
void compare_index_bits(const JudgedPair& subject, const FactPair& pair, Findings& findings) {
  for (const auto& [root, raw] : pair.raw_at_size->memory) {
    const auto found = pair.templated->memory.find(root);
    if (found == pair.templated->memory.end())
      continue;
    const std::map<Root, IndexBits>& templated = found->second.index_bits;
    for (const auto& [from, index] : raw.index_bits) {
      // A digit by which the raw kernel counts in shared memory may have fewer bits: all of its values are
      // common, so that runs tell.
      if (root == "shared" && index.is_piece)
        continue;
      // One that is kept on its way may arrive through shared memory or a thread's own.
      unsigned arriving = 0;
      for (const auto& [other, other_bits] : templated)
        if (other == from || other == "shared" || other == "local")
          arriving = std::max(arriving, other_bits.arriving);
      if (arriving > 0 && 2 * arriving <= index.arriving)
        findings.fail(std::to_string(arriving) + " bits of an index from " + parameter_name(subject, from) +
                      " arrive at an address in " + parameter_name(subject, root) + ", of the raw kernel's " +
                      std::to_string(index.arriving) + ", at " + pair.configuration->text());
    }
  }
}

// Products of sizes and block indices that the raw kernel computes in 32 bits: told, and reported where one
// of the specification's own problems comes near.
void report_narrow_products(const JudgedPair& subject, const std::vector<FactPair>& pairs,
                            Findings& findings) {
  std::set<std::string> narrow;
  for (const FactPair& pair : pairs)
    if (pair.raw)
      for (const SizeProduct& product : pair.raw->products)
        if (product.bits <= 32)
          narrow.insert(product.text());
  if (narrow.empty())
    return;
  for (const std::string& factors : narrow)
    findings.evidence("the raw kernel computes " + factors + " in 32 bits");
  std::uint64_t largest = 0;
  std::string where;
  for (const Problem& problem : subject.spec.problems)
    if (const auto workload =
            own_workload(subject.spec, problem, subject.type_choices.front(), subject.device))
      for (const Workload::Buffer& buffer : (*workload)->buffers)
        if (buffer.count > largest) {
          largest = buffer.count;
          where = "'" + buffer.name + "' at " + (*workload)->key();
        }
  if (largest > std::uint64_t{1} << 31)
    findings.report("the raw kernel computes " + *narrow.begin() + " in 32 bits, and " + where + " has " +
                    std::to_string(largest) + " elements: such a product wraps around from 2^31 or 2^32 on");
}

} // namespace

CheckResult check_bounds(const JudgedPair& subject) {
  Findings findings("bounds");
  std::size_t judged = 0, accesses = 0, fixed = 0;
  const auto in_both = [](std::set<int> parameters, const std::set<int>& others) {
    std::erase_if(parameters, [&](int parameter) { return !others.contains(parameter); });
    return parameters;
  };
  // Threads of a tile that share what they load need not all be threads that store: where `row` does not say
  // what is read, no row reads elsewhere.
  const auto bounding = [](std::set<int> parameters, const std::set<int>& idle) {
    std::erase_if(parameters, [&](int parameter) { return idle.contains(parameter); });
    return parameters;
  };
  for (const FactPair& pair : fact_pairs(subject)) {
    if (!pair.raw || !pair.raw_at_size || !pair.templated)
      continue;
    ++judged;
    const bool is_at_size = pair.raw_at_size != pair.raw;
    fixed += is_at_size ? 1 : 0;
    for (const auto& [root, raw] : pair.raw->memory) {
      const auto found = pair.templated->memory.find(root);
      const auto at_size = pair.raw_at_size->memory.find(root);
      if (root == "shared" || root == "local" || root == "constant" ||
          found == pair.templated->memory.end() || at_size == pair.raw_at_size->memory.end())
        continue;
      if (at_size->second.stores && found->second.stores)
        compare_guards(
            subject, pair, root,
            in_both(raw.common_write_guards.computed, at_size->second.common_write_guards.computed),
            found->second.common_write_guards.with_choices, "a write", findings);
      if (at_size->second.loads && found->second.loads)
        compare_guards(
            subject, pair, root,
            bounding(in_both(raw.common_read_guards.computed, at_size->second.common_read_guards.computed),
                     raw.idle_read_guards),
            found->second.common_read_guards.with_choices, "a read", findings);
      accesses += found->second.stores + found->second.loads;
    }
    compare_parameters(subject, pair, findings);
    compare_widths(pair, *pair.raw, findings);
    if (is_at_size)
      compare_widths(pair, *pair.raw_at_size, findings);
    compare_index_forms(pair, findings);
    compare_index_bits(subject, pair, findings);
  }
  report_narrow_products(subject, fact_pairs(subject), findings);
  if (judged == 0)
    findings.undecided("there is no LLVM IR to look at");
  const std::string summary = std::to_string(accesses) + " accesses in " + std::to_string(judged) +
                              " instances depend on every size that guards the raw kernel's";
  return findings.conclude(Verdict::proved, fixed == 0 ? summary
                                                       : summary + " compiled alike, " +
                                                             std::to_string(fixed) + " of them for a size");
}

} // namespace lathe::refactor
