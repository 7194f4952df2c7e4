#include "refactor/guard/sparse_run.h"

#include "refactor/guard/shapes.h"
#include "refactor/guard/tolerance.h"
#include "tuner/base/parallel.h"
#include "tuner/measure/fill.h"
#include "tuner/measure/verify.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace lathe::refactor {
namespace {

constexpr std::byte POISON = POISONS[1];

element::DType type_of(const Workload::Buffer& description) {
  return element_type(description.dtype).value_or(element::u8);
}

// What elements hold before a run, by page.
class Pages {
public:
  const std::vector<std::byte>& of(const Workload& workload, std::size_t index, std::uint64_t seed,
                                   ByteRange range) {
    std::vector<std::byte>& bytes = known_[{&workload, index, seed, range.begin, range.end}];
    if (!bytes.empty())
      return bytes;
    const Workload::Buffer& description = workload.buffers[index];
    bytes.assign(static_cast<std::size_t>(range.end - range.begin), POISON);
    if (description.direction == Direction::out)
      return bytes;
    const element::FillPlan plan = plan_fill(description, seed, index);
    const auto size = static_cast<std::uint64_t>(element::size_of(plan.dtype));
    const std::uint64_t first = static_cast<std::uint64_t>(range.begin) / size;
    for (std::uint64_t i = 0; i < bytes.size() / size; ++i)
      element::store(plan.dtype, bytes.data(), i, element::fill_bits(plan, first + i));
    return bytes;
  }

private:
  std::map<std::tuple<const Workload*, std::size_t, std::uint64_t, std::int64_t, std::int64_t>,
           std::vector<std::byte>>
      known_;
};

// Ranges as single pages, so that two runs' pages are the same or apart.
std::vector<ByteRange> as_pages(const std::vector<ByteRange>& ranges) {
  constexpr std::int64_t PAGE = 4096, GUARD = static_cast<std::int64_t>(GUARD_BYTES);
  std::vector<ByteRange> pages;
  for (ByteRange range : ranges)
    while (range.begin < range.end) {
      const std::int64_t end = std::min((range.begin + GUARD) / PAGE * PAGE + PAGE - GUARD, range.end);
      pages.push_back({range.begin, end});
      range.begin = end;
    }
  return pages;
}

// One trial on its way: its pages grow until a run touches no other.
struct Progress {
  std::vector<std::vector<ByteRange>> pages; // by buffer, that were filled
  std::vector<HostBuffer> buffers;
  std::vector<HostArgument> arguments;
  bool is_done = false;
};

// All pages of buffers that are small: cheaper than a run that finds out which are touched. A few blocks
// touch few of the pages of others.
void begin_with_all(const Workload& workload, Progress& progress) {
  constexpr std::uint64_t LARGE = 1ull << 20;
  if (bytes_of(workload) > LARGE)
    return;
  for (const Workload::Buffer& buffer : workload.buffers)
    progress.pages.push_back(
        as_pages({{0, static_cast<std::int64_t>(
                          buffer.count * static_cast<std::uint64_t>(element::size_of(type_of(buffer))))}}));
}

bool is_same(const SparseTrial& one, const SparseTrial& other) {
  return one.kernel == other.kernel && one.workload == other.workload && one.blocks == other.blocks &&
         one.launch->grid == other.launch->grid && one.launch->block == other.launch->block &&
         one.launch->shared_bytes == other.launch->shared_bytes && one.seed == other.seed;
}

Status prepare(const SparseTrial& trial, Progress& progress, Pages& fills) {
  const Workload& workload = *trial.workload;
  progress.buffers.clear();
  progress.arguments.clear();
  progress.pages.resize(workload.buffers.size());
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    LATHE_TRY(HostBuffer buffer,
              HostBuffer::allocate_sparse(description.count *
                                          static_cast<std::size_t>(element::size_of(type_of(description)))));
    for (const ByteRange& page : progress.pages[i])
      std::ranges::copy(fills.of(workload, i, trial.seed, page), buffer.data() + page.begin);
    progress.buffers.push_back(std::move(buffer));
  }
  for (const Workload::Parameter& parameter : workload.parameters) {
    if (parameter.is_buffer) {
      progress.arguments.push_back(
          HostArgument::of(progress.buffers[parameter.buffer], workload.buffers[parameter.buffer].name));
      continue;
    }
    LATHE_TRY(HostArgument scalar, HostArgument::scalar(parameter.dtype, parameter.value));
    progress.arguments.push_back(std::move(scalar));
  }
  return Done{};
}

HostRunOptions run_options(const SparseTrial& trial) {
  HostRunOptions options;
  options.seed = trial.seed;
  options.time_limit_s = trial.time_limit_s;
  options.threads = 1; // trials run beside each other
  options.barriers_by_count = trial.barriers_by_count;
  options.blocks = trial.blocks;
  return options;
}

