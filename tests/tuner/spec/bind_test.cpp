#include "spec_testing.h"

#include <limits>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BindTest : public SpecTest {
protected:
  void SetUp() override {
    SpecTest::SetUp();
    spec_ = sample();
  }

  Workload bind(const std::map<std::string, std::string>& types = {}, std::size_t problem = 0) {
    auto workload = bind_workload(spec_, spec_.problems[problem], types, limits_);
    EXPECT_TRUE(workload.ok()) << workload.error().sentence();
    return workload.ok() ? std::move(*workload) : Workload{};
  }
  std::string bind_error(const Problem& problem, const std::map<std::string, std::string>& types = {}) {
    const auto workload = bind_workload(spec_, problem, types, limits_);
    return workload.ok() ? "" : workload.error().sentence();
  }
  std::string bind_error_for(const std::map<std::string, std::int64_t>& dimensions) {
    Problem problem;
    problem.dimensions = dimensions;
    return bind_error(problem);
  }
  static Expression parsed(std::string_view text) { return *Expression::parse(text); }

  TuningSpec spec_;
  std::map<std::string, Value> limits_;
};

TEST_F(BindTest, FillsInDimensionsAndTypes) {
  const Workload workload = bind({{"T", "f32"}}, 2);
  EXPECT_EQ(workload.key(), "f32 n=7 d=8192");
  ASSERT_EQ(workload.buffers.size(), 4u);
  EXPECT_EQ(workload.buffers[0].dtype, "f32");
  EXPECT_EQ(workload.buffers[0].count, 7u * 8192);
  EXPECT_EQ(workload.buffers[0].direction, Direction::out);
  EXPECT_EQ(workload.buffers[1].count, 2u * 7 * 8192);
  EXPECT_EQ(workload.buffers[1].fill.spread, 2);
  EXPECT_EQ(workload.buffers[2].integer_low, 0);
  EXPECT_EQ(workload.buffers[2].integer_high, 6);
  ASSERT_EQ(workload.parameters.size(), 6u);
  EXPECT_EQ(workload.parameters[3].buffer, 3u);
  EXPECT_FALSE(workload.parameters[4].is_buffer);
  EXPECT_EQ(workload.parameters[4].value, Value{std::int64_t{8192}});
  EXPECT_EQ(workload.parameters[5].value, Value{0.25});
  EXPECT_EQ(workload.bytes, 3.0 * 7 * 8192 * 4);
  EXPECT_EQ(workload.operations, 8.0 * 7 * 8192);
  EXPECT_EQ(workload.lookup("sizeof_T"), Value{std::int64_t{4}});
  EXPECT_EQ(workload.lookup("d"), Value{std::int64_t{8192}});
  EXPECT_EQ(workload.lookup("BLOCK"), std::nullopt);
}

TEST_F(BindTest, TheFirstDtypeIsTheDefault) {
  EXPECT_EQ(bind().key(), "bf16 n=1 d=4096");
  EXPECT_EQ(bind().lookup("sizeof_T"), Value{std::int64_t{2}});
}

TEST_F(BindTest, RefusesWrongProblemsAndTypes) {
  EXPECT_THAT(bind_error_for({{"n", 1}}), HasSubstr("the dimension d has no size"));
  EXPECT_THAT(bind_error_for({{"n", 1}, {"d", 4096}, {"dd", 1}}),
              HasSubstr("there is no dimension dd: did you mean d?"));
  EXPECT_THAT(bind_error(spec_.problems[0], {{"T", "f61"}}), HasSubstr("T cannot be f61: did you mean f16"));
  EXPECT_THAT(bind_error(spec_.problems[0], {{"U", "f16"}}), HasSubstr("there is no type parameter U"));
}

TEST_F(BindTest, RefusesBuffersThatCannotBe) {
  EXPECT_THAT(bind_error_for({{"n", 0}, {"d", 4096}}),
              HasSubstr("out: expression \"n * d\": it is 0 elements"));
  EXPECT_THAT(bind_error_for({{"n", 1 << 20}, {"d", 1 << 20}}), HasSubstr("at most 2^40 bytes"));
  EXPECT_EQ(bind_error_for({{"n", 1 << 9}, {"d", 1 << 29}}), ""); // input: 2 * 2^38 elements of 2 bytes
  EXPECT_THAT(bind_error_for({{"n", 1LL << 40}, {"d", 1LL << 40}}), HasSubstr("does not fit 64 bits"));
}

