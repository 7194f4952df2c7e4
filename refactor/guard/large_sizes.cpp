#include "refactor/guard/large_sizes.h"

#include "refactor/guard/matching_blocks.h"
#include "refactor/guard/parallel.h"
#include "refactor/guard/shapes.h"
#include "refactor/guard/sparse_run.h"
#include "tuner/measure/fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace lathe::refactor {
namespace {

// How far a dimension is taken.
struct Scale {
  // Of the largest buffer, ascending; the most that the raw kernel takes counts. A little more than a limit,
  // so that some blocks lie behind it.
  std::vector<std::uint64_t> elements;
  // Sizes where everything fits: of many blocks, and of so many that grids have met their limits.
  std::vector<std::uint64_t> small;
  bool is_of_long_blocks = false; // the other dimensions are small
  std::size_t configurations = 0;
  double seconds = 0; // a run at most
  // Elements where those of the largest buffer are bytes, too: their products have fewer bits to spare. 0:
  // none.
  std::uint64_t of_bytes = 0;
};

// The bytes of elements, or their numbers, do not fit in a signed or in an unsigned number of 32 bits.
const Scale& far_blocks() {
  static const Scale scale{
      {(1ull << 30) + (1ull << 27), (1ull << 31) + (1ull << 28), (1ull << 32) + (1ull << 29)},
      {1ull << 22, 1ull << 27},
      false,
      6,
      0.5};
  return scale;
}
// A lane of a warp goes round more often than a number of 16 bits counts, and a byte times its place has more
// than 32 bits.
const Scale& long_blocks() {
  static const Scale scale{{(1ull << 22) + (1ull << 20)}, {1ull << 14}, true, 2, 4,
                           (1ull << 24) + (1ull << 19)};
  return scale;
}

constexpr std::uint64_t LIMITS[] = {1ull << 30, 1ull << 31, 1ull << 32};
constexpr std::uint64_t MOST_RAW_BLOCKS = 64; // beside the template's
constexpr double NEARLY = 1.3;                // numbers of elements are alike up to this factor

std::uint64_t most_elements(const Workload& workload) {
  std::uint64_t most = 0;
  for (const Workload::Buffer& buffer : workload.buffers)
    most = std::max(most, buffer.count);
  return most;
}

bool is_of_bytes(const Workload& workload) {
  const auto largest = std::ranges::max_element(workload.buffers, {}, &Workload::Buffer::count);
  return largest != workload.buffers.end() && dtype_size(largest->dtype) == 1;
}

// The sum of a size's dimensions.
std::int64_t extent(const Workload& workload) {
  std::int64_t sum = 0;
  for (const auto& [name, value] : workload.problem.dimensions)
    sum += value;
  return sum;
}

// Whether every integer argument is a number of its parameter's type.
bool arguments_fit(const Workload& workload) {
  return std::ranges::all_of(workload.parameters, [](const Workload::Parameter& parameter) {
    const auto dtype = parameter.is_buffer ? std::nullopt : element_type(parameter.dtype);
    const auto* value = std::get_if<std::int64_t>(&parameter.value);
    if (!dtype || !value || element::is_real(*dtype))
      return true;
    switch (*dtype) {
    case element::s32:
      return *value >= std::numeric_limits<std::int32_t>::min() &&
             *value <= std::numeric_limits<std::int32_t>::max();
    case element::u32:
      return *value >= 0 && *value <= std::numeric_limits<std::uint32_t>::max();
    case element::s64:
    case element::u64_:
      return true;
    default:
      return *value >= -128 && *value <= 127;
    }
  });
}

// A size with one dimension made large, and the raw kernel's launch there.
struct Size {
  std::shared_ptr<const Workload> workload;
  Configuration usual;
};

class Comparison {
public:
  Comparison(const LargeSizes& question, const Scale& scale, std::string dimension, std::size_t turn)
      : question_(question), scale_(scale), dimension_(std::move(dimension)), turn_(turn) {}

  void run() {
    if (!choose_base())
      return;
    find_large();
    if (large_ && find_alike())
      compare();
  }

  const std::string& dimension() const { return dimension_; }
  std::size_t turn() const { return turn_; }

