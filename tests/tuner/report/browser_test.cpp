// The page in a real browser, where one is installed: nothing is cut off or overlaps the edge at the widths
// of a laptop and a phone.
#include "tests/tuner/report/report_testing.h"
#include "tuner/base/subprocess.h"

#include <regex>

namespace lathe {
namespace {

std::string find_browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (const auto asked = run_subprocess({name, "--version"}); asked.ok() && asked->succeeded())
      return name;
  return {};
}

class Browser : public ReportTest {
protected:
  // What the expression over `page`, the page's document, gives in a frame of that
  // width.
  std::string ask(const std::string& browser, int width, const std::string& expression) const {
    const std::string frame =
        R"(<!doctype html><body style="margin:0"><iframe id="f" style="border:0" width=")" +
        std::to_string(width) + R"(" height="900" src="page.html"></iframe><p id="answer"></p><script>
onload = () => { const page = document.getElementById('f').contentWindow.document;
document.getElementById('answer').textContent = 'answer ' + ()" +
        expression + R"() + ' end'; };</script>)";
    EXPECT_TRUE(write_file(folder() / "frame.html", frame).ok());
    SubprocessOptions options;
    options.timeout = std::chrono::seconds(60);
    const auto ran = run_subprocess(
        {browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
         "--user-data-dir=" + (folder() / "profile").string(), "--window-size=1400,1000",
         "--virtual-time-budget=2000", "--dump-dom", "file://" + (folder() / "frame.html").string()},
        options);
    EXPECT_TRUE(ran.ok());
    std::smatch found;
    const std::regex answer("answer (.*) end</p>");
    if (!ran.ok() || !std::regex_search(ran->output, found, answer))
      return "no answer";
    return found[1];
  }
};

TEST_F(Browser, FitsALaptopAndAPhone) {
  const std::string browser = find_browser();
  if (browser.empty())
    GTEST_SKIP() << "no chromium or google-chrome in PATH: the page's layout is not looked at";
  ASSERT_TRUE(write_file(folder() / "page.html", report_html(report(false))).ok());
  for (const int width : {390, 1280}) {
    EXPECT_EQ(ask(browser, width, "page.documentElement.scrollWidth - page.documentElement.clientWidth"), "0")
        << width;
    // No part of a picture's text lies outside the picture.
    EXPECT_EQ(
        ask(browser, width,
            "[...page.querySelectorAll('details[open] svg text, .figures>figure svg text')].filter(text => { "
            "const inner = text.getBoundingClientRect(), outer = "
            "text.ownerSVGElement.getBoundingClientRect(); return inner.width > 0 && (inner.left < "
            "outer.left - 1 || inner.right > outer.right + 1); }).map(text => text.textContent).join()"),
        "")
        << width;
    EXPECT_EQ(ask(browser, width, "page.querySelectorAll('figure svg').length > 5"), "true");
  }
}

} // namespace
} // namespace lathe
