// Bad input gets a sentence and an exit code, and loses nothing.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>

namespace lathe {
namespace {

constexpr const char* small_kernel = R"(
__global__ void scale(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * 2.0f;
}
void launch(float* out, const float* in, int n) { scale<<<(n + 255) / 256, 256>>>(out, in, n); }
)";

// A specification of the small kernel as `lathe templatize` writes it.
class BadInput : public CommandTest {
protected:
  void make_spec() {
    write("k.cu", small_kernel);
    const auto made = lathe({"templatize", "k.cu", "--kernel", "scale", "--no-check", "--problem", "n=1000"});
    ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
  }
  std::string spec_text() { return *read_file(folder() / "search_spaces/scale.json"); }
  void replace_in_spec(const std::string& from, const std::string& to) {
    std::string text = spec_text();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << text;
    write("search_spaces/scale.json", text.replace(at, from.size(), to));
  }
  template <class Edit> void edit_spec(Edit edit) {
    nlohmann::json spec = nlohmann::json::parse(spec_text());
    edit(spec);
    write("search_spaces/scale.json", spec.dump(2));
  }
  SubprocessResult tune(const std::vector<std::string>& more = {}, const std::string& device = "host",
                        const std::string& results = "results.sqlite") {
    std::vector<std::string> arguments{
        "tune", "search_spaces/scale.json", "--evaluations", "2", "--device", device, "--results", results};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lathe(arguments);
  }
};

TEST_F(BadInput, NoCommand) {
  const auto result = lathe({});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("usage: lathe COMMAND"), std::string::npos);
}

TEST_F(BadInput, UnknownCommandAndOption) {
  expect_sentence(lathe({"tuen"}), 2, {"tuen", "--help"});
  expect_sentence(lathe({"tune", "--frobnicate"}), 2, {"frobnicate", "--help"});
  expect_sentence(lathe({"tune"}), 2, {"no specification"});
}

TEST_F(BadInput, MissingSource) {
  expect_sentence(lathe({"templatize", "no.cu", "--kernel", "k"}), 1, {"no.cu"});
}

TEST_F(BadInput, SourceOrTemplateThatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo((folder() / "pipe.cu").c_str(), 0600), 0);
  std::filesystem::create_directory(folder() / "folder.cu");
  expect_sentence(lathe({"templatize", "pipe.cu", "--kernel", "k"}), 1, {"pipe.cu", "a named pipe"});
  expect_sentence(lathe({"templatize", "folder.cu", "--kernel", "k"}), 1, {"folder.cu", "a directory"});
  expect_sentence(lathe({"templatize", "/dev/zero", "--kernel", "k"}), 1, {"/dev/zero", "a device"});
  expect_sentence(lathe({"check", "pipe.cu"}), 1, {"pipe.cu", "a named pipe"});
  make_spec();
  nlohmann::json spec = nlohmann::json::parse(spec_text());
  for (const auto& [file, kind] :
       {std::pair(folder() / "pipe.cu", "a named pipe"), std::pair(folder() / "folder.cu", "a directory"),
        std::pair(std::filesystem::path("/dev/zero"), "a device")}) {
    nlohmann::json changed = spec;
    changed["KernelSpecification"]["KernelFile"] = file;
    write("search_spaces/scale.json", changed.dump());
    expect_sentence(lathe({"check", "search_spaces/scale.json"}), 1, {file.filename().string(), kind});
    changed = spec;
    changed["Lathe"]["Reference"]["File"] = file;
    write("search_spaces/scale.json", changed.dump());
    expect_sentence(lathe({"check", "search_spaces/scale.json"}), 1, {file.filename().string(), kind});
  }
}

TEST_F(BadInput, KernelNotFoundNamesThoseThatWere) {
  write("k.cu", small_kernel);
  expect_sentence(lathe({"templatize", "k.cu", "--kernel", "scael"}), 2, {"scael", "scale"});
}

TEST_F(BadInput, SyntaxErrorNamesTheLine) {
  write("k.cu", "__global__ void scale(float* out) {\n  out[0] = ;\n}\n");
  expect_sentence(lathe({"templatize", "k.cu", "--kernel", "scale", "--grid", "1", "--block", "32"}), 1,
                  {"k.cu:2"});
}

TEST_F(BadInput, KernelWithoutLaunchAsksForIt) {
  write("k.cu", "__global__ void scale(float* out) { out[threadIdx.x] = 1; }\n");
  expect_sentence(lathe({"templatize", "k.cu", "--kernel", "scale"}), 1, {"--grid", "--block"});
}

TEST_F(BadInput, MissingSpecification) {
  expect_sentence(lathe({"tune", "no.json"}), 1, {"no.json"});
}

TEST_F(BadInput, TruncatedSpecification) {
  make_spec();
  const std::string text = spec_text();
  write("search_spaces/scale.json", text.substr(0, text.size() / 2));
  expect_sentence(tune(), 1, {"scale.json"});
}