  bool takes_long = false; // the raw kernel's blocks do, at the largest size or before
  std::string problem, evidence;
  std::size_t runs = 0;

private:
  // The size whose other dimensions make most of this one, or least.
  bool choose_base() {
    double best = 0;
    for (const ReferenceRuns* size : question_.sizes) {
      const auto own = size->workload->problem.dimensions.find(dimension_);
      if (own == size->workload->problem.dimensions.end() || own->second < 1)
        continue;
      const double each =
          static_cast<double>(most_elements(*size->workload)) / static_cast<double>(own->second);
      // Of ranges that share the elements a long one is one of few.
      const bool has_fewer =
          base_ && each == best &&
          extent(*size->workload) - own->second <
              extent(*base_->workload) - base_->workload->problem.dimensions.at(dimension_);
      if (!base_ || (scale_.is_of_long_blocks ? each < best || has_fewer : each > best))
        base_ = size, best = each;
    }
    return base_ != nullptr;
  }

  // The base with the dimension so often what it is: conditions admit multiples.
  Result<std::shared_ptr<const Workload>> base_times(std::int64_t times) const {
    Problem sizes = base_->workload->problem;
    std::int64_t& value = sizes.dimensions.at(dimension_);
    value *= times;
    sizes.label = dimension_ + "=" + std::to_string(value);
    return own_workload(question_.subject.spec, sizes, base_->workload->types, question_.subject.device);
  }

  // The first size of that many elements of the largest buffer, and the raw kernel's launch there.
  std::optional<Size> sized(std::uint64_t elements) const {
    constexpr std::int64_t MOST_TIMES = std::int64_t{1} << 33;
    const auto is_enough = [&](std::int64_t times) {
      const auto workload = base_times(times);
      return !workload || most_elements(**workload) >= elements;
    };
    std::int64_t least = 0, most = 1;
    while (!is_enough(most)) {
      least = most;
      most *= 2;
      if (most > MOST_TIMES)
        return std::nullopt;
    }
    while (most - least > 1)
      (is_enough((least + most) / 2) ? most : least) = (least + most) / 2;
    auto workload = base_times(most + (most % 2 == 0)); // an odd multiple
    if (!workload || !arguments_fit(**workload) || most_elements(**workload) > 2 * elements)
      return std::nullopt;
    auto knobs = default_knobs(**workload);
    if (!knobs || !admitted(**workload, *knobs))
      return std::nullopt;
    auto bound = bind_configuration(*workload, *knobs);
    if (!bound || !question_.raw.find(bound->raw_instance, bound->macros()))
      return std::nullopt;
    return Size{std::move(*workload), std::move(*bound)};
  }

  SparseTrial raw_trial(const Configuration& configuration, std::vector<std::uint64_t> blocks) const {
    return {question_.raw.find(configuration.raw_instance, configuration.macros()),
            &configuration.raw_launch,
            configuration.workload.get(),
            std::move(blocks),
            question_.seed,
            question_.barriers_by_count,
            scale_.seconds};
  }

