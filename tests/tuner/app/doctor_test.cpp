#include "tuner/app/command.h"
#include "tuner/app/health.h"
#include "tuner/base/files.h"
#include "tuner/base/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>

namespace lathe {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* restricted = "EnableMSI: 1\nRmProfilingAdminOnly: 1\nTemporaryFilePath: \"\"\n";

TEST(ProfilingPermission, RestrictedWithoutTheCapabilityNamesTheRemedy) {
  const HealthLine line = profiling_permission(restricted, "00000000a80425fb");
  EXPECT_EQ(line.health, Health::warn);
  EXPECT_THAT(line.remedy, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST(ProfilingPermission, AdministratorsAndOpenDriversMay) {
  EXPECT_EQ(profiling_permission(restricted, "000001ffffffffff").health, Health::ok);
  EXPECT_EQ(profiling_permission("RmProfilingAdminOnly: 0\n", "0").health, Health::ok);
  EXPECT_EQ(profiling_permission("", "").health, Health::warn);
}

TEST(DiskRoom, FailsWhereAStoreCannotGrow) {
  EXPECT_EQ(disk_room("disk", "/x", 10ull << 30).health, Health::ok);
  EXPECT_EQ(disk_room("disk", "/x", 500ull << 20).health, Health::warn);
  EXPECT_EQ(disk_room("disk", "/x", 1ull << 20).health, Health::fail);
}

class Doctor : public ::testing::Test {
protected:
  // Of the program: its folder holds the others that it looks for.
  SubprocessResult doctor(std::vector<std::pair<std::string, std::string>> environment = {}) {
    auto folder = TemporaryFolder::create("doctor-test");
    EXPECT_TRUE(folder.ok());
    SubprocessOptions options;
    options.folder = folder->path();
    options.environment = std::move(environment);
    const auto ran =
        run_subprocess({std::string(std::getenv("LATHE_BIN_DIR")) + "/lathe", "doctor", "--json"}, options);
    EXPECT_TRUE(ran.ok());
    return ran.ok() ? *ran : SubprocessResult{};
  }
  static Json line(const Json& report, const std::string& name) {
    for (const Json& check : report["Checks"])
      if (check["Name"] == name)
        return check;
    return {};
  }
};

TEST_F(Doctor, HealthyMachineFailsNothingAndTheCodeSaysWhetherThereIsAGpu) {
  const SubprocessResult ran = doctor();
  const Json report = Json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output << ran.errors;
  EXPECT_EQ(report["Schema"], 1);
  EXPECT_FALSE(report["Failed"].get<bool>()) << report.dump(1);
  EXPECT_EQ(ran.exit_code, report["HasGpu"].get<bool>() ? 0 : 3);
  EXPECT_EQ(line(report, "NVRTC")["Verdict"], "ok");
  EXPECT_EQ(line(report, "host executor")["Verdict"], "ok");
  for (const Json& check : report["Checks"]) // what is not well comes with what to do
    EXPECT_TRUE(check["Verdict"] == "ok" || check["Remedy"] != "") << check;
}

TEST_F(Doctor, BrokenHostCompilerFails) {
  const SubprocessResult ran = doctor({{"LATHE_HOST_CXX", "/nonexistent/clang++"}});
  EXPECT_EQ(ran.exit_code, 1);
  const Json found = line(Json::parse(ran.output), "host executor");
  EXPECT_EQ(found["Verdict"], "fail");
  EXPECT_THAT(found["Remedy"].get<std::string>(), HasSubstr("LATHE_HOST_CXX"));
}

TEST_F(Doctor, StoreThatIsNoneFails) {
  auto folder = TemporaryFolder::create("doctor-store");
  ASSERT_TRUE(folder.ok());
  const std::string path = (folder->path() / "results.sqlite").string();
  ASSERT_TRUE(write_file(path, "not a database, but long enough to be looked at as one ..............").ok());
  const SubprocessResult ran = doctor({{"LATHE_RESULTS", path}});
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_EQ(line(Json::parse(ran.output), "results store")["Verdict"], "fail");
}

} // namespace
} // namespace lathe
