#include "refactor/guard/sanitizer_log.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <optional>

namespace lathe::refactor {
namespace {

constexpr std::string_view PREFIX = "========= ";
constexpr std::string_view OWN_KERNELS = "lathe_";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

// "...at NAME+0x90 ..." split into what comes before " at " and the kernel's name.
struct Place {
  std::string_view before;
  std::string kernel;
};
std::optional<Place> place_in(std::string_view line) {
  constexpr std::string_view AT = "at ", OFFSET = "+0x";
  const std::size_t offset = line.find(OFFSET);
  if (offset == std::string_view::npos)
    return std::nullopt;
  const std::size_t space = line.rfind(' ', offset);
  const std::size_t name = space == std::string_view::npos ? 0 : space + 1;
  if (name < AT.size() || line.substr(name - AT.size(), AT.size()) != AT)
    return std::nullopt;
  return Place{trimmed(line.substr(0, name - AT.size())), std::string(line.substr(name, offset - name))};
}

// Severities go before a race's description, by racecheck alone.
std::string_view without_severity(std::string_view head) {
  for (const std::string_view severity : {"Error: ", "Warning: ", "Info: "})
    if (head.starts_with(severity))
      return head.substr(severity.size());
  return head;
}

bool is_about_no_kernel(std::string_view head) {
  return head.empty() || head.starts_with("COMPUTE-SANITIZER") || head.find("SUMMARY") != head.npos ||
         head.starts_with("Program hit") || head.starts_with("Target application") ||
         head.starts_with("Internal ");
}

// Adds a line of a record to it; whether it names a kernel.
void add_line(SanitizerFinding& finding, std::string& entry, std::string_view line, bool is_head) {
  if (const auto place = place_in(line)) {
    if (entry.empty())
      entry = place->kernel;
    if (!place->before.empty()) // of a race, both accesses are what it is; a bare "at" is where it is
      finding.kind += (finding.kind.empty() ? "" : " ") + std::string(place->before);
  } else if (is_head) {
    finding.kind = line;
  } else {
    finding.detail += (finding.detail.empty() ? "" : ", ") + std::string(line);
  }
}

} // namespace

std::string SanitizerFinding::text() const {
  return kind + (kernel.empty() ? "" : " in " + kernel) + (detail.empty() ? "" : " (" + detail + ")");
}

std::vector<SanitizerFinding> parse_sanitizer_log(std::string_view log) {
  std::vector<SanitizerFinding> findings;
  std::optional<SanitizerFinding> open;
  std::string entry;
  const auto close = [&] {
    if (open && !entry.starts_with(OWN_KERNELS)) {
      open->kernel = demangled(entry);
      findings.push_back(std::move(*open));
    }
    open.reset();
    entry.clear();
  };
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (!line.starts_with(PREFIX)) {
      close();
      continue;
    }
    line.remove_prefix(PREFIX.size());
    const bool is_head = !line.starts_with(' ');
    line = trimmed(line);
    if (is_head) {
      close();
      if (is_about_no_kernel(line))
        continue;
      open.emplace();
      line = without_severity(line);
    }
    if (open)
      add_line(*open, entry, line, is_head);
  }
  close();
  return findings;
}

} // namespace lathe::refactor