  // The largest size of those asked for at which the raw kernel's blocks are short and clean, and its last
  // blocks write at the end: it may itself number elements in 32 bits.
  void find_large() {
    for (const std::uint64_t elements : scale_.small) {
      auto size = sized(elements);
      if (!size)
        break;
      small_.push_back(std::move(*size));
    }
    if (small_.empty())
      return;
    std::vector<Size> sizes = small_; // ascending
    const std::size_t small = small_.size();
    for (const std::uint64_t elements : scale_.elements)
      if (auto size = sized(elements))
        sizes.push_back(std::move(*size));
    if (scale_.of_bytes > 0)
      if (auto size = sized(scale_.of_bytes); size && is_of_bytes(*size->workload))
        sizes.push_back(std::move(*size));
    // At each size the marked blocks, and the last ones.
    std::vector<std::array<SparseResult, 2>> results;
    results.reserve(sizes.size());
    const SparseResult* before = nullptr; // at the size before, with how many elements a block has there
    double elements_before = 0;
    for (const Size& size : sizes) {
      const std::uint64_t blocks = blocks_of(size.usual.raw_launch);
      const std::vector<std::uint64_t> marked = blocks_at(marked_shares(*size.workload), blocks);
      const double elements = elements_of_block(*size.workload, size.usual.raw_launch);
      if (before && expected_seconds(*before, elements_before, elements, marked.size()) > scale_.seconds) {
        takes_long = true;
        break;
      }
      // The last one may have a single element, which need not be written to.
      std::vector<std::uint64_t> last{blocks - 1};
      if (blocks > 1)
        last.insert(last.begin(), blocks - 2);
      std::vector<SparseResult> both =
          run_sparsely(std::vector{raw_trial(size.usual, marked), raw_trial(size.usual, std::move(last))});
      results.push_back({std::move(both[0]), std::move(both[1])});
      if (results.back()[0].out_of_time) { // nor does it end at the larger ones
        takes_long = true;
        break;
      }
      before = &results.back()[0];
      elements_before = elements;
    }
    for (std::size_t i = results.size(); i-- > small;)
      for (std::size_t like = 0; like < small; ++like)
        if (results[i][0].clean && results[i][0].written > 0 && are_alike(results[i][1], results[like][1])) {
          large_ = std::move(sizes[i]);
          return;
        }
  }

  static double elements_of_block(const Workload& workload, const Launch& launch) {
    return static_cast<double>(most_elements(workload)) / static_cast<double>(blocks_of(launch));
  }

  // What so many blocks take at a size, from a run at a smaller one and from the base's: at the least, as
  // what a block does need not grow with the elements that there are for it.
  double expected_seconds(const SparseResult& run, double elements_then, double elements,
                          std::size_t blocks) const {
    const auto each = static_cast<double>(std::max<std::uint64_t>(1, run.blocks));
    const double work = static_cast<double>(run.work) / each;
    const Configuration& usual = base_->usual;
    const double base_elements = elements_of_block(*base_->workload, usual.raw_launch),
                 base_work = static_cast<double>(base_->raw[1].work) /
                             static_cast<double>(blocks_of(usual.raw_launch));
    // What a block executed more than at the base, for each element that it had more.
    constexpr double MORE = 1.5;
    const double growth = elements_then > MORE * base_elements
                              ? std::max(0.0, (work - base_work) / (elements_then - base_elements))
                              : 0;
    const double expected = work + growth * std::max(0.0, elements - elements_then);
    return work == 0 ? 0 : run.seconds * expected / work * static_cast<double>(blocks) / each;
  }

  // Whether two sizes' last blocks write in the same parts of the buffers, or both nowhere.
  static bool are_alike(const SparseResult& one, const SparseResult& other) {
    constexpr double ABOUT = 0.2; // who wraps round begins anew
    return one.clean && other.clean && (one.written == 0) == (other.written == 0) &&
           std::ranges::equal(one.places, other.places, [](const auto& a, const auto& b) {
             return std::abs(a.first - b.first) < ABOUT && std::abs(a.second - b.second) < ABOUT;
           });
  }

  // The least size at which the raw kernel's grid is to its elements what it is at the large one: a fixed
  // number of blocks goes round more often, and which block holds what may have changed between.
  bool find_alike() {
    const auto shape = [](const Size& size) {
      return static_cast<double>(blocks_of(size.usual.raw_launch)) /
             static_cast<double>(most_elements(*size.workload));
    };
    constexpr double ROUNDING = 0.02;
    const auto found = std::ranges::find_if(
        small_, [&](const Size& size) { return std::abs(shape(size) / shape(*large_) - 1) < ROUNDING; });
    if (found != small_.end())
      alike_ = &*found;
    else if (small_.size() == scale_.small.size())
      alike_ = &small_.back();
    return alike_ != nullptr;
  }

  // Where in the grid the first blocks are, those where numbers of elements pass the limits and some between.
  static std::vector<double> marked_shares(const Workload& workload) {
    const auto elements = static_cast<double>(std::max<std::uint64_t>(1, most_elements(workload)));
    std::vector<double> shares{0, 0.37, 0.83};
    for (const std::uint64_t limit : LIMITS)
      if (static_cast<double>(limit) < elements)
        shares.push_back(static_cast<double>(limit) / elements);
    return shares;
  }

