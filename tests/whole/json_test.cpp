// Every output for machines says which version of its schema it has.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::json;

class JsonOutputs : public CommandTest {
protected:
  Json output_of(const std::vector<std::string>& arguments) {
    const SubprocessResult ran = lathe(arguments);
    const Json json = Json::parse(ran.output, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << arguments[0] << ": " << ran.output << ran.errors;
    return json;
  }
  // An object that says its version, or a list of such.
  static bool has_version(const Json& json) {
    if (json.is_array())
      return std::ranges::all_of(json, has_version);
    return json.contains("Schema") || json.contains("schema") || json.contains("Format");
  }
};

TEST_F(JsonOutputs, SayTheirVersion) {
  const std::string source = (source_folder() / "examples/tutorial/scale_rows.cu").string();
  const std::string spec = "search_spaces/scale_rows.json", store = "results.sqlite";
  const Json list = output_of({"templatize", source, "--list", "--json"});
  EXPECT_EQ(list["Schema"], 1);
  ASSERT_EQ(list["Kernels"].size(), 1u);
  EXPECT_EQ(list["Kernels"][0]["Name"], "scale_rows_kernel");
  EXPECT_EQ(list["Kernels"][0]["Launches"][0]["Grid"][0], "rows");
  EXPECT_EQ(list["Kernels"][0]["Knobs"][0]["Name"], "VEC");
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"templatize", source, "--name", "scale_rows", "--problem", "rows=4,columns=256", "--no-check",
            "--json"},
           {"check", spec, "--configurations", "1", "--json"},
           {"tune", spec, "--device", "host", "--evaluations", "3", "--results", store, "--json"},
           {"bench", spec, "--device", "host", "--results", store, "--json"},
           {"export", spec, "--results", store, "--allow-host", "--format", "json"},
           {"report", "scale_rows", "--results", store, "--json"},
           {"doctor", "--results", store, "--json"},
           {"devices", "--json"},
           {"spaces", spec, "--json"},
           {"manual", "--format", "json"}})
    EXPECT_TRUE(has_version(output_of(arguments))) << arguments[0];
  const Json recorded = output_of({"export", spec, "--results", store, "--allow-host", "--format", "t4"});
  EXPECT_EQ(recorded["schema_version"], "1.0.0"); // the community's own
  write("recorded.T4.json", recorded.dump());
  EXPECT_TRUE(
      has_version(output_of({"replay", "recorded.T4.json", "--budget", "3", "--seeds", "1", "--json"})));
}

} // namespace
} // namespace lathe
