// How large buffers are, seen by running the raw kernel.
#include "refactor/app/buffer_inference.h"

#include "refactor/app/subject.h"
#include "refactor/app/traced_kernel.h"
#include "tests/refactor/app/raw_source.h"
#include "tuner/base/files.h"

#include <chrono>
#include <gmock/gmock.h>

namespace lathe::refactor {
namespace {

using testing::HasSubstr;
using testing::Not;

Candidate candidate(const std::string& text, const std::string& grid, const std::string& block,
                    const std::vector<std::string>& dimensions) {
  Candidate raw;
  raw.text = text;
  raw.kernel = raw.instance = "k";
  raw.dimensions = dimensions;
  const auto read = [](const std::string& expression) { return *Expression::parse(expression); };
  raw.launch.grid = {read(grid), read("1"), read("1")};
  raw.launch.block = {read(block), read("1"), read("1")};
  raw.launch.shared_bytes = read("0");
  Argument buffer;
  buffer.name = "x";
  buffer.dtype = "u8";
  buffer.direction = Direction::inout;
  buffer.count = read("0");
  raw.arguments.push_back(buffer);
  for (const std::string& name : dimensions) {
    Argument scalar;
    scalar.name = name;
    scalar.is_buffer = false;
    scalar.dtype = "i32";
    scalar.value = read(name);
    raw.arguments.push_back(scalar);
  }
  return raw;
}

std::string size_of_x(Candidate raw, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw, sizes, {}, "sm_90", notes);
  EXPECT_TRUE(inferred.ok()) << (inferred.ok() ? "" : inferred.error().sentence());
  return raw.arguments.front().count.text();
}

// Rows of a cache that a table of slots says: each its own, or else all threads write to the first.
constexpr const char* SLOTS = R"(
__global__ void k(float* cache, const float* rows, const long* slots, const int* kinds, int n) {
  const long slot = slots[blockIdx.x];
  cache[slot * n + threadIdx.x] = kinds[blockIdx.x] > 0 ? 0 : rows[blockIdx.x * n + threadIdx.x];
}
void launch(float* cache, const float* rows, const long* slots, const int* kinds, int tokens, int n) {
  k<<<tokens, n>>>(cache, rows, slots, kinds, n);
}
)";

TEST(BufferInference, PlacesThatThreadsWriteToDiffer) {
  auto raw = raw_of(SLOTS);
  ASSERT_TRUE(raw.ok()) << raw.error().sentence();
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw->candidate, {{"tokens", 64}, {"n", 64}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  std::map<std::string, Argument> arguments;
  for (const Argument& argument : raw->candidate.arguments)
    arguments[argument.name] = argument;
  EXPECT_EQ(arguments.at("slots").fill.kind, Fill::Kind::permutation);
  EXPECT_EQ(arguments.at("kinds").fill.kind, Fill::Kind::zero);
  EXPECT_EQ(arguments.at("slots").count.text(), "tokens");
  EXPECT_EQ(arguments.at("cache").count.text(), arguments.at("rows").count.text());
  EXPECT_THAT(notes, testing::Contains(HasSubstr("slots holds each number below its length once")));
}

constexpr const char* SQUARE = R"(
__global__ void k(unsigned char* x, int n) {
  const long row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n) x[row * n + n - 1] = 1;
}
)";

TEST(BufferInference, OneLargeSizeWhoseSquareIsTooMuch) {
  EXPECT_EQ(size_of_x(candidate(SQUARE, "(n + 63) / 64", "64", {"n"}), {{"n", 65536}}), "n * n");
}

TEST(BufferInference, ASizeThatRunsWhileLargerOnesDoNot) {
  EXPECT_EQ(size_of_x(candidate(SQUARE, "(n + 63) / 64", "64", {"n"}), {{"n", 12000}}), "n * n");
}