  // One configuration at the sizes: the least, the one that is like the large one, and that.
  static constexpr std::size_t LEAST = 0, ALIKE = 1, LARGE = 2, SIZES = 3;
  struct Subject {
    std::array<Configuration, SIZES> at;
    const HostKernel* kernel = nullptr;
    std::array<std::array<SparseTrial, 2>, SIZES> trials; // of the template and of the raw kernel
    std::array<std::array<const SparseResult*, 2>, SIZES> results{};

    bool is_one_geometry(std::size_t size) const {
      return at[size].raw_launch.grid == at[size].template_launch.grid &&
             at[size].raw_launch.block == at[size].template_launch.block;
    }
    // Blocks of the raw kernel for one of the template.
    double ratio(std::size_t size) const {
      return static_cast<double>(blocks_of(at[size].raw_launch)) /
             static_cast<double>(blocks_of(at[size].template_launch));
    }
    // Elements that all blocks write, if they write as much as those that ran.
    double written(std::size_t size, std::size_t side) const {
      const SparseTrial& trial = trials[size][side];
      return static_cast<double>(results[size][side]->written) / static_cast<double>(trial.blocks.size()) *
             static_cast<double>(blocks_of(*trial.launch));
    }
  };

  // Whether the configuration can be asked; binds it and says which blocks run.
  bool bind(Subject& subject, const KnobValues& knobs) const {
    const std::array<const Size*, SIZES> sizes{&small_.front(), alike_, &*large_};
    for (std::size_t i = 0; i < SIZES; ++i) {
      if (!admitted(*sizes[i]->workload, knobs))
        return false;
      auto bound = bind_configuration(sizes[i]->workload, knobs);
      if (!bound || !question_.raw.find(bound->raw_instance, bound->macros()))
        return false;
      subject.at[i] = std::move(*bound);
    }
    const Configuration& large = subject.at[LARGE];
    subject.kernel = question_.templated.find(large.template_instance, large.macros());
    if (!subject.kernel || std::ranges::any_of(subject.at, [&](const Configuration& other) {
          return other.template_instance != large.template_instance;
        }))
      return false;
    const std::vector<double> shares = marked_shares(*large.workload);
    for (std::size_t i = 0; i < SIZES; ++i) {
      const Configuration& configuration = subject.at[i];
      const Launch& launch = configuration.template_launch;
      const std::vector<std::uint64_t> marked = blocks_at(shares, blocks_of(launch));
      std::vector<std::uint64_t> of_raw =
          subject.is_one_geometry(i)
              ? marked
              : blocks_around(marked, launch, configuration.raw_launch, Matching::likely);
      if (of_raw.size() > MOST_RAW_BLOCKS + marked.size())
        return false;
      subject.trials[i] = {SparseTrial{subject.kernel, &configuration.template_launch,
                                       configuration.workload.get(), marked, question_.seed,
                                       question_.barriers_by_count, scale_.seconds},
                           raw_trial(configuration, std::move(of_raw))};
    }
    return true;
  }

  void compare() {
    std::vector<std::unique_ptr<Subject>> subjects; // trials point into them
    const auto consider = [&](const KnobValues& knobs) {
      auto subject = std::make_unique<Subject>();
      if (bind(*subject, knobs))
        subjects.push_back(std::move(subject));
    };
    if (!question_.same_code)
      consider(large_->usual.knobs);
    const std::vector<Configuration>& sampled = question_.subject.sampled;
    for (std::size_t i = 0; i < sampled.size() && subjects.size() < scale_.configurations; ++i) {
      // Each dimension begins elsewhere.
      const Configuration& configuration = sampled[(i + turn_ * scale_.configurations) % sampled.size()];
      if (configuration.workload->types == base_->workload->types)
        consider(configuration.knobs);
    }
    std::vector<SparseTrial> trials;
    for (const auto& subject : subjects)
      for (const auto& sides : subject->trials)
        trials.insert(trials.end(), sides.begin(), sides.end());
    // Dimensions are asked beside each other, but seldom is more than one of them long under way.
    const std::vector<SparseResult> results = run_sparsely(trials, question_.jobs);
    const SparseResult* next = results.data();
    for (const auto& subject : subjects) {
      for (auto& sides : subject->results)
        for (const SparseResult*& result : sides)
          result = next++;
      judge(*subject);
      if (!problem.empty())
        return;
    }
    if (runs > 0)
      evidence = "at " + large_->workload->key() + ", of " +
                 std::to_string(most_elements(*large_->workload)) +
                 " elements, the first, the last and some blocks between of " + std::to_string(runs) +
                 " configurations agree";
  }