TEST_F(BindTest, OffsetsFitTheirType) {
  const auto error_with = [&](const char* dtype, const char* high) {
    spec_.arguments[0].dtype = dtype;
    spec_.arguments[0].fill.kind = Fill::Kind::offsets;
    spec_.arguments[0].fill.integer_high = parsed(high);
    return bind_error_for({{"n", 2}, {"d", 64}});
  };
  EXPECT_EQ(error_with("i32", "n * d"), "");
  EXPECT_EQ(error_with("u8", "255"), "");
  EXPECT_THAT(error_with("u8", "4 * d"), HasSubstr("its last offset is 256"));
  EXPECT_THAT(error_with("i32", "-1"), HasSubstr("its last offset is -1"));
}

TEST_F(BindTest, ScalarsHaveTheirType) {
  const auto value_of = [&](const char* dtype, const char* expression) {
    spec_.arguments[4].dtype = dtype;
    spec_.arguments[4].value = parsed(expression);
    const auto workload = bind_workload(spec_, spec_.problems[0], {}, {});
    return workload.ok() ? to_string(workload->parameters[4].value) : workload.error().sentence();
  };
  EXPECT_EQ(value_of("f32", "d"), "4096.0");
  EXPECT_EQ(value_of("f32", "1.0 / d"), "0.000244140625");
  EXPECT_EQ(value_of("i64", "1 << 40"), "1099511627776");
  EXPECT_EQ(value_of("bool", "d > 1"), "true");
  EXPECT_EQ(value_of("u8", "255"), "255");
  EXPECT_THAT(value_of("i32", "1 << 40"), HasSubstr("1099511627776 does not fit i32"));
  EXPECT_THAT(value_of("u32", "-1"), HasSubstr("-1 does not fit u32"));
  EXPECT_THAT(value_of("i8", "128"), HasSubstr("does not fit i8"));
  EXPECT_THAT(value_of("i32", "0.5"), HasSubstr("0.5"));
  EXPECT_THAT(value_of("i32", "d / (d - 4096)"),
              HasSubstr("d: expression \"d / (d - 4096)\": division by zero"));
}

TEST_F(BindTest, DefaultsAreWhatTheRawKernelDoes) {
  EXPECT_EQ(*default_knobs(bind()), (KnobValues{Value{std::int64_t{512}}, Value{std::int64_t{4}},
                                                Value{false}, Value{std::int64_t{1}}}));
  EXPECT_EQ(default_knobs(bind({{"T", "f32"}}))->at(0), Value{std::int64_t{1024}});
  EXPECT_EQ(default_knobs(bind({}, 1))->at(0), Value{std::int64_t{256}});
  // A real division that comes out even is the listed integer.
  spec_.knobs[1].default_value = *Expression::parse("8 / 2", Dialect::python);
  EXPECT_EQ(default_knobs(bind())->at(1), Value{std::int64_t{4}});
  spec_.knobs[0].default_value = parsed("d / (n - 1)");
  const auto failed = default_knobs(bind());
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().sentence(),
              HasSubstr("the default of BLOCK: expression \"d / (n - 1)\": division by zero"));
}

TEST_F(BindTest, LaunchesOverDimensionsTypesAndKnobs) {
  const Workload workload = bind({}, 2);
  const auto launch =
      bind_launch(spec_.kernel.launch, workload,
                  {Value{std::int64_t{128}}, Value{std::int64_t{4}}, Value{false}, Value{std::int64_t{1}}});
  ASSERT_TRUE(launch.ok()) << launch.error().sentence();
  EXPECT_THAT(launch->grid, ElementsAre(7, 1, 1));
  EXPECT_THAT(launch->block, ElementsAre(128, 1, 1));
  EXPECT_EQ(launch->shared_bytes, 256u);
  const auto raw = bind_launch(spec_.reference.launch, workload, {});
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  EXPECT_THAT(raw->block, ElementsAre(1024, 1, 1));
}