// A launch of whole blocks, which the kernel takes for granted: at small sizes there is one, whatever they
// are.
TEST(BufferInference, BlocksThatAreNotCheckedShowAtSizesOfMoreThanOne) {
  EXPECT_EQ(size_of_x(candidate(R"(
__global__ void k(unsigned char* x, int n) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
)",
                                "(n + 255) / 256", "256", {"n"}),
                      {{"n", 65536}}),
            "n");
}

TEST(BufferInference, RowsOfBlocksThatAreNotCheckedShowBesideOtherSizes) {
  EXPECT_EQ(size_of_x(candidate(R"(
__global__ void k(unsigned char* x, int n, int rows) {
  for (int row = 0; row < rows; ++row) x[row * n + blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
)",
                                "(n + 255) / 256", "256", {"n", "rows"}),
                      {{"n", 65536}, {"rows", 64}}),
            "n * rows");
}

TEST(BufferInference, WhatIsDividedByHoldsOnes) {
  Candidate raw = candidate(R"(
__global__ void k(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[1 + i] = i % x[0];
}
)",
                            "(n + 63) / 64", "64", {"n"});
  raw.arguments.front().dtype = "i32";
  raw.arguments.front().fill.kind = Fill::Kind::zero;
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw, {{"n", 256}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  EXPECT_EQ(raw.arguments.front().count.text(), "1 + n");
  EXPECT_EQ(raw.arguments.front().fill.kind, Fill::Kind::integer);
  EXPECT_EQ(raw.arguments.front().fill.integer_low.text(), "1");
}

// Pivots and other indices that count from one.
TEST(BufferInference, IndicesThatLeadInFrontOfABufferCountFromOne) {
  Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, const int* pivots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += x[pivots[i] - 1];
}
)",
                            "(n + 63) / 64", "64", {"n"});
  Argument pivots = raw.arguments.front();
  pivots.name = "pivots";
  pivots.dtype = "i32";
  pivots.direction = Direction::in;
  pivots.fill.kind = Fill::Kind::zero;
  raw.arguments.insert(raw.arguments.begin() + 1, pivots);
  std::vector<std::string> notes;
  ASSERT_TRUE(infer_buffers(raw, {{"n", 256}}, {}, "sm_90", notes).ok());
  EXPECT_EQ(raw.arguments[1].fill.kind, Fill::Kind::integer);
  EXPECT_EQ(raw.arguments[1].fill.integer_low.text(), "1");
  EXPECT_THAT(notes, testing::Contains(HasSubstr("pivots holds ones, as with zeros")));
}

// What sizes alone lead in front of a buffer is no index's doing.
TEST(BufferInference, IndicesStayZeroWhereOnesDoNotHelp) {
  Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, const int* marks, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += x[i - 1] + (marks[i] > 0);
}
)",
                            "(n + 63) / 64", "64", {"n"});
  Argument marks = raw.arguments.front();
  marks.name = "marks";
  marks.dtype = "i32";
  marks.direction = Direction::in;
  marks.fill.kind = Fill::Kind::zero;
  raw.arguments.insert(raw.arguments.begin() + 1, marks);
  std::vector<std::string> notes;
  EXPECT_TRUE(infer_buffers(raw, {{"n", 256}}, {}, "sm_90", notes).ok());
  EXPECT_EQ(raw.arguments[1].fill.kind, Fill::Kind::zero);
}

TEST(BufferInference, SmallSizesAtWhichNothingIsLaunched) {
  EXPECT_EQ(size_of_x(candidate(R"(
__global__ void k(unsigned char* x, int n, int bits) {
  for (int bit = 0; bit < bits; ++bit) x[(blockIdx.x * blockDim.x + threadIdx.x) * 4 + bit % 4] = bit;
}
)",
                                "n / 1024", "256", {"n", "bits"}),
                      {{"n", 4096}, {"bits", 256}}),
            "n");
}