  std::string difference(const Subject& subject, std::size_t size, Agreement agreement) const {
    return compare_sparse(*subject.at[size].workload, question_.seed, *subject.results[size][0],
                          *subject.results[size][1], agreement, base_->unordered);
  }

  void judge(const Subject& subject) {
    for (std::size_t i = 0; i < SIZES; ++i) {
      const auto& [templated, raw] = subject.results[i];
      if (!raw->clean || templated->out_of_time)
        return;
      if (!templated->clean) {
        problem = templated->problem + ", at " + subject.at[i].text();
        return;
      }
    }
    look_at_elements(subject);
    if (!problem.empty() && !has_elements_for_each_block(subject))
      problem.clear();
  }

  void look_at_elements(const Subject& subject) {
    // As many elements as the raw kernel writes, whichever block writes them.
    const auto share = [&](std::size_t size) { return subject.written(size, 0) / subject.written(size, 1); };
    constexpr double OTHER = 2;
    if (std::max(share(LEAST), 1 / share(LEAST)) < NEARLY &&
        std::max(share(LARGE), 1 / share(LARGE)) > OTHER) {
      problem = "writes " + std::to_string(static_cast<std::uint64_t>(subject.written(LARGE, 0))) +
                " elements, about, where the raw kernel writes " +
                std::to_string(static_cast<std::uint64_t>(subject.written(LARGE, 1))) + ", at " +
                subject.at[LARGE].text();
      return;
    }
    problem = other_where_both_write(subject);
    if (!problem.empty())
      return;
    // Shares of two grids hold the same elements at the large size if they do at the one like it and both
    // grids have grown alike: neither has met a limit between.
    constexpr double ROUNDING = 0.01;
    if (std::abs(subject.ratio(LARGE) / subject.ratio(ALIKE) - 1) > ROUNDING)
      return;
    Agreement agreement = Agreement::same;
    if (!subject.is_one_geometry(LARGE) || !subject.is_one_geometry(ALIKE) ||
        !difference(subject, ALIKE, agreement).empty()) {
      agreement = Agreement::within;
      if (!difference(subject, ALIKE, agreement).empty())
        return; // its blocks hold something else
    }
    const std::string found = difference(subject, LARGE, agreement);
    ++runs;
    if (!found.empty() && (agreement == Agreement::same || is_beyond_all(subject)))
      problem =
          found + ", and no such thing at " + alike_->workload->key() + ", at " + subject.at[LARGE].text();
  }

  // Raw blocks that may hold the elements of the template's at the large size.
  static std::vector<std::uint64_t> possible_blocks(const Subject& subject) {
    const auto& [templated, raw] = subject.trials[LARGE];
    return blocks_around(templated.blocks, *templated.launch, *raw.launch, Matching::possible);
  }
  // The raw kernel's trial with these, in their order, and as much more time as they are more.
  static SparseTrial with_blocks(SparseTrial raw, std::vector<std::uint64_t> blocks) {
    raw.time_limit_s *=
        std::max(1.0, static_cast<double>(blocks.size()) / static_cast<double>(raw.blocks.size()));
    raw.blocks = std::move(blocks);
    return raw;
  }

