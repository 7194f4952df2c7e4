// A specification that uses every field, and what the tests do with it.
#pragma once

#include "tuner/base/files.h"
#include "tuner/base/hash.h"
#include "tuner/spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <random>

namespace lathe {

constexpr std::string_view sample_text = R"json({
  "General": {"BenchmarkName": "silu_and_mul"},
  "ConfigurationSpace": {
    "TuningParameters": [
      {"Name": "BLOCK", "Type": "int", "Values": "[64, 128, 256, 512, 1024]"},
      {"Name": "VEC", "Type": "int", "Values": [1, 2, 4, 8], "Default": 4},
      {"Name": "STREAM", "Type": "bool", "Values": "[False, True]", "Default": false},
      {"Name": "UNROLL", "Type": "uint", "Values": "[2**i for i in range(3)]", "Default": 1}
    ],
    "Conditions": []
  },
  "KernelSpecification": {
    "Language": "CUDA",
    "KernelName": "act_and_mul_kernel",
    "KernelFile": "templates/silu_and_mul.cuh",
    "CompilerOptions": ["-std=c++17"]
  },
  "Lathe": {
    "Version": 1,
    "Name": "silu_and_mul",
    "Dimensions": ["n", "d"],
    "Types": [{"Name": "T", "Dtypes": ["bf16", "f16", "f32"]}],
    "Knobs": {
      "BLOCK": {"Kind": "block", "Type": "unsigned", "Default": "min(d / (16 / sizeof_T), 1024)", "Why": "the launcher's block"},
      "VEC": {"Kind": "vector", "Why": "16-byte accesses"},
      "STREAM": {"Kind": "cache", "Type": "bool"},
      "UNROLL": {"Kind": "unroll", "Macro": true}
    },
    "Conditions": [
      {"Expression": "VEC * sizeof_T <= 16", "Why": "no wider access"},
      {"Expression": "BLOCK * VEC <= 8192 && BLOCK <= device.max_threads_per_block"},
      {"Expression": "BLOCK % 32 == 0"}
    ],
    "Instance": "act_and_mul_kernel<{T}, {BLOCK}, {VEC}, {STREAM}>",
    "Launch": {"Grid": ["n"], "Block": ["BLOCK"], "SharedBytes": "BLOCK * sizeof_T"},
    "Arguments": [
      {"Name": "out", "Dtype": "T", "Direction": "out", "Count": "n * d"},
      {"Name": "input", "Dtype": "T", "Direction": "in", "Count": "n * 2 * d", "Fill": {"Kind": "normal", "Mean": 0.5, "Spread": 2}},
      {"Name": "index", "Dtype": "i32", "Count": "n", "Fill": {"Kind": "integer", "Low": 0, "High": "n - 1"}},
      {"Name": "noise", "Dtype": "f32", "Direction": "inout", "Count": 8, "Fill": {"Kind": "uniform", "Low": -2, "High": 3}},
      {"Name": "d", "Dtype": "i32", "Value": "d"},
      {"Name": "scale", "Dtype": "f32", "Value": 0.25}
    ],
    "Problems": [
      {"Dimensions": {"n": 1, "d": 4096}},
      {"Dimensions": {"n": 64, "d": 2048}, "Role": "select", "Label": "decode"},
      {"Dimensions": {"n": 7, "d": 8192}, "Role": "report"}
    ],
    "Reference": {
      "File": "kernels/silu_and_mul.cu",
      "Instance": "act_and_mul_kernel<{T}>",
      "CompilerOptions": ["-std=c++17"],
      "Launch": {"Grid": ["n"], "Block": ["min(d / (16 / sizeof_T), 1024)"]},
      "LaunchedWhere": ["d % 8 == 0"]
    },
    "CpuReference": "silu_and_mul",
    "Tolerances": {"bf16": {"Relative": 0.01, "Absolute": 0.001}},
    "Cost": {"Bytes": "3 * n * d * sizeof_T", "Operations": "8.0 * n * d"},
    "Provenance": {"SourceFile": "activation.cu", "SourceHash": "abc", "CompileCommand": "nvcc -c", "Certificate": "x.json"}
  }
}
)json";

class SpecTest : public testing::Test {
protected:
  void SetUp() override {
    auto folder = TemporaryFolder::create("spec-test");
    ASSERT_TRUE(folder.ok()) << folder.error().sentence();
    folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    path_ = folder_->path() / "silu.json";
    ASSERT_TRUE(write_file(folder_->path() / "templates/silu_and_mul.cuh", "template text").ok());
    ASSERT_TRUE(write_file(folder_->path() / "kernels/silu_and_mul.cu", "raw text").ok());
  }

  TuningSpec parse(std::string_view text) {
    auto spec = parse_spec(text, path_);
    EXPECT_TRUE(spec.ok()) << spec.error().sentence();
    return spec.ok() ? std::move(*spec) : TuningSpec{};
  }
  TuningSpec sample() { return parse(sample_text); }

  // The error's sentence without the folder; empty when it is read.
  std::string error_of(std::string_view text) {
    const auto spec = parse_spec(text, path_);
    if (spec.ok())
      return "";
    std::string sentence = spec.error().sentence();
    const std::string folder = folder_->path().string() + "/";
    for (std::size_t at; (at = sentence.find(folder)) != std::string::npos;)
      sentence.erase(at, folder.size());
    return sentence;
  }

  std::unique_ptr<TemporaryFolder> folder_;
  std::filesystem::path path_;
};

} // namespace lathe