// Takes in what the run touched; whether it is more than was filled.
Result<bool> note_touched(Progress& progress) {
  bool is_more = false;
  for (std::size_t i = 0; i < progress.buffers.size(); ++i) {
    LATHE_TRY(const std::vector<ByteRange> touched, progress.buffers[i].touched());
    std::vector<ByteRange> pages = as_pages(touched);
    // Filled pages are touched, so that there are more of these or as many.
    is_more |= pages.size() > progress.pages[i].size();
    progress.pages[i] = std::move(pages);
  }
  return is_more;
}

void look_at(const SparseTrial& trial, const Progress& progress, Pages& fills, SparseResult& result) {
  const Workload& workload = *trial.workload;
  for (std::size_t i = 0; i < progress.buffers.size(); ++i) {
    const std::string& name = workload.buffers[i].name;
    const auto size = static_cast<std::size_t>(element::size_of(type_of(workload.buffers[i])));
    if (const auto damage = progress.buffers[i].damage()) {
      result.problem = "wrote outside '" + name + "', at byte " + std::to_string(*damage) + " of " +
                       std::to_string(progress.buffers[i].size());
      return;
    }
    SparseContents contents;
    double sum = 0, last = 0;
    std::uint64_t count = 0;
    const bool is_input = workload.buffers[i].direction == Direction::in;
    for (const ByteRange& page : progress.pages[i]) {
      const std::span<const std::byte> after(progress.buffers[i].data() + page.begin,
                                             progress.buffers[i].data() + page.end);
      const std::vector<std::byte>& before = fills.of(workload, i, trial.seed, page);
      if (!is_input) {
        contents.ranges.push_back(page);
        contents.bytes.emplace_back(after.begin(), after.end());
      }
      if (std::ranges::equal(after, before))
        continue;
      for (std::size_t at = 0; at + size <= after.size(); at += size)
        if (std::memcmp(&after[at], &before[at], size) != 0) {
          last = (static_cast<double>(page.begin) + static_cast<double>(at)) /
                 static_cast<double>(progress.buffers[i].size());
          sum += last;
          ++count;
        }
      if (is_input) {
        result.problem = "changed the input '" + name + "'";
        return;
      }
    }
    result.written += count;
    result.places.emplace_back(count == 0 ? 0 : sum / static_cast<double>(count), last);
    result.buffers.push_back(std::move(contents));
  }
  result.clean = true;
}

// Of trials that all differ, one after the other.
void run_in_turn(std::span<const SparseTrial> trials, std::span<SparseResult> results) {
  // The first on zeros, the second knows the pages; each further one follows an index into another buffer.
  constexpr int MOST_PASSES = 5;
  Pages fills;
  std::vector<Progress> progress(trials.size());
  for (std::size_t t = 0; t < trials.size(); ++t)
    begin_with_all(*trials[t].workload, progress[t]);
  for (int pass = 0; pass < MOST_PASSES; ++pass) {
    std::vector<std::size_t> left;
    std::vector<HostKernel::Run> runs;
    for (std::size_t t = 0; t < trials.size(); ++t) {
      if (progress[t].is_done)
        continue;
      if (const Status ready = prepare(trials[t], progress[t], fills); !ready) {
        results[t].problem = ready.error().sentence();
        progress[t].is_done = true;
        continue;
      }
      left.push_back(t);
      runs.push_back({trials[t].kernel, *trials[t].launch, progress[t].arguments, run_options(trials[t])});
    }
    if (runs.empty())
      break;
    const auto ends = HostKernel::run_all_isolated(runs);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::size_t t = left[i];
      SparseResult& result = results[t];
      const auto end_with = [&](std::string problem) {
        result.problem = std::move(problem);
        progress[t].is_done = true;
      };
      if (!ends[i]) {
        end_with(ends[i].error().sentence());
        continue;
      }
      result.work = ends[i]->work;
      result.blocks = trials[t].blocks.size();
      result.seconds = std::accumulate(ends[i]->seconds.begin(), ends[i]->seconds.end(), 0.0);
      const auto is_more = note_touched(progress[t]);
      if (!is_more) {
        end_with(is_more.error().sentence());
        continue;
      }
      // Of a run that failed on zeros only the pages count.
      if (*is_more && ends[i]->outcome != Outcome::timeout) {
        if (pass + 1 == MOST_PASSES)
          end_with("what it touches depends on what it reads, again and again");
        continue;
      }
      if (ends[i]->outcome != Outcome::ok) {
        result.out_of_time = ends[i]->outcome == Outcome::timeout;
        end_with(std::string(to_string(ends[i]->outcome)) + ": " + ends[i]->reason);
        continue;
      }
      look_at(trials[t], progress[t], fills, result);
      progress[t].is_done = true;
    }
    // The buffers' address space is wanted by the next pass.
    for (Progress& one : progress) {
      one.arguments.clear();
      one.buffers.clear();
    }
  }
}

} // namespace

