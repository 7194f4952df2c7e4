#include "spec_testing.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// d is fixed by the texts; m, too, in a further dimension.
class TextSizesTest : public SpecTest {
protected:
  static json document() {
    json text = json::parse(sample_text);
    json& lathe = text["Lathe"];
    lathe["Dimensions"].push_back("m");
    for (json& problem : lathe["Problems"]) {
      problem["Dimensions"]["d"] = 4096;
      problem["Dimensions"]["m"] = 96;
    }
    lathe["TextSizes"] = {{{"Name", "d"}, {"Macro", "WIDTH"}, {"Value", 4096}, {"Trials", {64, 30}}},
                          {{"Name", "m"}, {"Value", 96}, {"Trials", {8, 5}}}};
    return text;
  }
  static Problem sizes(std::int64_t d, std::int64_t m) {
    Problem problem;
    problem.dimensions = {{"n", 3}, {"d", d}, {"m", m}};
    return problem;
  }
};

TEST_F(TextSizesTest, AreReadAndWritten) {
  const TuningSpec spec = parse(document().dump());
  ASSERT_EQ(spec.text_sizes.size(), 2u);
  ASSERT_NE(spec.find_text_size("m"), nullptr);
  EXPECT_EQ(spec.find_text_size("n"), nullptr);
  EXPECT_EQ(spec.find_text_size("m")->macro, "m"); // the dimension's name, where no other is given
  const TuningSpec again = parse(format_spec(spec, path_));
  ASSERT_EQ(again.text_sizes.size(), 2u);
  EXPECT_EQ(again.text_sizes[0].dimension, "d");
  EXPECT_EQ(again.text_sizes[0].macro, "WIDTH");
  EXPECT_EQ(again.text_sizes[0].value, 4096);
  EXPECT_THAT(again.text_sizes[0].trials, ElementsAre(64, 30));
  EXPECT_EQ(contract_hash(again), contract_hash(spec));
  json others = document();
  others["Lathe"]["TextSizes"][0]["Trials"] = {64, 31};
  EXPECT_NE(contract_hash(parse(others.dump())), contract_hash(spec));
}

TEST_F(TextSizesTest, ReachTheCompilerWhereTheyAreNotTheTexts) {
  const TuningSpec spec = parse(document().dump());
  const auto macros = [&](std::int64_t d, std::int64_t m) {
    const auto workload = bind_workload(spec, sizes(d, m), {}, {});
    EXPECT_TRUE(workload.ok());
    const auto knobs = default_knobs(*workload);
    EXPECT_TRUE(knobs.ok());
    return bind_macros(*workload, *knobs);
  };
  EXPECT_THAT(macros(4096, 96), ElementsAre("-DUNROLL=1"));
  EXPECT_THAT(macros(30, 5), ElementsAre("-DUNROLL=1", "-DWIDTH=30", "-Dm=5"));
}

TEST_F(TextSizesTest, GoTogether) {
  const TuningSpec spec = parse(document().dump());
  for (const auto& [d, m] : {std::pair{4096, 5}, {64, 5}, {4095, 96}}) {
    const auto workload = bind_workload(spec, sizes(d, m), {}, {});
    ASSERT_FALSE(workload.ok()) << d << " " << m;
    EXPECT_THAT(workload.error().sentence(), HasSubstr("the kernel's text fixes d"));
  }
}

TEST_F(TextSizesTest, FaultsAreNamed) {
  const auto error_with = [&](const char* pointer, const json& value) {
    json text = document();
    text[json::json_pointer(pointer)] = value;
    return error_of(text.dump(1));
  };
  EXPECT_THAT(error_with("/Lathe/TextSizes/0/Name", "e"), HasSubstr("there is no dimension e"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/0/Macro", "no name"), HasSubstr("'no name' is no identifier"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Name", "d"), HasSubstr("is there twice"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Macro", "WIDTH"), HasSubstr("is there twice"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Trials", {8}), HasSubstr("another number of values"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Value", 97), HasSubstr("a problem has m=96"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Value", 0), HasSubstr("TextSizes[1].Value"));
  EXPECT_THAT(error_with("/Lathe/TextSizes/1/Trials", {8, 1.5}), HasSubstr("TextSizes[1].Trials[1]"));
}

} // namespace
} // namespace lathe
