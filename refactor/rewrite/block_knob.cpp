#include "refactor/rewrite/block_knob.h"

#include "refactor/knobs/geometry.h"

#include <clang/AST/Attr.h>
#include <clang/Basic/SourceManager.h>

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace lathe::refactor {

using namespace clang;

LaunchBounds launch_bounds_of(const KernelView& view) {
  LaunchBounds bounds;
  const auto* attribute = view.kernel()->getAttr<CUDALaunchBoundsAttr>();
  if (!attribute)
    return bounds;
  // `__launch_bounds__` is itself a macro of CUDA's headers: its arguments are read from the text.
  const SourceManager& manager = view.context().getSourceManager();
  const std::string& text = view.file_text();
  const std::string word = "__launch_bounds__";
  std::size_t at = manager.getFileOffset(manager.getExpansionLoc(attribute->getLocation()));
  if (!view.in_main_file(attribute->getLocation()) || text.compare(at, word.size(), word) != 0) {
    bounds.unreadable = true;
    return bounds;
  }
  at = text.find('(', at);
  std::size_t begin = at + 1;
  int depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(';
    depth -= c == ')';
    if ((c == ',' && depth == 1) || depth == 0) {
      std::size_t first = text.find_first_not_of(" \t\n", begin), last = at;
      while (last > first && std::isspace(static_cast<unsigned char>(text[last - 1])))
        --last;
      bounds.arguments.push_back({first, last});
      begin = at + 1;
    }
    if (depth == 0)
      break;
  }
  const Expr* expressions[] = {attribute->getMaxThreads(), attribute->getMinBlocks()};
  for (std::size_t i = 0; i < bounds.arguments.size(); ++i) {
    if (i > 1 || !expressions[i]) {
      bounds.values.push_back(std::nullopt);
      continue;
    }
    // MIN_BLOCKS == 0 ? 0 : threads, as launch-bounds writes it: the bound is that of the other arm.
    const auto* choice = dyn_cast<ConditionalOperator>(expressions[i]->IgnoreParenImpCasts());
    const std::string arm = " ? 0 : ";
    if (const std::size_t found = view.text(bounds.arguments[i]).find(arm);
        choice && i == 0 && found != std::string::npos) {
      bounds.arguments[i].begin += found + arm.size();
      expressions[i] = choice->getFalseExpr();
    }
    bounds.values.push_back(view.evaluate(expressions[i]).as_constant());
  }
  return bounds;
}

std::optional<std::string> follow_block(const BlockKnob& block, const ThreadModel& model,
                                        const Candidate& candidate, LaunchGeometry& launch,
                                        std::vector<Condition>& conditions) {
  const auto axis = static_cast<std::size_t>(block.axis);
  const auto constant = constant_of(block.raw);
  launch.block[axis] = make_expression(block.text);
  std::string not_followed; // the first axis of the grid that should
  bool is_followed = false;
  for (std::size_t i = 0; i < 3; ++i) {
    int count = 0;
    const auto rewrite = [&](const Expression& divisor, const std::string& to) {
      auto grid = replace_ceil_div(launch.grid[i], divisor, to, count);
      if (grid.ok())
        launch.grid[i] = std::move(grid).value();
    };
    const bool needed = model.grid_axes.count("blockIdx." + std::string(1, "xyz"[i])) > 0;
    if (!needed && !model.free_grid)
      continue;
    rewrite(block.raw, block.text);
    // Lanes of a group share an index, or a thread takes several: the grid divides by a part or a multiple.
    for (std::int64_t factor = 2; constant && count == 0 && factor <= 64; factor *= 2) {
      if (*constant % factor == 0)
        rewrite(Expression(Value{*constant / factor}),
                "(" + block.text + " / " + std::to_string(factor) + ")");
      if (count == 0)
        rewrite(Expression(Value{*constant * factor}),
                "(" + block.text + " * " + std::to_string(factor) + ")");
    }
    if (count == 0 && !constant) {
      auto grid = replace_subtree(launch.grid[i], block.raw, block.text, count);
      if (grid.ok())
        launch.grid[i] = std::move(grid).value();
    }
    is_followed |= needed && count > 0;
    if (!needed || count > 0)
      continue;
    if (not_followed.empty())
      not_followed = "the index spans blocks, but the grid " + candidate.launch.grid[i].text() +
                     " does not divide by the block size, so that it cannot follow the knob";
    if (constant_of(candidate.launch.grid[i]) != 1)
      return not_followed;
  }
  // The index may count blocks of an axis that has one (blockIdx.y * gridDim.x + blockIdx.x), if others
  // follow.
  if (!is_followed && !not_followed.empty())
    return not_followed;
  int in_shared = 0;
  if (!constant) {
    auto shared = replace_subtree(launch.shared_bytes, block.raw, block.text, in_shared);
    if (shared.ok())
      launch.shared_bytes = std::move(shared).value();
  }
  const auto shared_constant = constant_of(candidate.launch.shared_bytes);
  // A number of bytes: in proportion for more threads, whatever part of it is theirs, and never less.
  if (model.dynamic_by_thread && constant && shared_constant.value_or(0) > 0) {
    const std::string bytes = std::to_string(*shared_constant);
    launch.shared_bytes = make_expression("max(" + bytes + ", ceil_div(" + bytes + " * (" + block.text +
                                          "), " + std::to_string(*constant) + "))");
    ++in_shared;
  }
  if (model.dynamic_by_thread && in_shared == 0 && shared_constant != 0) {
    if (model.only_by_group && constant) {
      conditions.push_back(make_condition(block.name + " <= " + std::to_string(*constant),
                                          "dynamic shared memory has room for the launcher's warps"));
      return std::nullopt;
    }
    return "dynamic shared memory is addressed by the thread, but its size " +
           candidate.launch.shared_bytes.text() + " does not show how it follows the block size";
  }
  return std::nullopt;
}

std::optional<std::string> fit_grid(const BlockKnob& block, const ThreadModel& model,
                                    const Candidate& candidate, bool zero_is_raw, LaunchGeometry& launch,
                                    std::vector<Condition>& conditions) {
  std::string reason = model.unguarded;
  if (reason.empty()) {
    LaunchGeometry followed = launch;
    std::vector<Condition> under;
    const auto refused = follow_block(block, model, candidate, followed, under);
    if (!refused) {
      launch = followed;
      conditions.insert(conditions.end(), under.begin(), under.end());
      return std::nullopt;
    }
    reason = *refused;
  }
  const auto axis = static_cast<std::size_t>(block.axis);
  // An index over other axes of the grid, or shared memory whose size would have to follow, is another
  // matter.
  if (model.grid_axes != std::set<std::string>{"blockIdx." + std::string(1, "xyz"[axis])} ||
      model.dynamic_by_thread || model.block_in_addresses)
    return reason;
  const std::string threads = "(" + launch.grid[axis].text() + ") * (" + block.raw.text() + ")";
  const std::string divisor = zero_is_raw ? "max(" + block.name + ", 1)" : block.name;
  launch.block[axis] = make_expression(block.text);
  launch.grid[axis] = make_expression(zero_is_raw ? "(" + block.name + " == 0 ? " + launch.grid[axis].text() +
                                                        " : " + threads + " / " + divisor + ")"
                                                  : threads + " / " + divisor);
  conditions.push_back(
      make_condition((zero_is_raw ? block.name + " == 0 || " : "") + threads + " % " + divisor + " == 0",
                     "the blocks have exactly as many threads in all as the launcher's: another number would "
                     "run past the end, or the grid does not show how it follows"));
  return std::nullopt;
}

std::optional<std::string> follow_launch_bounds(const KernelView& view, const BlockKnob& block,
                                                std::optional<std::int64_t> constant,
                                                std::vector<Edit>& edits,
                                                std::vector<Condition>& conditions) {
  const LaunchBounds bounds = launch_bounds_of(view);
  if (bounds.unreadable)
    return "the launch bounds come from a macro, so that they cannot follow the block size";
  if (bounds.arguments.empty())
    return std::nullopt;
  const std::string written = view.text(bounds.arguments[0]);
  if (has_word(written, block.name))
    return std::nullopt; // states the constant that is the knob now
  if (!bounds.values[0])
    return "the launch bounds " + written + " cannot be read, so that they cannot follow the block size";
  if (constant && *bounds.values[0] == *constant)
    edits.push_back(replace(bounds.arguments[0], block.text));
  else
    conditions.push_back(make_condition(block.name + " <= " + std::to_string(*bounds.values[0]),
                                        "the kernel's launch bounds"));
  return std::nullopt;
}

namespace {

// The parts between the commas of the list that opens at `open`, nested lists left whole; empty where it does
// not end.
std::vector<std::string> listed(const std::string& text, std::size_t open) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    const bool opens = c == '(' || c == '<' || c == '{' || c == '[',
               closes = c == ')' || c == '>' || c == '}' || c == ']';
    if (closes && --depth == 0)
      return parts;
    if (c == ',' && depth == 1)
      parts.emplace_back();
    else if (depth > 0)
      parts.back() += c;
    depth += opens;
  }
  return {};
}

} // namespace