std::vector<SparseResult> run_sparsely(std::span<const SparseTrial> trials, int jobs) {
  std::vector<SparseTrial> different;
  std::vector<std::size_t> place; // of each trial among these
  for (const SparseTrial& trial : trials) {
    const auto same =
        std::ranges::find_if(different, [&](const SparseTrial& other) { return is_same(trial, other); });
    place.push_back(static_cast<std::size_t>(same - different.begin()));
    if (same == different.end())
      different.push_back(trial);
  }
  std::vector<SparseResult> made(different.size());
  const std::size_t parts = std::min(different.size(), static_cast<std::size_t>(std::max(1, jobs)));
  lathe::parallel(parts, static_cast<unsigned>(std::max(1, jobs)), [&](std::size_t part) {
    const std::size_t begin = part * different.size() / parts, end = (part + 1) * different.size() / parts;
    run_in_turn(std::span(different).subspan(begin, end - begin),
                std::span(made).subspan(begin, end - begin));
  });
  std::vector<SparseResult> results;
  for (const std::size_t at : place)
    results.push_back(made[at]);
  return results;
}

std::string compare_sparse(const Workload& workload, std::uint64_t seed, const SparseResult& templated,
                           const SparseResult& raw, Agreement agreement, const std::vector<bool>& ignored) {
  Pages fills;
  for (std::size_t i = 0; i < workload.buffers.size(); ++i) {
    const Workload::Buffer& description = workload.buffers[i];
    if (description.direction == Direction::in || (i < ignored.size() && ignored[i]))
      continue;
    const element::DType dtype = type_of(description);
    const auto size = static_cast<std::uint64_t>(element::size_of(dtype));
    // By page: as either run left it, or nothing where that did not touch it.
    std::map<std::int64_t, std::pair<const std::vector<std::byte>*, const std::vector<std::byte>*>> pages;
    std::map<std::int64_t, std::int64_t> ends;
    for (std::size_t p = 0; p < templated.buffers[i].ranges.size(); ++p) {
      pages[templated.buffers[i].ranges[p].begin].first = &templated.buffers[i].bytes[p];
      ends[templated.buffers[i].ranges[p].begin] = templated.buffers[i].ranges[p].end;
    }
    for (std::size_t p = 0; p < raw.buffers[i].ranges.size(); ++p) {
      pages[raw.buffers[i].ranges[p].begin].second = &raw.buffers[i].bytes[p];
      ends[raw.buffers[i].ranges[p].begin] = raw.buffers[i].ranges[p].end;
    }
    // The elements that are asked for, side by side.
    std::vector<std::byte> out, reference;
    std::vector<std::uint64_t> places;
    for (const auto& [begin, both] : pages) {
      const std::vector<std::byte>& before = fills.of(workload, i, seed, {begin, ends[begin]});
      const std::vector<std::byte>&of_template = both.first ? *both.first : before,
            &of_raw = both.second ? *both.second : before;
      for (std::uint64_t at = 0; at + size <= before.size(); at += size) {
        const auto slice = [&](const std::vector<std::byte>& bytes) {
          return std::span(bytes).subspan(at, size);
        };
        const bool is_changed = !std::ranges::equal(slice(of_template), slice(before)),
                   is_changed_by_raw = !std::ranges::equal(slice(of_raw), slice(before));
        const bool is_asked = agreement == Agreement::same     ? is_changed || is_changed_by_raw
                              : agreement == Agreement::within ? is_changed
                                                               : is_changed && is_changed_by_raw;
        if (!is_asked)
          continue;
        out.insert(out.end(), slice(of_template).begin(), slice(of_template).end());
        reference.insert(reference.end(), slice(of_raw).begin(), slice(of_raw).end());
        places.push_back((static_cast<std::uint64_t>(begin) + at) / size);
      }
    }
    if (out == reference)
      continue;
    // At most what a block does goes into an element.
    const double terms =
        static_cast<double>(raw.work) / static_cast<double>(std::max<std::uint64_t>(1, raw.blocks));
    const double magnitude_of_raw = magnitude(dtype, reference);
    const Tolerance tolerance = allowed_tolerance(*workload.spec, description.dtype, magnitude_of_raw, terms);
    const element::ErrorRule rule{dtype, tolerance.relative, tolerance.absolute, magnitude_of_raw};
    BufferDifference difference = compare_buffers(rule, out, reference);
    if (difference.acceptable())
      continue;
    const std::uint64_t out_bits = element::load(dtype, out.data(), difference.first),
                        raw_bits = element::load(dtype, reference.data(), difference.first);
    difference.first = places[difference.first];
    return describe_difference(description.name, dtype, difference, out_bits, raw_bits, places.size(),
                               POISON);
  }
  if (raw.written > 0 && templated.written == 0 && agreement != Agreement::where_both)
    return "writes nothing";
  return {};
}

} // namespace lathe::refactor
