// What checked kernels are watched for besides their accesses: a thread's own arrays, what was never written,
// races that no order of threads has to show, and code that never ran.
#include "tests/tuner/measure/host_executor/support.h"

#include <gmock/gmock.h>

namespace lathe::testing {
namespace {

using ::testing::HasSubstr;

std::string body(const std::string& statements) {
  return "__global__ void k(float* out, const float* in, int n) {\n" + statements + "\n}";
}

// k(out, in, n) over 256 floats each.
HostRunResult watched(const std::string& source, const Launch& launch, HostRunOptions options = {}) {
  const HostKernel kernel = compile(source, checked());
  auto out = HostBuffer::allocate(256 * sizeof(float)), in = HostBuffer::allocate(256 * sizeof(float));
  EXPECT_TRUE(out.ok() && in.ok());
  for (int i = 0; i < 256; ++i)
    in->as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
  options.find_races = true;
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(256)};
  auto result = kernel.run_isolated(launch, arguments, options);
  EXPECT_TRUE(result.ok());
  return result.ok() ? *result : HostRunResult{};
}

std::string race(const HostRunResult& result) {
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
  return result.races.empty() ? "" : result.races[0].text + " of " + result.races[0].place;
}

TEST(Work, IsCountedAndNotTimed) {
  const std::string text =
      body("for (int i = threadIdx.x; i < n; i += 32) { out[i] = in[i]; __syncwarp(); }");
  HostRunOptions options;
  const auto once = watched(text, shape(1, 32), options);
  EXPECT_GE(once.work, 2u * 256);
  options.schedule = HostSchedule::random;
  EXPECT_EQ(watched(text, shape(1, 32), options).work, once.work);
  EXPECT_EQ(watched(text, shape(3, 32), options).work, 3 * once.work);
}

TEST(Work, OfALoopThatTouchesNoMemoryIsTimed) {
  const auto spun =
      watched(body("unsigned x = n; for (unsigned long long i = 0; i < 4000000000ull && x; ++i)\n"
                   "  x = x * 1664525u + 1013904223u | 1u;\nout[0] = static_cast<float>(x);"),
              shape(1, 1));
  ASSERT_EQ(spun.outcome, Outcome::ok) << spun.reason;
  EXPECT_GE(spun.work, 5'000'000u);
}

TEST(Work, EndsARunBetweenTwoBlocksWhereItIsLimited) {
  const std::string text = body("out[blockIdx.x] = in[blockIdx.x];");
  HostRunOptions options;
  const auto whole = watched(text, shape(8, 1), options);
  EXPECT_FALSE(whole.is_cut_short);
  options.work_limit = whole.work / 2;
  const auto part = watched(text, shape(8, 1), options);
  EXPECT_EQ(part.outcome, Outcome::ok) << part.reason;
  EXPECT_TRUE(part.is_cut_short);
  EXPECT_LT(part.work, whole.work);
  EXPECT_GE(part.work, whole.work / 2);
  options.work_limit = whole.work;
  EXPECT_FALSE(watched(text, shape(8, 1), options).is_cut_short) << "just so much is not more";
}

TEST(LocalVariables, WriteBehindAnArray) {
  const auto result = watched(body("float a[4]; for (int i = 0; i < 4; ++i) a[i] = in[i]; float* p = a; p[n "
                                   "/ 64] = 7.f; out[0] = a[n % 4];"),
                              shape(1, 1));
  EXPECT_THAT(result.reason, HasSubstr("outside a local variable"));
}

TEST(LocalVariables, WriteBehindAnArrayAtAConstantIndex) {
  const auto result =
      watched(body("float a[4]; for (int i = 0; i < 4; ++i) a[i] = in[i];\n"
                   "#pragma unroll\nfor (int i = 0; i < 4; ++i) (a + 1)[i] = in[i] * 2.f; out[0] = a[3];"),
              shape(1, 1));
  EXPECT_THAT(result.reason, HasSubstr("outside a local variable"));
}

TEST(LocalVariables, WriteThroughAVectorBehindAnArray) {
  const auto result =
      watched(body("alignas(16) float a[6]; *reinterpret_cast<float4*>(a + 4) = make_float4(in[0], 1, 2, 3);"
                   " out[0] = a[4];"),
              shape(1, 1));
  EXPECT_THAT(result.reason, HasSubstr("outside a local variable"));
}

// Beyond all that the thread has, or in what was another function's.
TEST(LocalVariables, AccessesFarOutsideAnArrayThroughAPointer) {
  const std::string place = "__device__ __noinline__ void place(long* at, const long* order, long value) {\n"
                            "  at[order[0]] = value; at[order[1]] = value + 1; at[order[2]] = value + 2;\n}\n"
                            "__device__ __noinline__ long look(const long* at, int i) { return at[i]; }\n";
  for (const char* const index : {"64", "-64", "4000", "-4000", "40000"})
    for (const char* const access : {"place(at, order, n);", "out[1] = look(at, order[1]);"}) {
      const auto result =
          watched(place + body(std::string("long at[3] = {1, 2, 3};\n"
                                           "long order[3] = {0, ") +
                               index + " * (n / 256), 2};\n" + access + "\nout[0] = at[0] + at[1];\n"),
                  shape(1, 2));
      EXPECT_NE(result.outcome, Outcome::ok) << index << access;
      EXPECT_THAT(result.reason, HasSubstr("local variable")) << index << access;
    }
  const auto result = watched(place + body("long at[3] = {1, 2, 3};\nlong order[3] = {2, 0, 1};\n"
                                           "place(at, order, n);\nout[threadIdx.x] = at[0];"),
                              shape(1, 64));
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
}

// Where the function is inlined, nothing tells others of the access: the array is the thread's alone.
TEST(LocalVariables, AccessesOutsideAnArrayInFunctionsThatAreInlined) {
  const std::string functions =
      "__device__ __forceinline__ void place(long* at, int i, long value) { at[i] = value; }\n"
      "__device__ __forceinline__ long look(const long* at, int i) { return at[i]; }\n"
      "struct Place { long at[3]; __device__ __forceinline__ long& operator[](int i) { return (&at[0])[i]; } "
      "};\n"
      "template <int I> __device__ __forceinline__ long fixed(const long* at) { return at[I]; }\n"
      "__device__ __forceinline__ long4 four(const long* at) { return *reinterpret_cast<const long4*>(at); "
      "}\n";
  const auto run = [&](const std::string& statements) {
    return watched(functions +
                       body("alignas(32) long at[3] = {1, 2, 3}; Place place_{{1, 2, 3}};\n" + statements),
                   shape(1, 2));
  };
  for (const char* const index : {"3", "-1", "-4000", "(1 << 29)"}) {
    const std::string number = std::string(index) + " * (n / 256)";
    for (const std::string& access :
         {"place(at, " + number + ", n); out[0] = at[0];", "out[0] = look(at, " + number + ");",
          "place_[" + number + "] = n; out[0] = place_[0];",
          "out[0] = look(place_.at + 1, " + number + " - 1);",
          std::string("out[0] = fixed<") + index + ">(at);"}) {
      const auto result = run(access);
      EXPECT_NE(result.outcome, Outcome::ok) << access;
      EXPECT_THAT(result.reason, HasSubstr("outside a local variable")) << access;
    }
  }
  EXPECT_THAT(run("out[0] = four(at).x;").reason, HasSubstr("outside a local variable"));
  const auto result = run("for (int i = 0; i < 3; ++i) { place(at, (i + n) % 3, look(at, i) + place_[i]); }\n"
                          "out[threadIdx.x] = fixed<2>(at) + look(at + 2, -2) + *(at + n % 3);\n"
                          "for (long* p = at; p != at + 3; ++p) out[threadIdx.x] += *p;");
  EXPECT_EQ(result.outcome, Outcome::ok) << result.reason;
}

// What packs small numbers into words may read a number as a word, as long as it takes no more than the
// number from it.
TEST(LocalVariables, WordsOfWhichOnlyTheNumberIsUsed) {
  const auto reads = [](const std::string& mask) {
    return watched(body("alignas(4) unsigned short own[3] = {1, 2, 3};\n"
                        "const unsigned* words = reinterpret_cast<const unsigned*>(own);\n"
                        "out[0] = words[n / 256] & " +
                        mask + ";"),
                   shape(1, 1));
  };
  const auto low = reads("0xffffu");
  EXPECT_EQ(low.outcome, Outcome::ok) << low.reason;
  for (const char* mask : {"0x1ffffu", "0xffff0000u", "n"})
    EXPECT_THAT(reads(mask).reason, HasSubstr("outside a local variable")) << mask;
}

TEST(LocalVariables, UninitialisedOnesHoldThePoison) {
  const std::string source = body("float a[4]; if (n > 1000) a[2] = 1.f; out[0] = a[2];");
  const HostKernel kernel = compile(source, checked());
  auto out = HostBuffer::allocate(16), in = HostBuffer::allocate(16);
  ASSERT_TRUE(out.ok() && in.ok());
  for (const unsigned poison : {0x5bu, 0x11u}) {
    HostRunOptions options;
    options.local_poison = static_cast<std::byte>(poison);
    const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                              HostArgument::scalar(4)};
    ASSERT_TRUE(kernel.run_isolated(shape(1, 1), arguments, options).ok());
    EXPECT_EQ(out->as<std::uint32_t>()[0], poison * 0x01010101u);
  }
}