std::optional<std::string> follow_cub(const KernelView& view, const std::string& name,
                                      const std::string& threads, std::vector<Condition>& conditions) {
  const std::string& text = view.file_text();
  bool reduces = false;
  for (std::size_t at = text.find("cub::Block"); at != std::string::npos;
       at = text.find("cub::Block", at + 1)) {
    const std::size_t open = text.find('<', at);
    const std::vector<std::string> arguments =
        open == std::string::npos ? std::vector<std::string>() : listed(text, open);
    if (arguments.size() < 2)
      continue; // an algorithm's name, a header's
    if (has_word(arguments[1], name))
      continue;
    const std::string count =
        arguments[1].substr(std::min(arguments[1].find_first_not_of(' '), arguments[1].size()));
    const bool is_number = !count.empty() && count.find_first_not_of("0123456789") == std::string::npos;
    if (text.compare(at, 16, "cub::BlockReduce") != 0 || !is_number || arguments.size() > 2)
      return text.substr(at, open - at) + " is made for " + count + " threads";
    reduces = true;
    conditions.push_back(
        make_condition(threads + " <= " + count, "cub::BlockReduce is made for as many threads at most"));
  }
  if (!reduces)
    return std::nullopt;
  const auto always_told = [&](const std::string& call, std::size_t least) {
    for (std::size_t at = text.find(call); at != std::string::npos; at = text.find(call, at + 1))
      if (listed(text, at + call.size() - 1).size() < least)
        return false;
    return true;
  };
  if (!always_told(".Sum(", 2) || !always_told(".Reduce(", 3))
    return "cub::BlockReduce is not told how many threads take part";
  return std::nullopt;
}

