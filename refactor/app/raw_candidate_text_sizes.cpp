// Sizes that the kernel's own text fixes, as macros that it defines where nobody else has.
#include "refactor/app/raw_candidate_builder.h"

#include <fmt/format.h>
#include <regex>

namespace lathe::refactor {
namespace {

// In front of the name of a constant or macro: the macro that it stands for. Its own might be a parameter's
// in a header, which an option of the compiler reaches as well.
constexpr const char* SIZE_MACRO = "LATHE_SIZE_";

struct FreedText {
  std::string text, macro;
};

std::string defined_unless(const std::string& macro, const std::string& value) {
  return fmt::format("#ifndef {0}\n#define {0} {1}\n#endif\n", macro, value);
}

// Of the one definition of a macro or constant that stands on one line; nothing where there is no such one.
std::optional<FreedText> freed(const std::string& text, const std::string& name) {
  const auto only = [&](const std::regex& pattern) -> std::optional<std::smatch> {
    std::sregex_iterator at(text.begin(), text.end(), pattern), none;
    if (at == none || std::next(at) != none)
      return std::nullopt;
    return *at;
  };
  const auto begin_of_line = [&](std::size_t place) {
    const std::size_t line = place == 0 ? std::string::npos : text.rfind('\n', place - 1);
    return line == std::string::npos ? 0 : line + 1;
  };
  const std::regex macro(R"([ \t]*#[ \t]*define[ \t]+)" + name + R"([ \t]+([^\n]*[^\n\\])\n)");
  const std::string own = SIZE_MACRO + name;
  if (const auto found = only(macro)) {
    const auto place = static_cast<std::size_t>(found->position());
    return FreedText{text.substr(0, place) + defined_unless(own, (*found)[1].str()) + "#define " + name +
                         " " + own + "\n" + found->suffix().str(),
                     own};
  }
  const std::regex constant(R"(\bconst(?:expr)?\b[^;{}()\n]*\b)" + name + R"(\s*=\s*([^,;\n]+)[,;])");
  const auto found = only(constant);
  if (!found)
    return std::nullopt;
  const std::size_t line = begin_of_line(static_cast<std::size_t>(found->position())),
                    value = static_cast<std::size_t>(found->position(1));
  return FreedText{text.substr(0, line) + defined_unless(own, (*found)[1].str()) +
                       text.substr(line, value - line) + own +
                       text.substr(value + static_cast<std::size_t>(found->length(1))),
                   own};
}

} // namespace

Status RawCandidateBuilder::free_text_sizes() {
  Candidate& candidate = result_.candidate;
  for (const auto& [host_name, text_name] : site_.text_sizes) {
    if (!names(candidate.text, text_name)) // other device code of the file does
      continue;
    const std::string dimension = in_kernel_terms(host_name);
    const auto own = result_.own_sizes.find(dimension);
    auto changed = freed(candidate.text, text_name);
    if (own == result_.own_sizes.end() || !changed)
      return Error{"cannot try " + candidate.kernel + " at other sizes",
                   text_name + ", which its text has, is not defined there once and on one line", ""};
    candidate.text = std::move(changed->text);
    candidate.text_sizes.push_back({dimension, changed->macro, own->second, {}});
  }
  return Done{};
}

} // namespace lathe::refactor