TEST(Globals, EveryRunBeginsWithWhatTheyHeldAtFirst) {
  const HostKernel kernel = compile(R"(
__device__ unsigned taken;
__device__ int table[3] = {4, 5, 6};
__global__ void k(unsigned* out) {
  static unsigned calls = 7;
  *out = 100 * atomicAdd(&taken, 1u) + 10 * table[1]++ + calls++;
})",
                                    checked());
  for (int run = 0; run < 2; ++run) {
    auto out = HostBuffer::allocate(sizeof(unsigned));
    ASSERT_TRUE(out.ok());
    const auto result = kernel.run(shape(1, 1), std::vector{HostArgument::of(*out, "out")}, {});
    ASSERT_TRUE(result.ok()) << result.error().sentence();
    EXPECT_EQ(out->as<unsigned>()[0], 57u) << "run " << run;
  }
}

TEST(SharedVariables, OneDoesNotReachTheNext) {
  const auto result =
      watched(body("__shared__ float a[8]; __shared__ float b[8]; a[threadIdx.x] = b[threadIdx.x] = 0;"
                   " __syncthreads(); float* p = a; p[threadIdx.x + n / 256] = 1; out[0] = a[1] + b[0];"),
              shape(1, 8));
  EXPECT_THAT(result.reason, HasSubstr("static shared memory"));
}