  // Whether the raw kernel's blocks have elements of their own at the large size: half of them write half as
  // many, and beside those that answer to the template's they leave the same, whichever comes last. What all
  // blocks write is not known from some otherwise, nor what is left there.
  bool has_elements_for_each_block(const Subject& subject) const {
    const SparseTrial& all = subject.trials[LARGE][1];
    const SparseResult& known = *subject.results[LARGE][1];
    std::vector<std::uint64_t> half;
    for (std::size_t i = 0; i < all.blocks.size(); i += 2)
      half.push_back(all.blocks[i]);
    const std::vector<std::uint64_t> possible = possible_blocks(subject);
    std::set<std::uint64_t> together(all.blocks.begin(), all.blocks.end());
    together.insert(possible.begin(), possible.end());
    const std::vector<SparseResult> results =
        run_sparsely(std::vector{with_blocks(all, half), with_blocks(all, {together.begin(), together.end()}),
                                 with_blocks(all, {together.rbegin(), together.rend()})});
    const double expected = static_cast<double>(known.written) * static_cast<double>(half.size()) /
                            static_cast<double>(all.blocks.size());
    const double share = static_cast<double>(results[0].written) / expected;
    if (!results[0].clean || std::max(share, 1 / share) > NEARLY)
      return false;
    return std::ranges::all_of(std::span(results).subspan(1), [&](const SparseResult& other) {
      return !other.clean || compare_sparse(*subject.at[LARGE].workload, question_.seed, other, known,
                                            Agreement::where_both, base_->unordered)
                                 .empty();
    });
  }

  // An element that a block of either kernel writes has one value, whichever blocks these are: what is wrong
  // with those that both have written, behind a grid that has met its limit too, or nothing. Where atomic
  // operations are, others may have a share in it.
  std::string other_where_both_write(const Subject& subject) const {
    if (question_.has_atomics || !difference(subject, LEAST, Agreement::where_both).empty())
      return {};
    for (const std::size_t size : {ALIKE, LARGE})
      if (const std::string found = difference(subject, size, Agreement::where_both); !found.empty())
        return found + ", and no such thing at " + small_.front().workload->key() + ", at " +
               subject.at[size].text();
    return {};
  }

  // Whether the template differs at the large size from all raw blocks too that may hold the same elements,
  // so that it is not for want of one of them that it does.
  bool is_beyond_all(const Subject& subject) const {
    const SparseTrial wide = with_blocks(subject.trials[LARGE][1], possible_blocks(subject));
    const SparseResult result = run_sparsely({&wide, 1}).front();
    return !result.clean ||
           !compare_sparse(*subject.at[LARGE].workload, question_.seed, *subject.results[LARGE][0], result,
                           Agreement::within, base_->unordered)
                .empty();
  }

  const LargeSizes& question_;
  const Scale& scale_;
  std::string dimension_;
  std::size_t turn_;
  const ReferenceRuns* base_ = nullptr;
  std::vector<Size> small_;
  const Size* alike_ = nullptr; // one of them
  std::optional<Size> large_;
};

} // namespace

std::vector<LargeSizeFindings> compare_at_large_sizes(const std::vector<LargeSizes>& questions) {
  // Of one dimension: far away, and where that takes long, in long blocks.
  struct Asked {
    std::size_t question;
    Comparison far;
    std::optional<Comparison> in_long_blocks;
  };
  std::vector<Asked> asked;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const std::vector<std::string>& dimensions = questions[q].subject.spec.dimensions;
    for (std::size_t i = 0; i < dimensions.size(); ++i)
      asked.push_back({q, Comparison(questions[q], far_blocks(), dimensions[i], i), std::nullopt});
  }
  if (asked.empty())
    return std::vector<LargeSizeFindings>(questions.size());
  parallel(asked.size(), questions.front().jobs, questions.front().deadline, [&](std::size_t i) {
    Asked& one = asked[i];
    one.far.run();
    if (!one.far.takes_long)
      return;
    const LargeSizes& question = questions[one.question];
    one.in_long_blocks.emplace(question, long_blocks(), one.far.dimension(), one.far.turn());
    one.in_long_blocks->run();
  });
  std::vector<LargeSizeFindings> findings(questions.size());
  const auto note = [&](const Asked& one, const Comparison& comparison) {
    if (!comparison.problem.empty())
      findings[one.question].problems.push_back(comparison.problem);
    else if (!comparison.evidence.empty())
      findings[one.question].evidence.push_back(comparison.evidence);
  };
  for (const Asked& one : asked)
    note(one, one.far);
  for (const Asked& one : asked)
    if (one.in_long_blocks)
      note(one, *one.in_long_blocks);
  return findings;
}

} // namespace lathe::refactor