TEST(BufferInference, CountsAreNotAllZeroWhereThatLeavesBuffersUntouched) {
  Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, const int* counts, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n)
    for (int i = 0; i < counts[row]; ++i) x[row * 4 + i] = 1;
}
)",
                            "(n + 63) / 64", "64", {"n"});
  Argument counts = raw.arguments.front();
  counts.name = "counts";
  counts.dtype = "i32";
  counts.direction = Direction::in;
  counts.fill.kind = Fill::Kind::zero;
  raw.arguments.insert(raw.arguments.begin() + 1, counts);
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw, {{"n", 512}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  EXPECT_EQ(raw.arguments[0].count.text(), "4 * n");
  EXPECT_EQ(raw.arguments[1].fill.kind, Fill::Kind::integer);
  EXPECT_EQ(raw.arguments[1].count.text(), "n");
}

// An argument of integers that are zero unless the runs choose others, behind the buffer `x`.
void add_integers(Candidate& raw, const std::string& name) {
  Argument integers = raw.arguments.front();
  integers.name = name;
  integers.dtype = "i32";
  integers.direction = Direction::in;
  integers.fill.kind = Fill::Kind::zero;
  raw.arguments.insert(raw.arguments.begin() + 1, integers);
}

// Zeros say that all ranges are empty; without the pointer each row is one, of whole packs.
TEST(BufferInference, OptionalRangesAreNullWhereZerosLeaveBuffersUntouched) {
  const auto inferred = [](const std::string& begin) {
    Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, const int* begins, int rows, int columns) {
  const int row = blockIdx.x;
  const int begin = )" + begin + R"(;
  const int length = begins ? begins[row + 1] - begins[row] : columns;
  for (int i = threadIdx.x; i < length / 8 * 8; i += blockDim.x) x[begin + i] = 1;
}
)",
                              "rows", "64", {"rows", "columns"});
    add_integers(raw, "begins");
    std::vector<std::string> notes;
    const Status status = infer_buffers(raw, {{"rows", 4}, {"columns", 4}}, {}, "sm_90", notes);
    EXPECT_TRUE(status.ok()) << status.error().sentence();
    return raw.arguments;
  };
  const std::vector<Argument> optional = inferred("begins ? begins[row] : row * columns");
  EXPECT_TRUE(optional[1].is_null);
  EXPECT_EQ(optional[1].count.text(), "1 + rows");
  EXPECT_EQ(optional[0].count.text(), "columns * rows");
  // A kernel that does not run without it is given it.
  EXPECT_FALSE(inferred("begins[row]")[1].is_null);
}

TEST(BufferInference, MarksThatTheTextComparesWith) {
  Candidate raw = candidate(R"(
#define UNMATCHED -2
__global__ void k(unsigned char* x, const int* partner, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && partner[i] == UNMATCHED) x[i] = 1;
}
)",
                            "(n + 63) / 64", "64", {"n"});
  add_integers(raw, "partner");
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw, {{"n", 512}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  EXPECT_EQ(raw.arguments[0].count.text(), "n");
  EXPECT_EQ(raw.arguments[1].fill.kind, Fill::Kind::integer);
  EXPECT_EQ(raw.arguments[1].fill.integer_low.text(), "-2");
  EXPECT_EQ(raw.arguments[1].fill.integer_high.text(), "0");
}

// From node to node until there is none: the first is its own child where all are zero.
TEST(BufferInference, NodesThatGoOnWithoutEndWhereTheyAreZero) {
  Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, const int* child, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int depth = 0;
  for (volatile int node = i; node >= 0; node = child[node]) ++depth;
  x[i] = depth;
}
)",
                            "(n + 63) / 64", "64", {"n"});
  add_integers(raw, "child");
  std::vector<std::string> notes;
  const auto begin = std::chrono::steady_clock::now();
  const Status inferred = infer_buffers(raw, {{"n", 64}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  EXPECT_EQ(raw.arguments[0].count.text(), "n");
  EXPECT_EQ(raw.arguments[1].fill.integer_low.text(), "-1");
  EXPECT_EQ(raw.arguments[1].fill.integer_high.text(), "-1");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
}

TEST(BufferInference, SmallSizesAtWhichThereIsNothingToDo) {
  EXPECT_EQ(size_of_x(candidate(R"(
__global__ void k(unsigned char* x, int n, int d) {
  const int chunks = d / 64;
  for (int i = threadIdx.x; i < chunks * 64; i += blockDim.x) x[blockIdx.x * d + i] = 1;
}
)",
                                "n", "64", {"n", "d"}),
                      {{"n", 512}, {"d", 1024}}),
            "d * n");
}