TEST(Races, AMissingBarrierShowsInAnyOrder) {
  EXPECT_EQ(race(watched(body("__shared__ float s[64]; s[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
                              " out[threadIdx.x] = s[63 - threadIdx.x];"),
                         shape(1, 64))),
            "");
  EXPECT_THAT(race(watched(body("__shared__ float s[64]; s[threadIdx.x] = in[threadIdx.x];"
                                " out[threadIdx.x] = s[63 - threadIdx.x];"),
                           shape(1, 64))),
              HasSubstr("shared memory"));
}

TEST(Barriers, InDifferentLinesMeetWhereArrivalsAreCounted) {
  const std::string text = body("__shared__ float s[32];\n"
                                "if (threadIdx.x < 32) { s[threadIdx.x] = in[threadIdx.x];\n"
                                " __syncthreads(); return; }\n"
                                "__syncthreads();\n"
                                "out[threadIdx.x - 32] = s[63 - threadIdx.x];");
  HostRunOptions options;
  const HostRunResult strict = watched(text, shape(1, 64), options);
  EXPECT_NE(strict.outcome, Outcome::ok);
  EXPECT_THAT(strict.reason, HasSubstr(DIVERGENT_BARRIER));
  options.barriers_by_count = true;
  EXPECT_EQ(race(watched(text, shape(1, 64), options)), "");
}

TEST(Races, AMissingSecondBarrier) {
  const auto loop = [](const std::string& barrier) {
    return body("__shared__ float s[64]; float sum = 0; for (int r = 0; r < 2; ++r) { s[threadIdx.x] = "
                "in[threadIdx.x + r];"
                " __syncthreads(); sum += s[63 - threadIdx.x]; " +
                barrier + " } out[threadIdx.x] = sum;");
  };
  EXPECT_EQ(race(watched(loop("__syncthreads();"), shape(1, 64))), "");
  EXPECT_THAT(race(watched(loop(""), shape(1, 64))), HasSubstr("shared memory"));
}

TEST(Races, WithinAWarpOnlySyncwarpOrders) {
  const auto exchange = [](const std::string& between) {
    return body("__shared__ float s[64]; const int lane = threadIdx.x % 32, first = threadIdx.x - lane;"
                " s[threadIdx.x] = in[threadIdx.x]; " +
                between + " out[threadIdx.x] = s[first + (lane + 1) % 32];");
  };
  EXPECT_EQ(race(watched(exchange("__syncwarp();"), shape(1, 64))), "");
  EXPECT_THAT(race(watched(exchange(""), shape(1, 64))), HasSubstr("shared memory"));
  EXPECT_THAT(
      race(watched(exchange("float v = __shfl_xor_sync(~0u, 1.f, 1); if (v < 0) return;"), shape(1, 64))),
      HasSubstr("shared memory"));
}

TEST(Races, OneValueFromAllIsNone) {
  EXPECT_EQ(race(watched(body("__shared__ float s; s = in[0]; out[threadIdx.x] = s;"), shape(1, 64))), "");
}