TEST_F(BindTest, LaunchesStayWithinTheDevice) {
  const auto error_of_launch = [&](const char* grid, const char* block, const char* shared) {
    LaunchGeometry geometry;
    geometry.grid[1] = parsed(grid);
    geometry.block = {parsed(block), parsed("2"), parsed("1")};
    geometry.shared_bytes = parsed(shared);
    const auto launch = bind_launch(geometry, bind(), {});
    return launch.ok() ? "" : launch.error().sentence();
  };
  limits_ = {{"device.max_threads_per_block", Value{std::int64_t{1024}}},
             {"device.max_grid_y", Value{std::int64_t{65535}}},
             {"device.max_block_x", Value{std::int64_t{1024}}},
             {"device.shared_per_block_optin", Value{std::int64_t{232448}}}};
  EXPECT_EQ(error_of_launch("65535", "512", "232448"), "");
  EXPECT_THAT(error_of_launch("65536", "512", "0"),
              HasSubstr("grid y: \"65536\" is 65536: the limit is 65535"));
  EXPECT_THAT(error_of_launch("0", "512", "0"), HasSubstr("grid y: \"0\" is 0: it must be at least 1"));
  EXPECT_THAT(error_of_launch("1", "1025", "0"), HasSubstr("block x: \"1025\" is 1025: the limit is 1024"));
  EXPECT_THAT(error_of_launch("1", "1024", "0"), HasSubstr("block: 2048 threads: the limit is 1024"));
  EXPECT_THAT(error_of_launch("1", "1", "232449"),
              HasSubstr("dynamic shared memory: \"232449\" is 232449: the limit"));
  EXPECT_THAT(error_of_launch("1", "1", "-1"), HasSubstr("it must be at least 0"));
  EXPECT_THAT(error_of_launch("BLOK", "1", "0"), HasSubstr("\"BLOK\" is unknown"));
  EXPECT_THAT(error_of_launch("n / 0", "1", "0"), HasSubstr("division by zero"));
  // Three huge extents must not wrap around to a small number of threads.
  limits_.erase("device.max_block_x");
  EXPECT_THAT(error_of_launch("1", "2147483647", "0"), HasSubstr("threads: the limit is 1024"));
}

TEST_F(BindTest, InstancesAreNamesOfCxx) {
  const KnobValues knobs{Value{std::int64_t{256}}, Value{std::int64_t{8}}, Value{true},
                         Value{std::int64_t{2}}};
  EXPECT_EQ(*bind_instance(spec_.kernel, bind(), knobs), "act_and_mul_kernel<__nv_bfloat16, 256, 8, true>");
  EXPECT_EQ(*bind_instance(spec_.reference, bind({{"T", "f32"}}), {}), "act_and_mul_kernel<float>");
  KernelSource source;
  source.instance = "ns::k<{T}, {d}, {VEC}{VEC}, Pair{1, 2}>"; // braces of C++ stay
  EXPECT_EQ(*bind_instance(source, bind({{"T", "f16"}}), knobs), "ns::k<__half, 4096, 88, Pair{1, 2}>");
  source.instance = "k<{VECS}>";
  const auto unknown = bind_instance(source, bind(), knobs);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().sentence(), HasSubstr("the name {VECS} is unknown: did you mean VEC?"));
  EXPECT_FALSE(bind_instance(spec_.kernel, bind(), {Value{true}}).ok()); // too few values
}

// The size where the knob is 1, the template's own mark for "an argument" where it is 0.
TEST_F(BindTest, AKnobsSizeIsPartOfTheInstance) {
  Knob fixed;
  fixed.name = "FIXED_D";
  fixed.kind = KnobKind::size;
  fixed.values = {Value{std::int64_t{0}}, Value{std::int64_t{1}}};
  fixed.default_value = parsed("0");
  fixed.size = parsed("d / 2");
  spec_.knobs = {fixed};
  KernelSource source;
  source.instance = "k<{T}, {FIXED_D}>";
  const auto instance = [&](std::int64_t value, std::size_t problem) {
    return *bind_instance(source, bind({}, problem), {Value{value}});
  };
  EXPECT_EQ(instance(0, 0), "k<__nv_bfloat16, 0>");
  EXPECT_EQ(instance(1, 0), "k<__nv_bfloat16, 2048>");
  EXPECT_EQ(instance(1, 2), "k<__nv_bfloat16, 4096>");
  spec_.knobs[0].size = parsed("d / (d - d)");
  const auto faulty = bind_instance(source, bind(), {Value{std::int64_t{1}}});
  ASSERT_FALSE(faulty.ok());
  EXPECT_THAT(faulty.error().sentence(), HasSubstr("the size of FIXED_D"));
}

