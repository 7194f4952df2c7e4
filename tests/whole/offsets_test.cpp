// A kernel over ranges that another buffer delimits: its template is held against the raw kernel with ranges
// that are not empty.
#include "tests/whole/command.h"

#include <nlohmann/json.hpp>

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr const char* SPARSE_ROWS = R"(
__global__ void sparse_rows(const int* __restrict__ row_ptr, const int* __restrict__ columns,
                            const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                            int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) {
    float sum = 0.0f;
    const int end = row_ptr[row + 1];
    for (int j = row_ptr[row]; j < end; ++j) {
      sum += values[j] * x[columns[j]];
    }
    y[row] = sum;
  }
}

void run_sparse_rows(const int* row_ptr, const int* columns, const float* values, const float* x, float* y, int rows) {
  sparse_rows<<<(rows + 255) / 256, 256>>>(row_ptr, columns, values, x, y, rows);
}
)";

class Offsets : public CommandTest {
protected:
  Json argument(const Json& spec, const std::string& name) const {
    for (const Json& argument : spec["Lathe"]["Arguments"])
      if (argument["Name"] == name)
        return argument;
    return {};
  }

  // Whether `lathe check` accepts the template with one piece of its text replaced.
  int check_with(const std::string& from, const std::string& to) {
    const auto file = folder() / "templates/sparse_rows/sparse_rows.cuh";
    const std::string text = *read_file(file);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    std::string changed = text;
    changed.replace(at, from.size(), to);
    EXPECT_TRUE(write_file(file, changed).ok());
    const int code =
        lathe({"check", "search_spaces/sparse_rows.json", "--certificate", "judged.json", "--seed", "7"})
            .exit_code;
    EXPECT_TRUE(write_file(file, text).ok());
    return code;
  }
};

TEST_F(Offsets, RangesAreExercisedAndTheirEndsKept) {
  write("sparse.cu", SPARSE_ROWS);
  const auto made = lathe({"templatize", "sparse.cu", "--kernel", "sparse_rows", "--name", "sparse_rows",
                           "--rules", "expose-block-size"});
  ASSERT_EQ(made.exit_code, 0) << made.errors << made.output;
  const Json spec = Json::parse(*read_file(folder() / "search_spaces/sparse_rows.json"));
  EXPECT_EQ(argument(spec, "row_ptr")["Fill"]["Kind"], "offsets") << spec;
  EXPECT_EQ(argument(spec, "row_ptr")["Count"], "1 + rows");
  EXPECT_EQ(argument(spec, "row_ptr")["Fill"]["High"], "min(16 * (1 + rows - 1), 2147483647)");
  EXPECT_EQ(argument(spec, "columns")["Fill"]["Kind"], "zero");
  EXPECT_EQ(argument(spec, "values")["Count"], "16 * rows"); // as far as the offsets rise

  EXPECT_EQ(check_with("j < end", "j < end"), 0);
  EXPECT_EQ(check_with("j < end", "j + 1 < end"), 1);                           // the last element of a range
  EXPECT_EQ(check_with("int j = row_ptr[row]", "int j = row_ptr[row] + 1"), 1); // the first
  EXPECT_EQ(check_with("values[j]", "values[min(j, row_ptr[row] + 63)]"), 1); // what only a long range shows
}

} // namespace
} // namespace lathe