// Another thread writes what was there by chance: a reader beside it may see another value on other data.
// Bytes that were accessed together so far, and the first that is accessed alone.
TEST(Races, AreSeenWhateverTheWidths) {
  EXPECT_EQ(race(watched(body("reinterpret_cast<unsigned char*>(out)[threadIdx.x] = threadIdx.x + 1;"),
                         shape(1, 128))),
            "")
      << "neighbours";
  EXPECT_EQ(race(watched(body("reinterpret_cast<float4*>(out)[threadIdx.x] = make_float4(1, 2, 3, 4);\n"
                              "__syncthreads();\n"
                              "reinterpret_cast<char*>(out)[threadIdx.x] = 9;"),
                         shape(1, 64))),
            "")
      << "a barrier lies between";
  for (const char* const narrow : {"char", "short", "int", "double"})
    for (const bool wide_first : {true, false}) {
      const std::string
          wide = "if (threadIdx.x == 0) *reinterpret_cast<float4*>(out) = make_float4(1, 2, 3, 4);\n",
          one = std::string("if (threadIdx.x == 40) reinterpret_cast<") + narrow + "*>(out)[1] = 77;\n";
      EXPECT_THAT(race(watched(body(wide_first ? wide + one : one + wide), shape(1, 64))),
                  HasSubstr("two writes by threads"))
          << narrow << wide_first;
    }
  EXPECT_EQ(race(watched(body("if (threadIdx.x == 0) reinterpret_cast<short*>(out)[0] = 1;\n"
                              "if (threadIdx.x == 40) reinterpret_cast<char*>(out)[2] = 1;\n"
                              "if (threadIdx.x == 50) reinterpret_cast<int*>(out)[1] = 1;"),
                         shape(1, 64))),
            "")
      << "beside each other";
}

// One leaves a byte of the number as the other made it.
TEST(Races, TwoNumbersThatShareAByteAreTwoNumbers) {
  EXPECT_THAT(race(watched(body("int* p = reinterpret_cast<int*>(out);\n"
                                "if (threadIdx.x == 0) p[0] = 0x01020304;\n"
                                "if (threadIdx.x == 40) p[0] = 0x01020305;"),
                           shape(1, 64))),
              HasSubstr("two writes by threads"));
}

TEST(Races, OfEqualWritesWhereTheyCount) {
  const auto twice = [](const std::string& between) {
    return body("__shared__ float s; float sum = 0; for (int r = 0; r < 2; ++r) { if (threadIdx.x == 0) s = "
                "in[0]; __syncthreads(); sum += s; " +
                between + " } out[threadIdx.x] = sum;");
  };
  HostRunOptions options;
  EXPECT_EQ(race(watched(twice(""), shape(1, 64), options)), "");
  options.equal_writes_race = true;
  EXPECT_THAT(race(watched(twice(""), shape(1, 64), options)), HasSubstr("shared memory"));
  EXPECT_EQ(race(watched(twice("__syncthreads();"), shape(1, 64), options)), "");
}

// A copy that is under way writes whenever it likes, though here it arrives where it is waited for.
TEST(Races, ACopyWritesFromWhereItIsIssued) {
  const auto stages = [](const std::string& issued_before, const std::string& issued_behind) {
    return "#include <cuda_pipeline.h>\n" +
           body("__shared__ float s[2][64]; const int t = threadIdx.x; float sum = 0;\n"
                "const auto stage = [&](int r) { __pipeline_memcpy_async(&s[r % 2][t], in + (r * 64 + t) % "
                "n, 4); "
                "__pipeline_commit(); };\n"
                "stage(0);\n"
                "for (int r = 0; r < 4; ++r) { " +
                issued_before + " __pipeline_wait_prior(" + (issued_before.empty() ? "0" : "1") +
                "); __syncthreads(); " + issued_behind + " sum += s[r % 2][63 - t]; }\nout[t] = sum;");
  };
  EXPECT_EQ(race(watched(stages("", "stage(r + 1);"), shape(1, 64))), "");
  EXPECT_THAT(race(watched(stages("stage(r + 1);", ""), shape(1, 64))), HasSubstr("shared memory"));
}