void add_block_conditions(const BlockKnob& block, const ThreadModel& model, bool zero_is_raw,
                          std::vector<Condition>& conditions) {
  const std::string unless_raw = zero_is_raw ? block.name + " == 0 || " : "";
  const auto add = [&](const std::string& text, const std::string& why) {
    conditions.push_back(make_condition(unless_raw + text, why));
  };
  if (model.multiple > 1)
    add(block.name + " % " + std::to_string(model.multiple) + " == 0",
        "the kernel tells groups of " + std::to_string(model.multiple) + " threads apart");
  if (model.halving)
    add("is_pow2(" + block.name + ")", "a reduction halves the number of threads");
  if (model.least > 1)
    add(block.name + " >= " + std::to_string(model.least),
        "a statement addresses " + std::to_string(model.least) + " threads");
  if (!model.most.empty()) {
    const std::int64_t most = *std::min_element(model.most.begin(), model.most.end());
    if (most < 1024)
      add(block.name + " <= " + std::to_string(most), "a shared array has room for " + std::to_string(most));
  }
}

std::optional<std::string> keep_guarded_threads(const KernelView& view, const LaunchFacts& facts,
                                                const ThreadModel& model, const BlockKnob& block,
                                                bool zero_is_raw, std::vector<Condition>& conditions) {
  const std::string raw = constant_of(block.raw) ? block.raw.text() : "(" + block.raw.text() + ")",
                    unless_raw = block.name + " == " + (zero_is_raw ? "0" : raw) + " || ";
  for (const ThreadGuard& guard : model.guards) {
    const auto limit = launch_expression(view, guard.limit, facts);
    if (!limit)
      return "threads are compared at " + view.at_line(guard.limit->getBeginLoc()) +
             " with a number that is not known before the launch";
    std::string least = *limit;
    if (guard.more > 0)
      least = fmt::format("({}) + {}", least, guard.more);
    if (guard.group > 1)
      least = fmt::format("({}) * {}", least, guard.group);
    least = canonical(make_expression(least));
    conditions.push_back(
        make_condition(unless_raw + "(" + least + " <= " + block.name + " && " + least + " <= " + raw + ")",
                       "each of the numbers that threads are compared with at " +
                           view.at_line(guard.limit->getBeginLoc()) + " has a thread of its own"));
  }
  return std::nullopt;
}

std::vector<std::int64_t> block_values(const Candidate& candidate, int axis, std::optional<std::int64_t> raw,
                                       bool with_zero) {
  std::int64_t others = 1;
  for (std::size_t i = 0; i < 3; ++i)
    if (static_cast<int>(i) != axis)
      others *= constant_of(candidate.launch.block[i]).value_or(1);
  std::vector<std::int64_t> values;
  if (with_zero)
    values.push_back(0);
  // Whole warps up to 1024 threads: powers of two, and what lies between where rows are often 3, 5 or 7 times
  // one.
  for (const std::int64_t threads :
       {32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024})
    if (threads % others == 0 && (axis == 0 || others > 1 || threads <= 1024))
      values.push_back(threads / others);
  if (raw && std::find(values.begin(), values.end(), *raw) == values.end())
    values.push_back(*raw);
  std::sort(values.begin(), values.end());
  return values;
}

} // namespace lathe::refactor
