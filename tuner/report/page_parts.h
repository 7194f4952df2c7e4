// Pieces of HTML that every part of the page is made of.
#pragma once

#include "tuner/report/report.h"

#include <string>
#include <vector>

namespace lathe::report {

// The style sheet.
extern const char* const style_sheet;

using Row = std::vector<std::string>; // cells as HTML

// With row headers in the first column; `caption` is for screen readers. Scrolls sideways where it is wide.
std::string table(const std::string& caption, const std::vector<std::string>& headings,
                  const std::vector<Row>& rows);

struct LegendEntry {
  std::string css_class; // swatch: "raw", "tuned", "floor", ...
  std::string text;
};

// `data`: the chart's numbers as a table, folded away.
std::string figure(const std::string& title, const std::vector<LegendEntry>& legend,
                   const std::string& picture, const std::string& remark, const std::string& data);

// "1.07 µs"; with "(host executor)" where it is such a time.
std::string microseconds(double value, bool is_host = false);
// "BLOCK 256", one chip a knob; those that differ from `standard` stand out.
std::string chips(const std::vector<std::string>& names, const KnobValues& knobs, const KnobValues* standard);
// The role in a word for people.
std::string role_word(ProblemRole role);

// One problem's part of the page; `number` is its number in the kernel's table.
std::string problem_section(const std::string& id, std::size_t number, const KernelReport& kernel,
                            const ProblemReport& problem, bool open);

} // namespace lathe::report
