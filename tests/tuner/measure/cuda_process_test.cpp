// The backend and its runner process, with runners that misbehave in place of the real one: no device needed.
#include "tuner/base/files.h"
#include "tuner/measure/cuda_backend.h"
#include "tuner/measure/cuda_protocol.h"
#include "tuner/measure/runner_process.h"
#include "tuner/measure/side_runner.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <thread>

namespace lathe {
namespace {

std::string fake_runner() {
  const char* bin = std::getenv("LATHE_BIN_DIR");
  return std::string(bin ? bin : "bin") + "/fake_runner";
}

class FakeDevice : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create("backend-test");
    ASSERT_TRUE(created.ok());
    folder_.emplace(std::move(*created));
    spec_.name = "copy";
    spec_.dimensions = {"n"};
    Knob knob;
    knob.name = "BLOCK";
    knob.default_value = parse("32");
    spec_.knobs.push_back(knob);
    for (const char* name : {"out", "in"}) {
      Argument argument;
      argument.name = name;
      argument.dtype = "f32";
      argument.direction = name == std::string("out") ? Direction::out : Direction::in;
      argument.count = parse("n");
      spec_.arguments.push_back(argument);
    }
    spec_.kernel.file = folder_->path() / "kernel.cu";
    spec_.kernel.instance = "copy<{BLOCK}>";
    spec_.kernel.launch.grid = {parse("1"), parse("1"), parse("1")};
    spec_.kernel.launch.block = {parse("BLOCK"), parse("1"), parse("1")};
    spec_.kernel.launch.shared_bytes = parse("BLOCK == 256 ? 300000 : 0");
    ASSERT_TRUE(write_file(spec_.kernel.file, R"(
template <int BLOCK> __global__ void copy(float* out, const float* in) {
  static_assert(BLOCK != 288);
  out[threadIdx.x] = in[threadIdx.x];
})")
                    .ok());
    Problem problem;
    problem.dimensions = {{"n", 1024}};
    auto bound = bind_workload(spec_, problem, {}, known_device("sm_90")->limits());
    ASSERT_TRUE(bound.ok()) << bound.error().sentence();
    workload_ = std::move(*bound);
    options_.cache_folder = (folder_->path() / "cache").string();
    options_.time_limit_s = 1;
    options_.jobs = 1;
  }
  static Expression parse(const std::string& text) { return Expression::parse(text).value(); }
  static KnobValues block(std::int64_t threads) { return {Value{std::in_place_type<std::int64_t>, threads}}; }

  std::optional<TemporaryFolder> folder_;
  TuningSpec spec_;
  Workload workload_;
  MeasureOptions options_;
};