// A row shorter than a tile shows the tile's length alone.
TEST(BufferInference, RowsThatAreShorterThanATile) {
  const std::string text = size_of_x(candidate(R"(
__global__ void k(unsigned char* x, int n, int d) {
  for (int tile = 0; tile == 0 || tile < d; tile += 256)
    for (int i = threadIdx.x; i < 256; i += blockDim.x) x[blockIdx.x * d + tile + i] = 1;
}
)",
                                               "n", "64", {"n", "d"}),
                                     {{"n", 512}, {"d", 4096}});
  const auto count = Expression::parse(text);
  ASSERT_TRUE(count.ok()) << text;
  const auto at = [&](std::int64_t n, std::int64_t d) {
    return *count->evaluate_integer(
        [&](std::string_view name) -> std::optional<Value> { return Value{name == "n" ? n : d}; });
  };
  EXPECT_GE(at(4, 16), 3 * 16 + 256) << text;
  EXPECT_GE(at(512, 4096), 512 * 4096) << text;
  EXPECT_LE(at(512, 4096), 2 * 512 * 4096) << text;
}

// At one column nothing shows that columns are a stride apart.
TEST(BufferInference, ColumnsThatAreAStrideApart) {
  const auto folder = TemporaryFolder::create("stride");
  ASSERT_TRUE(folder.ok());
  SubjectRequest request;
  request.source = folder->path() / "copy.cu";
  request.kernel = "copy";
  ASSERT_TRUE(write_file(request.source, R"(
__global__ void copy(const float* from, int ld, float* to, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
  if (row < rows) to[column * rows + row] = from[column * ld + row];
}
void launch(const float* from, int ld, float* to, int rows, int columns) {
  copy<<<dim3((rows + 63) / 64, columns), 64>>>(from, ld, to, rows, columns);
}
)")
                  .ok());
  const auto source = ParsedSource::parse(request.source, {});
  ASSERT_TRUE(source.ok());
  const auto subject = prepare_subject(request, **source);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  const std::vector<std::string> names = subject->raw.arguments.front().count.names();
  EXPECT_THAT(names, testing::IsSupersetOf({"columns", "ld"}));
  EXPECT_THAT(subject->notes, testing::Not(testing::Contains(testing::HasSubstr("do not grow evenly"))));
}

// The launches of a kernel one of whose modes only says that it is not there.
class Modes : public testing::Test {
protected:
  Result<Subject> prepared(const std::string& launches, int site = 0) {
    auto folder = TemporaryFolder::create("modes");
    if (!folder.ok())
      return folder.error();
    SubjectRequest request;
    request.source = folder->path() / "fill.cu";
    request.kernel = "fill";
    request.launch.site = site;
    LATHE_CHECK(write_file(request.source, R"(
template <bool IS_OTHER> __global__ void fill(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (IS_OTHER) {
    if (i == 0) printf("not there yet\n");
  } else if (i < n) {
    x[i] = 1;
  }
}
void launch(float* x, int n, bool other) {
)" + launches + "}\n"));
    LATHE_TRY(const auto source, ParsedSource::parse(request.source, {}));
    return prepare_subject(request, *source);
  }
  const std::string first_ = "  if (other) fill<true><<<(n + 255) / 256, 256>>>(x, n);\n",
                    second_ = "  else fill<false><<<(n + 127) / 128, 128>>>(x, n);\n";
};

TEST_F(Modes, ALaunchThatWritesNothingGivesWayToOneThatDoes) {
  const auto subject = prepared(first_ + second_);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "128");
  EXPECT_THAT(subject->notes, testing::Contains(testing::HasSubstr("of 2 launches the 2. is taken")));
  EXPECT_FALSE(subject->writes_nothing);
}