TEST(Loops, SayWhetherTheyWentOnWhereThreadsExchangeSomething) {
  const auto loops = [](int rounds) {
    return watched(body("__shared__ float s[64]; float sum = 0;\n"
                        "for (int r = 0; r < " +
                        std::to_string(rounds) +
                        " * n / 256; ++r) {\n"
                        "s[threadIdx.x] = in[threadIdx.x + r]; __syncthreads();\n"
                        "for (int i = 0; i < 2; ++i) sum += s[63 - threadIdx.x];\n"
                        "__syncthreads(); }\n"
                        "for (int i = 0; i < n / 64; ++i) sum += in[i];\n"
                        "out[threadIdx.x] = sum;"),
                   shape(1, 64))
        .loops;
  };
  // Not the loop of two rounds, nor the one in which each thread is alone.
  for (const int rounds : {2, 3}) {
    const std::vector<HostLoop> found = loops(rounds);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].line, 3u);
    EXPECT_EQ(found[0].went_on, rounds == 3);
  }
}

TEST(Races, BetweenBlocks) {
  const auto result = watched(body("out[threadIdx.x] = in[blockIdx.x];"), shape(2, 8));
  ASSERT_FALSE(result.races.empty());
  EXPECT_TRUE(result.races[0].between_blocks);
  EXPECT_THAT(result.races[0].place, HasSubstr("out"));
  EXPECT_EQ(race(watched(body("atomicAdd(out, in[blockIdx.x]);"), shape(2, 8))), "");
}

TEST(Blocks, MayRunLastFirst) {
  HostRunOptions options;
  options.reverse_blocks = true;
  const std::string source = body("out[0] = static_cast<float>(blockIdx.x);");
  const HostKernel kernel = compile(source, checked());
  auto out = HostBuffer::allocate(16), in = HostBuffer::allocate(16);
  ASSERT_TRUE(out.ok() && in.ok());
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(4)};
  ASSERT_TRUE(kernel.run_isolated(shape(5, 1), arguments, options).ok());
  EXPECT_EQ(out->as<float>()[0], 0.f);
}

TEST(Blocks, MayBeAFewOfAHugeLaunch) {
  constexpr std::uint64_t ELEMENTS = (std::uint64_t{1} << 32) + 1000;
  const std::string source = "extern \"C\" __global__ void k(float* out, const float* in, long long n) {\n"
                             "const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;\n"
                             "if (i < n) out[i] = 1 + in[i];\n}";
  const HostKernel kernel = compile(source, checked());
  auto out = HostBuffer::allocate_sparse(ELEMENTS * sizeof(float)),
       in = HostBuffer::allocate_sparse(ELEMENTS * sizeof(float));
  ASSERT_TRUE(out.ok() && in.ok()) << (out.ok() ? in : out).error().sentence();
  const std::vector<HostArgument> arguments{HostArgument::of(*out, "out"), HostArgument::of(*in, "in"),
                                            HostArgument::scalar(static_cast<long long>(ELEMENTS))};
  constexpr std::uint64_t BLOCKS = (ELEMENTS + 255) / 256;
  HostRunOptions options;
  options.blocks = {0, BLOCKS - 1};
  const auto result = kernel.run_isolated(shape(BLOCKS, 256), arguments, options);
  ASSERT_TRUE(result.ok()) << result.error().sentence();
  EXPECT_EQ(result->outcome, Outcome::ok) << result->reason;
  EXPECT_FALSE(out->damage());
  const auto elements = out->as<float>();
  EXPECT_EQ(elements[0], 1.f);
  EXPECT_EQ(elements[255], 1.f);
  EXPECT_EQ(elements[256], 0.f);
  EXPECT_EQ(elements[ELEMENTS - 1], 1.f);
  const auto touched = out->touched();
  ASSERT_TRUE(touched.ok()) << touched.error().sentence();
  ASSERT_EQ(touched->size(), 2u);
  EXPECT_EQ(touched->front().begin, 0);
  EXPECT_LT(touched->front().end, 8192);
  EXPECT_EQ(touched->back().end, static_cast<std::int64_t>(ELEMENTS * sizeof(float)));

  options.blocks = {BLOCKS};
  const auto none = kernel.run_isolated(shape(BLOCKS, 256), arguments, options);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->reason, "the launch has no block " + std::to_string(BLOCKS));
  EXPECT_FALSE(HostBuffer::allocate(16)->touched().ok());
}

TEST(Reached, SaysWhichBranchesRan) {
  const std::string source = body("if (n > 1000)\nout[0] = 1;\nelse\nout[0] = 2;");
  const HostKernel kernel = compile(source, checked());
  const auto result = watched(source, shape(1, 1));
  ASSERT_EQ(result.reached.size(), kernel.places().size());
  std::vector<unsigned> never;
  for (std::size_t i = 0; i < result.reached.size(); ++i)
    if (!result.reached[i])
      never.push_back(kernel.places()[i].line);
  ASSERT_FALSE(never.empty());
  EXPECT_THAT(never, ::testing::Each(3u));
}

} // namespace
} // namespace lathe::testing