TEST_F(FakeDevice, EveryMisbehaviourCostsOneConfiguration) {
  const auto backend = make_backend_with_runner(known_device("sm_90").value(), {fake_runner()});
  const Status prepared = backend->prepare(workload_, options_);
  ASSERT_TRUE(prepared.ok()) << prepared.error().sentence();
  const std::vector<KnobValues> configurations{block(32),  block(96),  block(32),  block(128), block(32),
                                               block(160), block(32),  block(192), block(32),  block(224),
                                               block(32),  block(256), block(288), block(2048)};
  const auto measured = backend->evaluate(configurations, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  const std::vector<std::pair<Outcome, const char*>> expected{
      {Outcome::ok, ""},
      {Outcome::crashed, "signal 11"},
      {Outcome::ok, ""},
      {Outcome::crashed, "damaged answer"},
      {Outcome::ok, ""},
      {Outcome::runtime_error, "made up"},
      {Outcome::ok, ""},
      {Outcome::crashed, "exit code 0"},
      {Outcome::ok, ""},
      {Outcome::crashed, "exit code 7"},
      {Outcome::ok, ""},
      {Outcome::resource_limit, "shared memory"},
      {Outcome::compile_error, "static assertion"},
      {Outcome::resource_limit, ""},
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(to_string((*measured)[i].outcome), to_string(expected[i].first))
        << i << ": " << (*measured)[i].reason;
    EXPECT_NE((*measured)[i].reason.find(expected[i].second), std::string::npos) << (*measured)[i].reason;
  }
  EXPECT_GT((*measured)[0].resources.registers, 0);
  EXPECT_GT((*measured)[0].occupancy, 0);
}

TEST_F(FakeDevice, AProblemThatCannotBePreparedIsAnError) {
  const auto backend =
      make_backend_with_runner(known_device("sm_90").value(), {fake_runner(), "setup-fails"});
  const Status prepared = backend->prepare(workload_, options_);
  ASSERT_FALSE(prepared.ok());
  EXPECT_NE(prepared.error().sentence().find("made up"), std::string::npos) << prepared.error().sentence();
  const auto missing = make_backend_with_runner(known_device("sm_90").value(), {"/no/such/runner"});
  EXPECT_FALSE(missing->prepare(workload_, options_).ok());
}

TEST_F(FakeDevice, NothingIsMeasuredBeforeAProblemIsPrepared) {
  const auto backend = make_backend_with_runner(known_device("sm_90").value(), {fake_runner()});
  const std::vector<KnobValues> one{block(32)};
  EXPECT_FALSE(backend->evaluate(one, 0).ok());
  EXPECT_FALSE(backend->compare(one[0]).ok());
}

TEST_F(FakeDevice, WhatWasAnnouncedIsMeasuredWhenItIsAskedFor) {
  const auto backend = make_backend_with_runner(known_device("sm_90").value(), {fake_runner()});
  ASSERT_TRUE(backend->prepare(workload_, options_).ok());
  const std::vector<KnobValues> first{block(32), block(512)}, later{block(1024), block(288), block(32)};
  backend->announce(later);
  for (const std::vector<KnobValues>& batch : {first, later, first}) {
    const auto measured = backend->evaluate(batch, 0);
    ASSERT_TRUE(measured.ok()) << measured.error().sentence();
    ASSERT_EQ(measured->size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
      EXPECT_EQ(to_string((*measured)[i].outcome),
                batch[i] == block(288) ? to_string(Outcome::compile_error) : to_string(Outcome::ok))
          << (*measured)[i].reason;
  }
  // Compiling one kernel by itself waits for all that is queued, and loses none of it.
  backend->announce(std::vector<KnobValues>{block(64 * 3 + 448), block(768)});
  EXPECT_FALSE(backend->compare(block(32)).ok()); // the fake answers no comparison
  const auto measured = backend->evaluate(std::vector<KnobValues>{block(768)}, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  EXPECT_EQ((*measured)[0].outcome, Outcome::ok);
  EXPECT_GT(backend->load().evaluate_s, 0);
}

SetupRequest some_setup() {
  SetupRequest setup;
  setup.timing.time_limit_s = 1;
  return setup;
}

RunnerKernel some_kernel(std::uint32_t threads) {
  RunnerKernel kernel;
  kernel.launch.block[0] = threads;
  return kernel;
}

TEST(SideRunner, CountersThatAreDeniedOnceAreDeniedEverAfter) {
  SideRunner runner({fake_runner()});
  const auto seen = runner.profile(some_setup(), some_kernel(32), 1);
  ASSERT_TRUE(seen.ok()) << seen.error().sentence();
  EXPECT_DOUBLE_EQ(seen->dram, 0.5);
  EXPECT_FALSE(
      runner.profile(some_setup(), some_kernel(96), 1).ok()); // the process ended: the next is asked anew
  EXPECT_TRUE(runner.profile(some_setup(), some_kernel(32), 1).ok());
  const auto denied = runner.profile(some_setup(), some_kernel(128), 1);
  ASSERT_FALSE(denied.ok());
  EXPECT_NE(denied.error().sentence().find("not allowed"), std::string::npos) << denied.error().sentence();
  EXPECT_FALSE(runner.profile(some_setup(), some_kernel(32), 1).ok());
}

TEST(SideRunner, ViewsAreJudgedWhereTheRawKernelRunsOnThem) {
  SideRunner runner({fake_runner()});
  EXPECT_TRUE(runner.check_views(some_setup(), "kernel", some_kernel(32), 1).ok());
  for (const std::uint32_t threads : {96u, 160u, 224u}) {
    const Status status = runner.check_views(some_setup(), "kernel", some_kernel(threads), 1);
    ASSERT_FALSE(status.ok()) << threads;
    EXPECT_NE(status.error().sentence().find("one element behind"), std::string::npos);
  }
  EXPECT_TRUE(runner.check_views(some_setup(), "kernel", some_kernel(32), 1).ok());

  SideRunner aligned({fake_runner(), "aligned-only"});
  EXPECT_TRUE(
      aligned.check_views(some_setup(), "kernel", some_kernel(96), 1).ok()); // nothing to hold it against
  EXPECT_TRUE(aligned.profile(some_setup(), some_kernel(32), 1).ok());
}

EvaluateRequest request(std::uint32_t threads) {
  EvaluateRequest result;
  result.kernel.launch.block[0] = threads;
  return result;
}

TEST(RunnerProcess, AHangEndsAtItsLimitAndAnotherStartsAtOnce) {
  RunnerProcess process({fake_runner()});
  ASSERT_TRUE(process.start().ok());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(process.ask(encode(request(64)), 0.3).kind, RunnerProcess::Answer::Kind::timeout);
  EXPECT_FALSE(process.running());
  ASSERT_TRUE(process.start().ok());
  const RunnerProcess::Answer answer = process.ask(encode(request(32)), 5);
  ASSERT_EQ(answer.kind, RunnerProcess::Answer::Kind::reply);
  EXPECT_EQ(decode_evaluate_reply(answer.reply)->timing.median_us, 5);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            4); // not the second's limit
}

TEST(RunnerProcess, SaysHowItsProcessEnded) {
  for (const auto& [threads, ending] : {std::pair{96u, "signal 11"}, {224u, "exit code 7"}}) {
    RunnerProcess process({fake_runner()});
    ASSERT_TRUE(process.start().ok());
    const RunnerProcess::Answer answer = process.ask(encode(request(threads)), 5);
    EXPECT_EQ(answer.kind, RunnerProcess::Answer::Kind::died);
    EXPECT_NE(answer.ending.find(ending), std::string::npos) << answer.ending;
    EXPECT_EQ(process.ask(encode(request(32)), 5).kind, RunnerProcess::Answer::Kind::died);
  }
}

// While another process of the same device works, its neighbour is not asked, and its limit does not run.
TEST(RunnerProcess, ThoseOfOneDeviceTakeTurns) {
  using Clock = std::chrono::steady_clock;
  const auto turns = std::make_shared<std::mutex>();
  RunnerProcess slow({fake_runner()}, turns), neighbour({fake_runner()}, turns), elsewhere({fake_runner()});
  for (RunnerProcess* process : {&slow, &neighbour, &elsewhere})
    ASSERT_TRUE(process->start().ok());
  std::atomic<bool> has_begun{false};
  Clock::time_point slow_ended;
  std::thread first([&] {
    has_begun = true;
    EXPECT_EQ(slow.ask(encode(request(64)), 1).kind, RunnerProcess::Answer::Kind::timeout);
    slow_ended = Clock::now();
  });
  while (!has_begun)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(elsewhere.ask(encode(request(32)), 5).kind, RunnerProcess::Answer::Kind::reply);
  const Clock::time_point elsewhere_ended = Clock::now();
  const RunnerProcess::Answer answer = neighbour.ask(encode(request(32)), 0.5);
  const Clock::time_point neighbour_ended = Clock::now();
  first.join();
  EXPECT_LT(elsewhere_ended, slow_ended);
  EXPECT_EQ(answer.kind, RunnerProcess::Answer::Kind::reply);
  EXPECT_GT(neighbour_ended - elsewhere_ended, std::chrono::milliseconds(300));
  EXPECT_LT(answer.seconds, 0.3);
}

TEST(RunnerProcess, OneThatIsToldToFinishIsWaitedFor) {
  const auto seconds_to_finish = [](std::vector<std::string> command, double limit_s) {
    RunnerProcess process(std::move(command));
    EXPECT_TRUE(process.start().ok());
    const auto start = std::chrono::steady_clock::now();
    process.finish(limit_s);
    EXPECT_FALSE(process.running());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  EXPECT_LT(seconds_to_finish({fake_runner()}, 20), 10); // ends when the socket does
  const double killed_after = seconds_to_finish({"/bin/sleep", "60"}, 0.3);
  EXPECT_GE(killed_after, 0.3);
  EXPECT_LT(killed_after, 10);
}

TEST_F(FakeDevice, ARawKernelThatDiffersFromItselfIsTold) {
  for (const auto& [manner, repeats] : {std::pair{"unsteady", false}, {"setup-fails", true}, {"", true}}) {
    const auto backend = make_backend_with_runner(known_device("sm_90").value(), {fake_runner(), manner});
    EXPECT_EQ(backend->prepare(workload_, options_).ok(), std::string(manner).empty());
    EXPECT_EQ(backend->raw_repeats(), repeats) << manner;
  }
}

// Nothing is timed then: the fake runner refuses setups that ask for it.
TEST_F(FakeDevice, VerifyingAloneAsksForNoTimes) {
  const auto backend =
      make_backend_with_runner(known_device("sm_90").value(), {fake_runner(), "times-nothing"});
  EXPECT_FALSE(backend->prepare(workload_, options_).ok());
  options_.verify_only = true;
  EXPECT_TRUE(backend->prepare(workload_, options_).ok());
  const std::vector<KnobValues> one = {block(32)};
  const auto measured = backend->evaluate(one, 0);
  ASSERT_TRUE(measured.ok()) << measured.error().sentence();
  EXPECT_EQ(measured->front().outcome, Outcome::ok) << measured->front().reason;
  EXPECT_EQ(measured->front().timing.samples, 0);
}

TEST(Protocol, EveryTruncationIsNoticed) {
  SetupRequest setup;
  setup.utilities = "cubin";
  setup.buffers.push_back({"b", element::bf16, Direction::inout, 77, {}, 0.5, 0.25});
  setup.parameters.push_back({false, 0, {1, 2, 3}});
  setup.reference = {"image", "hash", "entry", {{1, 2, 3}, {4, 5, 6}, 7}};
  setup.bytes = 123;
  const std::string bytes = encode(setup);
  const auto whole = decode_setup(bytes);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->buffers[0].count, 77u);
  EXPECT_EQ(whole->parameters[0].value[2], 3);
  EXPECT_EQ(whole->reference.launch.block[1], 5u);
  EXPECT_EQ(whole->bytes, 123);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_setup(std::string_view(bytes).substr(0, size)).has_value()) << size;
}

} // namespace
} // namespace lathe