TEST_F(Modes, TheLaunchThatIsAskedForIsTaken) {
  const auto subject = prepared(first_ + second_, 1);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "256");
  EXPECT_TRUE(subject->writes_nothing);
}

TEST_F(Modes, TheOnlyLaunchStays) {
  const auto subject = prepared(first_);
  ASSERT_TRUE(subject.ok()) << subject.error().sentence();
  EXPECT_EQ(subject->raw.launch.block[0].text(), "256");
}

// Each of its runs ends at a limit of its own; all of them together would take minutes.
TEST(TracedKernel, RunsThatEndAtTheirLimitAreNotMadeWithoutEnd) {
  const Candidate raw = candidate(R"(
__global__ void k(volatile unsigned char* x, int n) {
  while (x[threadIdx.x] == 0 && x[(threadIdx.x + 1) % 32] == 0) {}
}
)",
                                  "1", "32", {"n"});
  TracedKernel kernel(raw, "sm_90", 0.5);
  ASSERT_TRUE(kernel.compile().ok());
  const auto begin = std::chrono::steady_clock::now();
  const auto first = kernel.run({{"n", 32}}, 20);
  ASSERT_FALSE(first.ok());
  EXPECT_THAT(first.error().sentence(), Not(HasSubstr("all the time that there is")));
  const auto second = kernel.run({{"n", 64}}, 20);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().sentence(), HasSubstr("all the time that there is"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(18));
}

// Only what is marked is written.
TEST(BufferInference, TruthValuesAreTrueWhereThatTellsMore) {
  Candidate raw = candidate(R"(
__global__ void k(unsigned char* x, int rows, int n, const bool* marked) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (marked[blockIdx.x * n + i]) x[blockIdx.x * n + i] = 2 * x[blockIdx.x * n + i];
}
)",
                            "rows", "64", {"rows", "n"});
  Argument marks = raw.arguments.front();
  marks.name = "marked";
  marks.dtype = "bool";
  marks.direction = Direction::in;
  raw.arguments.push_back(marks);
  std::vector<std::string> notes;
  const Status inferred = infer_buffers(raw, {{"rows", 64}, {"n", 4096}}, {}, "sm_90", notes);
  ASSERT_TRUE(inferred.ok()) << inferred.error().sentence();
  EXPECT_THAT(raw.arguments.front().count.text(), testing::AnyOf("n * rows", "rows * n"));
  EXPECT_EQ(raw.arguments.front().direction, Direction::inout);
  EXPECT_EQ(raw.arguments.back().fill.kind, marks.fill.kind) << "they are drawn as before";
}

// void* input: what it holds is a template's type, of which the runs have one.
TEST(BufferInference, BytesAreThoseOfTheTypeThatTheyHold) {
  Candidate raw = candidate(R"(
template <class T> __global__ void k(unsigned char* x, int rows) {
  T* of_type = reinterpret_cast<T*>(x);
  of_type[blockIdx.x * 64 + threadIdx.x] = T(1);
}
)",
                            "rows", "64", {"rows"});
  raw.instance = "k<{T}>";
  raw.types = {{"T", {"f32", "f64", "i32"}}};
  EXPECT_EQ(size_of_x(raw, {{"rows", 64}}), "(256 * rows) * sizeof_T / 4");
  raw.types = {{"T", {"f32", "i32"}}};
  EXPECT_EQ(size_of_x(raw, {{"rows", 64}}), "256 * rows");
  // What is the same for every type is.
  raw.types = {{"T", {"f32", "f64"}}};
  raw.text.replace(raw.text.find("of_type[b"), 0,
                   "if (sizeof(T) == 8) { x[blockIdx.x * 256 + 255] = 1; return; } ");
  EXPECT_EQ(size_of_x(raw, {{"rows", 64}}), "256 * rows");
}

} // namespace
} // namespace lathe::refactor
