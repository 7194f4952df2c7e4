#include "refactor/app/usual_launch.h"

#include "refactor/knobs/thread_number.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <regex>

namespace lathe::refactor {
namespace {

constexpr std::int64_t USUAL_BLOCK = 256;

// Rows of a warp's threads, so that neighbours along x stay neighbours in memory.
constexpr std::int64_t USUAL_ROW = 32;

bool is_of_grid(const std::string& sentence) {
  return sentence.starts_with("grid");
}

bool is_of_block(const std::string& sentence) {
  return sentence.starts_with("block");
}

// The first launch of which everything but its grid and block can be read; an empty one where there is none
// at all.
std::optional<LaunchSite> launch_to_complete(const KernelInfo& kernel) {
  if (kernel.launches.empty())
    return LaunchSite{};
  for (const LaunchSite& site : kernel.launches)
    if (std::ranges::all_of(site.unreadable, [](const std::string& sentence) {
          return is_of_grid(sentence) || is_of_block(sentence);
        }))
      return site;
  return std::nullopt;
}

// What the launch passes for the kernel's parameters, where that can be read.
std::string in_launchers_terms(const std::string& text, const LaunchSite& site) {
  static const std::regex word(R"(\b[A-Za-z_]\w*\b)");
  std::string result;
  std::size_t end = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), word), none; at != none; ++at) {
    const auto passed = site.arguments.find(at->str());
    if (passed == site.arguments.end() || !Expression::parse(passed->second).ok())
      continue;
    result += text.substr(end, static_cast<std::size_t>(at->position()) - end) + "(" + passed->second + ")";
    end = static_cast<std::size_t>(at->position() + at->length());
  }
  return result + text.substr(end);
}

std::string without_parentheses(const std::string& text) {
  const bool is_one_name =
      text.size() > 2 && text.front() == '(' && text.find_first_of("()", 1) == text.size() - 1;
  return is_one_name ? text.substr(1, text.size() - 2) : text;
}

// In two or three axes a block of rows, of as many threads as the launch bounds allow.
std::array<std::string, 3> usual_block(const IndependentThreads& threads) {
  const std::int64_t size = std::min(USUAL_BLOCK, threads.largest_block.value_or(USUAL_BLOCK));
  if (threads.counts[1] == "1")
    return {std::to_string(size), "1", "1"};
  const std::int64_t row = std::min(USUAL_ROW, size);
  return {std::to_string(row), std::to_string(size / row), "1"};
}

// Whether the kernel asks for the number of its block, or for how many there are, along the axis.
bool asks_for_blocks(const std::string& text, char axis) {
  return std::regex_search(text, std::regex(fmt::format(R"(\b(blockIdx|gridDim)\s*\.\s*{}\b)", axis)));
}

// Where blocks take rows, nothing says against what their number is held: the sides of the grid that cannot
// be read are sizes of their own. Their names; none where more than the grid cannot be read.
std::vector<std::string> take_sides_as_sizes(const std::string& text, LaunchSite& site) {
  if (site.unreadable.empty() || !std::ranges::all_of(site.unreadable, is_of_grid))
    return {};
  std::vector<std::string> names;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const char letter = "xyz"[axis];
    const bool is_open = std::ranges::any_of(site.unreadable, [&](const std::string& sentence) {
      return sentence.starts_with("grid:") || sentence.starts_with(fmt::format("grid.{}:", letter));
    });
    if (!is_open)
      continue;
    site.grid[axis] = "1";
    if (!asks_for_blocks(text, letter))
      continue;
    std::string name = fmt::format("blocks_{}", letter);
    while (std::regex_search(text, std::regex("\\b" + name + "\\b")))
      name += "_";
    site.grid[axis] = name;
    names.push_back(std::move(name));
  }
  return names;
}

std::string product(const std::array<std::string, 3>& sides) {
  std::string text = sides[0];
  for (std::size_t axis = 1; axis < sides.size(); ++axis)
    if (sides[axis] != "1" || (axis == 1 && sides[2] != "1"))
      text += " x " + sides[axis];
  return text;
}

} // namespace

void assume_launch(const ExtractedKernel& extracted, const ParseOptions& options, KernelInfo& kernel,
                   std::vector<std::string>& notes) {
  if (std::ranges::any_of(kernel.launches, [](const LaunchSite& site) { return site.unreadable.empty(); }))
    return;
  std::optional<LaunchSite> site = launch_to_complete(kernel);
  if (!site)
    return;
  ParseOptions alone;
  alone.architecture = options.architecture;
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "lathe_launched.cu";
  alone.overlay[file] = extracted.text;
  const auto source = ParsedSource::parse(file, alone);
  if (!source.ok())
    return;
  const auto described = find_kernel(**source, extracted.kernel);
  if (!described.ok())
    return;
  const auto threads = independent_threads(**source, *described);
  if (!threads) {
    const std::vector<std::string> sizes = take_sides_as_sizes(extracted.text, *site);
    if (sizes.empty())
      return;
    notes.push_back(fmt::format("the grid of the launch in {} cannot be read ({}): {} {} of {} own (say "
                                "otherwise with --grid)",
                                site->location, site->unreadable.front(), fmt::join(sizes, ", "),
                                sizes.size() == 1 ? "is a size" : "are sizes",
                                sizes.size() == 1 ? "its" : "their"));
    site->unreadable.clear();
    kernel.launches = {std::move(*site)};
    return;
  }
  const auto is_one_thread = [&](std::size_t axis) { return threads->counts[axis] == "1"; };
  const bool has_block = !kernel.launches.empty() && std::ranges::none_of(site->unreadable, is_of_block) &&
                         (!is_one_thread(1) || site->block[1] == "1") &&
                         (!is_one_thread(2) || site->block[2] == "1");
  if (!has_block)
    site->block = usual_block(*threads);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string count = in_launchers_terms(without_parentheses(threads->counts[axis]), *site);
    site->grid[axis] = is_one_thread(axis)
                           ? "1"
                           : fmt::format("ceil_div({}, {})", without_parentheses(count), site->block[axis]);
  }
  notes.push_back(fmt::format(
      "{}: {} blocks of {} threads, as its threads take one element each or as many as there are (say "
      "otherwise with --grid and --block)",
      kernel.launches.empty() ? "nothing in sight launches " + kernel.name
                              : "not all of its launch in " + site->location + " can be read",
      product(site->grid), product(site->block)));
  site->unreadable.clear();
  kernel.launches = {std::move(*site)};
}

} // namespace lathe::refactor