// A raw side of two kernels: the launcher's choice where nothing is configured, else the knob's.
TEST_F(BindTest, TheRawSideMayBeSeveralKernels) {
  Knob choice;
  choice.name = "KERNEL";
  choice.values = {Value{std::int64_t{1}}, Value{std::int64_t{2}}};
  choice.default_value = parsed("n >= device.multiprocessors * 2 ? 1 : 2");
  spec_.knobs.push_back(choice);
  spec_.reference.instance = "KERNEL == 1 ? many<{T}> : few<{T}>";
  spec_.reference.launch.grid[0] = parsed("KERNEL == 1 ? ceil_div(n, 8) : n");
  limits_ = {{"device.multiprocessors", Value{std::int64_t{32}}}};
  Problem problem = spec_.problems[0];
  const auto raw = [&](std::int64_t n, const KnobValues& knobs) {
    problem.dimensions["n"] = n;
    const auto workload = bind_workload(spec_, problem, {}, limits_);
    const auto instance = bind_instance(spec_.reference, *workload, knobs);
    const auto launch = bind_launch(spec_.reference.launch, *workload, knobs);
    return instance.ok() && launch.ok() ? *instance + " " + std::to_string(launch->grid[0])
                                        : std::string("fails");
  };
  EXPECT_EQ(raw(63, {}), "few<__nv_bfloat16> 63");
  EXPECT_EQ(raw(64, {}), "many<__nv_bfloat16> 8");
  KnobValues knobs{Value{std::int64_t{128}}, Value{std::int64_t{4}}, Value{false}, Value{std::int64_t{1}},
                   Value{std::int64_t{1}}};
  EXPECT_EQ(raw(63, knobs), "many<__nv_bfloat16> 8");
  knobs.back() = Value{std::int64_t{2}};
  EXPECT_EQ(raw(64, knobs), "few<__nv_bfloat16> 64");
  limits_.clear(); // of a device that is not known, the launcher's choice is not known
  EXPECT_EQ(raw(64, {}), "fails");
  EXPECT_EQ(raw(64, knobs), "few<__nv_bfloat16> 64");

  const auto back = parse_spec(format_spec(spec_, path_), path_, {.check_template = false});
  ASSERT_TRUE(back.ok()) << back.error().sentence();
  EXPECT_EQ(back->reference.instance, spec_.reference.instance);
  EXPECT_EQ(back->reference.launch.grid[0].text(), spec_.reference.launch.grid[0].text());
  // Which raw kernel runs is a flag's to say, not a vector's.
  spec_.reference.instance = "VEC == 1 ? many<{T}> : few<{T}>";
  const auto refused = parse_spec(format_spec(spec_, path_), path_, {.check_template = false});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().sentence(), HasSubstr("Reference.Instance: the knob VEC has no value there"));
  spec_.reference.instance = "KERNEL == 1 ? many<{T}>";
  const auto missing = parse_spec(format_spec(spec_, path_), path_, {.check_template = false});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().sentence(), HasSubstr("a choice has no second kernel"));
}

// A comparison within an argument is no bracket, and what it chooses is the compiler's business.
TEST_F(BindTest, ArgumentsMayCompare) {
  spec_.reference.instance =
      "ns::one<true, ((16 / sizeof({T})) > ((128) / 32) ? 8 : 4), (1 < 2 ? 3 : 4), {T}>";
  const auto workload = bind_workload(spec_, spec_.problems[0], {}, limits_);
  ASSERT_TRUE(workload.ok());
  const auto instance = bind_instance(spec_.reference, *workload, {});
  ASSERT_TRUE(instance.ok()) << instance.error().sentence();
  EXPECT_EQ(*instance,
            "ns::one<true, ((16 / sizeof(__nv_bfloat16)) > ((128) / 32) ? 8 : 4), (1 < 2 ? 3 : 4), "
            "__nv_bfloat16>");
}

TEST(Dtypes, HaveSizesAndNames) {
  const std::map<std::string, std::pair<int, std::string>> expected{
      {"f64", {8, "double"}},         {"f32", {4, "float"}},          {"f16", {2, "__half"}},
      {"bf16", {2, "__nv_bfloat16"}}, {"e4m3", {1, "__nv_fp8_e4m3"}}, {"e5m2", {1, "__nv_fp8_e5m2"}},
      {"bool", {1, "bool"}}};
  for (const auto& [dtype, facts] : expected) {
    EXPECT_EQ(dtype_size(dtype), facts.first) << dtype;
    EXPECT_EQ(dtype_cxx(dtype), facts.second) << dtype;
  }
  EXPECT_EQ(dtype_names().size(), 15u);
  for (const std::string& dtype : dtype_names()) {
    const char kind = dtype[0];
    if ((kind == 'i' || kind == 'u') && dtype != "u8" && dtype != "i8") {
      EXPECT_EQ(dtype_size(dtype) * 8, std::stoi(dtype.substr(1)));
    }
  }
  EXPECT_EQ(dtype_size("fp32"), 0);
  EXPECT_EQ(dtype_cxx("fp32"), "");
  for (const char* kind :
       {"block", "tile", "unroll", "vector", "coarsen", "occupancy", "stage", "cache", "size", "flag"})
    EXPECT_EQ(to_string(*parse_knob_kind(kind)), kind);
  EXPECT_EQ(parse_knob_kind("blocks"), std::nullopt);
}

} // namespace
} // namespace lathe
