#include "tuner/report/page_parts.h"

#include "tuner/report/svg.h"

#include <fmt/format.h>

namespace lathe::report {

std::string table(const std::string& caption, const std::vector<std::string>& headings,
                  const std::vector<Row>& rows) {
  std::string text = fmt::format(
      R"(<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table><caption>{0}</caption><thead><tr>)",
      escape(caption));
  for (const std::string& heading : headings)
    text += R"(<th scope="col">)" + heading + "</th>";
  text += "</tr></thead><tbody>";
  for (const Row& row : rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += i == 0 ? R"(<th scope="row">)" + row[i] + "</th>" : "<td>" + row[i] + "</td>";
    text += "</tr>";
  }
  return text + "</tbody></table></div>";
}

std::string figure(const std::string& title, const std::vector<LegendEntry>& legend,
                   const std::string& picture, const std::string& remark, const std::string& data) {
  std::string text = "<figure><figcaption>" + escape(title) + "</figcaption>";
  if (!legend.empty()) {
    text += R"(<p class="legend">)";
    for (const LegendEntry& entry : legend)
      text += fmt::format(R"(<span><i class="swatch {}"></i>{}</span>)", entry.css_class, escape(entry.text));
    text += "</p>";
  }
  text += picture;
  if (!remark.empty())
    text += R"(<p class="remark">)" + remark + "</p>";
  if (!data.empty())
    text += "<details class=\"data\"><summary>The numbers</summary>" + data + "</details>";
  return text + "</figure>\n";
}

std::string microseconds(double value, bool is_host) {
  return short_number(value) + " µs" + (is_host ? " (host executor)" : "");
}

std::string chips(const std::vector<std::string>& names, const KnobValues& knobs,
                  const KnobValues* standard) {
  std::string text = R"(<ul class="chips">)";
  for (std::size_t i = 0; i < names.size() && i < knobs.size(); ++i) {
    const bool changed = standard && i < standard->size() && (*standard)[i] != knobs[i];
    text += fmt::format(R"(<li{}>{} <b>{}</b></li>)", changed ? R"( class="changed")" : "", escape(names[i]),
                        escape(to_string(knobs[i])));
  }
  return text + "</ul>";
}

std::string role_word(ProblemRole role) {
  switch (role) {
  case ProblemRole::tune:
    return "searched";
  case ProblemRole::select:
    return "selected on";
  case ProblemRole::report:
    return "only reported";
  }
  return "";
}

} // namespace lathe::report