TEST_F(BadInput, SpecificationForAnotherTemplate) {
  make_spec();
  write("templates/scale/scale.cuh", std::string("// changed\n") + small_kernel);
  expect_sentence(tune(), 1, {"scale.cuh", "templatize"});
}

TEST_F(BadInput, UnknownDimensionTypeAndDevice) {
  make_spec();
  expect_sentence(tune({"--problem", "m=3"}), 2, {"'m'", "n"});
  expect_sentence(tune({"--problem", "n=zero"}), 2, {"n=zero"});
  expect_sentence(tune({"--types", "T=f16"}), 2, {"'T'"});
  expect_sentence(tune({"--technique", "magic"}), 1, {"magic"});
}

TEST_F(BadInput, UnknownKnobInACondition) {
  make_spec();
  edit_spec([](nlohmann::json& spec) {
    spec["ConfigurationSpace"]["Conditions"].push_back(
        {{"Expression", "BLOKC > 1"}, {"Parameters", nlohmann::json::array({"BLOKC"})}});
  });
  expect_sentence(tune(), 1, {"scale.json", "BLOKC", "BLOCK"});
}

TEST_F(BadInput, DivisionByZeroNamesTheExpressionAndTheSizes) {
  make_spec();
  edit_spec([](nlohmann::json& spec) { spec["Lathe"]["Launch"]["Grid"][0] = "n / (n - 1000)"; });
  expect_sentence(tune(), 1, {"n / (n - 1000)", "division by zero", "n=1000"});
}

TEST_F(BadInput, ATemplateThatTheGuardRefusedIsNotTunedAndDoesNotStopTheOthers) {
  make_spec();
  write("search_spaces/other.json", spec_text());
  edit_spec([&](nlohmann::json& spec) {
    spec["Lathe"]["Provenance"]["Certificate"] = (folder() / "refused.json").string();
  });
  write(
      "refused.json",
      R"({"Accepted": false, "Checks": [{"Check": "bounds", "Verdict": "failed", "Detail": "a guard is gone"}]})");
  expect_sentence(tune(), 1, {"scale", "bounds: a guard is gone"});
  const auto both = lathe({"tune", "search_spaces/scale.json", "search_spaces/other.json", "--device", "host",
                           "--evaluations", "2", "--results", "results.sqlite"});
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_NE(both.errors.find("a guard is gone"), std::string::npos);
  EXPECT_NE(both.output.find("n=1000"), std::string::npos) << both.output;
}

TEST_F(BadInput, UnwritableResultsFolder) {
  make_spec();
  expect_sentence(tune({}, "host", "/proc/nowhere/results.sqlite"), 1, {"/proc/nowhere"});
}

TEST_F(BadInput, CorruptedResultsAreNotTouched) {
  make_spec();
  const std::string garbage(8192, 'x');
  write("results.sqlite", garbage);
  expect_sentence(tune(), 1, {"results.sqlite"});
  EXPECT_EQ(*read_file(folder() / "results.sqlite"), garbage);
}

TEST_F(BadInput, ExportWithoutResults) {
  make_spec();
  expect_sentence(lathe({"export", "search_spaces/scale.json", "--results", "none.sqlite"}), 1,
                  {"lathe tune"});
}

TEST_F(BadInput, HostTimesAreNotExportedSilently) {
  make_spec();
  ASSERT_EQ(tune().exit_code, 0);
  expect_sentence(lathe({"export", "search_spaces/scale.json", "--results", "results.sqlite"}), 1, {"host"});
}

// No driver is found in an empty library path only where there is none; a machine with a GPU skips this.
TEST_F(BadInput, NoGpuIsExitCodeThree) {
  const auto devices = lathe({"devices"});
  if (devices.exit_code == 0)
    GTEST_SKIP() << "this machine has a GPU";
  expect_sentence(devices, 3, {});
  make_spec();
  expect_sentence(tune({}, "0"), 3, {});
  expect_sentence(lathe({"check", "search_spaces/scale.json", "--device", "0"}), 3, {});
  expect_sentence(lathe({"check", "search_spaces/scale.json", "--sanitizer"}), 3, {});
}

TEST_F(BadInput, WhereATemplateIsToBeChecked) {
  make_spec();
  const auto check = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"check", "search_spaces/scale.json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return lathe(arguments);
  };
  expect_sentence(check({"--device", "fast"}), 2, {"'fast'", "auto"});
  expect_sentence(check({"--device", "-1"}), 2, {"'-1'"});
  expect_sentence(check({"--sanitizer=magiccheck"}), 2, {"'magiccheck'", "racecheck"});
  expect_sentence(check({"--sanitizer=,"}), 2, {"without a tool"});
  expect_sentence(check({"--sanitizer", "--device", "host"}), 2, {"--device host"});
}

} // namespace
} // namespace lathe
