// What both of the store's test files use.
#pragma once

#include "tuner/base/files.h"
#include "tuner/store/store.h"

#include <gtest/gtest.h>

namespace lathe {

inline StoreKey test_key(std::string workload = "bf16 n=1 d=4096") {
  return {"silu_and_mul", "0123abc", std::move(workload), "NVIDIA H200", "580.1", "13.0"};
}

inline StoredEvaluation test_evaluation(std::int64_t number) {
  StoredEvaluation evaluation;
  evaluation.knobs = {Value{number}, Value{std::int64_t{4}}};
  evaluation.measurement.timing = {1.0 + static_cast<double>(number), 0.5, 2.5, 20, false};
  evaluation.author = "random";
  return evaluation;
}

inline const std::vector<std::string> test_names{"BLOCK", "VEC"};

class StoreTest : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("store-test");
    ASSERT_TRUE(folder.ok()) << folder.error().sentence();
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    path_ = folder_->path() / "results.sqlite";
  }

  std::unique_ptr<Store> open() {
    auto store = Store::open(path_);
    EXPECT_TRUE(store.ok()) << store.error().sentence();
    return store.ok() ? std::move(*store) : nullptr;
  }

  std::string open_error() {
    const auto store = Store::open(path_);
    return store.ok() ? "opened" : store.error().sentence();
  }

  std::size_t count(const StoreKey& key) {
    const auto store = open();
    if (!store)
      return 0;
    const auto evaluations = store->evaluations(key);
    EXPECT_TRUE(evaluations.ok()) << evaluations.error().sentence();
    return evaluations.ok() ? evaluations->size() : 0;
  }

  std::unique_ptr<TemporaryFolder> folder_;
  std::filesystem::path path_;
};

} // namespace lathe
